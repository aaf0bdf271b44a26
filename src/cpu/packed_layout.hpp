// SPDX-License-Identifier: Apache-2.0
// The packed form of a weight matrix B (N x K): a header, the tiles of codes, the tiles of scales.
// All levels read it, and an unpacked B is brought into the same tiles a panel at a time.
//
// A tile holds 16 columns n by 32 k. Tiles are ordered with n outermost: all k of columns 0…15,
// then of 16…31, …, so that a thread streams through memory. N is padded to 32 columns and K to 32
// (zero codes, scale 1).
//
// 4-bit codes, 256 bytes: four vectors of 64 bytes. In vector d the 16-bit lane 2n + p holds the
// codes k = 8d + 2i + p, i = 0…3, of column n in its nibbles i. So a 32-bit lane is one column: a
// shift by 4t brings one code per column to the bottom, and the low (high) nibbles of its bytes are
// k = 8d + {0, 4, 1, 5} ({2, 6, 3, 7}), four codes for a byte dot product. 8-bit codes, 512 bytes:
// eight vectors; in vector d the 32-bit lane n holds k = 4d … 4d + 3 of column n. Scales: 16 bytes
// a tile, one per column; NVFP4 has two blocks in a tile, hence 32 bytes, the first block's 16
// first.
#pragma once

#include <cstdint>

#include "base/math.hpp"
#include "cpu/level.h"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"

namespace mxgemm::cpu {

constexpr int64_t kPackedColumnPadding = 2 * kTileCols;
constexpr int64_t kPackedAlignment = 64;

struct PackedHeader {
  char magic[8];
  uint32_t layout;   // kPackedLayout
  uint32_t version;  // of the library that packed
  int32_t format;
  uint32_t reserved;
  int64_t n;
  int64_t k;
  uint64_t bytes;  // of the whole packed operand
  uint64_t check;  // over the fields above
  uint64_t padding;
};
static_assert(sizeof(PackedHeader) == kPackedAlignment, "tiles start at a cache line");

// FNV-1a over the header up to `check`: tells a packed operand from other bytes that begin alike.
uint64_t header_check(const PackedHeader& header);

struct PackedShape {
  int64_t groups;  // of 16 columns
  int64_t tiles;   // along K
  int64_t code_tile_bytes;
  int64_t scale_tile_bytes;

  int64_t codes_offset() const { return sizeof(PackedHeader); }
  int64_t scales_offset() const { return codes_offset() + groups * tiles * code_tile_bytes; }
  int64_t total_bytes() const { return scales_offset() + groups * tiles * scale_tile_bytes; }
};

inline PackedShape packed_shape(internal::Format format, int64_t n, int64_t k) {
  const internal::FormatInfo& info = *internal::find_format(format);
  PackedShape shape;
  shape.groups = internal::ceil_div(n, kPackedColumnPadding) * (kPackedColumnPadding / kTileCols);
  shape.tiles = internal::ceil_div<int64_t>(k, kTileK);
  shape.code_tile_bytes = int64_t{kTileCols} * kTileK * info.element_bits / 8;
  shape.scale_tile_bytes = int64_t{kTileCols} * kTileK / info.block_size;
  return shape;
}

// Scale bytes of `tiles` tiles of up to 16 columns (`cols`) from row n0 and block column block0 on;
// columns past the end and blocks past the last real one get a scale of 1 (a subnormal one would
// slow some processors down).
void pack_scales(internal::Format format, const internal::ScaleView& scale, int64_t n0,
                 int64_t cols, int64_t block0, int64_t tiles, uint8_t* out);

}  // namespace mxgemm::cpu
