// SPDX-License-Identifier: Apache-2.0
// Rows of B into packed tiles, a 32-bit lane (one column, 8 or 4 elements of K) at a time.
#include <cstdint>
#include <cstring>

#include "cpu/scalar/scalar.h"

namespace mxgemm::cpu::scalar {

namespace {

// Eight 4-bit codes as they lie in memory (k = 0…7 in nibbles 0…7) to even k in the low half, odd k
// in the high half.
uint32_t separate_parities(uint32_t codes) {
  const uint32_t even = codes & 0x0F0F0F0F;
  const uint32_t odd = codes >> 4 & 0x0F0F0F0F;
  const uint32_t even_pairs = (even | even >> 4) & 0x00FF00FF;
  const uint32_t odd_pairs = (odd | odd >> 4) & 0x00FF00FF;
  return ((even_pairs | even_pairs >> 8) & 0xFFFF) | (odd_pairs | odd_pairs >> 8) << 16;
}

uint32_t unchanged(uint32_t codes) {
  return codes;
}

template <int kBits, uint32_t (*kArrange)(uint32_t)>
void pack_codes(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out) {
  const int64_t lanes = k * kBits / 32;
  const int64_t all_lanes = (k + kTileK - 1) / kTileK * kTileK * kBits / 32;
  for (int64_t lane = 0; lane < all_lanes; ++lane) {
    for (int32_t row = 0; row < kTileCols; ++row) {
      uint32_t codes = 0;
      if (row < rows && lane < lanes) {
        std::memcpy(&codes, src + row * row_bytes + lane * 4, sizeof codes);
      }
      codes = kArrange(codes);
      std::memcpy(out + (lane * kTileCols + row) * 4, &codes, sizeof codes);
    }
  }
}

}  // namespace

void pack_codes4(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out) {
  pack_codes<4, separate_parities>(src, row_bytes, rows, k, out);
}

void pack_codes8(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out) {
  pack_codes<8, unchanged>(src, row_bytes, rows, k, out);
}

}  // namespace mxgemm::cpu::scalar
