// SPDX-License-Identifier: Apache-2.0
// How a matrix of blocks is cut for threads. The cut depends on the shape alone, so results cannot
// depend on the threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/math.hpp"

namespace mxgemm::internal {

struct TileRange {
  int64_t row_begin;
  int64_t row_end;
  int64_t col_begin;  // in blocks
  int64_t col_end;
};

class Tiling {
 public:
  // `row_unit`: tiles start at multiples of it. Tiles are at most kMaxCols blocks wide.
  Tiling(int64_t rows, int64_t cols, int64_t row_unit) : rows_(rows), cols_(cols) {
    col_step_ = std::min(cols, kMaxCols);
    row_step_ = row_unit * std::max<int64_t>(1, kTargetBlocks / (row_unit * col_step_));
    tiles_across_ = ceil_div(cols, col_step_);
  }

  int64_t count() const { return ceil_div(rows_, row_step_) * tiles_across_; }

  TileRange tile(int64_t index) const {
    const int64_t row = index / tiles_across_ * row_step_;
    const int64_t col = index % tiles_across_ * col_step_;
    return {row, std::min(rows_, row + row_step_), col, std::min(cols_, col + col_step_)};
  }

  // A multiple of 4, so that a tile owns whole tiles of swizzled scales; small enough for a scale
  // buffer on the stack.
  static constexpr int64_t kMaxCols = 1024;

 private:
  // Some ten microseconds of SIMD work: far above the cost of handing out a tile, small enough to
  // balance.
  static constexpr int64_t kTargetBlocks = 2048;

  int64_t rows_;
  int64_t cols_;
  int64_t col_step_;
  int64_t row_step_;
  int64_t tiles_across_;
};

}  // namespace mxgemm::internal
