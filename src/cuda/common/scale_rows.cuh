// SPDX-License-Identifier: Apache-2.0
// Block scales read where the caller has them, four columns at a time, whatever their layout: the
// four columns of a quad lie side by side in both (formats/scale_layout.hpp). What is padding in
// the caller's buffer, or lies behind it, reads as 0 and is never used.
#pragma once

#include <cstdint>

#include "formats/macros.hpp"
#include "formats/scale_layout.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct ScaleRows {
  internal::ScaleView view;
  int64_t rows;
  // Every quad may be read as one word: it lies at a multiple of four bytes, in the caller's
  // buffer, and a step of the kernel uses either none or all of the columns that it covers.
  bool has_whole_quads;
};

// `step_cols`: columns that a step of the kernel covers.
inline ScaleRows scale_rows(const internal::ScaleView& view, int64_t rows, int64_t step_cols) {
  constexpr int64_t kQuad = internal::kScaleTileCols;
  const bool is_swizzled = view.layout == internal::ScaleLayout::kSwizzle32x4x4;
  const bool is_whole = view.cols % step_cols == 0 &&
                        (is_swizzled || (view.cols % kQuad == 0 && view.ld % kQuad == 0));
  return {view, rows, is_whole && reinterpret_cast<uintptr_t>(view.data) % kQuad == 0};
}

// The first `count` (0…4) of the four scales at `source`, the first in the lowest byte; 0 for the
// rest.
__device__ __forceinline__ uint32_t load_quad(const uint8_t* source, int count, bool is_whole) {
  uint32_t packed = 0;
  if (is_whole) {
    if (count > 0) {
      packed = __ldg(reinterpret_cast<const unsigned int*>(source));
    }
    return packed;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i < count) {
      packed |= static_cast<uint32_t>(__ldg(source + i)) << (8 * i);
    }
  }
  return packed;
}

__device__ __forceinline__ bool is_swizzled(const ScaleRows& scales) {
  return scales.view.layout == internal::ScaleLayout::kSwizzle32x4x4;
}

// Where a row's scales start, and bytes from quad to quad.
__device__ __forceinline__ const uint8_t* scale_row(const ScaleRows& scales, int64_t row) {
  return scales.view.data + (is_swizzled(scales)
                                 ? internal::swizzled_scale_offset(row, 0, scales.view.cols)
                                 : row * scales.view.ld);
}

__device__ __forceinline__ int32_t quad_stride(const ScaleRows& scales) {
  return static_cast<int32_t>(is_swizzled(scales) ? internal::kScaleTileBytes
                                                  : internal::kScaleTileCols);
}

// One scale of a row that exists.
__device__ __forceinline__ uint32_t scale_code(const ScaleRows& scales, int64_t row, int64_t col) {
  return __ldg(scale_row(scales, row) + col / 4 * quad_stride(scales) + col % 4);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
