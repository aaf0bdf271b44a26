// SPDX-License-Identifier: Apache-2.0
// The comparators: each must be able to fail.
#include "reference/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/random_operand.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {
namespace {

using internal::Activation;
using internal::CheckKind;
using internal::CompareReport;
using internal::ExpectedOutput;
using internal::OutputView;
using internal::ReferenceProblem;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A problem and an output that starts as the reference's own answer.
class Compared {
 public:
  Compared(int64_t m, int64_t n, int64_t k, Format format_d, bool exact,
           Activation activation = Activation::kNone)
      : a_(Format::kMxf8E4m3, m, k), b_(Format::kMxf4, n, k), format_(format_d), ld_(n + 3) {
    Random random(31);
    exact ? fill_exact(&a_, &random) : fill_normal(&a_, &random);
    exact ? fill_exact(&b_, &random) : fill_normal(&b_, &random);
    problem_.m = m;
    problem_.n = n;
    problem_.k = k;
    problem_.format_d = format_d;
    problem_.activation = activation;
    refresh();
  }

  // D becomes the right answer.
  void refresh() {
    problem_.a = a_.reference();
    problem_.b = b_.reference();
    d_.assign(static_cast<size_t>(problem_.m * ld_ * element_bytes()), 0);
    internal::fill_poison(d_.data(), d_.size());
    std::vector<ExpectedOutput> row(static_cast<size_t>(problem_.n));
    for (int64_t m = 0; m < problem_.m; ++m) {
      internal::expected_tile(problem_, {m, m + 1, 0, problem_.n}, row);
      for (int64_t n = 0; n < problem_.n; ++n) {
        const ExpectedOutput& expected = row[static_cast<size_t>(n)];
        set_code(m, n,
                 expected.check == CheckKind::kExact
                     ? expected.d_code
                     : internal::encode_code(format_, expected.exact));
      }
    }
  }

  void set_code(int64_t m, int64_t n, uint32_t code) {
    std::memcpy(&d_[static_cast<size_t>((m * ld_ + n) * element_bytes())], &code,
                static_cast<size_t>(element_bytes()));
  }
  void set(int64_t m, int64_t n, double value) {
    set_code(m, n, internal::encode_code(format_, value));
  }
  uint32_t code(int64_t m, int64_t n) const {
    return internal::load_code(format_, d_.data(), m * ld_ + n);
  }
  double value(int64_t m, int64_t n) const { return internal::decode_code(format_, code(m, n)); }

  CompareReport report(int threads = 1) const {
    return internal::compare_gemm(problem_, view(), threads);
  }
  OutputView view() const { return {format_, d_.data(), ld_}; }
  Operand& a() { return a_; }
  Operand& b() { return b_; }
  ReferenceProblem& problem() { return problem_; }
  std::vector<uint8_t>& bytes() { return d_; }
  int64_t ld() const { return ld_; }

 private:
  int64_t element_bytes() const { return format_ == Format::kF32 ? 4 : 2; }

