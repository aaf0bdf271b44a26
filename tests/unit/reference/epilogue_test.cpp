// SPDX-License-Identifier: Apache-2.0
// From the exact sum to D: alpha', C, bias, the fp32 chain, K = 0, and the exact argument of the
// activation.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/gemm_reference.hpp"
#include "support/random_operand.hpp"
#include "unit/reference/exact_value.hpp"

namespace mxgemm::test {
namespace {

using internal::Activation;
using internal::AlphaFactors;
using internal::CheckKind;
using internal::expected_at;
using internal::ExpectedOutput;
using internal::ReferenceProblem;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// One output of 32 products a * 1.
struct OneOutput {
  explicit OneOutput(double a_value, int64_t k = 32)
      : a(Format::kBf16, 1, k), b(Format::kMxf4, 1, k) {
    a.fill(a_value);
    b.fill(1.0);
    problem.m = 1;
    problem.n = 1;
    problem.k = k;
    problem.a = a.reference();
    problem.b = b.reference();
    problem.ldc = 1;
  }
  void set_c(float value, float beta) {
    c = value;
    problem.c = &c;
    problem.beta = beta;
  }
  void set_bias(float value) {
    bias = value;
    problem.bias = &bias;
    problem.format_bias = Format::kF32;
  }
  ExpectedOutput expected() const { return expected_at(problem, 0, 0); }

