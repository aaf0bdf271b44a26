// SPDX-License-Identifier: Apache-2.0
// Rows of B into packed tiles (packed_layout.hpp): a transposition of 32-bit lanes, then, for 4-bit
// codes, an exchange of nibbles inside each lane.
#include <immintrin.h>

#include "cpu/avx2/avx2.h"
#include "cpu/scalar/scalar.h"

namespace mxgemm::cpu::avx2 {

namespace {

constexpr int kVector = 64;    // bytes of the codes of 16 columns
constexpr int kHalfRows = 8;   // rows that become half a vector
constexpr int kRowPiece = 16;  // bytes of a row that become one lane of four vectors

// Rows r and r + 4 side by side.
__m256i load_two_rows(const uint8_t* src, int64_t row_bytes, int r) {
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + r * row_bytes));
  const __m128i second =
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + (r + 4) * row_bytes));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}

// 16 bytes of 8 rows: out[d] holds bytes 4d … 4d + 3 of row n in lane n.
void transpose_lanes(const uint8_t* src, int64_t row_bytes, __m256i out[4]) {
  const __m256i r0 = load_two_rows(src, row_bytes, 0);
  const __m256i r1 = load_two_rows(src, row_bytes, 1);
  const __m256i r2 = load_two_rows(src, row_bytes, 2);
  const __m256i r3 = load_two_rows(src, row_bytes, 3);
  const __m256i low01 = _mm256_unpacklo_epi32(r0, r1);
  const __m256i low23 = _mm256_unpacklo_epi32(r2, r3);
  const __m256i high01 = _mm256_unpackhi_epi32(r0, r1);
  const __m256i high23 = _mm256_unpackhi_epi32(r2, r3);
  out[0] = _mm256_unpacklo_epi64(low01, low23);
  out[1] = _mm256_unpackhi_epi64(low01, low23);
  out[2] = _mm256_unpacklo_epi64(high01, high23);
  out[3] = _mm256_unpackhi_epi64(high01, high23);
}

// Eight codes in a lane, k = 0…7 in nibbles 0…7, to even k in the low half, odd k in the high half.
__m256i separate_parities(__m256i lanes) {
  const __m256i mask = _mm256_set1_epi8(0x0F);
  const __m256i even = _mm256_and_si256(lanes, mask);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(lanes, 4), mask);
  // Per 16 bits two codes of a parity, the second one already in its nibble after the shift.
  const __m256i even_pairs = _mm256_or_si256(even, _mm256_srli_epi16(even, 4));
  const __m256i odd_pairs = _mm256_or_si256(odd, _mm256_srli_epi16(odd, 4));
  // The low byte of each pair; -1 leaves a zero byte.
  const __m256i even_order = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 2, -1, -1, 4, 6, -1, -1, 8, 10, -1, -1, 12, 14, -1, -1));
  const __m256i odd_order = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(-1, -1, 0, 2, -1, -1, 4, 6, -1, -1, 8, 10, -1, -1, 12, 14));
  return _mm256_or_si256(_mm256_shuffle_epi8(even_pairs, even_order),
                         _mm256_shuffle_epi8(odd_pairs, odd_order));
}

__m256i unchanged(__m256i lanes) {
  return lanes;
}

template <__m256i (*kArrange)(__m256i)>
void pack_codes(const uint8_t* src, int64_t row_bytes, int64_t piece_bytes, uint8_t* out) {
  for (int64_t byte = 0; byte < piece_bytes; byte += kRowPiece) {
    for (int half = 0; half < 2; ++half) {
      __m256i lanes[4];
      transpose_lanes(src + byte + half * kHalfRows * row_bytes, row_bytes, lanes);
      for (int d = 0; d < 4; ++d) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + d * kVector + half * kVector / 2),
                            kArrange(lanes[d]));
      }
    }
    out += 4 * kVector;
  }
}

}  // namespace

void pack_codes4(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out) {
  if (rows < kTileCols || k % kTileK != 0) {
    return scalar::pack_codes4(src, row_bytes, rows, k, out);
  }
  pack_codes<separate_parities>(src, row_bytes, k / 2, out);
}

void pack_codes8(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out) {
  if (rows < kTileCols || k % kTileK != 0) {
    return scalar::pack_codes8(src, row_bytes, rows, k, out);
  }
  pack_codes<unchanged>(src, row_bytes, k, out);
}

}  // namespace mxgemm::cpu::avx2
