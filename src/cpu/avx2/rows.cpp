// SPDX-License-Identifier: Apache-2.0
// Rows of plain numbers: to fp32 and back, and the linear part of the epilogue. The last few
// numbers of a row are the scalar level's.
#include <immintrin.h>

#include "cpu/avx2/avx2.h"
#include "cpu/scalar/scalar.h"

namespace mxgemm::cpu::avx2 {

namespace {

constexpr int64_t kLanes = 8;

__m128i load_codes(const uint16_t* codes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
}

void store_codes(uint16_t* codes, __m128i values) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(codes), values);
}

// Nearest even; overflow carries into infinity; NaN stays a quiet NaN. The code is in the low half
// of each lane.
__m256i bf16_codes(__m256 values) {
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), last);
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
}

}  // namespace

void load_bf16(const void* src, int64_t count, float* out) {
  const auto* codes = static_cast<const uint16_t*>(src);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256i wide = _mm256_cvtepu16_epi32(load_codes(codes + i));
    _mm256_storeu_ps(out + i, _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
  }
  scalar::load_bf16(codes + i, count - i, out + i);
}

void load_f16(const void* src, int64_t count, float* out) {
  const auto* codes = static_cast<const uint16_t*>(src);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(load_codes(codes + i)));
  }
  scalar::load_f16(codes + i, count - i, out + i);
}

void load_f32(const void* src, int64_t count, float* out) {
  scalar::load_f32(src, count, out);
}

void store_bf16(const float* row, int64_t count, void* dst) {
  auto* codes = static_cast<uint16_t*>(dst);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256i wide = bf16_codes(_mm256_loadu_ps(row + i));
    store_codes(codes + i,
                _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1)));
  }
  scalar::store_bf16(row + i, count - i, codes + i);
}

void store_f16(const float* row, int64_t count, void* dst) {
  auto* codes = static_cast<uint16_t*>(dst);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store_codes(codes + i, _mm256_cvtps_ph(_mm256_loadu_ps(row + i),
                                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  scalar::store_f16(row + i, count - i, codes + i);
}

void store_f32(const float* row, int64_t count, void* dst) {
  scalar::store_f32(row, count, dst);
}

void linear(int64_t count, float alpha, const float* bias, float beta, const float* c, bool relu,
            float* row) {
  const __m256 alphas = _mm256_set1_ps(alpha);
  const __m256 betas = _mm256_set1_ps(beta);
  const __m256 zero = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256 addend = bias != nullptr ? _mm256_loadu_ps(bias + i) : zero;
    __m256 value = _mm256_fmadd_ps(alphas, _mm256_loadu_ps(row + i), addend);
    if (c != nullptr) {
      value = _mm256_fmadd_ps(betas, _mm256_loadu_ps(c + i), value);
    }
    // The maximum gives its second operand where one is NaN.
    value = relu ? _mm256_max_ps(zero, value) : value;
    _mm256_storeu_ps(row + i, value);
  }
  scalar::linear(count - i, alpha, bias != nullptr ? bias + i : nullptr, beta,
                 c != nullptr ? c + i : nullptr, relu, row + i);
}

}  // namespace mxgemm::cpu::avx2
