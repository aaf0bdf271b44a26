// SPDX-License-Identifier: Apache-2.0
#include "formats/block_format.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {
namespace {

TEST(BlockFormat, TraitsAreThoseOfTheFormatTable) {
  struct Row {
    Format format;
    int32_t value;
    const char* name;
    int bits;
    int block;
    ScaleType scale;
    bool global;
  };
  const Row rows[] = {
      {Format::kMxf4, MXGEMM_MXF4, "mxf4", 4, 32, ScaleType::kE8m0, false},
      {Format::kNvf4, MXGEMM_NVF4, "nvf4", 4, 16, ScaleType::kE4m3, true},
      {Format::kMxf8E4m3, MXGEMM_MXF8E4M3, "mxf8e4m3", 8, 32, ScaleType::kE8m0, false},
      {Format::kMxf8E5m2, MXGEMM_MXF8E5M2, "mxf8e5m2", 8, 32, ScaleType::kE8m0, false},
      {Format::kBf16, MXGEMM_BF16, "bf16", 16, 1, ScaleType::kNone, false},
      {Format::kF16, MXGEMM_F16, "f16", 16, 1, ScaleType::kNone, false},
      {Format::kF32, MXGEMM_F32, "f32", 32, 1, ScaleType::kNone, false},
  };
  for (const Row& row : rows) {
    const FormatInfo* info = find_format(row.format);
    ASSERT_NE(info, nullptr) << row.name;
    EXPECT_EQ(static_cast<int32_t>(row.format), row.value);
    EXPECT_EQ(std::string(info->name), row.name);
    EXPECT_EQ(info->element_bits, row.bits);
    EXPECT_EQ(info->block_size, row.block);
    EXPECT_EQ(info->scale_type, row.scale);
    EXPECT_EQ(info->has_global_scale, row.global);
    EXPECT_EQ(is_block_scaled(row.format), row.scale != ScaleType::kNone);
    EXPECT_EQ(info->element_emax, std::ilogb(info->element_max));
  }
  EXPECT_EQ(std::size(kFormats), std::size(rows));
}

TEST(BlockFormat, LargestElementIsThatOfTheElementCodes) {
  EXPECT_EQ(find_format(Format::kMxf4)->element_max, e2m1_decode(kE2m1MaxCode));
  EXPECT_EQ(find_format(Format::kNvf4)->element_max, e2m1_decode(kE2m1MaxCode));
  EXPECT_EQ(find_format(Format::kMxf8E4m3)->element_max, e4m3_decode(kE4m3MaxCode));
  EXPECT_EQ(find_format(Format::kMxf8E5m2)->element_max, e5m2_decode(kE5m2MaxCode));
  EXPECT_EQ(find_format(Format::kBf16)->element_max, bf16_decode(kBf16Infinity - 1));
  EXPECT_EQ(find_format(Format::kF16)->element_max, f16_decode(kF16Infinity - 1));
  EXPECT_EQ(find_format(Format::kF32)->element_max, f32_decode(kF32Infinity - 1));
}

TEST(BlockFormat, ValuesThatAreNoFormatHaveNoTraits) {
  for (const int value : {0, 5, 15, 19, -1}) {
    EXPECT_EQ(find_format(static_cast<Format>(value)), nullptr);
    EXPECT_FALSE(is_block_scaled(static_cast<Format>(value)));
  }
  EXPECT_STREQ(format_name(Format::kNone), "none");
  EXPECT_STREQ(format_name(static_cast<Format>(99)), "unknown");
}

TEST(BlockFormat, ElementAtReadsEveryFormat) {
  const uint8_t nibbles[] = {0x21, 0xF8};
  EXPECT_EQ(element_at(Format::kMxf4, nibbles, 0), 0.5);
  EXPECT_EQ(element_at(Format::kNvf4, nibbles, 1), 1.0);
  EXPECT_TRUE(std::signbit(element_at(Format::kMxf4, nibbles, 2)));
  EXPECT_EQ(element_at(Format::kMxf4, nibbles, 3), -6.0);
  const uint8_t bytes[] = {0x38, 0x7E, 0x3C, 0xFB};
  EXPECT_EQ(element_at(Format::kMxf8E4m3, bytes, 0), 1.0);
  EXPECT_EQ(element_at(Format::kMxf8E4m3, bytes, 1), 448.0);
  EXPECT_EQ(element_at(Format::kMxf8E5m2, bytes, 2), 1.0);
  EXPECT_EQ(element_at(Format::kMxf8E5m2, bytes, 3), -57344.0);
  const uint16_t halves[] = {0x3F80, 0x3C00};
  EXPECT_EQ(element_at(Format::kBf16, halves, 0), 1.0);
  EXPECT_EQ(element_at(Format::kF16, halves, 1), 1.0);
  const float floats[] = {1.5f};
  EXPECT_EQ(element_at(Format::kF32, floats, 0), 1.5);
  EXPECT_EQ(element_at(Format::kNone, floats, 0), 0.0);
}

TEST(BlockFormat, ScaleValueKnowsBothScaleTypes) {
  EXPECT_EQ(scale_value(ScaleType::kE8m0, 0), 0x1p-127);
  EXPECT_EQ(scale_value(ScaleType::kE8m0, 254), 0x1p127);
  EXPECT_TRUE(std::isnan(scale_value(ScaleType::kE8m0, 255)));
  EXPECT_EQ(scale_value(ScaleType::kE4m3, 0xB8), 1.0);
  EXPECT_TRUE(std::isnan(scale_value(ScaleType::kE4m3, 0xFF)));
  EXPECT_EQ(scale_value(ScaleType::kNone, 7), 1.0);
}

}  // namespace
}  // namespace mxgemm::internal
