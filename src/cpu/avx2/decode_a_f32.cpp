// SPDX-License-Identifier: Apache-2.0
// Rows of A as fp32 for multiply_f32.
#include "cpu/avx2/avx2.h"
#include "cpu/avx2/elements.h"

namespace mxgemm::cpu::avx2 {

namespace {

constexpr int kLanes = 8;

// The rows of a half tile end with zeros: 0 x 0 adds nothing to the padded columns of B.
void finish_tile(int64_t count, float* out) {
  if (count % kTileK != 0) {
    _mm256_storeu_ps(out + count, _mm256_setzero_ps());
    _mm256_storeu_ps(out + count + kLanes, _mm256_setzero_ps());
  }
}

template <__m256 (*kValues)(__m256i)>
int32_t decode_fp8(const uint8_t* codes, const uint8_t* scales, int64_t count, int limit,
                   float* out) {
  int32_t magnitude = 0;
  for (int64_t block = 0; block < count / kTileK; ++block) {
    const __m256 scale = e8m0_scale(scales[block]);
    magnitude |= above_limit(scales[block], limit);
    for (int64_t k = block * kTileK; k < (block + 1) * kTileK; k += kLanes) {
      _mm256_storeu_ps(out + k, _mm256_mul_ps(kValues(widen_bytes(codes + k)), scale));
    }
  }
  return magnitude;
}

// 16 E2M1 codes, one a byte.
void decode_e2m1(__m128i codes, __m256 scale, float* out) {
  _mm256_storeu_ps(out, _mm256_mul_ps(e2m1_values(_mm256_cvtepu8_epi32(codes)), scale));
  const __m128i upper = _mm_unpackhi_epi64(codes, codes);
  _mm256_storeu_ps(out + kLanes, _mm256_mul_ps(e2m1_values(_mm256_cvtepu8_epi32(upper)), scale));
}

}  // namespace

int32_t decode_a_mxf4(const void* codes, const uint8_t* scales, int64_t count, void* out) {
  const auto* bytes = static_cast<const uint8_t*>(codes);
  auto* values = static_cast<float*>(out);
  int32_t magnitude = 0;
  for (int64_t k = 0; k < count; k += kTileK) {
    const uint8_t scale_code = scales[k / kTileK];
    magnitude |= above_limit(scale_code, kMaxScaleE2m1);
    __m128i first;
    __m128i second;
    spread_nibbles(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + k / 2)), &first,
                   &second);
    decode_e2m1(first, e8m0_scale(scale_code), values + k);
    decode_e2m1(second, e8m0_scale(scale_code), values + k + kTileK / 2);
  }
  return magnitude;
}

int32_t decode_a_nvf4(const void* codes, const uint8_t* scales, int64_t count, void* out) {
  const auto* bytes = static_cast<const uint8_t*>(codes);
  auto* values = static_cast<float*>(out);
  for (int64_t k = 0; k < count; k += kTileK / 2) {
    __m128i first;
    __m128i second;
    spread_nibbles(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + k / 2)), &first,
                   &second);
    decode_e2m1(first, e4m3_scale(scales[k / (kTileK / 2)]), values + k);
  }
  finish_tile(count, values);
  return 0;
}

int32_t decode_a_mxf8e4m3(const void* codes, const uint8_t* scales, int64_t count, void* out) {
  return decode_fp8<e4m3_values>(static_cast<const uint8_t*>(codes), scales, count, kMaxScaleE4m3,
                                 static_cast<float*>(out));
}

int32_t decode_a_mxf8e5m2(const void* codes, const uint8_t* scales, int64_t count, void* out) {
  return decode_fp8<e5m2_values>(static_cast<const uint8_t*>(codes), scales, count, kMaxScaleE5m2,
                                 static_cast<float*>(out));
}

int32_t decode_a_bf16(const void* codes, const uint8_t*, int64_t count, void* out) {
  load_bf16(codes, count, static_cast<float*>(out));
  finish_tile(count, static_cast<float*>(out));
  return 0;
}

int32_t decode_a_f16(const void* codes, const uint8_t*, int64_t count, void* out) {
  load_f16(codes, count, static_cast<float*>(out));
  finish_tile(count, static_cast<float*>(out));
  return 0;
}

int32_t decode_a_f32(const void* codes, const uint8_t*, int64_t count, void* out) {
  load_f32(codes, count, static_cast<float*>(out));
  finish_tile(count, static_cast<float*>(out));
  return 0;
}

}  // namespace mxgemm::cpu::avx2
