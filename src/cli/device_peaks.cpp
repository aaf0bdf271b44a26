// SPDX-License-Identifier: Apache-2.0
#include "cli/device_peaks.hpp"

#include <algorithm>

namespace mxgemm::cli {
namespace {

// One row a device. Sheets that state rates "with sparsity" only are halved here. GeForce parts
// accumulate bf16 and fp8 in fp32 at half the rate of fp16 accumulation: the lower figure counts.
constexpr const char* kA100 = "NVIDIA A100 datasheet (2022)";
constexpr const char* kH100 = "NVIDIA H100 datasheet, rates with sparsity halved";
constexpr const char* kH200 = "NVIDIA H200 datasheet, rates with sparsity halved";
constexpr const char* kHgx = "NVIDIA HGX datasheet (Blackwell), per GPU, dense";
constexpr const char* kGb200 = "NVIDIA GB200 NVL72 datasheet, per GPU, dense";
constexpr const char* kRtx50 = "NVIDIA RTX Blackwell GPU architecture whitepaper, appendix A";
constexpr const char* kRtxPro = "NVIDIA RTX PRO Blackwell GPU architecture whitepaper";
constexpr const char* kSpark = "NVIDIA DGX Spark datasheet, fp4 rate with sparsity halved";
constexpr const char* kAda = "NVIDIA Ada GPU architecture whitepaper, appendix A";
constexpr const char* kL40s = "NVIDIA L40S datasheet";
constexpr const char* kL4 = "NVIDIA L4 datasheet, rates with sparsity halved";
constexpr const char* kAmpere = "NVIDIA Ampere GA102 GPU architecture whitepaper";

constexpr DevicePeaks kPeaks[] = {
    //                                                   bf16     fp8    fp4  memory
    {"NVIDIA A100-SXM4-40GB", 312.0, 0.0, 0.0, 1555.0, kA100},
    {"NVIDIA A100-SXM4-80GB", 312.0, 0.0, 0.0, 2039.0, kA100},
    {"NVIDIA A100-PCIE-40GB", 312.0, 0.0, 0.0, 1555.0, kA100},
    {"NVIDIA A100 80GB PCIe", 312.0, 0.0, 0.0, 1935.0, kA100},
    {"NVIDIA GeForce RTX 3090", 71.0, 0.0, 0.0, 936.0, kAmpere},
    {"NVIDIA L4", 121.0, 242.5, 0.0, 300.0, kL4},
    {"NVIDIA L40S", 362.0, 733.0, 0.0, 864.0, kL40s},
    {"NVIDIA GeForce RTX 4090", 165.2, 330.3, 0.0, 1008.0, kAda},
    {"NVIDIA H100 80GB HBM3", 989.5, 1979.0, 0.0, 3350.0, kH100},
    {"NVIDIA H100 PCIe", 756.5, 1513.0, 0.0, 2000.0, kH100},
    {"NVIDIA H100 NVL", 835.5, 1670.5, 0.0, 3900.0, kH100},
    {"NVIDIA H200", 989.5, 1979.0, 0.0, 4800.0, kH200},
    {"NVIDIA H200 NVL", 835.5, 1670.5, 0.0, 4800.0, kH200},
    {"NVIDIA B200", 2250.0, 4500.0, 9000.0, 8000.0, kHgx},
    {"NVIDIA GB200", 2500.0, 5000.0, 10000.0, 8000.0, kGb200},
    {"NVIDIA GeForce RTX 5090", 209.5, 419.0, 1676.0, 1792.0, kRtx50},
    {"NVIDIA GeForce RTX 5080", 112.6, 225.1, 900.4, 960.0, kRtx50},
    {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 503.8, 1007.6, 2015.2, 1792.0, kRtxPro},
    // Half of the sheet's 1 PFLOP with sparsity; for wider types it states nothing.
    {"NVIDIA GB10", 0.0, 0.0, 500.0, 273.0, kSpark},
};

// Widest element of both operands, in bits.
int element_bits(const Problem& problem) {
  return std::max(internal::find_format(problem.a)->element_bits,
                  internal::find_format(problem.b)->element_bits);
}

}  // namespace

const DevicePeaks* find_peaks(std::string_view device_name) {
  for (const DevicePeaks& peaks : kPeaks) {
    if (device_name == peaks.name) {
      return &peaks;
    }
  }
  return nullptr;
}

std::optional<Roofline> roofline(const DevicePeaks& peaks, const Problem& problem, double bytes) {
  const int bits = element_bits(problem);
  Roofline result;
  if (bits <= 4 && peaks.fp4_tflops > 0.0) {
    result = {0.0, "fp4", peaks.fp4_tflops};
  } else if (bits <= 8 && peaks.fp8_tflops > 0.0) {
    result = {0.0, "fp8", peaks.fp8_tflops};
  } else if (bits <= 16 && peaks.bf16_tflops > 0.0) {
    result = {0.0, "bf16", peaks.bf16_tflops};
  } else {
    return std::nullopt;
  }
  const double flops = 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                       static_cast<double>(problem.k);
  result.seconds = flops / (result.limit_rate * 1e12);
  const double memory_seconds = bytes / (peaks.memory_gbytes * 1e9);
  if (memory_seconds > result.seconds) {
    result = {memory_seconds, "memory", peaks.memory_gbytes};
  }
  return result;
}

}  // namespace mxgemm::cli
