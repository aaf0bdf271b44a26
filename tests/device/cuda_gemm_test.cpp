// SPDX-License-Identifier: Apache-2.0
// Every GEMM kernel of every GPU in this machine against the reference: shapes around the edges of
// its tiles, with the options taken in turn.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "support/gemm_data.hpp"
#include "support/gemm_run.hpp"
#include "support/levels.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {
namespace {

using internal::CompareReport;

constexpr int64_t kM[] = {1, 3, 16, 17, 64, 65, 127, 129, 300};
constexpr int64_t kN[] = {1, 7, 8, 40, 132, 136, 257, 528};
constexpr int64_t kK[] = {0, 32, 64, 96, 160, 512, 528, 2880};

// Options by turn; powers of two where every output is to be bit-exact.
void set_options(int turn, Data data, Random* random, GemmRun* run) {
  const bool exact = data == Data::kExact;
  run->activation = exact ? kActivations[turn % 2] : kActivations[turn % 5];
  run->alpha = exact ? 0.5f : 0.7f;
  run->extra_ldd = turn % 3 == 0 ? 0 : turn % 5;
  run->offset = turn % 2 == 0 ? 0 : turn % 3 == 0 ? 4 : 16;
  run->scalars_on_device = turn % 4 == 2;
  if (turn % 3 != 0) {
    run->c = random_values(data, run->m() * run->n(), random);
    run->beta = turn % 3 == 1 ? -2.0f : turn % 6 == 2 ? 0.0f : 0.3f;
    run->in_place = turn % 4 == 0;
  }
  if (turn % 2 == 1) {
    run->bias = random_values(data, run->n(), random);
    run->format_bias = turn % 4 == 1 ? run->output().format : Format::kF32;
  }
}

// The GPU kernels that take `desc`.
std::vector<mxgemm_kernel_info> kernels_for(const mxgemm_gemm_desc& desc) {
  std::vector<mxgemm_kernel_info> infos = accepting_kernels(desc);
  std::erase_if(infos, [](const mxgemm_kernel_info& info) {
    return info.device_kind != MXGEMM_DEVICE_CUDA || info.available == 0;
  });
  return infos;
}

class CudaGemm : public testing::Test {
 protected:
  void SetUp() override {
    int32_t devices = 0;
    ASSERT_EQ(mxgemm_device_count(MXGEMM_DEVICE_CUDA, &devices), MXGEMM_OK) << mxgemm_last_error();
    if (devices == 0) {
      GTEST_SKIP() << "this machine has no GPU";
    }
  }

  void check(const Operand& a, const Operand& b, Format format_d, int turn, Data data,
             Random* random) {
    GemmRun run(a, b, format_d);
    set_options(turn, data, random, &run);
    run.device = {MXGEMM_DEVICE_CUDA, 0};
    run.global_scale_a = a.info().has_global_scale ? 2.0f : 1.0f;
    run.global_scale_b = b.info().has_global_scale ? 0.25f : 1.0f;
    const std::vector<mxgemm_kernel_info> kernels = kernels_for(run.desc());
    ASSERT_FALSE(kernels.empty());
    for (const mxgemm_kernel_info& kernel : kernels) {
      run.kernel_id = kernel.id;
      SCOPED_TRACE(testing::Message() << kernel.id << " m" << run.m() << "n" << run.n() << "k"
                                      << a.cols() << " " << a.info().name << " x " << b.info().name
                                      << " -> " << internal::format_name(format_d) << ", "
                                      << kDataNames[static_cast<int>(data)] << ", turn " << turn);
      run.may_refuse_alignment = true;
      run.must_run();
      if (!run.refused()) {
        compare(run, kernel.allowances, data);
        ++runs_;
      }
      if (HasFailure()) {
        return;
      }
    }
  }

  int runs_ = 0;

