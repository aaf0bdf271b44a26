// SPDX-License-Identifier: Apache-2.0
#include "cli/device_peaks.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxgemm::cli {
namespace {

Roofline limit_of(const char* device, const char* problem, double bytes) {
  const DevicePeaks* peaks = find_peaks(device);
  EXPECT_NE(peaks, nullptr) << device;
  const auto found =
      peaks == nullptr ? std::nullopt : roofline(*peaks, parse_problem(problem), bytes);
  EXPECT_TRUE(found.has_value()) << device << " " << problem;
  return found.value_or(Roofline{});
}

TEST(DevicePeaks, KnowsWholeNamesOnly) {
  EXPECT_NE(find_peaks("NVIDIA H200"), nullptr);
  EXPECT_NE(find_peaks("NVIDIA GeForce RTX 5090"), nullptr);
  EXPECT_EQ(find_peaks("NVIDIA GeForce RTX 5090 D"), nullptr);
  EXPECT_EQ(find_peaks("NVIDIA H20"), nullptr);
  EXPECT_EQ(find_peaks(""), nullptr);
}

TEST(DevicePeaks, EveryRowIsComplete) {
  for (const char* name : {"NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200",
                           "NVIDIA B200", "NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 4090",
                           "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA GB10"}) {
    const DevicePeaks* peaks = find_peaks(name);
    ASSERT_NE(peaks, nullptr) << name;
    EXPECT_GT(peaks->memory_gbytes, 0.0) << name;
    EXPECT_GT(peaks->bf16_tflops + peaks->fp4_tflops, 0.0) << name;
    EXPECT_NE(std::string(peaks->source), "") << name;
  }
}

TEST(Roofline, TakesTheNarrowestTypeThatHoldsBothOperands) {
  const char* mxf4 = "m8192n8192k8192:mxf4:mxf4:bf16";
  EXPECT_STREQ(limit_of("NVIDIA B200", mxf4, 1.0).limit, "fp4");
  EXPECT_STREQ(limit_of("NVIDIA H200", mxf4, 1.0).limit, "fp8");
  EXPECT_STREQ(limit_of("NVIDIA A100-SXM4-80GB", mxf4, 1.0).limit, "bf16");
  EXPECT_STREQ(limit_of("NVIDIA B200", "m8192n8192k8192:mxf8:mxf4:bf16", 1.0).limit, "fp8");
  EXPECT_STREQ(limit_of("NVIDIA B200", "m8192n8192k8192:bf16:mxf4:bf16", 1.0).limit, "bf16");
  const Roofline h200 = limit_of("NVIDIA H200", mxf4, 1.0);
  EXPECT_DOUBLE_EQ(h200.seconds, 2.0 * 8192 * 8192 * 8192 / 1979e12);
}

TEST(Roofline, MemoryLimitsWhereItTakesLonger) {
  const Roofline decode = limit_of("NVIDIA H200", "m1n8192k8192:bf16:mxf4:bf16", 4.8e9);
  EXPECT_STREQ(decode.limit, "memory");
  EXPECT_DOUBLE_EQ(decode.seconds, 1e-3);
  EXPECT_DOUBLE_EQ(decode.limit_rate, 4800.0);
}

TEST(Roofline, SaysNothingWithoutAStatedRate) {
  const DevicePeaks* spark = find_peaks("NVIDIA GB10");
  ASSERT_NE(spark, nullptr);
  EXPECT_TRUE(roofline(*spark, parse_problem("m8n8k32:mxf4:mxf4:bf16"), 1.0).has_value());
  EXPECT_FALSE(roofline(*spark, parse_problem("m8n8k32:mxf8:mxf8:bf16"), 1.0).has_value());
  const DevicePeaks* h200 = find_peaks("NVIDIA H200");
  ASSERT_NE(h200, nullptr);
  EXPECT_FALSE(roofline(*h200, parse_problem("m8n8k32:f32:mxf4:f32"), 1.0).has_value());
}

}  // namespace
}  // namespace mxgemm::cli
