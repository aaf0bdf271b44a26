// SPDX-License-Identifier: Apache-2.0
// The oracle's claim that its sums are exact, against big integers.
#include <gtest/gtest.h>

#include <vector>

#include "reference/gemm_reference.hpp"
#include "support/random_operand.hpp"
#include "unit/reference/exact_value.hpp"

namespace mxgemm::test {
namespace {

using internal::expected_tile;
using internal::ExpectedOutput;
using internal::ReferenceProblem;

constexpr Format kAllFormats[] = {Format::kMxf4,     Format::kNvf4, Format::kMxf8E4m3,
                                  Format::kMxf8E5m2, Format::kBf16, Format::kF16,
                                  Format::kF32};

ReferenceProblem problem_of(const Operand& a, const Operand& b) {
  ReferenceProblem problem;
  problem.m = a.rows();
  problem.n = b.rows();
  problem.k = a.cols();
  problem.a = a.reference();
  problem.b = b.reference();
  return problem;
}

// What big integers say of one dot product.
struct BigDot {
  BigInt sum;
  BigInt magnitude;
  bool has_products = false;
  int unit_exponent = 0;
  bool subnormal_product = false;

  bool exact_in_any_order() const {
    return !subnormal_product &&
           (!has_products || magnitude < BigInt(1).shifted_left(24 + unit_exponent - kUnit));
  }
};

BigDot big_dot(const Operand& a, const Operand& b, int64_t m, int64_t n) {
  BigDot dot;
  for (int64_t k = 0; k < a.cols(); ++k) {
    const BigInt product = times(exact_element(a, m, k), exact_element(b, n, k)).units();
    if (product.is_zero()) {
      continue;
    }
    dot.sum = dot.sum + product;
    dot.magnitude = dot.magnitude + product.magnitude();
    int zeros = 0;
    while (!product.bit(zeros)) {
      ++zeros;
    }
    const int unit = zeros + kUnit;
    dot.unit_exponent = dot.has_products ? std::min(dot.unit_exponent, unit) : unit;
    dot.has_products = true;
    dot.subnormal_product = dot.subnormal_product || product.bit_length() + kUnit - 1 < -126;
  }
  return dot;
}

void expect_equals_big_integers(const Operand& a, const Operand& b) {
  const ReferenceProblem problem = problem_of(a, b);
  std::vector<ExpectedOutput> out(static_cast<size_t>(problem.m * problem.n));
  expected_tile(problem, {0, problem.m, 0, problem.n}, out);
  for (int64_t m = 0; m < problem.m; ++m) {
    for (int64_t n = 0; n < problem.n; ++n) {
      const internal::ExactDot& dot = out[static_cast<size_t>(m * problem.n + n)].dot;
      const BigDot right = big_dot(a, b, m, n);
      SCOPED_TRACE(testing::Message()
                   << a.info().name << " x " << b.info().name << " [" << m << "," << n << "]");
      ASSERT_EQ(dot.value, rounded(right.sum, 53, kUnit));
      ASSERT_EQ(dot.value_f32, rounded_to_f32(right.sum));
      ASSERT_EQ(dot.magnitude, rounded(right.magnitude, 53, kUnit));
      ASSERT_EQ(dot.has_products, right.has_products);
      ASSERT_EQ(dot.unit_exponent, right.unit_exponent);
      ASSERT_EQ(dot.exact_in_any_order, right.exact_in_any_order());
      ASSERT_EQ(dot.overflows, right.magnitude.bit_length() + kUnit > 128);
    }
  }
}

TEST(ExactDot, EveryPairOfFormatsOnAnyCodes) {
  Random random(11);
  for (const Format format_a : kAllFormats) {
    for (const Format format_b : kAllFormats) {
      Operand a(format_a, 5, 96);
      Operand b(format_b, 7, 96, ScaleLayout::kRowMajor, 32, 3);
      // E4M3 scales end at 0x7E.
      fill_codes(&a, &random, 0, format_a == Format::kNvf4 ? 0x7E : 254);
      fill_codes(&b, &random, 0, format_b == Format::kNvf4 ? 0x7E : 254);
      expect_equals_big_integers(a, b);
    }
  }
}

TEST(ExactDot, EveryPairOfFormatsOnNormalData) {
  Random random(12);
  for (const Format format_a : kAllFormats) {
    for (const Format format_b : kAllFormats) {
      Operand a(format_a, 3, 160, ScaleLayout::kRowMajor, 2);
      Operand b(format_b, 5, 160);
      fill_normal(&a, &random);
      fill_normal(&b, &random);
      expect_equals_big_integers(a, b);
    }
  }
}

TEST(ExactDot, EveryScaleByteAgainstBothEnds) {
  Random random(13);
  Operand a(Format::kMxf4, 255, 64);
  Operand b(Format::kMxf8E5m2, 9, 64);
  constexpr uint8_t kBytes[] = {0, 1, 2, 126, 127, 128, 246, 253, 254};
  fill_codes(&a, &random, 0, 0);
  fill_codes(&b, &random, 0, 0);
  for (int64_t row = 0; row < 255; ++row) {
    a.set_scale(row, 0, static_cast<uint8_t>(row));
    a.set_scale(row, 1, static_cast<uint8_t>(254 - row));
  }
  for (int64_t row = 0; row < 9; ++row) {
    b.set_scale(row, 0, kBytes[row]);
    b.set_scale(row, 1, kBytes[row]);
  }
  expect_equals_big_integers(a, b);
}

TEST(ExactDot, FloatsAtBothEnds) {
  Operand a(Format::kF32, 4, 64);
  Operand b(Format::kF32, 4, 64);
  constexpr uint32_t kCodes[] = {0x00000001, 0x80000001, 0x7F7FFFFF, 0xFF7FFFFF,
                                 0x007FFFFF, 0x00800000, 0x3F800001, 0xBF7FFFFF,
                                 0x00000000, 0x80000000, 0x33800000};
  Random random(14);
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t col = 0; col < 64; ++col) {
      a.set_code(row, col, kCodes[random.integer(0, 10)]);
      b.set_code(row, col, kCodes[random.integer(0, 10)]);
    }
  }
  expect_equals_big_integers(a, b);
}

