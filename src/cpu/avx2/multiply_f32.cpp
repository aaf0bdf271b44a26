// SPDX-License-Identifier: Apache-2.0
// Decoded rows times decoded panels in fp32. Each output is one chain of FMAs in order of k.
#include <immintrin.h>

#include "cpu/avx2/avx2.h"

namespace mxgemm::cpu::avx2 {

namespace {

constexpr int kLanes = 8;

// kRows x 16 outputs stay in registers: at 6 rows 12 of 16 registers, the panel takes two, a
// broadcast element of A one.
template <int kRows>
void multiply_tile(const MultiplyArgs& args) {
  const auto* a = static_cast<const float*>(args.a);
  const int64_t a_ld = args.a_row_bytes / static_cast<int64_t>(sizeof(float));
  const auto* b = static_cast<const float*>(args.b[0]);
  __m256 acc[kRows][2];
  for (int r = 0; r < kRows; ++r) {
    acc[r][0] = _mm256_loadu_ps(args.acc + r * args.acc_ld);
    acc[r][1] = _mm256_loadu_ps(args.acc + r * args.acc_ld + kLanes);
  }
  for (int64_t k = 0; k < args.tiles * kTileK; ++k) {
    const __m256 b_left = _mm256_loadu_ps(b + k * kTileCols);
    const __m256 b_right = _mm256_loadu_ps(b + k * kTileCols + kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m256 element = _mm256_set1_ps(a[r * a_ld + k]);
      acc[r][0] = _mm256_fmadd_ps(element, b_left, acc[r][0]);
      acc[r][1] = _mm256_fmadd_ps(element, b_right, acc[r][1]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    _mm256_storeu_ps(args.acc + r * args.acc_ld, acc[r][0]);
    _mm256_storeu_ps(args.acc + r * args.acc_ld + kLanes, acc[r][1]);
  }
}

using TileFunction = void (*)(const MultiplyArgs& args);
constexpr TileFunction kTiles[] = {multiply_tile<1>, multiply_tile<2>, multiply_tile<3>,
                                   multiply_tile<4>, multiply_tile<5>, multiply_tile<6>};

}  // namespace

void multiply_f32(const MultiplyArgs& args) {
  kTiles[args.rows - 1](args);
}

}  // namespace mxgemm::cpu::avx2
