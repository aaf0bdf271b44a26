// SPDX-License-Identifier: Apache-2.0
// The groups of four scale columns in the swizzled layout (formats/scale_layout.hpp): the four lie
// side by side in both layouts, so a thread can move a group at once.
#pragma once

#include <cstdint>

#include "formats/scale_layout.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct ScaleGroup {
  int64_t row;
  int64_t first_col;
  int real_cols;  // 0…4: the others are padding
};

// Group g of a tile holds row 32 * (g % 4) + g / 4.
__device__ __forceinline__ ScaleGroup scale_group(int64_t rows, int64_t cols, int64_t index) {
  using internal::kScaleTileCols;
  using internal::kScaleTileRows;
  const int64_t tile = index / kScaleTileRows;
  const int64_t in_tile = index % kScaleTileRows;
  const int64_t tiles_across = internal::scale_tiles_along(cols, kScaleTileCols);
  const int64_t row = tile / tiles_across * kScaleTileRows + in_tile % 4 * 32 + in_tile / 4;
  const int64_t first_col = tile % tiles_across * kScaleTileCols;
  const int64_t real_cols = row < rows ? min(kScaleTileCols, cols - first_col) : 0;
  return {row, first_col, static_cast<int>(real_cols)};
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