  Operand a_;
  Operand b_;
  Format format_;
  int64_t ld_;
  ReferenceProblem problem_;
  std::vector<uint8_t> d_;
};

TEST(CompareGemm, TheRightAnswerPasses) {
  for (const Format format : {Format::kBf16, Format::kF16, Format::kF32}) {
    const CompareReport exact = Compared(70, 130, 64, format, true).report();
    EXPECT_TRUE(exact.pass()) << exact.failures();
    EXPECT_EQ(exact.outputs, 70 * 130);
    EXPECT_EQ(exact.exact_required, 70 * 130);
    EXPECT_EQ(exact.sqnr_db(), std::numeric_limits<double>::infinity());
    EXPECT_EQ(exact.failures(), "");
    const CompareReport rounded = Compared(70, 130, 96, format, false, Activation::kGelu).report();
    EXPECT_TRUE(rounded.pass()) << rounded.failures();
    EXPECT_EQ(rounded.bound_checked, 70 * 130);
    EXPECT_EQ(rounded.exact_required, 0);
    EXPECT_LE(rounded.max_error_over_bound, 1.0);
  }
}

TEST(CompareGemm, NanAgainstANumberFails) {
  for (const bool exact : {true, false}) {
    Compared compared(9, 8, 64, Format::kF32, exact, exact ? Activation::kNone : Activation::kSilu);
    compared.set(4, 5, kNan);
    const CompareReport report = compared.report();
    EXPECT_FALSE(report.pass());
    EXPECT_EQ(report.nan_unexpected, 1);
    EXPECT_EQ(report.first_nan.m, 4);
    EXPECT_EQ(report.first_nan.n, 5);
    EXPECT_NE(report.failures().find("D[4,5]"), std::string::npos);
  }
}

TEST(CompareGemm, ZerosAgainstOnesFail) {
  Compared compared(40, 40, 32, Format::kBf16, true);
  compared.a().fill(1.0);
  compared.b().fill(1.0);
  compared.refresh();
  for (int64_t m = 0; m < 40; ++m) {
    for (int64_t n = 0; n < 40; ++n) {
      compared.set(m, n, 0.0);
    }
  }
  const CompareReport report = compared.report();
  EXPECT_FALSE(report.pass());
  EXPECT_EQ(report.exact_mismatches, 1600);
  EXPECT_EQ(report.sqnr_db(), 0.0);
}

TEST(CompareGemm, OneWrongElementInAMillionFails) {
  for (const bool exact : {true, false}) {
    const int64_t columns = exact ? test_size<int64_t>(1000, 50) : 50;
    Compared compared(1000, columns, 32, Format::kBf16, exact,
                      exact ? Activation::kNone : Activation::kGelu);
    int64_t n = 0;
    while (std::fabs(compared.value(777, n)) < 1.0) {
      ++n;
    }
    compared.set(777, n, 2.0 * compared.value(777, n));
    const CompareReport report = compared.report(2);
    EXPECT_FALSE(report.pass());
    EXPECT_EQ(report.outputs, 1000 * columns);
    EXPECT_EQ(report.exact_mismatches + report.bound_violations, 1);
    const internal::Mismatch& first =
        exact ? report.first_exact_mismatch : report.first_bound_violation;
    EXPECT_EQ(first.m, 777);
    EXPECT_EQ(first.n, n);
    EXPECT_EQ(first.actual, 2.0 * first.expected);
    if (!exact) {
      EXPECT_GT(report.max_error_over_bound, 1.0);
      EXPECT_EQ(report.worst.m, 777);
      EXPECT_EQ(report.worst.n, n);
    }
  }
}

TEST(CompareGemm, OneUlpInABitExactOutputFails) {
  for (const Format format : {Format::kBf16, Format::kF16, Format::kF32}) {
    Compared compared(20, 20, 64, format, true);
    compared.set_code(19, 19, compared.code(19, 19) ^ 1);
    const CompareReport report = compared.report();
    EXPECT_FALSE(report.pass());
    EXPECT_EQ(report.exact_mismatches, 1);
    EXPECT_EQ(report.first_exact_mismatch.m, 19);
    EXPECT_EQ(report.first_exact_mismatch.actual_code ^ report.first_exact_mismatch.expected_code,
              1u);
  }
}

TEST(CompareGemm, JustAboveAndJustBelowTheBound) {
  Compared compared(1, 40, 1024, Format::kF32, false);
  // Coarser steps than fp32's would hide the edge: the bound is many ulps wide at this K.
  int64_t checked = 0;
  for (int64_t n = 0; n < 40; ++n) {
    const ExpectedOutput expected = internal::expected_at(compared.problem(), 0, n);
    if (expected.check != CheckKind::kBound) {
      continue;
    }
    ++checked;
    for (const double side : {-1.0, 1.0}) {
      const double slack = 8.0 * 0x1p-23 * std::fabs(expected.exact) + 1e-6;
      ASSERT_LT(slack, 0.1 * expected.bound);
      compared.set(0, n, expected.exact + side * (expected.bound - slack));
      EXPECT_TRUE(compared.report().pass()) << n;
      EXPECT_GT(compared.report().max_error_over_bound, 0.8);
      compared.set(0, n, expected.exact + side * (expected.bound + slack));
      EXPECT_FALSE(compared.report().pass()) << n;
      EXPECT_EQ(compared.report().bound_violations, 1);
      EXPECT_GT(compared.report().max_error_over_bound, 1.0);
      compared.set(0, n, expected.exact);
    }
  }
  EXPECT_GT(checked, 30);
}

TEST(CompareGemm, NanWhereItIsExpected) {
  for (const Format format : {Format::kBf16, Format::kF32}) {
    Compared compared(6, 7, 64, format, true);
    compared.a().set_code(2, 10, internal::kE4m3Nan);
    compared.refresh();
    CompareReport report = compared.report();
    EXPECT_TRUE(report.pass()) << report.failures();
    EXPECT_EQ(report.nan_expected, 7);
    EXPECT_EQ(report.exact_required, 35);
    compared.set(2, 3, 1.0);   // a number instead
    compared.set(3, 3, kNan);  // and a NaN beside its row
    report = compared.report();
    EXPECT_FALSE(report.pass());
    EXPECT_EQ(report.nan_missing, 1);
    EXPECT_EQ(report.nan_unexpected, 1);
    EXPECT_EQ(report.first_nan.m, 2);
    EXPECT_EQ(report.first_nan.n, 3);
  }
}

TEST(CompareGemm, UnwrittenPoisonFailsWhateverIsExpected) {
  for (const Format format : {Format::kBf16, Format::kF16, Format::kF32}) {
    SCOPED_TRACE(internal::format_name(format));
    Compared compared(5, 5, 64, format, true);
    compared.a().set_code(1, 10, internal::kE4m3Nan);
    compared.a().set_scale(2, 0, 254);
    compared.a().set_scale(2, 1, 254);
    compared.problem().factors.alpha = 0x1p100f;
    compared.refresh();
    compared.set_code(0, 4, internal::poison_code(format));  // where a number is due
    compared.set_code(1, 1, internal::poison_code(format));  // where NaN is
    compared.set_code(2, 2, internal::poison_code(format));  // where nothing is promised
    EXPECT_EQ(internal::expected_at(compared.problem(), 2, 2).check, CheckKind::kNothing);
    const CompareReport report = compared.report();
    EXPECT_FALSE(report.pass());
    EXPECT_EQ(report.unwritten, 3);
    EXPECT_EQ(report.first_unwritten.m, 0);
    EXPECT_EQ(report.first_unwritten.n, 4);
    EXPECT_EQ(report.unchecked, 5);
    EXPECT_NE(report.failures().find("not written"), std::string::npos);
  }
}

TEST(CompareGemm, FlushAndClampAreAllowedOnlyWhereDeclared) {
  Compared compared(2, 3, 64, Format::kF32, true);
  compared.a().set_scale(1, 0, 0);
  compared.problem().allowances.limited_scales = true;
  compared.refresh();
  compared.set(1, 1, 1e30);
  CompareReport report = compared.report();
  EXPECT_TRUE(report.pass()) << report.failures();
  EXPECT_EQ(report.nan_only_checked, 3);
  compared.set(1, 1, kNan);
  EXPECT_FALSE(compared.report().pass());
  compared.set(1, 1, 1e30);
  compared.problem().allowances.limited_scales = false;
  EXPECT_FALSE(compared.report().pass());
}

TEST(CompareGemm, DoesNotDependOnThreads) {
  Compared compared(150, 200, 64, Format::kBf16, false, Activation::kSilu);
  compared.set(3, 190, 100.0);
  compared.set(140, 2, 100.0);
  const CompareReport one = compared.report(1);
  const CompareReport four = compared.report(4);
  EXPECT_EQ(one.bound_violations, 2);
  EXPECT_EQ(four.bound_violations, 2);
  EXPECT_EQ(four.first_bound_violation.m, 3);
  EXPECT_EQ(four.first_bound_violation.n, 190);
  EXPECT_EQ(one.worst.m, four.worst.m);
  EXPECT_EQ(one.noise, four.noise);
  EXPECT_EQ(one.signal, four.signal);
}

TEST(CompareGemm, EmptyOutputs) {
  Compared compared(0, 5, 32, Format::kF32, true);
  EXPECT_TRUE(compared.report(3).pass());
  EXPECT_EQ(compared.report().outputs, 0);
  EXPECT_EQ(internal::compare_samples(compared.problem(), compared.view(), 10, 1).outputs, 0);
}

TEST(CompareGemm, Sqnr) {
  Compared compared(8, 8, 64, Format::kF32, true);
  compared.a().fill(1.0);
  compared.b().fill(1.0);
  for (int64_t row = 0; row < 8; ++row) {
    for (int64_t block = 0; block < 2; ++block) {
      compared.a().set_scale(row, block, 127);
      compared.b().set_scale(row, block, 127);
    }
  }
  compared.refresh();
  for (int64_t m = 0; m < 8; ++m) {
    for (int64_t n = 0; n < 8; ++n) {
      compared.set(m, n, 64.0 * (1.0 + ((m + n) % 2 == 0 ? 1e-3 : -1e-3)));
    }
  }
  EXPECT_NEAR(compared.report().sqnr_db(), 60.0, 1e-3);
}

TEST(CompareSamples, VisitsTheCornersAndCanFail) {
  for (const auto& [m, n] : {std::pair{0, 0}, {0, 299}, {199, 0}, {199, 299}}) {
    Compared compared(200, 300, 32, Format::kBf16, true);
    EXPECT_TRUE(internal::compare_samples(compared.problem(), compared.view(), 50, 7).pass());
    compared.set_code(m, n, compared.code(m, n) ^ 1);
    const CompareReport report =
        internal::compare_samples(compared.problem(), compared.view(), 50, 7);
    EXPECT_FALSE(report.pass());
    EXPECT_EQ(report.outputs, 50);
    EXPECT_EQ(report.first_exact_mismatch.m, m);
    EXPECT_EQ(report.first_exact_mismatch.n, n);
  }
}

TEST(CompareBits, CountsEveryBit) {
  Compared one(6, 9, 32, Format::kBf16, true);
  Compared other(6, 9, 32, Format::kBf16, true);
  EXPECT_TRUE(internal::compare_bits(one.view(), other.view(), 6, 9).pass());
  one.set(5, 8, 0.0);
  other.set(5, 8, -0.0);
  other.set_code(2, 7, other.code(2, 7) + 1);
  const internal::BitReport report = internal::compare_bits(one.view(), other.view(), 6, 9);
  EXPECT_FALSE(report.pass());
  EXPECT_EQ(report.mismatches, 2);
  EXPECT_EQ(report.first.m, 2);
  EXPECT_EQ(report.first.n, 7);
  // Bytes between the rows do not count.
  other = Compared(6, 9, 32, Format::kBf16, true);
  one = Compared(6, 9, 32, Format::kBf16, true);
  one.bytes()[2 * 9] ^= 1;
  EXPECT_TRUE(internal::compare_bits(one.view(), other.view(), 6, 9).pass());
}

}  // namespace
}  // namespace mxgemm::test
