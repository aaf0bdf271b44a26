// SPDX-License-Identifier: Apache-2.0
#include "float_format.hpp"

#include <cmath>
#include <limits>

namespace emu::num {
namespace {

// What the dropped part of a number is, compared with half a unit of the kept part.
enum class Dropped : uint8_t { kNothing, kBelowHalf, kHalf, kAboveHalf };

Dropped classify(uint64_t significand, int shift, bool sticky) {
  if (shift > 64) {
    return significand == 0 && !sticky ? Dropped::kNothing : Dropped::kBelowHalf;
  }
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t dropped = shift == 64 ? significand : significand & (2 * half - 1);
  if (dropped == half) {
    return sticky ? Dropped::kAboveHalf : Dropped::kHalf;
  }
  if (dropped > half) {
    return Dropped::kAboveHalf;
  }
  return dropped == 0 && !sticky ? Dropped::kNothing : Dropped::kBelowHalf;
}

bool rounds_away(Rounding rounding, Dropped dropped, bool odd, bool negative) {
  switch (rounding) {
    case Rounding::kNearestEven:
      return dropped == Dropped::kAboveHalf || (dropped == Dropped::kHalf && odd);
    case Rounding::kNearestAway:
      return dropped >= Dropped::kHalf;
    case Rounding::kUp:
      return dropped != Dropped::kNothing && !negative;
    case Rounding::kDown:
      return dropped != Dropped::kNothing && negative;
    case Rounding::kTowardZero:
      return false;
  }
  return false;
}

uint64_t overflow_code(const FloatFormat& format, bool negative, EncodeOptions options) {
  if (options.satfinite || format.specials == Specials::kNone) {
    return format.max_code();
  }
  const bool to_max = options.rounding == Rounding::kTowardZero ||
                      (options.rounding == Rounding::kUp && negative) ||
                      (options.rounding == Rounding::kDown && !negative);
  if (to_max) {
    return format.max_code();
  }
  return format.specials == Specials::kIeee ? format.infinity() : format.canonical_nan();
}

}  // namespace

uint64_t encode_exact(const FloatFormat& format, bool negative, uint64_t significand, int exponent,
                      bool sticky, EncodeOptions options) {
  const uint64_t sign = negative ? format.sign_bit() : 0;
  if (significand == 0 && !sticky) {
    return sign;
  }
  // Exponent of the last bit kept: that of the leading bit less the mantissa, not below the
  // subnormal step.
  const int top = exponent + static_cast<int>(std::bit_width(significand)) - 1;
  const int last = std::max(top, format.min_exponent()) - format.mantissa_bits;
  const int shift = last - exponent;
  uint64_t kept = 0;
  if (shift <= 0) {
    kept = significand << -shift;
  } else {
    kept = shift >= 64 ? 0 : significand >> shift;
    const Dropped dropped = classify(significand, shift, sticky);
    kept += rounds_away(options.rounding, dropped, (kept & 1) != 0, negative) ? 1 : 0;
  }
  // A carry out of `kept` moves into the exponent field by itself.
  const int steps = last - (format.min_exponent() - format.mantissa_bits);
  if (steps >= 1 << format.exponent_bits) {
    return sign | overflow_code(format, negative, options);
  }
  const uint64_t code = (static_cast<uint64_t>(steps) << format.mantissa_bits) + kept;
  return sign | (code > format.max_code() ? overflow_code(format, negative, options) : code);
}

uint64_t encode(const FloatFormat& format, double value, EncodeOptions options) {
  if (std::isnan(value)) {
    return format.specials == Specials::kNone ? format.max_code() : format.canonical_nan();
  }
  const bool negative = std::signbit(value);
  if (std::isinf(value)) {
    const bool keeps = format.specials == Specials::kIeee && !options.satfinite;
    const bool saturates = options.satfinite || format.specials == Specials::kNone;
    return (negative ? format.sign_bit() : 0) | (keeps       ? format.infinity()
                                                 : saturates ? format.max_code()
                                                             : format.canonical_nan());
  }
  const uint64_t bits = bits_of(value);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  const int biased = static_cast<int>(bits >> 52) & 0x7FF;
  const uint64_t significand = biased == 0 ? fraction : fraction | uint64_t{1} << 52;
  const int exponent = (biased == 0 ? 1 : biased) - 1075;
  return encode_exact(format, negative, significand, exponent, false, options);
}

double decode(const FloatFormat& format, uint64_t code) {
  const bool negative = (code & format.sign_bit()) != 0;
  const uint64_t magnitude = code & (format.sign_bit() - 1);
  double value = 0;
  if (format.is_nan(code)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (format.is_infinity(code)) {
    value = std::numeric_limits<double>::infinity();
  } else {
    const uint64_t fraction = magnitude & ((uint64_t{1} << format.mantissa_bits) - 1);
    const int biased = static_cast<int>(magnitude >> format.mantissa_bits);
    const uint64_t significand =
        biased == 0 ? fraction : fraction | uint64_t{1} << format.mantissa_bits;
    value = std::ldexp(static_cast<double>(significand),
                       (biased == 0 ? 1 : biased) - format.bias() - format.mantissa_bits);
  }
  return negative ? -value : value;
}

double decode_ue8m0(uint8_t code) {
  return code == kUe8m0Nan ? std::numeric_limits<double>::quiet_NaN()
                           : std::ldexp(1.0, int{code} - 127);
}

double decode_ue4m3(uint8_t code) {
  return decode(kE4m3, code & 0x7Fu);
}

uint8_t encode_ue8m0(double value, Rounding rounding, bool satfinite) {
  constexpr int kLargest = 254;
  if (std::isnan(value)) {
    return kUe8m0Nan;
  }
  const double magnitude = std::fabs(value);
  if (magnitude <= 0x1p-127) {
    return 0;
  }
  const auto overflow = static_cast<uint8_t>(satfinite ? kLargest : kUe8m0Nan);
  if (std::isinf(magnitude)) {
    return overflow;
  }
  int exponent = std::ilogb(magnitude);
  if (rounding == Rounding::kUp && magnitude != std::ldexp(1.0, exponent)) {
    ++exponent;
  }
  return exponent > 127 ? overflow : static_cast<uint8_t>(exponent + 127);
}

}  // namespace emu::num
