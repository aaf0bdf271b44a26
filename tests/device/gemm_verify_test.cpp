// SPDX-License-Identifier: Apache-2.0
// What `mxgemm verify` checks, over a pairwise plan of formats, shapes, layouts, options and data,
// for every kernel of every level that this machine offers; inputs end at a page that must not be
// touched.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/verify.hpp"
#include "device/pairwise.hpp"
#include "formats/block_format.hpp"
#include "support/levels.hpp"
#include "support/test_size.hpp"

namespace mxgemm::cli {
namespace {

using test::Case;
using test::PairwisePlan;

constexpr const char* kFormatsA[] = {"mxf4", "nvf4", "mxf8e4m3", "mxf8e5m2", "bf16", "f16", "f32"};
constexpr const char* kFormatsB[] = {"mxf4", "nvf4", "mxf8e4m3", "mxf8e5m2"};
constexpr const char* kFormatsD[] = {"bf16", "f16", "f32"};
constexpr int kM[] = {1, 3, 127, 128, 129, 133, 300};
constexpr int kN[] = {1, 7, 8, 40, 132, 136, 528};
// 528 is no multiple of 32: pairs with an MX format take 544 in its place.
constexpr int kK[] = {0, 32, 64, 96, 160, 512, 528, 2880};
constexpr const char* kLayouts[] = {"", ":scales=rowmajor", ":pad=zero"};
constexpr const char* kBiases[] = {"", ":bias", ":bias=f32"};
constexpr const char* kBetas[] = {"", ":beta=0", ":beta=-0.5", ":beta=1"};
constexpr const char* kAlphas[] = {"", ":alpha=-2.5", ":alpha=dev"};
constexpr const char* kActs[] = {"", ":act=relu", ":act=gelu", ":act=gelu_tanh", ":act=silu"};
constexpr const char* kOperandStrides[] = {"", ":lda=+4", ":ldb=+2", ":lda=+6:ldb=+34"};
constexpr int kExtraC[] = {0, 3};
constexpr int kExtraD[] = {0, 5};
constexpr const char* kOffsets[] = {"", ":off=4"};
constexpr const char* kPackings[] = {"", ":packed"};
constexpr DataKind kKinds[] = {DataKind::kExact, DataKind::kNormal, DataKind::kWide,
                               DataKind::kEdge};
constexpr bool kInPlace[] = {false, true};

template <typename T, size_t kCount>
int size_of(const T (&)[kCount]) {
  return static_cast<int>(kCount);
}

// The factors of a case, in this order.
enum Factor {
  kPair,
  kD,
  kSizeM,
  kSizeN,
  kSizeK,
  kLayout,
  kBias,
  kBeta,
  kAlpha,
  kAct,
  kStride,
  kLdc,
  kLdd,
  kOff,
  kPack,
  kKind,
  kPlace
};

std::vector<int> levels() {
  return {size_of(kFormatsA) * size_of(kFormatsB),
          size_of(kFormatsD),
          size_of(kM),
          size_of(kN),
          size_of(kK),
          size_of(kLayouts),
          size_of(kBiases),
          size_of(kBetas),
          size_of(kAlphas),
          size_of(kActs),
          size_of(kOperandStrides),
          size_of(kExtraC),
          size_of(kExtraD),
          size_of(kOffsets),
          size_of(kPackings),
          size_of(kKinds),
          size_of(kInPlace)};
}

std::string problem_string(const Case& c) {
  const std::string a = kFormatsA[c[kPair] / size_of(kFormatsB)];
  const std::string b = kFormatsB[c[kPair] % size_of(kFormatsB)];
  const bool blocks_of_16 = (a == "nvf4" || a == "bf16" || a == "f16" || a == "f32") && b == "nvf4";
  const int k = kK[c[kSizeK]] == 528 && !blocks_of_16 ? 544 : kK[c[kSizeK]];
  const bool has_c = c[kBeta] != 0;
  // In place C lies where D lies.
  const int extra_c = kInPlace[c[kPlace]] ? kExtraD[c[kLdd]] : kExtraC[c[kLdc]];
  return fmt::format("m{}n{}k{}:{}:{}:{}{}{}{}{}{}{}{}{}{}{}", kM[c[kSizeM]], kN[c[kSizeN]], k, a,
                     b, kFormatsD[c[kD]], kLayouts[c[kLayout]], kBiases[c[kBias]], kBetas[c[kBeta]],
                     kAlphas[c[kAlpha]], kActs[c[kAct]], kOperandStrides[c[kStride]],
                     has_c ? fmt::format(":ldc=+{}", extra_c) : "",
                     fmt::format(":ldd=+{}", kExtraD[c[kLdd]]), kOffsets[c[kOff]],
                     kPackings[c[kPack]]);
}

// Whether the data leaves no order of summation a choice and the activation is exact, so that every
// output is compared bit for bit.
bool must_be_exact(const Case& c) {
  return kKinds[c[kKind]] == DataKind::kExact && c[kAct] <= 1;
}

void verify_case(const Case& c, std::set<std::string>* kernels) {
  const std::string text = problem_string(c);
  SCOPED_TRACE(text);
  const Problem problem = parse_problem(text);
  VerifyOptions options;
  options.kinds = {kKinds[c[kKind]]};
  options.placement = Placement::kFenced;
  options.in_place = kInPlace[c[kPlace]] && problem.beta.has_value();
  const VerifyResult result = verify_problem(problem, options);
  for (const VerifyRow& row : result.rows) {
    kernels->insert(row.kernel_id);
    EXPECT_TRUE(row.passed()) << fmt::format("{}", fmt::join(row.failures, "\n"))
                              << "\nagain: " << reproduction(problem, row);
    EXPECT_EQ(row.report.outputs, problem.m * problem.n);
    if (must_be_exact(c)) {
      EXPECT_EQ(row.report.exact_required, row.report.outputs) << row.kernel_id;
    }
  }
}

TEST(PairwisePlan, LeavesNoPairOut) {
  const std::vector<int> sizes = {5, 3, 4, 2};
  PairwisePlan plan(sizes);
  const std::vector<Case> cases = plan.cases();
  std::set<std::vector<int>> seen;
  for (const Case& c : cases) {
    for (int f = 0; f < 4; ++f) {
      for (int g = f + 1; g < 4; ++g) {
        seen.insert({f, g, c[static_cast<size_t>(f)], c[static_cast<size_t>(g)]});
      }
    }
  }
  EXPECT_EQ(static_cast<int64_t>(seen.size()), plan.pairs());
  EXPECT_LE(cases.size(), 30u);
}

TEST(GemmVerify, EveryKernelIsRightForEveryPairOfFactors) {
  PairwisePlan plan(levels());
  const std::vector<Case> cases = plan.cases();
  std::set<std::string> kernels;
  const size_t step = test::test_size<size_t>(1, 16);
  for (size_t i = 0; i < cases.size(); i += step) {
    verify_case(cases[i], &kernels);
  }
  // Every kernel that can run here took part.
  for (const Kernel& kernel : all_kernels()) {
    if (kernel.info.device_kind == MXGEMM_DEVICE_CPU && kernel.info.available != 0) {
      EXPECT_EQ(kernels.count(kernel.info.id), 1u) << kernel.info.id;
    }
  }
  RecordProperty("cases", static_cast<int>(cases.size()));
}

TEST(GemmVerify, EveryKernelHasAReferenceRowInEmptyProblems) {
  for (const char* text : {"m0n8k32:mxf4:mxf4:bf16", "m8n0k32:bf16:mxf4:f32:bias:beta=2",
                           "m0n0k0:nvf4:nvf4:f16", "m3n5k0:f32:mxf8:f32:beta=-1:bias:act=relu"}) {
    const VerifyResult result = verify_problem(parse_problem(text), VerifyOptions{});
    EXPECT_FALSE(result.rows.empty());
    for (const VerifyRow& row : result.rows) {
      EXPECT_TRUE(row.passed()) << text << "\n" << fmt::format("{}", fmt::join(row.failures, "\n"));
    }
  }
}

// D of every kernel, by kernel.
std::map<std::string, std::vector<uint8_t>> outputs(const char* text, DataKind kind) {
  std::map<std::string, std::vector<uint8_t>> outputs;
  VerifyOptions options;
  options.kinds = {kind};
  options.tamper = [&](const std::string& id, const DeviceProblem&, Image& d) {
    outputs[id] = d.bytes;
  };
  verify_problem(parse_problem(text), options);
  return outputs;
}

TEST(GemmVerify, OutputsDoNotDependOnTheNumberOfThreads) {
  for (const char* text : {"m133n528k512:mxf4:mxf4:bf16", "m1n136k2880:bf16:mxf4:bf16:packed",
                           "m129n132k160:f32:mxf8e5m2:f32:bias:beta=0.5:act=silu",
                           "m300n40k528:f16:nvf4:f32:ldd=+5"}) {
    ASSERT_EQ(mxgemm_set_num_threads(1), MXGEMM_OK);
    const auto alone = outputs(text, DataKind::kNormal);
    ASSERT_FALSE(alone.empty());
    for (int threads : {2, 3, 7}) {
      ASSERT_EQ(mxgemm_set_num_threads(threads), MXGEMM_OK);
      EXPECT_EQ(outputs(text, DataKind::kNormal), alone) << text << " on " << threads << " threads";
    }
    ASSERT_EQ(mxgemm_set_num_threads(0), MXGEMM_OK);
  }
}

}  // namespace
}  // namespace mxgemm::cli
