// SPDX-License-Identifier: Apache-2.0
// Block scales read where the caller has them, whatever their layout. What is padding in the
// caller's buffer, or lies behind it, is not read.
#pragma once

#include <cstdint>

#include "formats/macros.hpp"
#include "formats/scale_layout.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct ScaleRows {
  internal::ScaleView view;
  int64_t rows;
  bool has_pairs;  // two scales from an even column on lie in one aligned half word
};

inline ScaleRows scale_rows(const internal::ScaleView& view, int64_t rows) {
  const bool is_swizzled = view.layout == internal::ScaleLayout::kSwizzle32x4x4;
  const bool is_even = reinterpret_cast<uintptr_t>(view.data) % 2 == 0;
  return {view, rows, is_even && (is_swizzled || view.ld % 2 == 0)};
}

__device__ __forceinline__ bool is_swizzled(const ScaleRows& scales) {
  return scales.view.layout == internal::ScaleLayout::kSwizzle32x4x4;
}

// Where a row's scales start, and where column `col` lies from there.
__device__ __forceinline__ const uint8_t* scale_row(const ScaleRows& scales, int64_t row) {
  return scales.view.data + (is_swizzled(scales)
                                 ? internal::swizzled_scale_offset(row, 0, scales.view.cols)
                                 : row * scales.view.ld);
}

__device__ __forceinline__ int64_t scale_offset(bool is_swizzled, int64_t col) {
  constexpr int64_t kQuad = internal::kScaleTileCols;  // columns side by side in both layouts
  return is_swizzled ? col / kQuad * internal::kScaleTileBytes + col % kQuad : col;
}

// One scale of a row that exists.
__device__ __forceinline__ uint32_t scale_code(const ScaleRows& scales, int64_t row, int64_t col) {
  return __ldg(scale_row(scales, row) + scale_offset(is_swizzled(scales), col));
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
