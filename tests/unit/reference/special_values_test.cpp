// SPDX-License-Identifier: Apache-2.0
// NaN, infinities, overflow, and the two allowances that a kernel may declare.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/gemm_reference.hpp"
#include "support/random_operand.hpp"

namespace mxgemm::test {
namespace {

using internal::Activation;
using internal::CheckKind;
using internal::expected_at;
using internal::ExpectedOutput;
using internal::ReferenceProblem;

constexpr double kInf = std::numeric_limits<double>::infinity();

ReferenceProblem problem_of(const Operand& a, const Operand& b) {
  ReferenceProblem problem;
  problem.m = a.rows();
  problem.n = b.rows();
  problem.k = a.cols();
  problem.a = a.reference();
  problem.b = b.reference();
  return problem;
}

Operand ones(Format format, int64_t rows, int64_t cols) {
  Operand operand(format, rows, cols);
  operand.fill(1.0);
  return operand;
}

TEST(Nan, AScaleReachesItsRowAndNoOtherEvenUnderZeroCodes) {
  for (const Format format : {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3, Format::kMxf8E5m2}) {
    SCOPED_TRACE(internal::format_name(format));
    Operand a = ones(format, 2, 64);
    const Operand b = ones(Format::kMxf4, 3, 64);
    const int64_t block = a.info().block_size;
    for (int64_t k = block; k < 2 * block; ++k) {
      a.set(0, k, 0.0);
    }
    a.set_scale(0, 1, format == Format::kNvf4 ? 0x7F : 0xFF);
    for (int64_t n = 0; n < 3; ++n) {
      const ExpectedOutput poisoned = expected_at(problem_of(a, b), 0, n);
      EXPECT_EQ(poisoned.check, CheckKind::kBound);
      EXPECT_TRUE(poisoned.allowed.only_nan());
      const ExpectedOutput clean = expected_at(problem_of(a, b), 1, n);
      EXPECT_EQ(clean.check, CheckKind::kExact);
      EXPECT_EQ(clean.d_f32, 64.0f);
    }
  }
}

TEST(Nan, TheSignOfAnNvf4ScaleDoesNotCount) {
  Operand a = ones(Format::kNvf4, 2, 32);
  a.set_scale(0, 1, 0x80 | 0x38);
  a.set_scale(1, 1, 0xFF);
  const Operand b = ones(Format::kNvf4, 1, 32);
  EXPECT_EQ(expected_at(problem_of(a, b), 0, 0).d_f32, 32.0f);
  EXPECT_TRUE(expected_at(problem_of(a, b), 1, 0).allowed.only_nan());
}

TEST(Nan, AnElementReachesEveryOutputOfItsColumn) {
  const Operand a = ones(Format::kMxf4, 2, 64);
  Operand b = ones(Format::kMxf8E4m3, 2, 64);
  b.set_code(1, 40, 0xFF);
  for (int64_t m = 0; m < 2; ++m) {
    EXPECT_EQ(expected_at(problem_of(a, b), m, 0).d_f32, 64.0f);
    EXPECT_TRUE(expected_at(problem_of(a, b), m, 1).allowed.only_nan());
  }
}

TEST(Nan, PassesEveryActivation) {
  Operand a = ones(Format::kBf16, 1, 32);
  a.set(0, 5, std::nan(""));
  const Operand b = ones(Format::kMxf4, 1, 32);
  for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                      Activation::kGeluTanh, Activation::kSilu}) {
    ReferenceProblem problem = problem_of(a, b);
    problem.activation = activation;
    EXPECT_TRUE(expected_at(problem, 0, 0).allowed.only_nan());
    EXPECT_TRUE(std::isnan(expected_at(problem, 0, 0).d_f32));
  }
}

TEST(Nan, StaysBesideCAndBias) {
  Operand a = ones(Format::kBf16, 1, 32);
  a.set(0, 5, std::nan(""));
  const Operand b = ones(Format::kMxf4, 1, 32);
  ReferenceProblem problem = problem_of(a, b);
  for (const float c : {1.0f, HUGE_VALF}) {
    problem.c = &c;
    problem.beta = 2.0f;
    EXPECT_TRUE(expected_at(problem, 0, 0).allowed.only_nan());
  }
}

