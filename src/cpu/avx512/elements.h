// SPDX-License-Identifier: Apache-2.0
// Codes to fp32, 16 at a time. Everything here has internal linkage: no other level may end up with
// a copy.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "formats/e4m3.hpp"
#include "formats/e5m2.hpp"
#include "formats/e8m0.hpp"

namespace mxgemm::cpu::avx512 {
namespace {

constexpr int kF32Mantissa = 23;
constexpr int kF32ExponentBias = 127;
constexpr int32_t kF32InfinityBits = 0x7F800000;
constexpr int32_t kF32NanBits = 0x7FC00000;
constexpr int32_t kSmallestE8m0Bits = 0x00400000;  // 2^-127, a subnormal

// Largest scale bytes under which every scaled element is finite in fp32: 6 * 2^125, 448 * 2^119,
// 57344 * 2^112.
constexpr int kMaxScaleE2m1 = 252;
constexpr int kMaxScaleE4m3 = 246;
constexpr int kMaxScaleE5m2 = 239;

inline __m512 e2m1_table() {
  return _mm512_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f, -0.0f, -0.5f, -1.0f, -1.5f,
                        -2.0f, -3.0f, -4.0f, -6.0f);
}

// Values of 8-bit floating-point codes, one in the low byte of each lane, the other bytes zero.
// Subnormals are made without subnormal operands, which some processors are slow with: 1.m *
// 2^(1-bias) less 2^(1-bias).
template <int kMantissaBits, int kBias>
inline __m512 fp8_values(__m512i codes) {
  constexpr bool kHasInfinity = kMantissaBits == internal::kE5m2MantissaBits;
  const __m512i magnitude = _mm512_and_si512(codes, _mm512_set1_epi32(0x7F));
  const __m512i sign = _mm512_slli_epi32(_mm512_sub_epi32(codes, magnitude), 24);
  const __m512i shifted = _mm512_slli_epi32(magnitude, kF32Mantissa - kMantissaBits);
  const __m512i rebias = _mm512_set1_epi32((kF32ExponentBias - kBias) << kF32Mantissa);
  const __m512i lowest = _mm512_set1_epi32((kF32ExponentBias - kBias + 1) << kF32Mantissa);
  const __mmask16 subnormal =
      _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(1 << kMantissaBits));
  __m512 value = _mm512_castsi512_ps(
      _mm512_add_epi32(shifted, _mm512_mask_mov_epi32(rebias, subnormal, lowest)));
  value = _mm512_mask_sub_ps(value, subnormal, value, _mm512_castsi512_ps(lowest));
  __m512i bits = _mm512_castps_si512(value);
  if constexpr (kHasInfinity) {
    const __mmask16 special =
        _mm512_cmpge_epi32_mask(magnitude, _mm512_set1_epi32(internal::kE5m2Infinity));
    bits = _mm512_mask_or_epi32(bits, special, shifted, _mm512_set1_epi32(kF32InfinityBits));
  } else {
    const __mmask16 nan = _mm512_cmpeq_epi32_mask(magnitude, _mm512_set1_epi32(internal::kE4m3Nan));
    bits = _mm512_mask_mov_epi32(bits, nan, _mm512_set1_epi32(kF32NanBits));
  }
  return _mm512_castsi512_ps(_mm512_or_si512(bits, sign));
}

inline __m512 e4m3_values(__m512i codes) {
  return fp8_values<internal::kE4m3MantissaBits, internal::kE4m3Bias>(codes);
}

inline __m512 e5m2_values(__m512i codes) {
  return fp8_values<internal::kE5m2MantissaBits, internal::kE5m2Bias>(codes);
}

inline __m512 e8m0_values(__m512i codes) {
  const __m512i bits = _mm512_max_epi32(_mm512_slli_epi32(codes, kF32Mantissa),
                                        _mm512_set1_epi32(kSmallestE8m0Bits));
  const __mmask16 nan = _mm512_cmpeq_epi32_mask(codes, _mm512_set1_epi32(internal::kE8m0Nan));
  return _mm512_castsi512_ps(_mm512_mask_mov_epi32(bits, nan, _mm512_set1_epi32(kF32NanBits)));
}

inline __m512i widen_bytes(const uint8_t* bytes) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

// Block scales of 16 columns.
inline __m512 e8m0_scales(const uint8_t* bytes) {
  return e8m0_values(widen_bytes(bytes));
}

inline __m512 e4m3_scales(const uint8_t* bytes) {
  return e4m3_values(_mm512_and_si512(widen_bytes(bytes), _mm512_set1_epi32(0x7F)));
}

// The block scale of one row in all lanes.
inline __m512 e8m0_scale(uint8_t code) {
  const int32_t bits = code == 0                    ? kSmallestE8m0Bits
                       : code == internal::kE8m0Nan ? kF32NanBits
                                                    : code << kF32Mantissa;
  return _mm512_castsi512_ps(_mm512_set1_epi32(bits));
}

inline __m512 e4m3_scale(uint8_t code) {
  return e4m3_values(_mm512_set1_epi32(code & 0x7F));
}

// 1 if a scale is above `limit` and not NaN: its block's values may leave the range of fp32.
inline int32_t above_limit(uint8_t code, int limit) {
  return code > limit && code != internal::kE8m0Nan ? 1 : 0;
}

inline int32_t any_above_limit(const uint8_t* bytes, int limit) {
  const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  const __mmask16 above = _mm_cmpgt_epu8_mask(codes, _mm_set1_epi8(static_cast<char>(limit)));
  const __mmask16 number =
      _mm_cmpneq_epu8_mask(codes, _mm_set1_epi8(static_cast<char>(internal::kE8m0Nan)));
  return (above & number) != 0 ? 1 : 0;
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
}  // namespace mxgemm::cpu::avx512
