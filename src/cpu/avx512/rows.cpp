// SPDX-License-Identifier: Apache-2.0
// Rows of plain numbers: to fp32 and back, and the linear part of the epilogue.
#include <immintrin.h>

#include "cpu/avx512/avx512.h"

namespace mxgemm::cpu::avx512 {

namespace {

constexpr int64_t kLanes = 16;

// The lanes that are still there: all, or the first `left`.
__mmask16 lanes_left(int64_t left) {
  return left >= kLanes ? 0xFFFF : static_cast<__mmask16>((1u << left) - 1);
}

// Nearest even; overflow carries into infinity; NaN stays a quiet NaN.
__m512i bf16_codes(__m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), last);
  const __mmask16 nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
  return _mm512_srli_epi32(_mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000)),
                           16);
}

}  // namespace

void load_bf16(const void* src, int64_t count, float* out) {
  const auto* codes = static_cast<const uint16_t*>(src);
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = lanes_left(count - i);
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, codes + i));
    _mm512_mask_storeu_epi32(out + i, lanes, _mm512_slli_epi32(wide, 16));
  }
}

void load_f16(const void* src, int64_t count, float* out) {
  const auto* codes = static_cast<const uint16_t*>(src);
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = lanes_left(count - i);
    _mm512_mask_storeu_ps(out + i, lanes,
                          _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, codes + i)));
  }
}

void load_f32(const void* src, int64_t count, float* out) {
  const auto* values = static_cast<const float*>(src);
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = lanes_left(count - i);
    _mm512_mask_storeu_ps(out + i, lanes, _mm512_maskz_loadu_ps(lanes, values + i));
  }
}

void store_bf16(const float* row, int64_t count, void* dst) {
  auto* codes = static_cast<uint16_t*>(dst);
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = lanes_left(count - i);
    const __m512i wide = bf16_codes(_mm512_maskz_loadu_ps(lanes, row + i));
    _mm256_mask_storeu_epi16(codes + i, lanes, _mm512_cvtepi32_epi16(wide));
  }
}

void store_f16(const float* row, int64_t count, void* dst) {
  auto* codes = static_cast<uint16_t*>(dst);
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = lanes_left(count - i);
    const __m512 values = _mm512_maskz_loadu_ps(lanes, row + i);
    _mm256_mask_storeu_epi16(
        codes + i, lanes, _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
}

void store_f32(const float* row, int64_t count, void* dst) {
  load_f32(row, count, static_cast<float*>(dst));
}

void linear(int64_t count, float alpha, const float* bias, float beta, const float* c, bool relu,
            float* row) {
  const __m512 alphas = _mm512_set1_ps(alpha);
  const __m512 betas = _mm512_set1_ps(beta);
  const __m512 zero = _mm512_setzero_ps();
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = lanes_left(count - i);
    const __m512 addend = bias != nullptr ? _mm512_maskz_loadu_ps(lanes, bias + i) : zero;
    __m512 value = _mm512_fmadd_ps(alphas, _mm512_maskz_loadu_ps(lanes, row + i), addend);
    if (c != nullptr) {
      value = _mm512_fmadd_ps(betas, _mm512_maskz_loadu_ps(lanes, c + i), value);
    }
    // The maximum gives its second operand where one is NaN.
    value = relu ? _mm512_max_ps(zero, value) : value;
    _mm512_mask_storeu_ps(row + i, lanes, value);
  }
}

}  // namespace mxgemm::cpu::avx512
