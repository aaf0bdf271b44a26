// SPDX-License-Identifier: Apache-2.0
// What vendors state a device can do at most, for the percentages of `mxgemm bench`.
#pragma once

#include <optional>
#include <string_view>

#include "cli/problem.hpp"

namespace mxgemm::cli {

// Dense rates in TFLOP/s with accumulation in fp32, memory in GB/s; 0 = the chip lacks it, or its
// vendor states no dense figure.
struct DevicePeaks {
  const char* name;  // as the driver spells the device, whole
  double bf16_tflops;
  double fp8_tflops;
  double fp4_tflops;
  double memory_gbytes;
  const char* source;
};

// nullptr for a device that is not in the table.
const DevicePeaks* find_peaks(std::string_view device_name);

// The limit that a GEMM meets first, going by stated peaks.
struct Roofline {
  double seconds = 0.0;     // shortest time in which it could be done
  const char* limit = "";   // "fp4", "fp8", "bf16" or "memory"
  double limit_rate = 0.0;  // TFLOP/s, or GB/s for memory
};

// Of `problem`, which moves `bytes`. The arithmetic is that of the narrowest type of the chip which
// holds the elements of both operands. Nothing where the chip's rate for it is not stated.
std::optional<Roofline> roofline(const DevicePeaks& peaks, const Problem& problem, double bytes);

}  // namespace mxgemm::cli
