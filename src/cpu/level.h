// SPDX-License-Identifier: Apache-2.0
// The seam between the GEMM driver and the code of one level (scalar/, avx2/, avx512/): plain data
// and function pointers only, so that nothing inline is shared between code built with different
// instruction sets.
#pragma once

#include <cstdint>

namespace mxgemm::cpu {

// A tile of packed weights (packed_layout.hpp). 16 columns fill one 512-bit register of floats; 32
// elements of K are the block of the MX formats.
constexpr int kTileCols = 16;
constexpr int kTileK = 32;
// Column groups of 16 that one multiply call covers at most.
constexpr int kMaxGroups = 2;

// Position of a format in the tables below: operands of A, then (the first four) of B.
enum OperandIndex : int32_t {
  kIndexMxf4,
  kIndexNvf4,
  kIndexMxf8E4m3,
  kIndexMxf8E5m2,
  kIndexBf16,
  kIndexF16,
  kIndexF32,
  kNumOperandsA,
  kNumOperandsB = kIndexBf16,
};
// Plain formats: index - kIndexBf16.
constexpr int kNumPlain = kNumOperandsA - kIndexBf16;

// Decodes `count` elements of a row of A (a multiple of 16) with their block scales, contiguous in
// `scales`, and zeros up to the next multiple of 32. Returns the row's magnitude, see Strategy.
using DecodeA = int32_t (*)(const void* codes, const uint8_t* scales, int64_t count, void* out);
// Decodes `tiles` packed tiles. Returns their magnitude.
using DecodeB = int32_t (*)(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out);

struct MultiplyArgs {
  int32_t rows;   // 1 … Strategy.rows
  int64_t tiles;  // steps of 32 elements of K
  const void* a;  // row r at a + r * a_row_bytes, as decode_a left it
  int64_t a_row_bytes;
  const void* b[kMaxGroups];  // per 16 columns, as decode_b left it; the packed codes if there is
                              // no decode_b
  const uint8_t* b_scales[kMaxGroups];  // the packed scales, without decode_b only
  float* acc;                           // acc[r * acc_ld + column] += product
  int64_t acc_ld;
};

// How a kernel multiplies: the register tile, the form of its decoded operands and the functions
// that make and use them.
//
// A row and a panel may be multiplied only where magnitude(row) + magnitude(panel) <=
// magnitude_limit. What lies above (block scales so large that a decoded value leaves the range of
// fp32) is multiplied in double by the driver.
struct Strategy {
  int32_t rows;          // of the register tile
  int32_t groups;        // of 16 columns in the register tile
  int32_t panel_k;       // elements of K per decoded panel of B, a multiple of 32
  int32_t chunk_cols;    // columns of a work tile at large M, a multiple of 16 * groups
  int32_t a_tile_bytes;  // of 32 decoded elements of a row of A
  int32_t b_tile_bytes;  // of a decoded tile of B; 0: multiply reads packed tiles
  int32_t magnitude_limit;
  DecodeA decode_a[kNumOperandsA];  // null where the strategy does not take the format
  DecodeB decode_b[kNumOperandsB];
  void (*multiply)(const MultiplyArgs& args);  // null: everything is multiplied in double
};

// Rows of plain numbers and packing, the same bytes at every level.
struct RowFunctions {
  void (*load[kNumPlain])(const void* src, int64_t count, float* out);
  void (*store[kNumPlain])(const float* row, int64_t count, void* dst);
  // row = fma(beta, c, fma(alpha, row, bias)), then relu if asked for. bias and c may be null: no
  // such term.
  void (*linear)(int64_t count, float alpha, const float* bias, float beta, const float* c,
                 bool relu, float* row);
  // `rows` (at most 16) rows of `k` elements (a multiple of 16) from `src` into ceil(k / 32) packed
  // tiles, zero codes in what is left of them. Index 0: 4-bit, 1: 8-bit elements.
  void (*pack_codes[2])(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k,
                        uint8_t* out);
};

struct Level {
  RowFunctions rows;
  Strategy any_any;
  Strategy mxf4_mxf4;  // rows = 0 where the level has none
  Strategy bf16_mxf4;
};

}  // namespace mxgemm::cpu
