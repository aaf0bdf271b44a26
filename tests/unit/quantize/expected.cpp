// SPDX-License-Identifier: Apache-2.0
#include "unit/quantize/expected.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mxgemm::test {

using internal::Format;
using internal::ScaleRule;

namespace {

constexpr uint8_t kNanScaleMx = 255;
constexpr uint8_t kNanScaleNv = 0x7F;

std::vector<double> list_magnitudes(int mantissa_bits, int bias, int codes) {
  std::vector<double> list;
  const int per_binade = 1 << mantissa_bits;
  for (int code = 0; code < codes; ++code) {
    const int field = code / per_binade;
    const int mantissa = code % per_binade + (field > 0 ? per_binade : 0);
    list.push_back(std::ldexp(mantissa, std::max(field, 1) - bias - mantissa_bits));
  }
  return list;
}

const std::vector<double> kE2m1{0, 0.5, 1, 1.5, 2, 3, 4, 6};
const std::vector<double> kE4m3 = list_magnitudes(3, 7, 0x7F);
const std::vector<double> kE5m2 = list_magnitudes(2, 15, 0x7C);

size_t nearest_index(const std::vector<double>& list, double magnitude) {
  size_t code = 0;
  while (code + 1 < list.size()) {
    const double midpoint = (list[code] + list[code + 1]) / 2;
    const bool go_up = magnitude > midpoint || (magnitude == midpoint && code % 2 == 1);
    if (!go_up) {
      break;
    }
    ++code;
  }
  return code;
}

bool any_nan(const std::vector<double>& x) {
  return std::any_of(x.begin(), x.end(), [](double value) { return std::isnan(value); });
}

double amax_of(const std::vector<double>& x) {
  double amax = 0;
  for (const double value : x) {
    amax = std::max(amax, std::fabs(value));
  }
  return amax;
}

std::vector<uint8_t> codes_under(Format format, int exponent, const std::vector<double>& x) {
  std::vector<uint8_t> codes;
  for (const double value : x) {
    codes.push_back(nearest_code(format, std::ldexp(value, -exponent)));
  }
  return codes;
}

double error_under(Format format, int exponent, const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) {
    const auto& list = magnitudes(format);
    const double magnitude = std::ldexp(std::fabs(value), -exponent);
    const double error =
        std::fabs(value) - std::ldexp(list[nearest_index(list, magnitude)], exponent);
    sum += error * error;
  }
  return sum;
}

// fp32 quotient and product by way of double: 53 >= 2 * 24 + 2 bits, so the second rounding changes
// nothing.
float divide(double a, double b) {
  return static_cast<float>(a / b);
}
float multiply(double a, double b) {
  return static_cast<float>(a * b);
}

}  // namespace

const std::vector<double>& magnitudes(Format format) {
  return format == Format::kMxf8E4m3 ? kE4m3 : format == Format::kMxf8E5m2 ? kE5m2 : kE2m1;
}

uint8_t nearest_code(Format format, double value) {
  const auto& list = magnitudes(format);
  const size_t sign = std::signbit(value) ? (list.size() == 8 ? 0x8 : 0x80) : 0;
  return static_cast<uint8_t>(nearest_index(list, std::fabs(value)) | sign);
}

int exponent_of_rule(ScaleRule rule, Format format, double amax) {
  const auto& list = magnitudes(format);
  const double largest = list.back();
  int emax = 0;
  while (std::ldexp(1.0, emax + 1) <= largest) {
    ++emax;
  }
  int log2_floor = 0;
  const double fraction = 2 * std::frexp(amax, &log2_floor);  // in [1, 2)
  --log2_floor;
  const int floor_exponent = log2_floor - emax;
  switch (rule) {
    case ScaleRule::kFloor:
      return floor_exponent;
    case ScaleRule::kCeil:
      return floor_exponent + (fraction > 1 ? 1 : 0);
    case ScaleRule::kRceil:
      return floor_exponent + (amax > std::ldexp(largest, floor_exponent) ? 1 : 0);
    case ScaleRule::kNearest:
      return floor_exponent + (fraction * fraction >= 2 ? 1 : 0);
    default: {
      // even: half an element ulp before the next power of two it is rounded up to it.
      const double steps = format == Format::kMxf8E4m3 ? 8 : format == Format::kMxf8E5m2 ? 4 : 2;
      return floor_exponent + (fraction >= 2 - 0.5 / steps ? 1 : 0);
    }
  }
}

ExpectedBlock expected_mx_block(Format format, ScaleRule rule, bool saturate,
                                const std::vector<double>& x) {
  const double amax = amax_of(x);
  if (any_nan(x) || (std::isinf(amax) && !saturate)) {
    return {kNanScaleMx, std::vector<uint8_t>(x.size(), 0)};
  }
  int exponent = -127;
  if (std::isinf(amax)) {
    exponent = 127;
  } else if (amax > 0 && rule != ScaleRule::kMse) {
    exponent = std::clamp(exponent_of_rule(rule, format, amax), -127, 127);
  } else if (amax > 0) {
    const int middle = exponent_of_rule(ScaleRule::kFloor, format, amax);
    double least = std::numeric_limits<double>::infinity();
    for (const int candidate : {middle - 1, middle, middle + 1}) {
      const int clamped = std::clamp(candidate, -127, 127);
      const double error = error_under(format, clamped, x);
      if (error < least) {
        least = error;
        exponent = clamped;
      }
    }
  }
  return {static_cast<uint8_t>(exponent + 127), codes_under(format, exponent, x)};
}

ExpectedBlock expected_nvf4_block(bool saturate, float global_scale, float min_block_scale,
                                  const std::vector<double>& x) {
  const double amax = amax_of(x);
  if (any_nan(x) || (std::isinf(amax) && !saturate)) {
    return {kNanScaleNv, std::vector<uint8_t>(x.size(), 0)};
  }
  ExpectedBlock block;
  if (std::isinf(amax)) {
    block.scale = nearest_code(Format::kMxf8E4m3, 448);
  } else {
    const double wanted = divide(divide(amax, 6), global_scale);
    block.scale = nearest_code(Format::kMxf8E4m3,
                               wanted > min_block_scale ? wanted : std::fabs(min_block_scale));
  }
  const double divisor = multiply(kE4m3[block.scale], global_scale);
  for (const double value : x) {
    const double sign = std::signbit(value) ? -1 : 1;
    double quotient = sign * std::fabs(divide(value, divisor));
    if (value == 0 || block.scale == 0) {
      quotient = sign * 0.0;
    } else if (std::isinf(value)) {
      quotient = value;
    }
    block.codes.push_back(nearest_code(Format::kNvf4, quotient));
  }
  return block;
}

float expected_global_scale(const std::vector<double>& x) {
  double amax = 0;
  for (const double value : x) {
    amax = std::isfinite(value) ? std::max(amax, std::fabs(value)) : amax;
  }
  return amax == 0 ? 1.0f : std::max(divide(amax, 2688), 0x1p-126f);
}

}  // namespace mxgemm::test
