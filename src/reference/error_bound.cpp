// SPDX-License-Identifier: Apache-2.0
#include "reference/error_bound.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace mxgemm::internal {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;  // gelu_tanh's factor
constexpr double kGeluTanhCubic = 0.044715;  // and the coefficient of its cubic term, by definition

bool is_smooth(Activation activation) {
  return activation != Activation::kNone && activation != Activation::kRelu;
}

uint32_t infinity_code(Format format) {
  return format == Format::kBf16  ? uint32_t{kBf16Infinity}
         : format == Format::kF16 ? uint32_t{kF16Infinity}
                                  : kF32Infinity;
}

uint32_t sign_code(Format format) {
  return format == Format::kF32 ? kF32SignBit : 0x8000u;
}

// Number of the grid that `code` stands on, with infinity read as the next number after the
// largest.
double grid_value(Format format, uint32_t magnitude_code) {
  if (magnitude_code < infinity_code(format)) {
    return decode_code(format, magnitude_code);
  }
  return format == Format::kF16 ? 0x1p16 : 0x1p128;
}

// The numbers that round to `code`: from midpoint to midpoint with its neighbours.
void preimage(Format format, uint32_t code, double* lower, double* upper) {
  const uint32_t magnitude = code & ~sign_code(format);
  const double value = grid_value(format, magnitude);
  double from = 0.0;
  double to = kInfinity;
  if (magnitude < infinity_code(format)) {
    to = 0.5 * (value + grid_value(format, magnitude + 1));
  }
  if (magnitude == 0) {
    from = -to;
  } else {
    from = 0.5 * (value + grid_value(format, magnitude - 1));
  }
  const bool negative = (code & sign_code(format)) != 0;
  *lower = negative ? -to : from;
  *upper = negative ? -from : to;
}

}  // namespace

double exact_activation(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return x > 0.0 || std::isnan(x) ? x : 0.0;
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x * std::numbers::sqrt2 / 2.0);
    case Activation::kGeluTanh:
      // 0.5 x (1 + tanh t) without the cancellation of 1 + tanh t at large negative t.
      return x / (1.0 + std::exp(-2.0 * kSqrtTwoOverPi * (x + kGeluTanhCubic * x * x * x)));
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
  }
  return x;
}

double error_bound(const BoundTerms& terms) {
  const double sum =
      terms.alpha * static_cast<double>(terms.k) * (0x1p-23 * terms.magnitude + 0x1p-126);
  // Below 2^-126 a rounding is absolute, at most 2^-150: two in the chain, two allowed in the
  // activation.
  constexpr double kSubnormalRoundings = 0x1p-149;
  const double chain =
      0x1p-22 * (terms.alpha * terms.magnitude + terms.beta_c + terms.bias) + kSubnormalRoundings;
  if (!is_smooth(terms.activation)) {
    return sum + chain;
  }
  return 1.13 * (sum + chain) + 0x1p-21 * terms.argument + kSubnormalRoundings;
}

uint32_t load_code(Format format, const void* row, int64_t index) {
  if (format == Format::kF32) {
    return static_cast<const uint32_t*>(row)[index];
  }
  return static_cast<const uint16_t*>(row)[index];
}

double decode_code(Format format, uint32_t code) {
  switch (format) {
    case Format::kBf16:
      return bf16_decode(static_cast<uint16_t>(code));
    case Format::kF16:
      return f16_decode(static_cast<uint16_t>(code));
    default:
      return f32_decode(code);
  }
}

uint32_t encode_code(Format format, double value) {
  switch (format) {
    case Format::kBf16:
      return bf16_encode(value);
    case Format::kF16:
      return f16_encode(value);
    default:
      return f32_encode(value);
  }
}

bool same_value(Format format, uint32_t code, uint32_t other) {
  const double a = decode_code(format, code);
  const double b = decode_code(format, other);
  return code == other || a == b || (std::isnan(a) && std::isnan(b));
}

bool within_rounding(const AllowedValues& allowed, Format format, uint32_t code) {
  const double value = decode_code(format, code);
  if (std::isnan(value)) {
    return allowed.nan;
  }
  if ((value == kInfinity && allowed.positive_infinity) ||
      (value == -kInfinity && allowed.negative_infinity)) {
    return true;
  }
  return allowed.finite && value >= decode_code(format, encode_code(format, allowed.lower)) &&
         value <= decode_code(format, encode_code(format, allowed.upper));
}

double error_over_bound(double exact, double bound, const AllowedValues& allowed, Format format,
                        uint32_t code) {
  const bool within = within_rounding(allowed, format, code);
  const double value = decode_code(format, code);
  if (std::isnan(value) || std::isnan(exact) || !allowed.finite) {
    return within ? 0.0 : kInfinity;
  }
  double lower = 0.0;
  double upper = 0.0;
  preimage(format, code, &lower, &upper);
  const double distance = exact < lower ? lower - exact : exact > upper ? exact - upper : 0.0;
  if (distance == 0.0) {
    return within ? 0.0 : kInfinity;
  }
  // The verdict is within_rounding's; the ratio is a double and may miss it by a rounding.
  const double ratio = distance / bound;
  return within ? std::fmin(ratio, 1.0) : std::fmax(ratio, std::nextafter(1.0, 2.0));
}

}  // namespace mxgemm::internal
