// SPDX-License-Identifier: Apache-2.0
#include "quantize/scale_swizzle.hpp"

#include <algorithm>
#include <cstring>

#include "formats/scale_layout.hpp"

namespace mxgemm::internal {
namespace {

// Calls copy(row, col, count, offset) for every run of at most four scales of a row that lie
// together when swizzled.
template <typename Copy>
void for_each_run(int64_t rows, int64_t cols, const Copy& copy) {
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = swizzled_scale_offset(row, 0, cols);
    for (int64_t col = 0; col < cols; col += kScaleTileCols, offset += kScaleTileBytes) {
      copy(row, col, static_cast<size_t>(std::min(kScaleTileCols, cols - col)), offset);
    }
  }
}

}  // namespace

void swizzle_scales(int64_t rows, int64_t cols, const uint8_t* src, int64_t src_ld, uint8_t* dst) {
  const int64_t bytes = swizzled_scale_bytes(rows, cols);
  if (bytes == 0) {
    return;
  }
  std::memset(dst, 0, static_cast<size_t>(bytes));
  for_each_run(rows, cols, [=](int64_t row, int64_t col, size_t count, int64_t offset) {
    std::memcpy(dst + offset, src + row * src_ld + col, count);
  });
}

void unswizzle_scales(int64_t rows, int64_t cols, const uint8_t* src, uint8_t* dst,
                      int64_t dst_ld) {
  for_each_run(rows, cols, [=](int64_t row, int64_t col, size_t count, int64_t offset) {
    std::memcpy(dst + row * dst_ld + col, src + offset, count);
  });
}

}  // namespace mxgemm::internal
