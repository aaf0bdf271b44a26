// SPDX-License-Identifier: Apache-2.0
// Decoding and rounding for binary floating-point formats of at most 32 bits, in exact double
// arithmetic. The format headers (e2m1.hpp, …) state the facts of each format and call these.
#pragma once

#include <cstdint>

#include "formats/macros.hpp"

namespace mxgemm::internal {

MXGEMM_FORMAT_FN double power_of_two(int exponent) {  // -1022 <= exponent <= 1023
  return __builtin_bit_cast(double, static_cast<uint64_t>(exponent + 1023) << 52);
}

// Value of a finite code without its sign: exponent field above kMantissaBits, subnormals included.
template <int kMantissaBits, int kBias>
MXGEMM_FORMAT_FN double decode_magnitude(uint32_t code) {
  const int exponent = static_cast<int>(code >> kMantissaBits);
  const uint32_t mantissa = code & ((1u << kMantissaBits) - 1);
  if (exponent == 0) {
    return mantissa * power_of_two(1 - kBias - kMantissaBits);
  }
  return ((1u << kMantissaBits) + mantissa) * power_of_two(exponent - kBias - kMantissaBits);
}

// Nearest code to a finite magnitude >= 0, ties to the even code, as if the exponent had no upper
// end: the caller saturates or turns what lies above its largest code into infinity.
template <int kMantissaBits, int kBias>
MXGEMM_FORMAT_FN uint64_t round_magnitude(double magnitude) {
  const uint64_t bits = __builtin_bit_cast(uint64_t, magnitude);
  const int exponent_field = static_cast<int>(bits >> 52);
  if (exponent_field == 0) {
    return 0;  // zero or a double subnormal: below half of any smallest code
  }
  const uint64_t significand = (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  const int exponent = exponent_field - 1023;
  const int code_exponent = exponent < 1 - kBias ? 1 - kBias : exponent;
  const int dropped_bits = 52 - kMantissaBits + (code_exponent - exponent);
  if (dropped_bits > 53) {
    return 0;  // less than half of the smallest code
  }
  uint64_t rounded = significand >> dropped_bits;
  const uint64_t rest = significand & ((uint64_t{1} << dropped_bits) - 1);
  const uint64_t half = uint64_t{1} << (dropped_bits - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0)) {
    ++rounded;
  }
  // A normal significand carries its hidden bit into the exponent field, hence the -1.
  return (static_cast<uint64_t>(code_exponent + kBias - 1) << kMantissaBits) + rounded;
}

MXGEMM_FORMAT_FN bool sign_bit(double value) {
  return (__builtin_bit_cast(uint64_t, value) >> 63) != 0;
}

MXGEMM_FORMAT_FN double magnitude_of(double value) {
  return __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, value) & ~(uint64_t{1} << 63));
}

MXGEMM_FORMAT_FN bool is_nan(double value) {
  return value != value;
}

MXGEMM_FORMAT_FN bool is_finite(double value) {
  return (__builtin_bit_cast(uint64_t, value) >> 52 & 0x7FF) != 0x7FF;
}

// Saturating encoding shared by the element formats: `value` must not be NaN; infinities take the
// largest code.
template <int kMantissaBits, int kBias, uint32_t kMaxCode, uint32_t kSignBit>
MXGEMM_FORMAT_FN uint8_t encode_saturating(double value) {
  const double magnitude = magnitude_of(value);
  uint64_t code = kMaxCode;
  if (is_finite(magnitude)) {
    code = round_magnitude<kMantissaBits, kBias>(magnitude);
    code = code > kMaxCode ? kMaxCode : code;
  }
  return static_cast<uint8_t>(code | (sign_bit(value) ? kSignBit : 0u));
}

// IEEE-style encoding (infinities exist, overflow gives one, NaN stays a quiet NaN) shared by bf16,
// f16 and f32.
template <int kMantissaBits, int kBias, uint32_t kInfinityCode, uint32_t kSignBit>
MXGEMM_FORMAT_FN uint32_t encode_ieee(double value) {
  const uint32_t sign = sign_bit(value) ? kSignBit : 0u;
  if (is_nan(value)) {
    return sign | kInfinityCode | (1u << (kMantissaBits - 1));
  }
  uint64_t code = kInfinityCode;
  if (is_finite(value)) {
    code = round_magnitude<kMantissaBits, kBias>(magnitude_of(value));
    code = code > kInfinityCode ? kInfinityCode : code;
  }
  return sign | static_cast<uint32_t>(code);
}

template <int kMantissaBits, int kBias, uint32_t kInfinityCode, uint32_t kSignBit>
MXGEMM_FORMAT_FN double decode_ieee(uint32_t code) {
  const uint32_t magnitude_code = code & (kSignBit - 1);
  const double sign = (code & kSignBit) != 0 ? -1.0 : 1.0;
  if (magnitude_code > kInfinityCode) {
    return __builtin_nan("");
  }
  if (magnitude_code == kInfinityCode) {
    return sign * __builtin_inf();
  }
  return sign * decode_magnitude<kMantissaBits, kBias>(magnitude_code);
}

}  // namespace mxgemm::internal
