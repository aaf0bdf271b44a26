// SPDX-License-Identifier: Apache-2.0
#include "formats/scale_layout.hpp"

#include <gtest/gtest.h>

#include <set>

namespace mxgemm::internal {
namespace {

// The layout by its construction instead of its formula: pad, cut into 128 x 4 tiles, cut each
// tile's rows into 4 groups of 32, put the groups side by side.
int64_t offset_by_construction(int64_t row, int64_t col, int64_t cols) {
  const int64_t tiles_across = (cols + 3) / 4;
  const int64_t tile_row = row / 128;
  const int64_t in_tile = row - tile_row * 128;
  const int64_t group = in_tile / 32;
  const int64_t line = in_tile - group * 32;
  const int64_t tile_col = col / 4;
  return ((tile_row * tiles_across + tile_col) * 32 + line) * 16 + group * 4 + (col - tile_col * 4);
}

TEST(ScaleLayout, PlacesTheKnownBytesOfA128x2Matrix) {
  EXPECT_EQ(swizzled_scale_bytes(128, 2), 512);
  EXPECT_EQ(swizzled_scale_offset(1, 0, 2), 16);
  EXPECT_EQ(swizzled_scale_offset(1, 1, 2), 17);
  EXPECT_EQ(swizzled_scale_offset(32, 0, 2), 4);
  EXPECT_EQ(swizzled_scale_offset(33, 1, 2), 21);
  EXPECT_EQ(swizzled_scale_offset(127, 0, 2), 508);
}

TEST(ScaleLayout, MapsEveryPaddedPositionToItsOwnByte) {
  for (const int64_t cols : {1, 2, 3, 4, 5, 9, 44, 90}) {
    const int64_t rows = 256;
    const int64_t padded_cols = (cols + 3) / 4 * 4;
    std::set<int64_t> offsets;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t col = 0; col < padded_cols; ++col) {
        const int64_t offset = swizzled_scale_offset(row, col, cols);
        ASSERT_EQ(offset, offset_by_construction(row, col, cols)) << row << "," << col;
        offsets.insert(offset);
      }
    }
    EXPECT_EQ(static_cast<int64_t>(offsets.size()), swizzled_scale_bytes(rows, cols));
    EXPECT_EQ(*offsets.rbegin(), swizzled_scale_bytes(rows, cols) - 1);
  }
}

TEST(ScaleLayout, SizesRoundUpToWholeTiles) {
  EXPECT_EQ(swizzled_scale_bytes(0, 5), 0);
  EXPECT_EQ(swizzled_scale_bytes(5, 0), 0);
  EXPECT_EQ(swizzled_scale_bytes(1, 1), 512);
  EXPECT_EQ(swizzled_scale_bytes(130, 9), 3072);
  EXPECT_EQ(swizzled_scale_bytes(128, 44), 5632);
  EXPECT_EQ(swizzled_scale_bytes(1856, 168), 322560);
  EXPECT_EQ(swizzled_scale_bytes(2880, 90), 270848);
}

TEST(ScaleLayout, CountsTilesIn64Bits) {
  const int64_t rows = int64_t{1} << 33;
  EXPECT_EQ(swizzled_scale_bytes(rows, 4), rows * 4);
  EXPECT_EQ(swizzled_scale_offset(rows - 1, 3, 4), rows * 4 - 1);
}

TEST(ScaleView, ReadsBothLayouts) {
  uint8_t bytes[1024] = {};
  bytes[3 * 7 + 2] = 42;
  const ScaleView row_major{bytes, ScaleLayout::kRowMajor, 7, 5};
  EXPECT_EQ(row_major.at(3, 2), 42);
  bytes[swizzled_scale_offset(100, 4, 5)] = 43;
  const ScaleView swizzled{bytes, ScaleLayout::kSwizzle32x4x4, 0, 5};
  EXPECT_EQ(swizzled.at(100, 4), 43);
}

}  // namespace
}  // namespace mxgemm::internal
