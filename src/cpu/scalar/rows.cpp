// SPDX-License-Identifier: Apache-2.0
// Rows of plain numbers: to fp32 and back, and the linear part of the epilogue.
#include <cstdint>
#include <cstring>

#include "cpu/scalar/scalar.h"
#include "formats/f16.hpp"

namespace mxgemm::cpu::scalar {

void load_bf16(const void* src, int64_t count, float* out) {
  const auto* codes = static_cast<const uint16_t*>(src);
  for (int64_t i = 0; i < count; ++i) {
    out[i] = __builtin_bit_cast(float, static_cast<uint32_t>(codes[i]) << 16);
  }
}

void load_f16(const void* src, int64_t count, float* out) {
  const auto* codes = static_cast<const uint16_t*>(src);
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(internal::f16_decode(codes[i]));
  }
}

void load_f32(const void* src, int64_t count, float* out) {
  if (count > 0) {
    std::memcpy(out, src, static_cast<size_t>(count) * sizeof(float));
  }
}

void store_bf16(const float* row, int64_t count, void* dst) {
  auto* codes = static_cast<uint16_t*>(dst);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, row[i]);
    // Nearest even: half an ulp less one, plus the last kept bit. A carry into the exponent gives
    // the next binade or Inf.
    const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    codes[i] = static_cast<uint16_t>(__builtin_isnan(row[i]) ? (bits >> 16) | 0x40 : rounded);
  }
}

void store_f16(const float* row, int64_t count, void* dst) {
  auto* codes = static_cast<uint16_t*>(dst);
  for (int64_t i = 0; i < count; ++i) {
    codes[i] = internal::f16_encode(row[i]);
  }
}

void store_f32(const float* row, int64_t count, void* dst) {
  if (count > 0) {
    std::memcpy(dst, row, static_cast<size_t>(count) * sizeof(float));
  }
}

void linear(int64_t count, float alpha, const float* bias, float beta, const float* c, bool relu,
            float* row) {
  for (int64_t i = 0; i < count; ++i) {
    float value = __builtin_fmaf(alpha, row[i], bias != nullptr ? bias[i] : 0.0f);
    if (c != nullptr) {
      value = __builtin_fmaf(beta, c[i], value);
    }
    row[i] = relu && value < 0.0f ? 0.0f : value;
  }
}

}  // namespace mxgemm::cpu::scalar
