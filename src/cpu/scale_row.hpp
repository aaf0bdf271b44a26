// SPDX-License-Identifier: Apache-2.0
// The block scales of one row, whatever their layout: the reader for inner loops, where
// ScaleView::at would work out a swizzled offset per byte.
#pragma once

#include <cstdint>
#include <cstring>

#include "formats/scale_layout.hpp"

namespace mxgemm::cpu {

class ScaleRow {
 public:
  ScaleRow(const internal::ScaleView& view, int64_t row) {
    const bool swizzled = view.layout == internal::ScaleLayout::kSwizzle32x4x4;
    first_ =
        view.data + (swizzled ? internal::swizzled_scale_offset(row, 0, view.cols) : row * view.ld);
    quad_stride_ = swizzled ? internal::kScaleTileBytes : internal::kScaleTileCols;
  }

  uint8_t at(int64_t block) const { return first_[block / 4 * quad_stride_ + block % 4]; }

  // Scales block … block + count - 1 to out[0], out[step], …
  void copy(int64_t block, int64_t count, uint8_t* out, int64_t step) const {
    int64_t i = 0;
    for (; i < count && (block + i) % 4 != 0; ++i) {
      out[i * step] = at(block + i);
    }
    for (; i + 4 <= count; i += 4) {  // four scales of a row lie side by side in both layouts
      uint8_t quad[4];
      std::memcpy(quad, first_ + (block + i) / 4 * quad_stride_, sizeof quad);
      out[i * step] = quad[0];
      out[(i + 1) * step] = quad[1];
      out[(i + 2) * step] = quad[2];
      out[(i + 3) * step] = quad[3];
    }
    for (; i < count; ++i) {
      out[i * step] = at(block + i);
    }
  }

 private:
  const uint8_t* first_;
  int64_t quad_stride_;
};

}  // namespace mxgemm::cpu