TEST(ExactDot, CancellationLeavesTheSmallestTerm) {
  // 6 * 2^127 * 6 * 2^127 and its negative around 0.5 * 2^-127 * 0.5 * 2^-127.
  Operand a(Format::kMxf4, 1, 96);
  Operand b(Format::kMxf4, 1, 96);
  a.set(0, 0, 6.0);
  a.set(0, 33, 0.5);
  a.set(0, 64, -6.0);
  b.set(0, 0, 6.0);
  b.set(0, 33, 0.5);
  b.set(0, 64, 6.0);
  constexpr uint8_t kScales[] = {254, 0, 254};
  for (int64_t block = 0; block < 3; ++block) {
    a.set_scale(0, block, kScales[block]);
    b.set_scale(0, block, kScales[block]);
  }
  expect_equals_big_integers(a, b);
  EXPECT_EQ(internal::expected_at(problem_of(a, b), 0, 0).dot.value, 0x1p-256);
}

TEST(ExactDot, RoundsTiesToEvenAndSeesEveryBitBelow) {
  // 2^24 + 1 is a tie of fp32; + 2^-120 it is not.
  for (const double extra : {0.0, 0x1p-120, -0x1p-120}) {
    Operand a(Format::kF32, 2, 32);
    Operand b(Format::kMxf4, 1, 32);
    b.fill(1.0);
    for (int64_t row = 0; row < 2; ++row) {
      a.set(row, 0, row == 0 ? 0x1p24 : 0x1p24 + 2.0);
      a.set(row, 1, 1.0);
      a.set(row, 2, extra);
    }
    expect_equals_big_integers(a, b);
    const float low = internal::expected_at(problem_of(a, b), 0, 0).dot.value_f32;
    EXPECT_EQ(low, extra > 0.0 ? 0x1.000002p24f : 0x1p24f);
    const float high = internal::expected_at(problem_of(a, b), 1, 0).dot.value_f32;
    EXPECT_EQ(high, extra < 0.0 ? 0x1.000002p24f : 0x1.000004p24f);
  }
}

TEST(ExactDot, TheLimitOfTwentyFourBits) {
  // Products of unit 1 and S = 2^24 - 1 (exact in any order), then 2^24 (not).
  for (const double first : {0x1p24 - 32.0, 0x1p24 - 31.0}) {
    Operand a(Format::kF32, 1, 32);
    Operand b(Format::kMxf4, 1, 32);
    b.fill(1.0);
    a.fill(-1.0);
    a.set(0, 0, first);
    expect_equals_big_integers(a, b);
    EXPECT_EQ(internal::expected_at(problem_of(a, b), 0, 0).dot.exact_in_any_order,
              first == 0x1p24 - 32.0);
  }
}

