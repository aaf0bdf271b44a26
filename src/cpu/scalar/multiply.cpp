// SPDX-License-Identifier: Apache-2.0
// The product in double. Every element times its block scale is exact in double, and so is every
// product of two of them (at most 24 + 4 significant bits), so that no scale can overflow or
// vanish.
#include <cstdint>

#include "cpu/scalar/scalar.h"
#include "formats/block_format.hpp"

namespace mxgemm::cpu::scalar {

namespace {

struct Table {
  double values[256];
  constexpr double operator[](uint8_t code) const { return values[code]; }
};

template <double (*kDecode)(uint8_t)>
constexpr Table make_table() {
  Table table{};
  for (int code = 0; code < 256; ++code) {
    table.values[code] = kDecode(static_cast<uint8_t>(code));
  }
  return table;
}

constexpr Table kE2m1 = make_table<internal::e2m1_decode>();
constexpr Table kE4m3 = make_table<internal::e4m3_decode>();
constexpr Table kE5m2 = make_table<internal::e5m2_decode>();
constexpr Table kE8m0 = make_table<internal::e8m0_decode>();
constexpr Table kE4m3Scale = make_table<internal::e4m3_scale_decode>();

// Element k of a row of codes times its block scale.
double scaled_element(OperandIndex index, const void* row, const uint8_t* scales, int64_t k) {
  const auto* codes = static_cast<const uint8_t*>(row);
  switch (index) {
    case kIndexMxf4:
      return kE2m1[internal::nibble_at(codes, k)] * kE8m0[scales[k / 32]];
    case kIndexNvf4:
      return kE2m1[internal::nibble_at(codes, k)] * kE4m3Scale[scales[k / 16]];
    case kIndexMxf8E4m3:
      return kE4m3[codes[k]] * kE8m0[scales[k / 32]];
    case kIndexMxf8E5m2:
      return kE5m2[codes[k]] * kE8m0[scales[k / 32]];
    case kIndexBf16:
      return internal::bf16_decode(static_cast<const uint16_t*>(row)[k]);
    case kIndexF16:
      return internal::f16_decode(static_cast<const uint16_t*>(row)[k]);
    default:
      return static_cast<const float*>(row)[k];
  }
}

// out[k * 16 + column] of one packed tile.
void decode_tile(OperandIndex index, const uint8_t* codes, const uint8_t* scales, double* out) {
  for (int k = 0; k < kTileK; ++k) {
    for (int column = 0; column < kTileCols; ++column) {
      double value;
      if (index == kIndexMxf4 || index == kIndexNvf4) {
        // packed_layout.hpp: even k in the low 16 bits of a lane, odd k in the high ones.
        const uint8_t* lane = codes + (k / 8 * kTileCols + column) * 4;
        const int nibble = k % 2 * 4 + k % 8 / 2;
        value = kE2m1[internal::nibble_at(lane, nibble)];
      } else {
        const uint8_t code = codes[(k / 4 * kTileCols + column) * 4 + k % 4];
        value = index == kIndexMxf8E4m3 ? kE4m3[code] : kE5m2[code];
      }
      const double scale = index == kIndexNvf4 ? kE4m3Scale[scales[k / 16 * kTileCols + column]]
                                               : kE8m0[scales[column]];
      out[k * kTileCols + column] = value * scale;
    }
  }
}

}  // namespace

void multiply_double(const DoubleProduct& product) {
  const int64_t code_tile_bytes = product.b_index == kIndexMxf4 || product.b_index == kIndexNvf4
                                      ? kTileCols * kTileK / 2
                                      : kTileCols * kTileK;
  const int64_t scale_tile_bytes = product.b_index == kIndexNvf4 ? 2 * kTileCols : kTileCols;
  double b[kTileK * kTileCols];
  for (int64_t k0 = 0; k0 < product.k; k0 += kTileK) {
    const int64_t tile = k0 / kTileK;
    decode_tile(product.b_index, product.b + tile * code_tile_bytes,
                product.b_scales + tile * scale_tile_bytes, b);
    // NVFP4 may end in half a tile: what is left of it is no product at all.
    const int64_t steps = product.k - k0 < kTileK ? product.k - k0 : kTileK;
    for (int32_t row = 0; row < product.rows; ++row) {
      const void* a_row = static_cast<const uint8_t*>(product.a) + row * product.a_row_bytes;
      const uint8_t* a_scales = product.a_scales + row * product.a_scale_ld;
      double sum[kTileCols] = {};
      for (int64_t k = 0; k < steps; ++k) {
        const double a = scaled_element(product.a_index, a_row, a_scales, k0 + k);
        for (int column = 0; column < kTileCols; ++column) {
          sum[column] += a * b[k * kTileCols + column];
        }
      }
      float* acc = product.acc + row * product.acc_ld;
      for (int column = 0; column < kTileCols; ++column) {
        acc[column] = static_cast<float>(acc[column] + sum[column]);
      }
    }
  }
}

}  // namespace mxgemm::cpu::scalar