TEST(Infinity, FollowsIeee) {
  for (const Format format : {Format::kBf16, Format::kF16, Format::kF32, Format::kMxf8E5m2}) {
    SCOPED_TRACE(internal::format_name(format));
    const uint32_t infinity =
        format == Format::kMxf8E5m2 ? internal::kE5m2Infinity : internal::encode_code(format, kInf);
    const uint32_t sign = 1u << (internal::find_format(format)->element_bits - 1);
    Operand a = ones(format, 4, 32);
    Operand b = ones(Format::kMxf4, 2, 32);
    b.set(1, 3, 0.0);
    a.set_code(0, 3, infinity);
    a.set_code(1, 3, infinity | sign);
    a.set_code(2, 3, infinity);
    a.set_code(2, 7, infinity | sign);
    const ReferenceProblem problem = problem_of(a, b);
    EXPECT_TRUE(expected_at(problem, 0, 0).allowed.positive_infinity);
    EXPECT_FALSE(expected_at(problem, 0, 0).allowed.finite);
    EXPECT_FALSE(expected_at(problem, 0, 0).allowed.nan);
    EXPECT_TRUE(expected_at(problem, 1, 0).allowed.negative_infinity);
    EXPECT_TRUE(expected_at(problem, 2, 0).allowed.only_nan());  // Inf - Inf
    EXPECT_TRUE(expected_at(problem, 0, 1).allowed.only_nan());  // Inf * 0
    EXPECT_EQ(expected_at(problem, 3, 0).d_f32, 32.0f);
  }
}

TEST(Infinity, ThroughAlphaAndActivations) {
  Operand a = ones(Format::kBf16, 1, 32);
  a.set(0, 0, -kInf);
  const Operand b = ones(Format::kMxf4, 1, 32);
  ReferenceProblem problem = problem_of(a, b);
  problem.activation = Activation::kRelu;
  EXPECT_TRUE(expected_at(problem, 0, 0).allowed.finite);
  EXPECT_EQ(expected_at(problem, 0, 0).allowed.upper, 0.0);
  for (const Activation activation :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    problem.activation = activation;
    EXPECT_TRUE(expected_at(problem, 0, 0).allowed.only_nan());
  }
  problem.activation = Activation::kSilu;
  problem.factors.alpha = -1.0f;
  EXPECT_TRUE(expected_at(problem, 0, 0).allowed.positive_infinity);
  problem.factors.alpha = 0.0f;
  EXPECT_TRUE(expected_at(problem, 0, 0).allowed.only_nan());
}

TEST(Infinity, OfBiasAndC) {
  const Operand a = ones(Format::kBf16, 1, 32);
  const Operand b = ones(Format::kMxf4, 1, 32);
  ReferenceProblem problem = problem_of(a, b);
  const float bias = -HUGE_VALF;
  const float c = HUGE_VALF;
  problem.bias = &bias;
  problem.format_bias = Format::kF32;
  EXPECT_TRUE(expected_at(problem, 0, 0).allowed.negative_infinity);
  EXPECT_EQ(expected_at(problem, 0, 0).d_f32, -HUGE_VALF);
  problem.c = &c;
  problem.beta = 1.0f;
  EXPECT_TRUE(expected_at(problem, 0, 0).allowed.only_nan());
  EXPECT_TRUE(std::isnan(expected_at(problem, 0, 0).d_f32));
}

// 2 * 2^126 and so on: nothing is promised from S = 2^128 on, and the promise ends exactly there.
TEST(Overflow, OfTheSum) {
  const Operand b = ones(Format::kMxf4, 1, 32);
  Operand a(Format::kF32, 3, 32);
  a.set(0, 0, 0x1p127);
  a.set(0, 1, -0x1p127);
  a.set(1, 0, 0x1p127);
  a.set(1, 1, -0x1.FFFFFEp126);
  a.set(2, 0, 0x1p127);
  a.set(2, 1, -0x1.FFFFFEp126);
  a.set(2, 2, 0x1.FFFFFCp126);
  ReferenceProblem problem = problem_of(a, b);
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kNothing);
  EXPECT_EQ(expected_at(problem, 1, 0).check, CheckKind::kBound);
  EXPECT_EQ(expected_at(problem, 2, 0).check, CheckKind::kNothing);
  a.set(2, 5, std::nan(""));
  EXPECT_TRUE(expected_at(problem, 2, 0).allowed.only_nan());  // NaN is promised
}

