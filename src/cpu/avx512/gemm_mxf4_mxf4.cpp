// SPDX-License-Identifier: Apache-2.0
// MXFP4 x MXFP4: exact integer dot products of blocks of 32, scaled and summed in fp32.
//
// Twice an E2M1 value is an integer of -12 … 12. VNNI multiplies unsigned by signed bytes, so B is
// biased by 12; a row's correction, -12 times the sum of its 32 elements, is where the integer sum
// starts. It stays below 32 * 12 * 24, so it is exact, and times 2^(ea + eb - 2) it enters the fp32
// sum with one rounding.
#include <immintrin.h>

#include "cpu/avx512/avx512.h"
#include "cpu/avx512/elements.h"

namespace mxgemm::cpu::avx512 {

namespace {

constexpr int kBias = 12;
constexpr int kSteps = kTileK / 4;  // byte dot products of four elements of K
constexpr int kVector = 64;

// 32 elements of a row of A.
struct BlockOfA {
  int8_t values[kTileK];  // twice the element; within 8 elements of K in the order 0 4 1 5 2 6 3 7,
                          // as B's nibbles come
  int32_t start;          // -kBias * sum of `values`
  float scale;            // a quarter of the block scale: both operands are doubled
};
static_assert(sizeof(BlockOfA) == kMxf4BlockBytes);

// A tile of B.
struct TileOfB {
  uint8_t values[kSteps][kVector];  // twice the element plus kBias; four elements of K of a column
                                    // in each 32-bit lane
  float scales[kTileCols];
};
static_assert(sizeof(TileOfB) == kMxf4TileBytes);

// The zero-masked form: gcc 12 warns of the undefined source of the plain one.
__m512i repeated(__m128i table) {
  return _mm512_maskz_broadcast_i32x4(0xFFFF, table);
}

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
  const __m256i quads = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), values);
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(quads), _mm256_extracti128_si256(quads, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
  return _mm_cvtsi128_si32(sum);
}

int32_t scale_magnitude(uint8_t code) {
  return code == internal::kE8m0Nan ? 0 : code;
}

// kRows x 32 outputs: kRows * 2 running sums and as many integer ones.
template <int kRows>
void multiply_tile(const MultiplyArgs& args) {
  const auto* b0 = static_cast<const TileOfB*>(args.b[0]);
  const auto* b1 = static_cast<const TileOfB*>(args.b[1]);
  __m512 acc[kRows][2];
  for (int r = 0; r < kRows; ++r) {
    acc[r][0] = _mm512_loadu_ps(args.acc + r * args.acc_ld);
    acc[r][1] = _mm512_loadu_ps(args.acc + r * args.acc_ld + kTileCols);
  }
  const auto* a = static_cast<const uint8_t*>(args.a);
  for (int64_t tile = 0; tile < args.tiles; ++tile) {
    const auto block = [&](int r) {
      return reinterpret_cast<const BlockOfA*>(a + r * args.a_row_bytes) + tile;
    };
    __m512i dot[kRows][2];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      dot[r][0] = dot[r][1] = _mm512_set1_epi32(block(r)->start);
    }
#pragma GCC unroll 8
    for (int step = 0; step < kSteps; ++step) {
      const __m512i left = _mm512_loadu_si512(b0[tile].values[step]);
      const __m512i right = _mm512_loadu_si512(b1[tile].values[step]);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        int32_t four;
        __builtin_memcpy(&four, block(r)->values + 4 * step, sizeof four);
        const __m512i elements = _mm512_set1_epi32(four);
        dot[r][0] = _mm512_dpbusd_epi32(dot[r][0], left, elements);
        dot[r][1] = _mm512_dpbusd_epi32(dot[r][1], right, elements);
      }
    }
    const __m512 scale_left = _mm512_loadu_ps(b0[tile].scales);
    const __m512 scale_right = _mm512_loadu_ps(b1[tile].scales);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512 scale = _mm512_set1_ps(block(r)->scale);
      acc[r][0] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[r][0]), _mm512_mul_ps(scale, scale_left),
                                  acc[r][0]);
      acc[r][1] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[r][1]), _mm512_mul_ps(scale, scale_right),
                                  acc[r][1]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    _mm512_storeu_ps(args.acc + r * args.acc_ld, acc[r][0]);
    _mm512_storeu_ps(args.acc + r * args.acc_ld + kTileCols, acc[r][1]);
  }
}

using TileFunction = void (*)(const MultiplyArgs& args);
constexpr TileFunction kTiles[] = {multiply_tile<1>, multiply_tile<2>, multiply_tile<3>,
                                   multiply_tile<4>, multiply_tile<5>, multiply_tile<6>};

}  // namespace

int32_t mxf4_mxf4_decode_a(const void* codes, const uint8_t* scales, int64_t count, void* out) {
  const auto* bytes = static_cast<const uint8_t*>(codes);
  auto* blocks = static_cast<BlockOfA*>(out);
  int32_t magnitude = 0;
  for (int64_t i = 0; i < count / kTileK; ++i) {
    const __m256i values =
        doubled_values(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i * kTileK / 2)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(blocks[i].values), values);
    blocks[i].start = -kBias * sum_of_values(values);
    blocks[i].scale = _mm512_cvtss_f32(e8m0_scale(scales[i])) * 0.25f;
    const int32_t scale = scale_magnitude(scales[i]);
    magnitude = scale > magnitude ? scale : magnitude;
  }
  return magnitude;
}

int32_t mxf4_mxf4_decode_b(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out) {
  auto* decoded = static_cast<TileOfB*>(out);
  // The byte look-up takes six bits of index: with the table four times over, what lies above a
  // nibble does not matter.
  const __m512i table = repeated(_mm_add_epi8(doubled_e2m1(), _mm_set1_epi8(kBias)));
  __m128i largest = _mm_setzero_si128();
  for (int64_t tile = 0; tile < tiles; ++tile) {
    for (int d = 0; d < kSteps / 2; ++d) {
      const __m512i nibbles = _mm512_loadu_si512(codes);
      _mm_prefetch(codes + kPrefetchBytes, _MM_HINT_T0);
      codes += kVector;
      _mm512_storeu_si512(decoded[tile].values[2 * d], _mm512_permutexvar_epi8(nibbles, table));
      _mm512_storeu_si512(decoded[tile].values[2 * d + 1],
                          _mm512_permutexvar_epi8(_mm512_srli_epi16(nibbles, 4), table));
    }
    _mm512_storeu_ps(decoded[tile].scales, e8m0_scales(scales + tile * kTileCols));
    const __m128i scale =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(scales + tile * kTileCols));
    const __mmask16 number =
        _mm_cmpneq_epu8_mask(scale, _mm_set1_epi8(static_cast<char>(internal::kE8m0Nan)));
    largest = _mm_mask_max_epu8(largest, number, largest, scale);
  }
  alignas(16) uint8_t bytes[kTileCols];
  _mm_store_si128(reinterpret_cast<__m128i*>(bytes), largest);
  int32_t magnitude = 0;
  for (const uint8_t byte : bytes) {
    magnitude = byte > magnitude ? byte : magnitude;
  }
  return magnitude;
}

void mxf4_mxf4_multiply(const MultiplyArgs& args) {
  kTiles[args.rows - 1](args);
}

}  // namespace mxgemm::cpu::avx512
