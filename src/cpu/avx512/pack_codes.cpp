// SPDX-License-Identifier: Apache-2.0
// Rows of B into packed tiles (packed_layout.hpp): a transposition of 32-bit lanes, then, for 4-bit
// codes, an exchange of nibbles inside each lane.
#include <immintrin.h>

#include "cpu/avx512/avx512.h"
#include "cpu/scalar/scalar.h"

namespace mxgemm::cpu::avx512 {

namespace {

constexpr int kVector = 64;    // bytes
constexpr int kRowPiece = 16;  // bytes of a row that become one lane of four vectors

// Rows r, r + 4, r + 8, r + 12 side by side.
__m512i load_four_rows(const uint8_t* src, int64_t row_bytes, int r) {
  const auto piece = [&](int row) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + row * row_bytes));
  };
  __m512i lanes = _mm512_castsi128_si512(piece(r));
  lanes = _mm512_inserti32x4(lanes, piece(r + 4), 1);
  lanes = _mm512_inserti32x4(lanes, piece(r + 8), 2);
  return _mm512_inserti32x4(lanes, piece(r + 12), 3);
}

// 16 bytes of 16 rows: out[d] holds bytes 4d … 4d + 3 of row n in lane n.
void transpose_lanes(const uint8_t* src, int64_t row_bytes, __m512i out[4]) {
  const __m512i r0 = load_four_rows(src, row_bytes, 0);
  const __m512i r1 = load_four_rows(src, row_bytes, 1);
  const __m512i r2 = load_four_rows(src, row_bytes, 2);
  const __m512i r3 = load_four_rows(src, row_bytes, 3);
  const __m512i low01 = _mm512_unpacklo_epi32(r0, r1);
  const __m512i low23 = _mm512_unpacklo_epi32(r2, r3);
  const __m512i high01 = _mm512_unpackhi_epi32(r0, r1);
  const __m512i high23 = _mm512_unpackhi_epi32(r2, r3);
  out[0] = _mm512_unpacklo_epi64(low01, low23);
  out[1] = _mm512_unpackhi_epi64(low01, low23);
  out[2] = _mm512_unpacklo_epi64(high01, high23);
  out[3] = _mm512_unpackhi_epi64(high01, high23);
}

// Eight codes in a lane, k = 0…7 in nibbles 0…7, to even k in the low half, odd k in the high half.
__m512i separate_parities(__m512i lanes) {
  const __m512i mask = _mm512_set1_epi8(0x0F);
  const __m512i even = _mm512_and_si512(lanes, mask);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(lanes, 4), mask);
  // Per 16 bits two codes of a parity, the second one already in its nibble after the shift.
  const __m512i even_pairs = _mm512_or_si512(even, _mm512_srli_epi16(even, 4));
  const __m512i odd_pairs = _mm512_or_si512(odd, _mm512_srli_epi16(odd, 4));
  // The byte of each pair: bytes 0 and 2 of a lane of `even_pairs`, then those of `odd_pairs`.
  const __m512i order = _mm512_set4_epi32(0x4E4C0E0C, 0x4A480A08, 0x46440604, 0x42400200);
  const __m512i lane_start = _mm512_set_epi32(
      0x30303030, 0x30303030, 0x30303030, 0x30303030, 0x20202020, 0x20202020, 0x20202020,
      0x20202020, 0x10101010, 0x10101010, 0x10101010, 0x10101010, 0, 0, 0, 0);
  return _mm512_permutex2var_epi8(even_pairs, _mm512_add_epi8(order, lane_start), odd_pairs);
}

}  // namespace

void pack_codes4(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out) {
  if (rows < kTileCols || k % kTileK != 0) {
    return scalar::pack_codes4(src, row_bytes, rows, k, out);
  }
  for (int64_t byte = 0; byte < k / 2; byte += kRowPiece) {
    __m512i lanes[4];
    transpose_lanes(src + byte, row_bytes, lanes);
    for (int d = 0; d < 4; ++d) {
      _mm512_storeu_si512(out, separate_parities(lanes[d]));
      out += kVector;
    }
  }
}

void pack_codes8(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out) {
  if (rows < kTileCols || k % kTileK != 0) {
    return scalar::pack_codes8(src, row_bytes, rows, k, out);
  }
  for (int64_t byte = 0; byte < k; byte += kRowPiece) {
    __m512i lanes[4];
    transpose_lanes(src + byte, row_bytes, lanes);
    for (int d = 0; d < 4; ++d) {
      _mm512_storeu_si512(out, lanes[d]);
      out += kVector;
    }
  }
}

}  // namespace mxgemm::cpu::avx512
