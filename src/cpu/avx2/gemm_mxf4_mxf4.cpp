// SPDX-License-Identifier: Apache-2.0
// MXFP4 x MXFP4: exact integer dot products of blocks of 32, scaled and summed in fp32.
//
// Twice an E2M1 value is an integer of -12 … 12. The byte multiply takes unsigned by signed, so B
// is biased by 12; a row's correction, -12 times the sum of its 32 elements, is where the integer
// sum starts. Sums of pairs stay in 16 bits for a whole block: 8 * 2 * 12 * 24 and the correction
// are below 2^14. Times 2^(ea + eb - 2) the exact sum enters the fp32 one with one rounding.
#include <immintrin.h>

#include "cpu/avx2/avx2.h"
#include "cpu/avx2/elements.h"

namespace mxgemm::cpu::avx2 {

namespace {

constexpr int kLanes = 8;
constexpr int kBias = 12;
constexpr int kSteps = kTileK / 4;  // byte multiplies of four elements of K
constexpr int kVector = 64;         // bytes of the packed codes of 16 columns
constexpr int kHalfVector = 32;

// 32 elements of a row of A.
struct BlockOfA {
  int8_t values[kTileK];  // twice the element; within 8 elements of K in the order 0 4 1 5 2 6 3 7,
                          // as B's nibbles come
  int32_t start;  // -kBias * sum of `values` in the low 16 bits, 0 above: the start of a lane of
                  // two sums
  float scale;    // a quarter of the block scale: both operands are doubled
};
static_assert(sizeof(BlockOfA) == kMxf4BlockBytes);

// Half a tile of B: 8 columns.
struct HalfTileOfB {
  uint8_t values[kSteps][kHalfVector];  // twice the element plus kBias; four elements of K of a
                                        // column in each 32-bit lane
  float scales[kLanes];
};
static_assert(2 * sizeof(HalfTileOfB) == kMxf4TileBytes);

__m128i doubled_e2m1() {
  return _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
}

// The block's 32 values in the order of BlockOfA.
__m256i doubled_values(__m128i codes) {
  const __m128i swap_middle = _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
  const __m128i mask = _mm_set1_epi8(0x0F);
  const __m128i swapped = _mm_shuffle_epi8(codes, swap_middle);
  const __m128i even = _mm_and_si128(swapped, mask);
  const __m128i odd = _mm_and_si128(_mm_srli_epi16(swapped, 4), mask);
  const __m256i ordered =
      _mm256_set_m128i(_mm_unpackhi_epi16(even, odd), _mm_unpacklo_epi16(even, odd));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(doubled_e2m1()), ordered);
}

int32_t sum_of_values(__m256i values) {
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), values);
  const __m256i quads = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(quads), _mm256_extracti128_si256(quads, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
  return _mm_cvtsi128_si32(sum);
}

int32_t scale_magnitude(uint8_t code) {
  return code == internal::kE8m0Nan ? 0 : code;
}

// kRows x 16 outputs.
template <int kRows>
void multiply_tile(const MultiplyArgs& args) {
  const auto* b = static_cast<const HalfTileOfB*>(args.b[0]);
  const auto* a = static_cast<const uint8_t*>(args.a);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256 acc[kRows][2];
  for (int r = 0; r < kRows; ++r) {
    acc[r][0] = _mm256_loadu_ps(args.acc + r * args.acc_ld);
    acc[r][1] = _mm256_loadu_ps(args.acc + r * args.acc_ld + kLanes);
  }
  for (int64_t tile = 0; tile < args.tiles; ++tile) {
    const auto block = [&](int r) {
      return reinterpret_cast<const BlockOfA*>(a + r * args.a_row_bytes) + tile;
    };
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const HalfTileOfB& columns = b[2 * tile + half];
      __m256i dot[kRows];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        dot[r] = _mm256_set1_epi32(block(r)->start);
      }
#pragma GCC unroll 8
      for (int step = 0; step < kSteps; ++step) {
        const __m256i weights =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns.values[step]));
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          int32_t four;
          __builtin_memcpy(&four, block(r)->values + 4 * step, sizeof four);
          dot[r] = _mm256_add_epi16(dot[r], _mm256_maddubs_epi16(weights, _mm256_set1_epi32(four)));
        }
      }
      const __m256 scales = _mm256_loadu_ps(columns.scales);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const __m256 exact = _mm256_cvtepi32_ps(_mm256_madd_epi16(dot[r], ones));
        acc[r][half] = _mm256_fmadd_ps(
            exact, _mm256_mul_ps(_mm256_set1_ps(block(r)->scale), scales), acc[r][half]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    _mm256_storeu_ps(args.acc + r * args.acc_ld, acc[r][0]);
    _mm256_storeu_ps(args.acc + r * args.acc_ld + kLanes, acc[r][1]);
  }
}

using TileFunction = void (*)(const MultiplyArgs& args);
constexpr TileFunction kTiles[] = {multiply_tile<1>, multiply_tile<2>, multiply_tile<3>,
                                   multiply_tile<4>};

void decode_half_tile(const uint8_t* codes, const uint8_t* scales, HalfTileOfB* out) {
  const __m256i table =
      _mm256_broadcastsi128_si256(_mm_add_epi8(doubled_e2m1(), _mm_set1_epi8(kBias)));
  const __m256i mask = _mm256_set1_epi8(0x0F);
  for (int d = 0; d < kSteps / 2; ++d) {
    const __m256i nibbles =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + d * kVector));
    const __m256i low = _mm256_and_si256(nibbles, mask);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(nibbles, 4), mask);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out->values[2 * d]),
                        _mm256_shuffle_epi8(table, low));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out->values[2 * d + 1]),
                        _mm256_shuffle_epi8(table, high));
  }
  _mm256_storeu_ps(out->scales, e8m0_scales(scales));
}

}  // namespace

int32_t mxf4_mxf4_decode_a(const void* codes, const uint8_t* scales, int64_t count, void* out) {
  const auto* bytes = static_cast<const uint8_t*>(codes);
  auto* blocks = static_cast<BlockOfA*>(out);
  int32_t magnitude = 0;
  for (int64_t i = 0; i < count / kTileK; ++i) {
    const __m256i values =
        doubled_values(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i * kTileK / 2)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(blocks[i].values), values);
    blocks[i].start = -kBias * sum_of_values(values) & 0xFFFF;
    blocks[i].scale = _mm256_cvtss_f32(e8m0_scale(scales[i])) * 0.25f;
    const int32_t scale = scale_magnitude(scales[i]);
    magnitude = scale > magnitude ? scale : magnitude;
  }
  return magnitude;
}

int32_t mxf4_mxf4_decode_b(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out) {
  auto* halves = static_cast<HalfTileOfB*>(out);
  int32_t magnitude = 0;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    for (int half = 0; half < 2; ++half) {
      decode_half_tile(codes + half * kHalfVector, scales + half * kLanes, halves++);
    }
    for (int line = 0; line < kTileK / 8; ++line) {
      _mm_prefetch(codes + line * kVector + kPrefetchBytes, _MM_HINT_T0);
    }
    for (int column = 0; column < kTileCols; ++column) {
      const int32_t scale = scale_magnitude(scales[column]);
      magnitude = scale > magnitude ? scale : magnitude;
    }
    codes += kTileK / 8 * kVector;
    scales += kTileCols;
  }
  return magnitude;
}

void mxf4_mxf4_multiply(const MultiplyArgs& args) {
  kTiles[args.rows - 1](args);
}

}  // namespace mxgemm::cpu::avx2