  Operand a;
  Operand b;
  float c = 0.0f;
  float bias = 0.0f;
  ReferenceProblem problem;
};

TEST(FoldedAlpha, HostValuesRoundOnceDeviceValuesEachTime) {
  AlphaFactors factors;
  factors.alpha = 1.0f + 0x1p-23f;
  factors.global_scale_a = 1.0f + 0x1p-23f;
  factors.global_scale_b = 1.0f - 0x1p-23f;
  const double exact = (1.0 + 0x1p-23) * (1.0 + 0x1p-23) * (1.0 - 0x1p-23);
  EXPECT_EQ(internal::folded_alpha(factors), static_cast<float>(exact));
  factors.global_scale_a_on_device = true;
  const float host = static_cast<float>((1.0 + 0x1p-23) * (1.0 - 0x1p-23));
  EXPECT_EQ(internal::folded_alpha(factors), host * factors.global_scale_a);
  factors.alpha_on_device = factors.global_scale_b_on_device = true;
  EXPECT_EQ(internal::folded_alpha(factors),
            factors.alpha * factors.global_scale_a * factors.global_scale_b);
}

TEST(FoldedAlpha, TheOrderOfDeviceValuesShows) {
  // 2^127 * 2 overflows in fp32 before * 0.25 can bring it back; in double it does not.
  AlphaFactors factors{0x1p127f, 2.0f, 0.25f};
  EXPECT_EQ(internal::folded_alpha(factors), 0x1p126f);
  factors.alpha_on_device = factors.global_scale_a_on_device = factors.global_scale_b_on_device =
      true;
  EXPECT_EQ(internal::folded_alpha(factors), kInf);
  factors = {0x1p-100f, 0x1p-100f, 0x1p100f};  // the product of the first two is below fp32
  EXPECT_EQ(internal::folded_alpha(factors), 0x1p-100f);
}

TEST(Chain, FusesInTheOrderOfTheContract) {
  OneOutput one(1.0);
  one.problem.factors.alpha = 1.0f / 3.0f;
  one.set_c(7.0f, 1.0f / 7.0f);
  one.set_bias(0.1f);
  const ExpectedOutput out = one.expected();
  EXPECT_EQ(out.check, CheckKind::kExact);
  const float inner = std::fmaf(1.0f / 3.0f, 32.0f, 0.1f);
  EXPECT_EQ(out.d_f32, std::fmaf(1.0f / 7.0f, 7.0f, inner));
  // A case where fusing matters: 3 * (1/3) - 1 is 2^-25 with fma and 0 without.
  OneOutput fused(3.0 / 32.0);
  fused.problem.factors.alpha = 1.0f / 3.0f;
  fused.set_bias(-1.0f);
  EXPECT_EQ(fused.expected().d_f32, 0x1p-25f);
  // And of beta * C: 3 * (1/3) - 1 again.
  OneOutput with_c(-1.0 / 32.0);
  with_c.set_c(3.0f, 1.0f / 3.0f);
  EXPECT_EQ(with_c.expected().d_f32, 0x1p-25f);
}

TEST(Chain, RoundsOnceToD) {
  OneOutput one(1.0);
  one.set_bias(1.00390625f);
  EXPECT_EQ(one.expected().d_code, internal::f32_encode(33.00390625));
  one.problem.format_d = Format::kBf16;
  EXPECT_EQ(one.expected().d_code, internal::bf16_encode(33.0));
  one.problem.format_d = Format::kF16;
  EXPECT_EQ(one.expected().d_code, internal::f16_encode(33.0));
}

TEST(Chain, BiasAndCComeInTheirFormats) {
  OneOutput one(1.0);
  const uint16_t bias = internal::f16_encode(2.5);
  const uint16_t c = internal::f16_encode(-3.0);
  one.problem.format_d = Format::kF16;
  one.problem.bias = &bias;
  one.problem.format_bias = Format::kF16;
  one.problem.c = &c;
  one.problem.beta = 2.0f;
  EXPECT_EQ(one.expected().d_f32, 28.5f);
}

TEST(Chain, Relu) {
  OneOutput one(-1.0);
  one.problem.activation = Activation::kRelu;
  EXPECT_EQ(one.expected().check, CheckKind::kExact);
  EXPECT_EQ(one.expected().d_f32, 0.0f);
  one.set_bias(33.5f);
  EXPECT_EQ(one.expected().d_f32, 1.5f);
}

TEST(Chain, SmoothActivationsAreBounded) {
  for (const Activation activation :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    OneOutput one(0.03125);
    one.problem.activation = activation;
    const ExpectedOutput out = one.expected();
    EXPECT_EQ(out.check, CheckKind::kBound);
    EXPECT_EQ(out.exact, internal::exact_activation(activation, 1.0));
    internal::BoundTerms terms;
    terms.k = 32;
    terms.alpha = 1.0;
    terms.magnitude = 1.0;
    terms.argument = 1.0;
    terms.activation = activation;
    EXPECT_EQ(out.bound, internal::error_bound(terms));
    EXPECT_EQ(out.allowed.upper, out.exact + out.bound);
    EXPECT_EQ(out.allowed.lower, out.exact - out.bound);
  }
}

TEST(Beta, ZeroDoesNotReadC) {
  OneOutput one(1.0);
  one.set_c(kNan, 0.0f);
  EXPECT_EQ(one.expected().check, CheckKind::kExact);
  EXPECT_EQ(one.expected().d_f32, 32.0f);
  one.problem.beta = 1.0f;
  EXPECT_TRUE(std::isnan(one.expected().d_f32));
}

TEST(Alpha, ZeroStillMultiplies) {
  OneOutput one(kNan);
  one.problem.factors.alpha = 0.0f;
  EXPECT_TRUE(one.expected().allowed.only_nan());
  OneOutput finite(5.0);
  finite.problem.factors.alpha = 0.0f;
  finite.set_bias(2.0f);
  EXPECT_EQ(finite.expected().d_f32, 2.0f);
}

TEST(Alpha, NanReachesTheOutput) {
  OneOutput one(1.0);
  one.problem.factors.alpha = kNan;
  EXPECT_EQ(one.expected().check, CheckKind::kExact);
  EXPECT_TRUE(std::isnan(one.expected().d_f32));
}

TEST(NoProducts, AlphaIsNotLookedAt) {
  OneOutput one(1.0, 0);
  one.problem.factors.alpha = kNan;
  EXPECT_EQ(one.expected().check, CheckKind::kExact);
  EXPECT_EQ(one.expected().d_f32, 0.0f);
  one.set_bias(-2.0f);
  one.set_c(8.0f, 0.5f);
  EXPECT_EQ(one.expected().d_f32, 2.0f);
  one.problem.activation = Activation::kSilu;
  EXPECT_EQ(one.expected().check, CheckKind::kBound);
  EXPECT_EQ(one.expected().exact, internal::exact_activation(Activation::kSilu, 2.0));
  EXPECT_EQ(one.expected().bound, 1.13 * 0x1p-22 * (4.0 + 2.0) + 0x1p-21 * 2.0);
}

// The argument of the activation against big integers: terms that cancel, alpha of any exponent.
TEST(Argument, IsRoundedOnceFromTheExactValue) {
  Random random(21);
  for (int trial = 0; trial < 300; ++trial) {
    Operand a(Format::kF32, 1, 32);
    Operand b(Format::kMxf4, 1, 32);
    fill_normal(&a, &random);
    fill_normal(&b, &random);
    ReferenceProblem problem;
    problem.m = problem.n = 1;
    problem.k = 32;
    problem.a = a.reference();
    problem.b = b.reference();
    const int exponent = static_cast<int>(random.integer(-120, 90));
    const float alpha = std::ldexp(static_cast<float>(random.normal()), exponent);
    problem.factors.alpha = alpha;
    BigInt sum;
    for (int64_t k = 0; k < 32; ++k) {
      sum = sum + times(exact_element(a, 0, k), exact_element(b, 0, k)).units();
    }
    const Scaled scaled_alpha = decode_exact(alpha);
    // alpha * sum, in units of 2^kUnit: the factor's exponent is taken out of the sum, which has
    // room below.
    BigInt right = BigInt(scaled_alpha.mantissa) * sum;
    const double rounded_sum = rounded(right, 53, kUnit) * std::ldexp(1.0, scaled_alpha.exponent);
    const float bias = -static_cast<float>(rounded_sum);  // cancels nearly everything
    const float c = static_cast<float>(random.normal());
    const float beta = std::ldexp(static_cast<float>(random.normal()), exponent - 24);
    problem.bias = &bias;
    problem.format_bias = Format::kF32;
    problem.c = &c;
    problem.beta = beta;
    // Everything times 2^-scaled_alpha.exponent, so that it stays an integer.
    const int shift = -scaled_alpha.exponent;
    const auto term = [&](const Scaled& value) {
      return Scaled{value.mantissa, value.mantissa == 0 ? 0 : value.exponent + shift}.units();
    };
    right = right + term(decode_exact(bias)) + term(times(decode_exact(beta), decode_exact(c)));
    EXPECT_EQ(expected_at(problem, 0, 0).exact,
              std::ldexp(rounded(right, 53, kUnit), scaled_alpha.exponent))
        << "trial " << trial;
  }
}

}  // namespace
}  // namespace mxgemm::test
