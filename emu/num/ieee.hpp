// SPDX-License-Identifier: Apache-2.0
// IEEE arithmetic in every rounding mode, without touching the host's floating-point environment:
// a result is first rounded to odd in double, which loses nothing that a later rounding to a format
// of at most 51 bits could need, and then rounded once to the format.
#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "float_format.hpp"

namespace emu::num {

// `value` is the nearest double to an exact number, `residual` has the sign of (exact - value):
// the double that is odd where the number is inexact.
inline double to_odd(double value, double residual) {
  if (residual == 0 || !std::isfinite(value) || !std::isfinite(residual)) {
    return value;
  }
  uint64_t bits = bits_of(value);
  if (value != 0 && std::signbit(value) != std::signbit(residual)) {
    --bits;  // rounded away from zero: step back, then make it odd
  }
  return double_of(bits | 1);
}

inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double residual = (a - (sum - b_part)) + (b - b_part);
  return to_odd(sum, residual);
}

// The same where the sum will be rounded by `rounding`: an exact zero from terms of different signs
// is -0 when rounding down.
inline double add_to_odd(double a, double b, Rounding rounding) {
  const double sum = add_to_odd(a, b);
  const bool both_positive = !std::signbit(a) && !std::signbit(b);
  return sum == 0 && rounding == Rounding::kDown && !both_positive ? -0.0 : sum;
}

// a * b + c where the product of a and b is exact in double: both have at most 26 bits.
inline double fma_to_odd(double a, double b, double c, Rounding rounding = Rounding::kNearestEven) {
  return add_to_odd(a * b, c, rounding);
}

inline double divide_to_odd(double a, double b) {
  const double quotient = a / b;
  if (!std::isfinite(quotient) || b == 0 || std::isinf(b)) {
    return quotient;
  }
  const double remainder = std::fma(-quotient, b, a);
  return to_odd(quotient, std::signbit(b) ? -remainder : remainder);
}

inline double sqrt_to_odd(double a) {
  const double root = std::sqrt(a);
  if (!std::isfinite(root) || root == 0) {
    return root;
  }
  return to_odd(root, std::fma(-root, root, a));
}

// A double, rounded to odd or exact, as f32.
inline float round_to_f32(double value, Rounding rounding) {
  if (rounding == Rounding::kNearestEven || std::isnan(value)) {
    return static_cast<float>(value);
  }
  return float_of(static_cast<uint32_t>(encode(kF32, value, {rounding, false})));
}

// Rounding to a 16-bit format. Normal results take the short way, on the bits of the double.
template <int kExponentBits, int kMantissaBits>
inline uint16_t round_to_half(double value, EncodeOptions options = {}) {
  constexpr FloatFormat kFormat{kExponentBits, kMantissaBits, Specials::kIeee};
  constexpr int kDropped = 52 - kMantissaBits;
  const uint64_t bits = bits_of(value);
  const int exponent = (static_cast<int>(bits >> 52) & 0x7FF) - 1023;
  // The largest exponent is left out: there rounding may overflow.
  if (options.rounding == Rounding::kNearestEven && exponent >= kFormat.min_exponent() &&
      exponent < kFormat.bias()) {
    const uint64_t odd = bits >> kDropped & 1;
    const uint64_t rounded =
        (bits & ~(uint64_t{1} << 63)) + (uint64_t{1} << (kDropped - 1)) - 1 + odd;
    const uint64_t code =
        (rounded >> kDropped) - (static_cast<uint64_t>(1023 - kFormat.bias()) << kMantissaBits);
    return static_cast<uint16_t>(code | (bits >> 63) << 15);
  }
  return static_cast<uint16_t>(encode(kFormat, value, options));
}
inline uint16_t round_to_f16(double value, EncodeOptions options = {}) {
  return round_to_half<5, 10>(value, options);
}
inline uint16_t round_to_bf16(double value, EncodeOptions options = {}) {
  return round_to_half<8, 7>(value, options);
}

// An f32 as bf16, nearest even: its upper half, rounded in place.
inline uint16_t float_to_bf16(float value) {
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
    return kF16Nan;
  }
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

// --- f32 details --------------------------------------------------------------------------------

inline float flush(float value) {
  return (bits_of(value) & 0x7F800000u) == 0 ? float_of(bits_of(value) & 0x80000000u) : value;
}
// A result to be flushed, before it is rounded (to odd or exact): what lies below the smallest
// normal number becomes zero even where rounding would have carried it there.
inline double flush_exact(double value) {
  return std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
}
inline float canonical(float value) {
  return std::isnan(value) ? float_of(kF32Nan) : value;
}
// Clamp to [0, 1]; NaN gives +0.
inline float saturate(float value) {
  return value > 0 ? (value < 1 ? value : 1.0f) : 0.0f;
}

// The other operand if one is NaN, canonical NaN if both; -0 is less than +0.
template <typename T>
T minimum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) ? b : a;
  }
  if (a == b) {
    return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}
template <typename T>
T maximum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) ? b : a;
  }
  if (a == b) {
    return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

// --- f64 in the directed modes ------------------------------------------------------------------

// Runs `operation` with the host's rounding mode set. The operands must come through volatile
// variables, or the compiler may compute before the mode is set.
template <typename Operation>
double with_host_rounding(Rounding rounding, Operation operation) {
  const int before = std::fegetround();
  int mode = FE_TONEAREST;
  switch (rounding) {
    case Rounding::kTowardZero:
      mode = FE_TOWARDZERO;
      break;
    case Rounding::kUp:
      mode = FE_UPWARD;
      break;
    case Rounding::kDown:
      mode = FE_DOWNWARD;
      break;
    case Rounding::kNearestEven:
    case Rounding::kNearestAway:
      break;
  }
  std::fesetround(mode);
  const volatile double result = operation();
  std::fesetround(before);
  return result;
}

// --- Conversions --------------------------------------------------------------------------------

// Rounds to an integer in floating point. Ties of kNearestEven go to the even integer.
inline double round_to_integral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven:
      return std::nearbyint(value);
    case Rounding::kTowardZero:
      return std::trunc(value);
    case Rounding::kUp:
      return std::ceil(value);
    case Rounding::kDown:
      return std::floor(value);
    case Rounding::kNearestAway:
      return std::round(value);
  }
  return value;
}

// Float to integer of `width` bits, clamped to its range. NaN is zero if the source is f32 or
// narrower and the result at most 32 bits wide, else the number with only the top bit set.
inline uint64_t to_integer(double value, int width, bool is_signed, Rounding rounding,
                           bool narrow_source) {
  const uint64_t top = uint64_t{1} << (width - 1);
  const uint64_t ones = top | (top - 1);
  if (std::isnan(value)) {
    return narrow_source && width <= 32 ? 0 : top;
  }
  const double integral = round_to_integral(value, rounding);
  const double limit = std::ldexp(1.0, is_signed ? width - 1 : width);
  if (integral >= limit) {
    return is_signed ? top - 1 : ones;
  }
  if (integral < (is_signed ? -limit : 0)) {
    return is_signed ? top : 0;
  }
  return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(integral)) & ones
                   : static_cast<uint64_t>(integral);
}

}  // namespace emu::num
