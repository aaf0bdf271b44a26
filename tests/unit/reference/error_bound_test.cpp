// SPDX-License-Identifier: Apache-2.0
#include "reference/error_bound.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mxgemm::internal {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Format kOutputs[] = {Format::kBf16, Format::kF16, Format::kF32};

AllowedValues interval(double lower, double upper) {
  AllowedValues allowed;
  allowed.finite = true;
  allowed.lower = lower;
  allowed.upper = upper;
  return allowed;
}

TEST(ErrorBound, IsTheFormulaOfTheContract) {
  BoundTerms terms;
  terms.k = 64;
  terms.alpha = 0.5;
  terms.magnitude = 1024.0;
  terms.beta_c = 16.0;
  terms.bias = 32.0;
  terms.argument = 100.0;
  // 0.5 * 64 * (2^-13 + 2^-126) + 2^-22 * (512 + 16 + 32)
  const double plain = 32.0 * (0x1p-13 + 0x1p-126) + 0x1p-22 * 560.0;
  EXPECT_EQ(error_bound(terms), plain);
  terms.activation = Activation::kRelu;
  EXPECT_EQ(error_bound(terms), plain);
  for (const Activation activation :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    terms.activation = activation;
    EXPECT_EQ(error_bound(terms), 1.13 * plain + 0x1p-21 * 100.0);
  }
}

// Results near 2^-135: a correct rounding costs 2^-150, which no relative term allows.
TEST(ErrorBound, RoundingsBelowTheNormalRangeAreAbsolute) {
  BoundTerms terms;
  terms.k = 32;
  terms.alpha = 0x1p-140;
  terms.magnitude = 32.0;
  const double relative = terms.alpha * 32 * (0x1p-18 + 0x1p-126) + 0x1p-22 * 0x1p-135;
  EXPECT_EQ(error_bound(terms), relative + 0x1p-149);
  EXPECT_GT(0x1p-150, 0x1p-22 * 0x1p-135);
  terms.activation = Activation::kSilu;
  EXPECT_EQ(error_bound(terms), 1.13 * (relative + 0x1p-149) + 0x1p-149);
}

TEST(ErrorBound, TheSlopeFactorCoversEverySmoothActivation) {
  for (const Activation activation :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    for (double x = -12.0; x < 12.0; x += 0x1p-8) {
      const double slope =
          (exact_activation(activation, x + 0x1p-20) - exact_activation(activation, x)) * 0x1p20;
      ASSERT_LE(std::fabs(slope), 1.13) << x;
    }
  }
}

TEST(WithinRounding, JustInsideAndJustOutside) {
  // bf16: 1 and its neighbours 1 - 2^-8, 1 + 2^-7; midpoints 1 - 2^-9 and 1 + 2^-8.
  const uint32_t one = bf16_encode(1.0);
  const uint32_t above = bf16_encode(1.0078125);
  EXPECT_TRUE(within_rounding(interval(1.0, 1.0), Format::kBf16, one));
  EXPECT_FALSE(within_rounding(interval(1.0, 1.0), Format::kBf16, above));
  EXPECT_FALSE(within_rounding(interval(1.0, 1.00390625), Format::kBf16, above));  // a tie, to even
  EXPECT_TRUE(within_rounding(interval(1.0, 1.00390626), Format::kBf16, above));
  EXPECT_TRUE(within_rounding(interval(0.998046875, 1.5), Format::kBf16, one));
  EXPECT_FALSE(within_rounding(interval(1.00390626, 1.5), Format::kBf16, one));
}

TEST(WithinRounding, SpecialValues) {
  for (const Format format : kOutputs) {
    SCOPED_TRACE(format_name(format));
    const uint32_t nan = encode_code(format, std::nan(""));
    const uint32_t infinity = encode_code(format, kInf);
    const uint32_t minus_infinity = encode_code(format, -kInf);
    EXPECT_FALSE(within_rounding(interval(-1.0, 1.0), format, nan));
    EXPECT_FALSE(within_rounding(interval(-1.0, 1.0), format, infinity));
    EXPECT_TRUE(within_rounding(interval(-1.0, 1.0), format, encode_code(format, -0.0)));
    EXPECT_TRUE(
        within_rounding(interval(1.0, 0x1p128), format, infinity));  // overflow is a rounding
    EXPECT_FALSE(within_rounding(interval(1.0, 0x1p128), format, minus_infinity));
    AllowedValues nan_only;
    nan_only.nan = true;
    EXPECT_TRUE(nan_only.only_nan());
    EXPECT_TRUE(within_rounding(nan_only, format, nan));
    EXPECT_FALSE(within_rounding(nan_only, format, encode_code(format, 1.0)));
    AllowedValues both;
    both.positive_infinity = both.negative_infinity = true;
    EXPECT_TRUE(within_rounding(both, format, infinity));
    EXPECT_TRUE(within_rounding(both, format, minus_infinity));
    EXPECT_FALSE(within_rounding(both, format, encode_code(format, 0.0)));
  }
}

TEST(ErrorOverBound, IsAtMostOneExactlyWithinTheRounding) {
  for (const Format format : kOutputs) {
    for (const double exact :
         {0.0, 1.0, -1.0, 3.14159265358979, -1000.3, 0x1p-133, 6.0e-8, 65519.0, 0x1.FFp127}) {
      for (const double bound : {1e-30, 1e-9, 1e-4, 0.1, 3.0}) {
        const AllowedValues allowed = interval(exact - bound, exact + bound);
        const uint32_t nearest = encode_code(format, exact);
        for (int step = -3; step <= 3; ++step) {
          const uint32_t code = nearest + static_cast<uint32_t>(step);
          const double value = decode_code(format, code);
          if (std::isnan(value)) {
            continue;
          }
          const double ratio = error_over_bound(exact, bound, allowed, format, code);
          ASSERT_EQ(ratio <= 1.0, within_rounding(allowed, format, code))
              << format_name(format) << " " << exact << " +- " << bound << " against " << value;
        }
      }
    }
  }
}

TEST(ErrorOverBound, Values) {
  const AllowedValues allowed = interval(0.0, 2.0);
  const auto ratio = [&](float d) {
    return error_over_bound(1.0, 1.0, allowed, Format::kF32, encode_code(Format::kF32, d));
  };
  EXPECT_EQ(ratio(1.0f), 0.0);
  EXPECT_NEAR(ratio(1.5f), 0.5, 1e-6);
  EXPECT_NEAR(ratio(0.25f), 0.75, 1e-6);
  EXPECT_NEAR(ratio(5.0f), 4.0, 1e-6);
  EXPECT_EQ(ratio(std::numeric_limits<float>::quiet_NaN()), kInf);
  // What the rounding to bf16 loses is not the kernel's error: 1.002 becomes 1.
  EXPECT_EQ(error_over_bound(1.002, 1e-9, interval(1.002 - 1e-9, 1.002 + 1e-9), Format::kBf16,
                             bf16_encode(1.0)),
            0.0);
}

TEST(Codes, EqualValues) {
  for (const Format format : kOutputs) {
    EXPECT_TRUE(same_value(format, encode_code(format, 0.0), encode_code(format, -0.0)));
    EXPECT_TRUE(
        same_value(format, encode_code(format, std::nan("")), encode_code(format, -std::nan(""))));
    EXPECT_FALSE(same_value(format, encode_code(format, std::nan("")), encode_code(format, 1.0)));
    EXPECT_FALSE(same_value(format, encode_code(format, 1.0), encode_code(format, 1.0) + 1));
  }
}

}  // namespace
}  // namespace mxgemm::internal