TEST(ExactDot, RoundsToFloatOnceAtBothEnds) {
  struct Row {
    double terms[3];
    float right;
  };
  constexpr Row kRows[] = {
      {{0x1p-75, 0x1p-85, 0.0}, 0x1p-149f},  // times 2^-75: just above half of the smallest fp32
      {{0x1p-75, 0.0, 0.0}, 0.0f},           // half of it, a tie
      {{0x1.8p-74, 0.0, 0.0}, 0x1p-148f},    // 1.5 of it, a tie
  };
  for (const Row& row : kRows) {
    Operand a(Format::kF32, 1, 16);
    Operand b(Format::kF32, 1, 16);
    b.fill(0x1p-75);
    for (int64_t k = 0; k < 3; ++k) {
      a.set(0, k, row.terms[k]);
    }
    expect_equals_big_integers(a, b);
    EXPECT_EQ(internal::expected_at(problem_of(a, b), 0, 0).dot.value_f32, row.right);
  }
  for (const double extra : {0x1p103, 0x1.FFFFFEp102}) {
    Operand a(Format::kF32, 1, 16);
    Operand b(Format::kF32, 1, 16);
    b.fill(1.0);
    a.set(0, 0, 0x1.FFFFFEp127);
    a.set(0, 1, extra);
    expect_equals_big_integers(a, b);
    EXPECT_EQ(internal::expected_at(problem_of(a, b), 0, 0).dot.value_f32,
              extra == 0x1p103 ? HUGE_VALF : 0x1.FFFFFEp127f);
  }
}

TEST(ExactDot, GroupsAsWideAsIntegersAllow) {
  // 16 products of two 31-bit integers exceed 64 bits.
  for (const double large : {0x1.FFFFFEp30, 0x1.FFFFFEp28, 0x1.FFFFFEp26}) {
    Operand a(Format::kF32, 1, 16);
    Operand b(Format::kF32, 1, 16);
    a.fill(large);
    b.fill(large);
    a.set(0, 3, 1.0);
    b.set(0, 9, 1.0);
    expect_equals_big_integers(a, b);
  }
}

TEST(ExactDot, TheSmallestNormalProductIsStillExact) {
  for (const double other : {0x1.8p-126, 0x1p-100}) {
    // 1.5 * 2^-126 has its unit below; 2^-100 and 2^-126 need more than 31 bits with 2^-140 beside
    // them.
    Operand a(Format::kF32, 2, 16);
    Operand b(Format::kF32, 2, 16);
    b.fill(1.0);
    a.set(0, 0, 0x1p-126);
    a.set(0, 1, other);
    a.set(1, 0, 0x1p-126);
    a.set(1, 1, 0x1.FFFFFEp-127);
    b.set(1, 0, 0x1p-40);
    expect_equals_big_integers(a, b);
  }
  Operand a(Format::kF32, 1, 16);
  Operand b(Format::kF32, 1, 16);
  b.fill(0x1p40);
  b.set(0, 0, 0x1p-1);
  a.set(0, 0, 0x1p-125);
  a.set(0, 1, 0x1p-166 + 0x1p-143);  // wide: 2^-125 against 2^-149
  a.set(0, 2, 0x1p-160);             // an fp32 zero
  expect_equals_big_integers(a, b);
  // Product by product: 2^-126 and 2^-126 from a group of 41 bits.
  a.fill(0.0);
  a.set(0, 0, 0x1p-125);
  a.set(0, 1, 0x1p-149);
  b.set(0, 1, 0x1p23);
  expect_equals_big_integers(a, b);
}

TEST(ExactDot, TilesDoNotDependOnTheirExtent) {
  Random random(15);
  // Longer than the groups decoded at a time.
  Operand a(Format::kBf16, 3, 2080);
  Operand b(Format::kMxf8E4m3, 70, 2080);
  fill_normal(&a, &random);
  fill_normal(&b, &random);
  const ReferenceProblem problem = problem_of(a, b);
  std::vector<ExpectedOutput> whole(3 * 70);
  expected_tile(problem, {0, 3, 0, 70}, whole);
  std::vector<ExpectedOutput> part(2 * 5);
  expected_tile(problem, {1, 3, 65, 70}, part);
  for (int64_t m = 0; m < 2; ++m) {
    for (int64_t n = 0; n < 5; ++n) {
      const ExpectedOutput& expected = whole[static_cast<size_t>((m + 1) * 70 + n + 65)];
      EXPECT_EQ(part[static_cast<size_t>(m * 5 + n)].dot.value, expected.dot.value);
      EXPECT_EQ(part[static_cast<size_t>(m * 5 + n)].dot.magnitude, expected.dot.magnitude);
    }
  }
  EXPECT_EQ(whole[69].dot.value, rounded(big_dot(a, b, 0, 69).sum, 53, kUnit));
}

}  // namespace
}  // namespace mxgemm::test