 private:
  void compare(const GemmRun& run, uint32_t allowances, Data data) {
    internal::ReferenceProblem problem = run.reference();
    problem.allowances.zero_products_count = (allowances & MXGEMM_ALLOW_ZERO_PRODUCTS) != 0;
    problem.allowances.limited_scales = (allowances & MXGEMM_ALLOW_LIMITED_SCALES) != 0;
    // The reference takes minutes for the larger shapes: some outputs stand for the rest.
    constexpr int64_t kWholeUpTo = 8 << 20;
    constexpr int64_t kSamples = 2048;
    const CompareReport report =
        run.m() * run.n() * problem.k <= kWholeUpTo
            ? internal::compare_gemm(problem, run.output(),
                                     static_cast<int>(std::thread::hardware_concurrency()))
            : internal::compare_samples(problem, run.output(), kSamples, 1);
    EXPECT_TRUE(report.pass()) << report.failures();
    if (data == Data::kExact && problem.k <= 512) {
      EXPECT_EQ(report.exact_required, report.outputs);
    }
  }
};

TEST_F(CudaGemm, EveryKernelEqualsTheReferenceAroundTheEdgesOfItsTiles) {
  Random random(5);
  int turn = 0;
  for (const Data data : kAllData) {
    for (const Format format_a : kFormatsA) {
      for (const Format format_b : kFormatsB) {
        const int repetitions = test_size(6, 1);
        for (int i = 0; i < repetitions; ++i) {
          ++turn;
          const int64_t m = kM[random.integer(0, test_size<int64_t>(std::size(kM), 8) - 1)];
          const int64_t n = kN[random.integer(0, test_size<int64_t>(std::size(kN), 7) - 1)];
          int64_t k = kK[random.integer(0, test_size<int64_t>(std::size(kK), 5) - 1)];
          const bool blocks_of_16 = format_b == Format::kNvf4 && format_a != Format::kMxf4 &&
                                    format_a != Format::kMxf8E4m3 && format_a != Format::kMxf8E5m2;
          k = k == 528 && !blocks_of_16 ? 544 : k;
          const auto layout_a =
              turn % 2 == 0 ? ScaleLayout::kSwizzle32x4x4 : ScaleLayout::kRowMajor;
          const auto layout_b =
              turn / 2 % 2 == 0 ? ScaleLayout::kSwizzle32x4x4 : ScaleLayout::kRowMajor;
          Operand a(format_a, m, k, layout_a, turn % 5 == 0 ? 6 : 0, turn % 4);
          Operand b(format_b, n, k, layout_b, turn % 7 == 0 ? 10 : turn % 7 == 1 ? 8 : 0, turn % 3);
          fill(data, &a, &random);
          fill(data, &b, &random);
          check(a, b, kFormatsD[turn % 3], turn, data, &random);
          ASSERT_FALSE(HasFailure());
        }
      }
    }
  }
  RecordProperty("kernel_runs", runs_);
}

// A split GEMM adds its parts in an order that does not depend on which CTA came first.
TEST_F(CudaGemm, RunsOfTheSameProblemAgreeBitForBit) {
  Random random(6);
  for (const int64_t m : {1, 16, 48, 200}) {
    Operand a(Format::kBf16, m, test_size<int64_t>(4096, 512));
    Operand b(Format::kMxf4, 264, a.cols());
    fill_normal(&a, &random);
    fill_normal(&b, &random);
    GemmRun first(a, b, Format::kF32);
    first.device = {MXGEMM_DEVICE_CUDA, 0};
    for (const mxgemm_kernel_info& kernel : kernels_for(first.desc())) {
      first.kernel_id = kernel.id;
      first.must_run();
      for (int i = 0; i < 3; ++i) {
        GemmRun other = first;
        other.must_run();
        const internal::BitReport report =
            internal::compare_bits(other.output(), first.output(), m, b.rows());
        EXPECT_TRUE(report.pass()) << kernel.id << ": " << report.mismatches << " outputs differ";
      }
    }
  }
}

}  // namespace
}  // namespace mxgemm::test
