// SPDX-License-Identifier: Apache-2.0
// bf16 x MXFP4 for few rows: weights are decoded in registers straight from the packed tiles, so
// that each is read once and never written back. A block of 32 is summed without its scale, which
// then enters with one FMA: two roundings at most per product, and none where the block's sum is
// exact. With many rows a decoded panel (multiply_f32.cpp) is cheaper.
#include <immintrin.h>

#include "cpu/avx512/avx512.h"
#include "cpu/avx512/elements.h"

namespace mxgemm::cpu::avx512 {

namespace {

constexpr int kVector = 64;
// From 2^119 on (Inf and NaN included) a block's sum without its scale could leave the range of
// fp32: 32 * 6 * 2^119 < 2^127. Downwards nothing is lost: products are multiples of 2^-134.
constexpr int kLimit = (kF32ExponentBias + 119) << 7;

// Elements of K whose nibble is `kNibble` of a packed vector's lanes: even k in nibbles 0…3, odd in
// 4…7.
constexpr int k_of_nibble(int nibble) {
  return nibble % 4 * 2 + nibble / 4;
}

// A running sum per row and parity of the nibble: a single chain of 32 FMAs would wait for itself.
template <int kRows>
void multiply_tile(const MultiplyArgs& args) {
  const auto* a = static_cast<const float*>(args.a);
  const int64_t a_ld = args.a_row_bytes / static_cast<int64_t>(sizeof(float));
  const auto* codes = static_cast<const uint8_t*>(args.b[0]);
  const __m512 table = e2m1_table();
  __m512 acc[kRows];
  for (int r = 0; r < kRows; ++r) {
    acc[r] = _mm512_loadu_ps(args.acc + r * args.acc_ld);
  }
  for (int64_t tile = 0; tile < args.tiles; ++tile) {
    __m512 sum[kRows][2];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      sum[r][0] = sum[r][1] = _mm512_setzero_ps();
    }
#pragma GCC unroll 4
    for (int d = 0; d < kTileK / 8; ++d) {
      _mm_prefetch(codes + kPrefetchBytes, _MM_HINT_T0);
#pragma GCC unroll 4
      for (int byte = 0; byte < 4; ++byte) {
        // A load one byte further on is a shift by 8 of each lane. What it brings in from the next
        // lane, or from behind the codes, the look-up ignores.
        const __m512i low = _mm512_loadu_si512(codes + byte);
        const __m512 first = _mm512_permutexvar_ps(low, table);
        const __m512 second = _mm512_permutexvar_ps(_mm512_srli_epi32(low, 4), table);
        const float* elements = a + tile * kTileK + 8 * d;
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          const float* row = elements + r * a_ld;
          sum[r][0] = _mm512_fmadd_ps(_mm512_set1_ps(row[k_of_nibble(2 * byte)]), first, sum[r][0]);
          sum[r][1] =
              _mm512_fmadd_ps(_mm512_set1_ps(row[k_of_nibble(2 * byte + 1)]), second, sum[r][1]);
        }
      }
      codes += kVector;
    }
    const __m512 scale = e8m0_scales(args.b_scales[0] + tile * kTileCols);
    for (int r = 0; r < kRows; ++r) {
      acc[r] = _mm512_fmadd_ps(_mm512_add_ps(sum[r][0], sum[r][1]), scale, acc[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    _mm512_storeu_ps(args.acc + r * args.acc_ld, acc[r]);
  }
}

using TileFunction = void (*)(const MultiplyArgs& args);
constexpr TileFunction kTiles[] = {multiply_tile<1>, multiply_tile<2>, multiply_tile<3>,
                                   multiply_tile<4>, multiply_tile<5>, multiply_tile<6>,
                                   multiply_tile<7>, multiply_tile<8>};

}  // namespace

int32_t bf16_mxf4_decode_a(const void* codes, const uint8_t* scales, int64_t count, void* out) {
  const auto* values = static_cast<const uint16_t*>(codes);
  __m512i largest = _mm512_setzero_si512();
  for (int64_t k = 0; k < count; k += kTileK) {
    const __m512i magnitudes =
        _mm512_and_si512(_mm512_loadu_si512(values + k), _mm512_set1_epi16(0x7FFF));
    largest = _mm512_max_epu16(largest, magnitudes);
  }
  decode_a_bf16(codes, scales, count, out);
  return _mm512_cmpge_epu16_mask(largest, _mm512_set1_epi16(kLimit)) != 0 ? 1 : 0;
}

void bf16_mxf4_multiply(const MultiplyArgs& args) {
  kTiles[args.rows - 1](args);
}

}  // namespace mxgemm::cpu::avx512
