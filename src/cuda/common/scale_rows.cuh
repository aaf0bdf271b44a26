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
  // Every quad lies at a multiple of four bytes.
  bool has_aligned_quads;
};

inline ScaleRows scale_rows(const internal::ScaleView& view, int64_t rows) {
  const bool is_swizzled = view.layout == internal::ScaleLayout::kSwizzle32x4x4;
  const uintptr_t bits =
      reinterpret_cast<uintptr_t>(view.data) | static_cast<uintptr_t>(is_swizzled ? 0 : view.ld);
  return {view, rows, bits % internal::kScaleTileCols == 0};
}

// The scales of one row. Columns fit 32 bits: K does.
struct ScaleRow {
  const uint8_t* data;  // nullptr behind the last row
  int32_t quad_stride;
  int32_t cols;
  bool has_aligned_quads;

  __device__ __forceinline__ uint32_t quad(int32_t index) const {
    const int32_t first = index * static_cast<int32_t>(internal::kScaleTileCols);
    if (data == nullptr || first >= cols) {
      return 0;
    }
    const uint8_t* source = data + static_cast<int64_t>(index) * quad_stride;
    if (has_aligned_quads && first + 4 <= cols) {
      return __ldg(reinterpret_cast<const unsigned int*>(source));
    }
    uint32_t packed = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first + i < cols) {
        packed |= static_cast<uint32_t>(__ldg(source + i)) << (8 * i);
      }
    }
    return packed;
  }

  __device__ __forceinline__ uint32_t code(int32_t col) const {
    return data == nullptr || col >= cols
               ? 0
               : __ldg(data + static_cast<int64_t>(col / 4) * quad_stride + col % 4);
  }
};

__device__ __forceinline__ ScaleRow scale_row(const ScaleRows& scales, int64_t row) {
  const internal::ScaleView& view = scales.view;
  const bool is_swizzled = view.layout == internal::ScaleLayout::kSwizzle32x4x4;
  ScaleRow result;
  result.data = nullptr;
  if (row < scales.rows) {
    result.data = view.data + (is_swizzled ? internal::swizzled_scale_offset(row, 0, view.cols)
                                           : row * view.ld);
  }
  result.quad_stride = is_swizzled ? static_cast<int32_t>(internal::kScaleTileBytes)
                                   : static_cast<int32_t>(internal::kScaleTileCols);
  result.cols = static_cast<int32_t>(view.cols);
  result.has_aligned_quads = scales.has_aligned_quads;
  return result;
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
