// SPDX-License-Identifier: Apache-2.0
// bf16 x MXFP4 for few rows: weights are decoded in registers straight from the packed tiles, so
// that each is read once and never written back. A block of 32 is summed without its scale, which
// then enters with one FMA: two roundings at most per product, and none where the block's sum is
// exact. With many rows a decoded panel (multiply_f32.cpp) is cheaper.
#include <immintrin.h>

#include "cpu/avx2/avx2.h"
#include "cpu/avx2/elements.h"

namespace mxgemm::cpu::avx2 {

namespace {

constexpr int kLanes = 8;
constexpr int kVector = 64;  // bytes of the codes of 16 columns
constexpr int kHalfVector = 32;
// From 2^119 on (Inf and NaN included) a block's sum without its scale could leave the range of
// fp32: 32 * 6 * 2^119 < 2^127. Downwards nothing is lost: products are multiples of 2^-134.
constexpr int kLimit = (kF32ExponentBias + 119) << 7;

// Elements of K whose nibble is `nibble` of a packed vector's lanes: even k in nibbles 0…3, odd in
// 4…7.
constexpr int k_of_nibble(int nibble) {
  return nibble % 4 * 2 + nibble / 4;
}

// One block of 8 columns. With few rows a second chain per row (odd nibbles) keeps FMAs from
// waiting for each other.
template <int kRows>
void multiply_block(const uint8_t* codes, const float* a, int64_t a_ld, __m256 scale, float* acc,
                    int64_t acc_ld) {
  constexpr int kChains = kRows <= 2 ? 2 : 1;
  __m256 sum[kRows][kChains];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    sum[r][0] = _mm256_setzero_ps();
    sum[r][kChains - 1] = _mm256_setzero_ps();
  }
  for (int d = 0; d < kTileK / 8; ++d) {
#pragma GCC unroll 4
    for (int byte = 0; byte < 4; ++byte) {
      // A load one byte further on is a shift by 8 of each lane. What it brings in from the next
      // lane, or from behind the codes, is not looked at.
      const __m256i low =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + d * kVector + byte));
      const __m256 first = e2m1_values(low);
      const __m256 second = e2m1_values(_mm256_srli_epi32(low, 4));
      const float* elements = a + 8 * d;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const float* row = elements + r * a_ld;
        __m256& odd_sum = sum[r][kChains - 1];
        sum[r][0] = _mm256_fmadd_ps(_mm256_set1_ps(row[k_of_nibble(2 * byte)]), first, sum[r][0]);
        odd_sum = _mm256_fmadd_ps(_mm256_set1_ps(row[k_of_nibble(2 * byte + 1)]), second, odd_sum);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    const __m256 total = kChains == 2 ? _mm256_add_ps(sum[r][0], sum[r][kChains - 1]) : sum[r][0];
    float* target = acc + r * acc_ld;
    _mm256_storeu_ps(target, _mm256_fmadd_ps(total, scale, _mm256_loadu_ps(target)));
  }
}

template <int kRows>
void multiply_tile(const MultiplyArgs& args) {
  const auto* a = static_cast<const float*>(args.a);
  const int64_t a_ld = args.a_row_bytes / static_cast<int64_t>(sizeof(float));
  const auto* codes = static_cast<const uint8_t*>(args.b[0]);
  for (int64_t tile = 0; tile < args.tiles; ++tile) {
    for (int line = 0; line < kTileK / 8; ++line) {
      _mm_prefetch(codes + line * kVector + kPrefetchBytes, _MM_HINT_T0);
    }
    for (int half = 0; half < 2; ++half) {
      const __m256 scale = e8m0_scales(args.b_scales[0] + tile * kTileCols + half * kLanes);
      multiply_block<kRows>(codes + half * kHalfVector, a + tile * kTileK, a_ld, scale,
                            args.acc + half * kLanes, args.acc_ld);
    }
    codes += kTileK / 8 * kVector;
  }
}

using TileFunction = void (*)(const MultiplyArgs& args);
constexpr TileFunction kTiles[] = {multiply_tile<1>, multiply_tile<2>, multiply_tile<3>,
                                   multiply_tile<4>, multiply_tile<5>, multiply_tile<6>};

}  // namespace

int32_t bf16_mxf4_decode_a(const void* codes, const uint8_t* scales, int64_t count, void* out) {
  const auto* values = static_cast<const uint16_t*>(codes);
  __m256i largest = _mm256_setzero_si256();
  for (int64_t k = 0; k < count; k += kTileK / 2) {
    const __m256i signed_values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + k));
    largest = _mm256_max_epi16(largest, _mm256_and_si256(signed_values, _mm256_set1_epi16(0x7FFF)));
  }
  decode_a_bf16(codes, scales, count, out);
  return _mm256_movemask_epi8(_mm256_cmpgt_epi16(largest, _mm256_set1_epi16(kLimit - 1))) != 0 ? 1
                                                                                               : 0;
}

void bf16_mxf4_multiply(const MultiplyArgs& args) {
  kTiles[args.rows - 1](args);
}

}  // namespace mxgemm::cpu::avx2
