// SPDX-License-Identifier: Apache-2.0
// Codes to fp32, 8 at a time. Everything here has internal linkage: no other level may end up with
// a copy.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "formats/e4m3.hpp"
#include "formats/e5m2.hpp"
#include "formats/e8m0.hpp"

namespace mxgemm::cpu::avx2 {
namespace {

constexpr int kF32Mantissa = 23;
constexpr int kF32ExponentBias = 127;
constexpr int32_t kF32InfinityBits = 0x7F800000;
constexpr int32_t kF32NanBits = 0x7FC00000;
constexpr int32_t kF32SignBit = INT32_MIN;
constexpr int32_t kSmallestE8m0Bits = 0x00400000;  // 2^-127, a subnormal

// Largest scale bytes under which every scaled element is finite in fp32: 6 * 2^125, 448 * 2^119,
// 57344 * 2^112.
constexpr int kMaxScaleE2m1 = 252;
constexpr int kMaxScaleE4m3 = 246;
constexpr int kMaxScaleE5m2 = 239;

// Values of the E2M1 codes in the low four bits of each lane; the other bits may hold anything.
inline __m256 e2m1_values(__m256i codes) {
  const __m256 magnitudes = _mm256_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f);
  const __m256i sign =
      _mm256_and_si256(_mm256_slli_epi32(codes, 28), _mm256_set1_epi32(kF32SignBit));
  return _mm256_or_ps(_mm256_permutevar8x32_ps(magnitudes, codes), _mm256_castsi256_ps(sign));
}

// Values of 8-bit floating-point codes, one in the low byte of each lane, the other bytes zero.
// Subnormals are made without subnormal operands, which some processors are slow with: 1.m *
// 2^(1-bias) less 2^(1-bias).
template <int kMantissaBits, int kBias>
inline __m256 fp8_values(__m256i codes) {
  constexpr bool kHasInfinity = kMantissaBits == internal::kE5m2MantissaBits;
  const __m256i magnitude = _mm256_and_si256(codes, _mm256_set1_epi32(0x7F));
  const __m256i sign = _mm256_slli_epi32(_mm256_sub_epi32(codes, magnitude), 24);
  const __m256i shifted = _mm256_slli_epi32(magnitude, kF32Mantissa - kMantissaBits);
  const __m256i rebias = _mm256_set1_epi32((kF32ExponentBias - kBias) << kF32Mantissa);
  const __m256i lowest = _mm256_set1_epi32((kF32ExponentBias - kBias + 1) << kF32Mantissa);
  const __m256i subnormal = _mm256_cmpgt_epi32(_mm256_set1_epi32(1 << kMantissaBits), magnitude);
  const __m256 offset = _mm256_castsi256_ps(_mm256_blendv_epi8(rebias, lowest, subnormal));
  const __m256 whole = _mm256_castsi256_ps(_mm256_add_epi32(shifted, _mm256_castps_si256(offset)));
  const __m256 excess = _mm256_castsi256_ps(_mm256_and_si256(lowest, subnormal));
  __m256i bits = _mm256_castps_si256(_mm256_sub_ps(whole, excess));
  constexpr int kFirstSpecial = kHasInfinity ? internal::kE5m2Infinity : internal::kE4m3Nan;
  const __m256i special = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(kFirstSpecial - 1));
  if constexpr (kHasInfinity) {
    const __m256i infinity_or_nan = _mm256_or_si256(shifted, _mm256_set1_epi32(kF32InfinityBits));
    bits = _mm256_blendv_epi8(bits, infinity_or_nan, special);
  } else {
    bits = _mm256_blendv_epi8(bits, _mm256_set1_epi32(kF32NanBits), special);
  }
  return _mm256_castsi256_ps(_mm256_or_si256(bits, sign));
}

inline __m256 e4m3_values(__m256i codes) {
  return fp8_values<internal::kE4m3MantissaBits, internal::kE4m3Bias>(codes);
}

inline __m256 e5m2_values(__m256i codes) {
  return fp8_values<internal::kE5m2MantissaBits, internal::kE5m2Bias>(codes);
}

inline __m256 e8m0_values(__m256i codes) {
  const __m256i bits = _mm256_max_epi32(_mm256_slli_epi32(codes, kF32Mantissa),
                                        _mm256_set1_epi32(kSmallestE8m0Bits));
  const __m256i nan = _mm256_cmpeq_epi32(codes, _mm256_set1_epi32(internal::kE8m0Nan));
  return _mm256_castsi256_ps(_mm256_blendv_epi8(bits, _mm256_set1_epi32(kF32NanBits), nan));
}

inline __m256i widen_bytes(const uint8_t* bytes) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
}

// Block scales of 8 columns.
inline __m256 e8m0_scales(const uint8_t* bytes) {
  return e8m0_values(widen_bytes(bytes));
}

inline __m256 e4m3_scales(const uint8_t* bytes) {
  return e4m3_values(_mm256_and_si256(widen_bytes(bytes), _mm256_set1_epi32(0x7F)));
}

// The block scale of one row in all lanes.
inline __m256 e8m0_scale(uint8_t code) {
  const int32_t bits = code == 0                    ? kSmallestE8m0Bits
                       : code == internal::kE8m0Nan ? kF32NanBits
                                                    : code << kF32Mantissa;
  return _mm256_castsi256_ps(_mm256_set1_epi32(bits));
}

inline __m256 e4m3_scale(uint8_t code) {
  return e4m3_values(_mm256_set1_epi32(code & 0x7F));
}

// 1 if a scale is above `limit` and not NaN: its block's values may leave the range of fp32.
inline int32_t above_limit(uint8_t code, int limit) {
  return code > limit && code != internal::kE8m0Nan ? 1 : 0;
}

inline int32_t any_above_limit(const uint8_t* bytes, int limit) {
  const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  const __m128i above =
      _mm_subs_epu8(codes, _mm_set1_epi8(static_cast<char>(limit)));  // 0 where not above
  const __m128i within = _mm_cmpeq_epi8(above, _mm_setzero_si128());
  const __m128i nan = _mm_cmpeq_epi8(codes, _mm_set1_epi8(static_cast<char>(internal::kE8m0Nan)));
  return _mm_movemask_epi8(_mm_or_si128(within, nan)) != 0xFFFF ? 1 : 0;
}

// 32 4-bit codes in memory order to two vectors of bytes 0…15, in order of k.
inline void spread_nibbles(__m128i packed, __m128i* first, __m128i* second) {
  const __m128i mask = _mm_set1_epi8(0x0F);
  const __m128i even = _mm_and_si128(packed, mask);
  const __m128i odd = _mm_and_si128(_mm_srli_epi16(packed, 4), mask);
  *first = _mm_unpacklo_epi8(even, odd);
  *second = _mm_unpackhi_epi8(even, odd);
}

}  // namespace
}  // namespace mxgemm::cpu::avx2
