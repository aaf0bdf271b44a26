// SPDX-License-Identifier: Apache-2.0
// The approximate functions of PTX: computed in double and rounded to f32. Hardware may differ
// within the bounds given beside each function; nothing may rely on the bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "float_format.hpp"

namespace emu::num {

enum class Approximate : uint8_t { kEx2, kLg2, kRcp, kRsqrt, kSqrt, kSin, kCos, kTanh };

// The exact value as far as double goes; NaN where there is none.
inline double approximated(Approximate function, float argument) {
  const double x = argument;
  double result = 0;
  switch (function) {
    case Approximate::kEx2:
      result = std::exp2(x);
      break;
    case Approximate::kLg2:
      result = std::log2(x);
      break;
    case Approximate::kRcp:
      result = 1 / x;
      break;
    case Approximate::kRsqrt:
      result = 1 / std::sqrt(x);
      break;
    case Approximate::kSqrt:
      result = std::sqrt(x);
      break;
    case Approximate::kSin:
      result = std::sin(x);
      break;
    case Approximate::kCos:
      result = std::cos(x);
      break;
    case Approximate::kTanh:
      result = std::tanh(x);
      break;
  }
  return result;
}

// Where the instruction set allows n ulp from the correctly rounded result: less than (n + 1) /
// 2^24 of the exact value is never more, whatever its mantissa.
inline double ulp_bound(int ulps) {
  return (ulps + 1) * 0x1p-24;
}

// Largest relative error that the instruction set allows; absolute for sin and cos.
inline double approximate_bound(Approximate function) {
  switch (function) {
    case Approximate::kEx2:
      return ulp_bound(2);
    case Approximate::kLg2:
      return 0x1p-22;
    case Approximate::kRcp:
      return ulp_bound(1);
    case Approximate::kRsqrt:
      return 0x1.1p-23;  // 2^-22.9
    case Approximate::kSqrt:
      return 0x1p-23;
    case Approximate::kSin:
    case Approximate::kCos:
      return 0x1.6p-21;  // 2^-20.5, of the result near 1
    case Approximate::kTanh:
      return 0x1p-11;
  }
  return 0;
}

// The same of the f32 number that becomes a 16-bit result. tanh.approx.f16 may be off by 2^-10.987,
// of which rounding takes up to 2^-12.
inline double half_approximate_bound(Approximate function) {
  return function == Approximate::kTanh ? 0x1p-12 : approximate_bound(function);
}

// div.approx and div.full.
inline double divide_bound() {
  return ulp_bound(2);
}

// div.approx multiplies by a reciprocal, which is zero where the divisor exceeds 2^126.
inline double approximate_quotient(float a, float b) {
  constexpr float kLargest = 0x1p126f;
  const double reciprocal = std::fabs(b) > kLargest ? std::copysign(0.0, b) : 1.0 / b;
  return reciprocal == 0 ? a * reciprocal : static_cast<double>(a) / b;
}

// A value as f32, moved inside the bound: `noise` is uniform in [-1, 1]; rounding takes its part of
// the bound. Zero, infinity and powers of two stay: they are exact by the instructions' definitions
// or easily relied on.
inline float jittered(double value, double bound, double noise) {
  const auto rounded = static_cast<float>(value);
  if (!std::isfinite(rounded) || (bits_of(rounded) & 0x007FFFFFu) == 0) {
    return rounded;
  }
  constexpr double kRounding = 0x1p-24;
  return static_cast<float>(value * (1 + (bound - kRounding) * noise));
}

}  // namespace emu::num
