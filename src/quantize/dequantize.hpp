// SPDX-License-Identifier: Apache-2.0
// Decoding block-scaled elements to bf16, f16 or f32 on the CPU: the exact product rounded once.
#pragma once

#include <cstdint>

#include "base/parallel.hpp"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"

namespace mxgemm::internal {

struct DequantizeJob {
  Format format = Format::kNone;
  int64_t rows = 0;
  int64_t cols = 0;
  const uint8_t* qdata = nullptr;
  int64_t qdata_row_bytes = 0;
  ScaleView scale{};
  float global_scale = 1.0f;
  Format format_dst = Format::kNone;
  void* dst = nullptr;
  int64_t dst_ld = 0;  // elements
};

void dequantize(const DequantizeJob& job, const ParallelFor& parallel_for);

}  // namespace mxgemm::internal
