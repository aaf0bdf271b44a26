// SPDX-License-Identifier: Apache-2.0
// Decoded rows times decoded panels in fp32. Each output is one chain of FMAs in order of k.
#include <immintrin.h>

#include "cpu/avx512/avx512.h"

namespace mxgemm::cpu::avx512 {

namespace {

// kRows x 32 outputs stay in registers: at 12 rows 24 of 32 registers, the panels take two, a
// broadcast element of A one.
template <int kRows>
void multiply_tile(const MultiplyArgs& args) {
  const auto* a = static_cast<const float*>(args.a);
  const int64_t a_ld = args.a_row_bytes / static_cast<int64_t>(sizeof(float));
  const auto* b0 = static_cast<const float*>(args.b[0]);
  const auto* b1 = static_cast<const float*>(args.b[1]);
  __m512 acc[kRows][2];
  for (int r = 0; r < kRows; ++r) {
    acc[r][0] = _mm512_loadu_ps(args.acc + r * args.acc_ld);
    acc[r][1] = _mm512_loadu_ps(args.acc + r * args.acc_ld + kTileCols);
  }
  for (int64_t k = 0; k < args.tiles * kTileK; ++k) {
    const __m512 b_left = _mm512_loadu_ps(b0 + k * kTileCols);
    const __m512 b_right = _mm512_loadu_ps(b1 + k * kTileCols);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const __m512 element = _mm512_set1_ps(a[r * a_ld + k]);
      acc[r][0] = _mm512_fmadd_ps(element, b_left, acc[r][0]);
      acc[r][1] = _mm512_fmadd_ps(element, b_right, acc[r][1]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    _mm512_storeu_ps(args.acc + r * args.acc_ld, acc[r][0]);
    _mm512_storeu_ps(args.acc + r * args.acc_ld + kTileCols, acc[r][1]);
  }
}

using TileFunction = void (*)(const MultiplyArgs& args);
constexpr TileFunction kTiles[] = {multiply_tile<1>,  multiply_tile<2>,  multiply_tile<3>,
                                   multiply_tile<4>,  multiply_tile<5>,  multiply_tile<6>,
                                   multiply_tile<7>,  multiply_tile<8>,  multiply_tile<9>,
                                   multiply_tile<10>, multiply_tile<11>, multiply_tile<12>};

}  // namespace

void multiply_f32(const MultiplyArgs& args) {
  kTiles[args.rows - 1](args);
}

}  // namespace mxgemm::cpu::avx512
