// SPDX-License-Identifier: Apache-2.0
// What the rules cost, and the bytes of the field's most used quantiser.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/test_size.hpp"
#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

// Relative error in percent: the root of the summed squared errors over that of the summed squares.
double relative_error(const Numbers& numbers, int64_t count, ScaleRule rule) {
  const QuantizeOptions options =
      options_for(Format::kF32, Format::kMxf4, count / 1024, 1024, rule);
  const Quantized result = quantize_numbers(options, numbers, levels().back());
  const Numbers decoded = decode(Format::kMxf4, count / 1024, 1024, result, Format::kF32);
  double error = 0;
  double norm = 0;
  for (int64_t k = 0; k < count; ++k) {
    error += std::pow(decoded.at(k) - numbers.at(k), 2);
    norm += std::pow(numbers.at(k), 2);
  }
  return 100 * std::sqrt(error / norm);
}

struct Figure {
  ScaleRule rule;
  double gaussian;
  double uniform;
};

// The table of docs/formats.md, printed to 0.1 from 640 thousand samples. Allowed: half of that
// last digit, and as much again for the sampling error (the relative deviation of a mean of 640
// thousand squares is about 0.2 %, on half a square root 0.1 %, on 14 percent 0.014; five of those
// and a little).
constexpr Figure kFigures[] = {
    {ScaleRule::kFloor, 11.5, 14.4},  {ScaleRule::kCeil, 14.4, 9.9}, {ScaleRule::kRceil, 11.6, 9.9},
    {ScaleRule::kNearest, 11.8, 9.9}, {ScaleRule::kEven, 11.2, 9.9}, {ScaleRule::kMse, 11.2, 9.9},
};
constexpr double kAllowed = 0.05 + 0.08;

TEST(Accuracy, RelativeErrorsAreThoseOfTheTable) {
  constexpr int64_t kCount = 625 * 1024;
  std::mt19937_64 generator(17);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Numbers gaussians(Format::kF32, kCount);
  Numbers uniforms(Format::kF32, kCount);
  for (int64_t k = 0; k < kCount; ++k) {
    gaussians.set(k, normal(generator));
    uniforms.set(k, uniform(generator));
  }
  for (const Figure& figure : kFigures) {
    const char* name = kScaleRuleNames[static_cast<int>(figure.rule)];
    EXPECT_NEAR(relative_error(gaussians, kCount, figure.rule), figure.gaussian, kAllowed) << name;
    EXPECT_NEAR(relative_error(uniforms, kCount, figure.rule), figure.uniform, kAllowed) << name;
  }
}

// torchao's to_mx with ScaleCalculationMode.FLOOR for finite input, retold: exponent of amax from
// frexp, minus the element's largest exponent, clamped to E8M0; elements are x / 2^exponent in
// fp32, clamped to the largest element, rounded to nearest even.
uint8_t torchao_code(Format format, float quotient) {
  const double largest = find_format(format)->element_max;
  const double clamped = std::fmin(std::fmax(quotient, -largest), largest);
  const int mantissa_bits = find_format(format)->mantissa_bits;
  const int least_exponent = format == Format::kMxf4 ? 0 : format == Format::kMxf8E4m3 ? -6 : -14;
  int exponent = 0;
  std::frexp(clamped, &exponent);
  exponent = clamped == 0 ? least_exponent : std::max(exponent - 1, least_exponent);
  const double steps = std::nearbyint(std::ldexp(std::fabs(clamped), mantissa_bits - exponent));
  const int code = static_cast<int>(steps) + ((exponent - least_exponent) << mantissa_bits);
  const int sign = std::signbit(quotient) ? (format == Format::kMxf4 ? 8 : 128) : 0;
  return static_cast<uint8_t>(code | sign);
}

TEST(Accuracy, FloorGivesTorchaosBytes) {
  const int64_t count = test_size(1 << 17, 1 << 13);
  std::mt19937_64 generator(18);
  std::normal_distribution<float> normal;
  for (const Format format : kMxFormats) {
    Numbers numbers(Format::kBf16, count);
    for (int64_t k = 0; k < count; ++k) {
      numbers.set(k, std::ldexp(normal(generator), static_cast<int>(k / 32 % 260) - 140));
      if (std::isinf(numbers.at(k))) {
        numbers.set(k, 0.0);
      }
    }
    const Quantized result = quantize_numbers(
        options_for(Format::kBf16, format, 1, count, ScaleRule::kFloor), numbers, levels().back());
    for (int64_t block = 0; block < count / 32; ++block) {
      float amax = 0;
      for (int64_t k = 0; k < 32; ++k) {
        amax = std::fmax(amax, std::fabs(static_cast<float>(numbers.at(block * 32 + k))));
      }
      int exponent = -127;
      if (amax > 0) {
        std::frexp(amax, &exponent);
        exponent -= 1 + find_format(format)->element_emax;
        exponent = std::min(std::max(exponent, -127), 127);
      }
      ASSERT_EQ(+result.scale[static_cast<size_t>(block)], exponent + 127);
      for (int64_t k = block * 32; k < block * 32 + 32; ++k) {
        const auto quotient = static_cast<float>(std::ldexp(numbers.at(k), -exponent));
        ASSERT_EQ(+code_at(format, result.qdata, k), +torchao_code(format, quotient))
            << numbers.at(k) << " under 2^" << exponent;
      }
    }
  }
}

}  // namespace
}  // namespace mxgemm::test
