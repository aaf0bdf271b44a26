// SPDX-License-Identifier: Apache-2.0
// Every pair of operands and every output format against the reference, on data from small integers
// to both ends of the scales, with the options taken in turn; and results that do not depend on the
// number of threads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/gemm_data.hpp"
#include "support/gemm_run.hpp"
#include "support/levels.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {
namespace {

using internal::CompareReport;

ScaleLayout layout_of(int64_t turn) {
  return turn % 2 == 0 ? ScaleLayout::kSwizzle32x4x4 : ScaleLayout::kRowMajor;
}

// Options by turn; powers of two where every output is to be bit-exact.
void set_options(int turn, Data data, Random* random, GemmRun* run) {
  const bool exact = data == Data::kExact;
  run->activation = exact ? kActivations[turn % 2] : kActivations[turn % 5];
  run->alpha = exact ? 0.5f : 0.7f;
  run->packed = turn % 3 == 1;
  run->extra_ldd = turn % 4;
  run->offset = turn % 2 == 0 ? 0 : 4;
  run->scalars_on_device = turn % 4 == 2;
  run->one_shot = turn % 5 == 3;
  if (turn % 3 != 0) {
    run->c = random_values(data, run->m() * run->n(), random);
    run->beta = turn % 3 == 1 ? -2.0f : 0.3f;
    run->in_place = turn % 2 == 0;
  }
  if (turn % 2 == 1) {
    run->bias = random_values(data, run->n(), random);
    run->format_bias = turn % 4 == 1 ? run->output().format : Format::kF32;
  }
}

class EveryPair : public LevelTest {
 protected:
  void check(const Operand& a, const Operand& b, Format format_d, int turn, Data data,
             Random* random) {
    GemmRun run(a, b, format_d);
    set_options(turn, data, random, &run);
    run.global_scale_a = a.info().has_global_scale ? 2.0f : 1.0f;
    run.global_scale_b = b.info().has_global_scale ? 0.25f : 1.0f;
    for (const std::string& id : kernels_of_level(GetParam(), run.desc())) {
      run.kernel_id = id;
      SCOPED_TRACE(testing::Message() << id << " " << a.info().name << " x " << b.info().name
                                      << " -> " << internal::format_name(format_d) << ", "
                                      << kDataNames[static_cast<int>(data)] << ", turn " << turn);
      run.must_run();
      const CompareReport report = run.compare();
      ASSERT_TRUE(report.pass()) << report.failures();
      ASSERT_EQ(report.outputs, a.rows() * b.rows());
      if (data == Data::kExact) {
        ASSERT_EQ(report.exact_required, report.outputs);
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, EveryPair, testing::ValuesIn(offered_levels()), level_test_name);

TEST_P(EveryPair, OfFormatsEqualsTheReference) {
  Random random(5);
  int turn = 0;
  for (const Data data : kAllData) {
    for (const Format format_a : kFormatsA) {
      for (const Format format_b : kFormatsB) {
        for (const Format format_d : kFormatsD) {
          ++turn;
          const int64_t m = turn % 3 == 0 ? 1 : random.integer(2, 19);
          const int64_t n = random.integer(1, 37);
          const int64_t k = 32 * random.integer(1, 5);
          Operand a(format_a, m, k, layout_of(turn), turn % 5 == 0 ? 6 : 0);
          Operand b(format_b, n, k, layout_of(turn / 2), turn % 7 == 0 ? 10 : 0, turn % 3);
          fill(data, &a, &random);
          fill(data, &b, &random);
          ASSERT_NO_FATAL_FAILURE(check(a, b, format_d, turn, data, &random));
        }
      }
    }
  }
}

TEST_P(EveryPair, BlocksOf16MayEndHalfwayThroughATileOfK) {
  Random random(6);
  for (const Format format_a : {Format::kNvf4, Format::kBf16, Format::kF32}) {
    for (const int64_t k : {16, 48, 1040}) {
      Operand a(format_a, 7, k, ScaleLayout::kRowMajor);
      Operand b(Format::kNvf4, 21, k);
      fill_normal(&a, &random);
      fill_normal(&b, &random);
      ASSERT_NO_FATAL_FAILURE(check(a, b, Format::kF32, 0, Data::kNormal, &random));
    }
  }
}

TEST_P(EveryPair, DoesNotDependOnTheNumberOfThreads) {
  Random random(7);
  const int64_t k = test_size<int64_t>(512, 96);
  for (const Format format_a : {Format::kMxf4, Format::kMxf8E4m3, Format::kBf16}) {
    for (const int64_t m : {1, 150}) {
      Operand a(format_a, m, k);
      Operand b(Format::kMxf4, 203, k);
      fill_normal(&a, &random);
      fill_normal(&b, &random);
      GemmRun first(a, b, Format::kF32);
      for (const std::string& id : kernels_of_level(GetParam(), first.desc())) {
        first.kernel_id = id;
        ASSERT_EQ(mxgemm_set_num_threads(1), MXGEMM_OK) << mxgemm_last_error();
        first.must_run();
        for (const int32_t threads : {2, 3, 8}) {
          ASSERT_EQ(mxgemm_set_num_threads(threads), MXGEMM_OK) << mxgemm_last_error();
          GemmRun other = first;
          other.must_run();
          const internal::BitReport report =
              internal::compare_bits(other.output(), first.output(), m, 203);
          EXPECT_TRUE(report.pass())
              << id << " with " << threads << " threads: " << report.mismatches
              << " outputs differ, the first D[" << report.first.m << "," << report.first.n << "]";
        }
      }
    }
  }
  EXPECT_EQ(mxgemm_set_num_threads(0), MXGEMM_OK) << mxgemm_last_error();
}

}  // namespace
}  // namespace mxgemm::test
