// SPDX-License-Identifier: Apache-2.0
// Where the scale byte of (row r, block column c) lies.
//
// row_major:       r * ld + c
// swizzle_32_4_4:  rows padded to 128, columns to 4; tiles of 128 x 4 scales = 512 bytes, tiles in
// row-major order. In a tile
//                  byte 16*i + 4*j + c holds row 32*j + i, column c:
//
//     byte   0  1  2  3 | 4  5  6  7 | 8  9 10 11 |12 13 14 15
//     i=0   r0 c0…c3    | r32 c0…c3  | r64 c0…c3  | r96 c0…c3
//     i=1   r1 c0…c3    | r33 c0…c3  | …
//     …
//     i=31  r31 c0…c3   | r63 c0…c3  | r95 c0…c3  | r127 c0…c3
//
// It is what torch calls SWIZZLE_32_4_4 and what cuBLASLt and the block-scaled MMA instructions
// read. We write 0x00 in the padding; readers must not depend on it.
#pragma once

#include <cstdint>

#include "formats/macros.hpp"

namespace mxgemm::internal {

// Same values as mxgemm_scale_layout.
enum class ScaleLayout : int32_t { kRowMajor = 0, kSwizzle32x4x4 = 1 };

constexpr int64_t kScaleTileRows = 128;
constexpr int64_t kScaleTileCols = 4;
constexpr int64_t kScaleTileBytes = kScaleTileRows * kScaleTileCols;

MXGEMM_FORMAT_FN int64_t scale_tiles_along(int64_t extent, int64_t tile) {
  return extent / tile + (extent % tile != 0 ? 1 : 0);
}

// Bytes of `rows` x `cols` swizzled scales. The caller makes sure that it fits (rows * cols near
// 2^63 does not).
MXGEMM_FORMAT_FN int64_t swizzled_scale_bytes(int64_t rows, int64_t cols) {
  return scale_tiles_along(rows, kScaleTileRows) * scale_tiles_along(cols, kScaleTileCols) *
         kScaleTileBytes;
}

// Offset of scale (row, col) in a matrix of `cols` columns.
MXGEMM_FORMAT_FN int64_t swizzled_scale_offset(int64_t row, int64_t col, int64_t cols) {
  // Unsigned, so that divisions by powers of two are shifts.
  const auto r = static_cast<uint64_t>(row);
  const auto c = static_cast<uint64_t>(col);
  const auto tiles_across = static_cast<uint64_t>(scale_tiles_along(cols, kScaleTileCols));
  const uint64_t tile = (r / kScaleTileRows) * tiles_across + c / kScaleTileCols;
  return static_cast<int64_t>(tile * kScaleTileBytes + (r % 32) * 16 +
                              (r % kScaleTileRows) / 32 * 4 + c % kScaleTileCols);
}

// The scales of one operand, whatever their layout.
struct ScaleView {
  const uint8_t* data;
  ScaleLayout layout;
  int64_t ld;    // row stride, row_major only
  int64_t cols;  // real columns

  // Always inlined: an ISA object must not carry a weak copy of it.
  MXGEMM_HOST_DEVICE __attribute__((always_inline)) constexpr uint8_t at(int64_t row,
                                                                         int64_t col) const {
    return data[layout == ScaleLayout::kRowMajor ? row * ld + col
                                                 : swizzled_scale_offset(row, col, cols)];
  }
};

}  // namespace mxgemm::internal