TEST(Overflow, OfAlphaTimesTheSum) {
  const Operand a = ones(Format::kF32, 1, 32);
  const Operand b = ones(Format::kMxf4, 1, 32);
  ReferenceProblem problem = problem_of(a, b);
  problem.factors.alpha = -0x1.FFFFFEp122f;
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kExact);
  problem.factors.alpha = -0x1p123f;
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kNothing);
  problem.factors.alpha = HUGE_VALF;
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kNothing);
}

// Where the chain itself overflows, its infinity is the answer, and what an activation makes of it.
TEST(Overflow, OfTheEpilogue) {
  const Operand a = ones(Format::kF32, 1, 32);
  const Operand b = ones(Format::kMxf4, 1, 32);
  ReferenceProblem problem = problem_of(a, b);
  const float bias = -0x1.FFFFFEp127f;
  const float c = -0x1.FFFFFEp127f;
  problem.bias = &bias;
  problem.format_bias = Format::kF32;
  problem.c = &c;
  problem.beta = 1.0f;
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kExact);
  EXPECT_EQ(expected_at(problem, 0, 0).d_f32, -HUGE_VALF);
  problem.activation = Activation::kRelu;
  EXPECT_EQ(expected_at(problem, 0, 0).d_f32, 0.0f);
  problem.activation = Activation::kGelu;
  EXPECT_TRUE(expected_at(problem, 0, 0).allowed.only_nan());
  // Overflow that the rounding decides: both outcomes stand.
  problem.activation = Activation::kSilu;
  problem.beta = 0.0f;
  problem.factors.alpha = -0x1.8p97f;  // 32 * alpha is 1.5 times half an ulp of the bias
  const ExpectedOutput out = expected_at(problem, 0, 0);
  EXPECT_TRUE(out.allowed.nan);
  EXPECT_TRUE(out.allowed.finite);
}

TEST(Allowances, ScalesOutsideTheLimitsCheckNanOnly) {
  struct Limit {
    Format format;
    int first;
    int last;
  };
  for (const Limit& limit : {Limit{Format::kMxf4, 0, 252}, Limit{Format::kMxf8E4m3, 3, 246},
                             Limit{Format::kMxf8E5m2, 10, 239}}) {
    Operand a = ones(limit.format, 255, 32);
    for (int64_t row = 0; row < 255; ++row) {
      a.set_scale(row, 0, static_cast<uint8_t>(row));
    }
    // Times 2^-127, so that nothing overflows.
    Operand b = ones(Format::kMxf4, 1, 32);
    b.set_scale(0, 0, 0);
    ReferenceProblem problem = problem_of(a, b);
    for (int row = 0; row < 255; ++row) {
      SCOPED_TRACE(testing::Message() << internal::format_name(limit.format) << " scale " << row);
      problem.allowances.limited_scales = false;
      EXPECT_NE(expected_at(problem, row, 0).check, CheckKind::kNanPlacement);
      problem.allowances.limited_scales = true;
      const bool outside = row < limit.first || row > limit.last;
      EXPECT_EQ(expected_at(problem, row, 0).check == CheckKind::kNanPlacement, outside);
      EXPECT_FALSE(expected_at(problem, row, 0).allowed.nan);
    }
  }
}

TEST(Allowances, NanIsStillRequiredBeyondTheLimits) {
  Operand a = ones(Format::kMxf4, 1, 64);
  a.set_scale(0, 0, 254);
  a.set_scale(0, 1, 255);
  const Operand b = ones(Format::kMxf4, 1, 64);
  ReferenceProblem problem = problem_of(a, b);
  problem.allowances.limited_scales = true;
  EXPECT_TRUE(expected_at(problem, 0, 0).allowed.only_nan());
  EXPECT_NE(expected_at(problem, 0, 0).check, CheckKind::kNothing);
}

TEST(Allowances, AnInfinityThatMeetsAFlushedValuePromisesNothing) {
  Operand a = ones(Format::kMxf8E5m2, 1, 32);
  a.set_code(0, 3, internal::kE5m2Infinity);
  Operand b = ones(Format::kMxf8E4m3, 1, 32);
  b.set_scale(0, 0, 1);
  ReferenceProblem problem = problem_of(a, b);
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kBound);
  problem.allowances.limited_scales = true;
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kNothing);
}

