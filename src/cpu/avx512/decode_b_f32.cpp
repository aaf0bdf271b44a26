// SPDX-License-Identifier: Apache-2.0
// Packed tiles of B (packed_layout.hpp) as fp32 for multiply_f32: 16 columns for k = 0, for k = 1,
// …
#include "cpu/avx512/avx512.h"
#include "cpu/avx512/elements.h"

namespace mxgemm::cpu::avx512 {

namespace {

constexpr int kVector = 64;  // bytes

__m512i load_lanes(const uint8_t* codes) {
  return _mm512_loadu_si512(codes);
}

// One vector of 4-bit codes: 8 elements of K of 16 columns.
void decode_nibbles(const uint8_t* codes, __m512 scale, float* out) {
  const __m512 table = e2m1_table();
  __m512i lanes = load_lanes(codes);
  // Nibbles 0…3 are the even k, 4…7 the odd ones. The table look-up ignores all but the low four
  // bits.
  for (int odd = 0; odd < 2; ++odd) {
    for (int pair = 0; pair < 4; ++pair) {
      _mm512_storeu_ps(out + (2 * pair + odd) * kTileCols,
                       _mm512_mul_ps(_mm512_permutexvar_ps(lanes, table), scale));
      lanes = _mm512_srli_epi32(lanes, 4);
    }
  }
}

template <__m512 (*kValues)(__m512i)>
int32_t decode_fp8(const uint8_t* codes, const uint8_t* scales, int64_t tiles, int limit,
                   float* out) {
  const __m512i byte = _mm512_set1_epi32(0xFF);
  int32_t magnitude = 0;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const __m512 scale = e8m0_scales(scales + tile * kTileCols);
    magnitude |= any_above_limit(scales + tile * kTileCols, limit);
    for (int d = 0; d < kTileK / 4; ++d) {
      __m512i lanes = load_lanes(codes);
      for (int i = 0; i < 4; ++i) {
        _mm512_storeu_ps(out + i * kTileCols,
                         _mm512_mul_ps(kValues(_mm512_and_si512(lanes, byte)), scale));
        lanes = _mm512_srli_epi32(lanes, 8);
      }
      codes += kVector;
      out += 4 * kTileCols;
    }
  }
  return magnitude;
}

}  // namespace

int32_t decode_b_mxf4(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out) {
  auto* values = static_cast<float*>(out);
  int32_t magnitude = 0;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const __m512 scale = e8m0_scales(scales + tile * kTileCols);
    magnitude |= any_above_limit(scales + tile * kTileCols, kMaxScaleE2m1);
    for (int d = 0; d < kTileK / 8; ++d) {
      decode_nibbles(codes, scale, values);
      codes += kVector;
      values += 8 * kTileCols;
    }
  }
  return magnitude;
}

int32_t decode_b_nvf4(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out) {
  auto* values = static_cast<float*>(out);
  for (int64_t half = 0; half < 2 * tiles; ++half) {
    const __m512 scale = e4m3_scales(scales + half * kTileCols);
    for (int d = 0; d < kTileK / 16; ++d) {
      decode_nibbles(codes, scale, values);
      codes += kVector;
      values += 8 * kTileCols;
    }
  }
  return 0;
}

int32_t decode_b_mxf8e4m3(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out) {
  return decode_fp8<e4m3_values>(codes, scales, tiles, kMaxScaleE4m3, static_cast<float*>(out));
}

int32_t decode_b_mxf8e5m2(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out) {
  return decode_fp8<e5m2_values>(codes, scales, tiles, kMaxScaleE5m2, static_cast<float*>(out));
}

}  // namespace mxgemm::cpu::avx512
