// SPDX-License-Identifier: Apache-2.0
// Quantising on the CPU: numbers -> block-scaled elements and scales. The rules are
// docs/formats.md.
#pragma once

#include <cstdint>

#include "base/parallel.hpp"
#include "base/status.hpp"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"
#include "formats/scale_rule.hpp"
#include "quantize/row_kernels.h"

namespace mxgemm::internal {

// Same values as mxgemm_global_scale_mode.
enum class GlobalScaleMode : int32_t { kDefault = 0, kOne = 1, kCompute = 2, kGiven = 3 };

struct QuantizeOptions {
  Format format_src = Format::kNone;
  Format format = Format::kNone;
  ScaleLayout scale_layout = ScaleLayout::kRowMajor;
  int64_t rows = 0;
  int64_t cols = 0;
  ScaleRule scale_rule = ScaleRule::kDefault;
  bool saturate_nonfinite = false;
  bool stochastic = false;
  GlobalScaleMode global_scale_mode = GlobalScaleMode::kDefault;
  float min_block_scale = 0.0f;
  uint64_t seed = 0;
  uint64_t offset = 0;
};

struct QuantizeBuffers {
  const void* src = nullptr;
  int64_t src_ld = 0;  // elements
  uint8_t* qdata = nullptr;
  int64_t qdata_row_bytes = 0;
  uint8_t* scale = nullptr;
  int64_t scale_ld = 0;  // row-major only
  float* global_scale = nullptr;
};

// Whether the options make sense for the format (an option that a format does not use is an error).
Status check_quantize_options(const QuantizeOptions& options);

// Options must have passed the check and buffers be large enough. `kernels` may be null (scalar) or
// the row kernels of an ISA level: the bytes are the same. Fails only where a given global scale is
// not finite and > 0.
Status quantize(const QuantizeOptions& options, const QuantizeBuffers& buffers,
                const QuantizeRowKernels* kernels, const ParallelFor& parallel_for);

}  // namespace mxgemm::internal