TEST(Allowances, AFlushedTermMayLeaveTheChainToOverflow) {
  // acc and bias cancel; where acc is flushed, the rest of the chain reaches -Inf, and gelu of that
  // is NaN.
  Operand a = ones(Format::kMxf4, 1, 32);
  Operand b = ones(Format::kMxf4, 1, 32);
  a.set_scale(0, 0, 253);
  b.set_scale(0, 0, 122);
  ReferenceProblem problem = problem_of(a, b);  // 32 * 2^126 * 2^-5 = 2^126
  const float bias = -0x1p127f;
  const float c = -0x1p127f;
  problem.bias = &bias;
  problem.format_bias = Format::kF32;
  problem.c = &c;
  problem.beta = 1.0f;
  problem.allowances.limited_scales = true;
  EXPECT_FALSE(expected_at(problem, 0, 0).allowed.nan);  // without a smooth activation
  problem.activation = Activation::kGelu;
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kNanPlacement);
  EXPECT_TRUE(expected_at(problem, 0, 0).allowed.nan);
  EXPECT_FALSE(expected_at(problem, 0, 0).allowed.only_nan());
}

TEST(Allowances, ZeroGroupsCountWithTheirScales) {
  Operand a = ones(Format::kMxf4, 1, 64);
  const Operand b = ones(Format::kMxf4, 1, 64);
  for (int64_t k = 32; k < 48; ++k) {
    a.set(0, k, 0.0);
  }
  a.set_scale(0, 1, 127 + 24);
  for (int64_t k = 48; k < 64; ++k) {
    a.set_code(0, k, 8);  // -0 is zero, too
  }
  ReferenceProblem problem = problem_of(a, b);
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kExact);
  EXPECT_EQ(expected_at(problem, 0, 0).dot.magnitude, 32.0);
  problem.allowances.zero_products_count = true;
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kBound);
  EXPECT_EQ(expected_at(problem, 0, 0).dot.magnitude, 32.0 + 2.0 * 0x1p24);
  EXPECT_EQ(expected_at(problem, 0, 0).dot.value, 32.0);
  // Only where both operands are FP4.
  const Operand b8 = ones(Format::kMxf8E4m3, 1, 64);
  problem.b = b8.reference();
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kExact);
}

TEST(Allowances, ZeroProductsOf8BitOperandsCountUnderHugeScales) {
  Operand a = ones(Format::kMxf8E4m3, 1, 64);
  Operand b = ones(Format::kMxf8E4m3, 1, 64);
  for (int64_t k = 32; k < 64; ++k) {
    a.set(0, k, 0.0);
  }
  a.set_scale(0, 1, 254);
  ReferenceProblem problem = problem_of(a, b);
  const double others = 32.0;
  EXPECT_EQ(expected_at(problem, 0, 0).dot.magnitude, others);
  problem.allowances.zero_products_count = true;
  EXPECT_EQ(expected_at(problem, 0, 0).dot.magnitude, others + 32.0 * 0x1p-118 * 0x1p127);
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kExact) << "they are small beside it";
  b.set_scale(0, 1, 127 + 40);
  problem = problem_of(a, b);
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kExact);
  problem.allowances.zero_products_count = true;
  EXPECT_EQ(expected_at(problem, 0, 0).check, CheckKind::kBound);
  EXPECT_EQ(expected_at(problem, 0, 0).dot.value, others);
}

TEST(ProductsBelowNormalRange, AreNotBitExact) {
  Operand a = ones(Format::kMxf4, 2, 32);
  Operand b = ones(Format::kMxf4, 1, 32);
  b.set_scale(0, 0, 64);
  a.set_scale(0, 0, 64);  // products 2^-126
  a.set_scale(1, 0, 63);
  EXPECT_EQ(expected_at(problem_of(a, b), 0, 0).check, CheckKind::kExact);
  const ExpectedOutput out = expected_at(problem_of(a, b), 1, 0);
  EXPECT_EQ(out.check, CheckKind::kBound);
  EXPECT_LE(out.allowed.lower, 0.0);  // a flush to zero is within the bound
}

}  // namespace
}  // namespace mxgemm::test
