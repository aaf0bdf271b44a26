// SPDX-License-Identifier: Apache-2.0
// Operand codes as integers times powers of two, decoded by the formats' definitions alone, and
// sums of their products as big integers in units of 2^kUnit.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "support/operand.hpp"
#include "unit/reference/big_int.hpp"

namespace mxgemm::test {

// Below the product of alpha' (2^-149), and two fp32 subnormals.
constexpr int kUnit = -460;

// mantissa * 2^exponent.
struct Scaled {
  int64_t mantissa = 0;
  int exponent = 0;

  BigInt units() const { return BigInt(mantissa).shifted_left(exponent - kUnit); }
};

inline Scaled times(const Scaled& a, const Scaled& b) {
  return {a.mantissa * b.mantissa,
          a.mantissa == 0 || b.mantissa == 0 ? 0 : a.exponent + b.exponent};
}

// A finite code with `mantissa_bits` below an exponent field of `exponent_bits`.
inline Scaled decode_fields(uint32_t code, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t fraction = code & ((1u << mantissa_bits) - 1);
  const int field = static_cast<int>(code >> mantissa_bits & ((1u << exponent_bits) - 1));
  const bool negative = (code >> (mantissa_bits + exponent_bits) & 1) != 0;
  const int64_t mantissa = field == 0 ? fraction : (1u << mantissa_bits) + fraction;
  return {negative ? -mantissa : mantissa, (field == 0 ? 1 : field) - bias - mantissa_bits};
}

inline Scaled decode_exact(Format format, uint32_t code) {
  switch (format) {
    case Format::kMxf4:
    case Format::kNvf4:
      return decode_fields(code, 2, 1);
    case Format::kMxf8E4m3:
      return decode_fields(code, 4, 3);
    case Format::kMxf8E5m2:
      return decode_fields(code, 5, 2);
    case Format::kBf16:
      return decode_fields(code, 8, 7);
    case Format::kF16:
      return decode_fields(code, 5, 10);
    default:
      return decode_fields(code, 8, 23);
  }
}

inline Scaled decode_exact(float value) {
  uint32_t code = 0;
  std::memcpy(&code, &value, sizeof(code));
  return decode_fields(code, 8, 23);
}

// Element (row, col) of an operand, its block scale included; everything finite.
inline Scaled exact_element(const Operand& operand, int64_t row, int64_t col) {
  const Scaled element = decode_exact(operand.info().format, operand.code_at(row, col));
  if (!operand.has_scale()) {
    return element;
  }
  const uint8_t byte = operand.scale_at(row, col / operand.info().block_size);
  const bool is_e4m3 = operand.info().format == Format::kNvf4;
  return times(element, is_e4m3 ? decode_fields(byte & 0x7F, 4, 3) : Scaled{1, byte - 127});
}

// Nearest number of at most `precision` bits that is a multiple of 2^lowest, ties to even, as a
// double.
inline double rounded(const BigInt& value, int precision, int lowest) {
  const BigInt magnitude = value.magnitude();
  const int drop = std::max({magnitude.bit_length() - precision, lowest - kUnit, 0});
  uint64_t mantissa = 0;
  for (int bit = magnitude.bit_length(); bit >= drop; --bit) {
    mantissa = 2 * mantissa + (magnitude.bit(bit) ? 1 : 0);
  }
  const BigInt kept = BigInt(static_cast<int64_t>(mantissa)).shifted_left(drop);
  const BigInt unit = BigInt(1).shifted_left(drop);
  const BigInt twice_rest = (magnitude + BigInt(-1) * kept) * BigInt(2);
  if (unit < twice_rest || (unit == twice_rest && mantissa % 2 == 1)) {
    ++mantissa;
  }
  const double result = std::ldexp(static_cast<double>(mantissa), drop + kUnit);
  return value.is_negative() ? -result : result;
}

inline float rounded_to_f32(const BigInt& value) {
  const double result = rounded(value, 24, -149);
  if (std::fabs(result) >= 0x1p128) {
    return result > 0.0 ? HUGE_VALF : -HUGE_VALF;
  }
  return static_cast<float>(result);
}

}  // namespace mxgemm::test
