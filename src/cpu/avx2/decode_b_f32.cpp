// SPDX-License-Identifier: Apache-2.0
// Packed tiles of B (packed_layout.hpp) as fp32 for multiply_f32: 16 columns for k = 0, for k = 1,
// …
#include "cpu/avx2/avx2.h"
#include "cpu/avx2/elements.h"

namespace mxgemm::cpu::avx2 {

namespace {

constexpr int kLanes = 8;
constexpr int kVector = 64;  // bytes of the codes of 16 columns
constexpr int kHalves = kTileCols / kLanes;

__m256i load_lanes(const uint8_t* codes, int half) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + half * kVector / kHalves));
}

// One vector of 4-bit codes: 8 elements of K of 8 columns.
void decode_nibbles(const uint8_t* codes, int half, __m256 scale, float* out) {
  __m256i lanes = load_lanes(codes, half);
  // Nibbles 0…3 are the even k, 4…7 the odd ones.
  for (int odd = 0; odd < 2; ++odd) {
    for (int pair = 0; pair < 4; ++pair) {
      _mm256_storeu_ps(out + (2 * pair + odd) * kTileCols + half * kLanes,
                       _mm256_mul_ps(e2m1_values(lanes), scale));
      lanes = _mm256_srli_epi32(lanes, 4);
    }
  }
}

template <__m256 (*kValues)(__m256i)>
int32_t decode_fp8(const uint8_t* codes, const uint8_t* scales, int64_t tiles, int limit,
                   float* out) {
  const __m256i byte = _mm256_set1_epi32(0xFF);
  int32_t magnitude = 0;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    magnitude |= any_above_limit(scales + tile * kTileCols, limit);
    for (int half = 0; half < kHalves; ++half) {
      const __m256 scale = e8m0_scales(scales + tile * kTileCols + half * kLanes);
      for (int d = 0; d < kTileK / 4; ++d) {
        __m256i lanes = load_lanes(codes + d * kVector, half);
        for (int i = 0; i < 4; ++i) {
          _mm256_storeu_ps(out + (4 * d + i) * kTileCols + half * kLanes,
                           _mm256_mul_ps(kValues(_mm256_and_si256(lanes, byte)), scale));
          lanes = _mm256_srli_epi32(lanes, 8);
        }
      }
    }
    codes += kTileK / 4 * kVector;
    out += kTileK * kTileCols;
  }
  return magnitude;
}

}  // namespace

int32_t decode_b_mxf4(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out) {
  auto* values = static_cast<float*>(out);
  int32_t magnitude = 0;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    magnitude |= any_above_limit(scales + tile * kTileCols, kMaxScaleE2m1);
    for (int half = 0; half < kHalves; ++half) {
      const __m256 scale = e8m0_scales(scales + tile * kTileCols + half * kLanes);
      for (int d = 0; d < kTileK / 8; ++d) {
        decode_nibbles(codes + d * kVector, half, scale, values + d * 8 * kTileCols);
      }
    }
    codes += kTileK / 8 * kVector;
    values += kTileK * kTileCols;
  }
  return magnitude;
}

int32_t decode_b_nvf4(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out) {
  auto* values = static_cast<float*>(out);
  for (int64_t block = 0; block < 2 * tiles; ++block) {
    for (int half = 0; half < kHalves; ++half) {
      const __m256 scale = e4m3_scales(scales + block * kTileCols + half * kLanes);
      for (int d = 0; d < kTileK / 16; ++d) {
        decode_nibbles(codes + d * kVector, half, scale, values + d * 8 * kTileCols);
      }
    }
    codes += kTileK / 16 * kVector;
    values += kTileK / 2 * kTileCols;
  }
  return 0;
}

int32_t decode_b_mxf8e4m3(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out) {
  return decode_fp8<e4m3_values>(codes, scales, tiles, kMaxScaleE4m3, static_cast<float*>(out));
}

int32_t decode_b_mxf8e5m2(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out) {
  return decode_fp8<e5m2_values>(codes, scales, tiles, kMaxScaleE5m2, static_cast<float*>(out));
}

}  // namespace mxgemm::cpu::avx2
