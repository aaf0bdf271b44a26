// SPDX-License-Identifier: Apache-2.0
// The choice among kernels, with a table whose answers the test sets.
#include "core/plan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpu/cpu_backend.hpp"
#include "unit/core/fake_kernels.hpp"

namespace mxgemm::internal {
namespace {

using test::answers;
using test::fake_registry;

class PlanChoice : public ::testing::Test {
 protected:
  void SetUp() override {
    test::reset_answers();
    desc.m = 2;
    desc.n = 2;
    desc.k = 32;
    desc.format_a = MXGEMM_BF16;
    desc.format_b = MXGEMM_MXF4;
    desc.format_d = MXGEMM_F32;
    selection.isa = {cpu::isa_offered(), IsaSource::kMachine};
  }
  std::string chosen() {
    Plan plan;
    const Status status = make_plan(fake_registry(), selection, desc, &plan);
    return status.ok() ? plan.entry->id : "";
  }
  Status plan_status() {
    Plan plan;
    return make_plan(fake_registry(), selection, desc, &plan);
  }

  std::string explained() {
    std::string text;
    EXPECT_TRUE(explain(fake_registry(), selection, desc, &text).ok());
    return text;
  }

  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  Selection selection;
};

TEST_F(PlanChoice, TheFirstAmongEquals) {
  EXPECT_EQ(chosen(), "cpu:one:gemm_x");
}

TEST_F(PlanChoice, TheHighestRank) {
  answers[1].rank = 5;
  answers[2].rank = 5;
  EXPECT_EQ(chosen(), "cpu:one:gemm_y");
  answers[0].rank = -1;
  answers[1].refusal = "K is odd";
  EXPECT_EQ(chosen(), "cpu:two:gemm_x");
}

TEST_F(PlanChoice, RanksBelowZeroCount) {
  answers[0].rank = -7;
  answers[1].rank = -3;
  answers[2].rank = -5;
  EXPECT_EQ(chosen(), "cpu:one:gemm_y");
}

TEST_F(PlanChoice, ForcedArch) {
  selection.force = "two";
  EXPECT_EQ(chosen(), "cpu:two:gemm_x");
  selection.force = "cpu:one:gemm_y";
  EXPECT_EQ(chosen(), "cpu:one:gemm_y");
  selection.force = "three";
  EXPECT_EQ(plan_status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(plan_status().message().find("MXGEMM_FORCE is \"three\""), std::string::npos);
  EXPECT_NE(plan_status().message().find("cpu:one:gemm_x, cpu:one:gemm_y, cpu:two:gemm_x"),
            std::string::npos);
}

TEST_F(PlanChoice, TheCallersIdWinsOverForce) {
  selection.force = "two";
  selection.kernel_id = "cpu:one:gemm_x";
  EXPECT_EQ(chosen(), "cpu:one:gemm_x");
  selection.kernel_id = "gemm_x";  // not a full id
  EXPECT_EQ(plan_status().code(), StatusCode::kInvalidArgument);
}

TEST_F(PlanChoice, EveryReasonIsListed) {
  answers[0].refusal = "M is 2; it must be at least 16";
  answers[1].refusal = "bias is not supported";
  answers[2].refusal = "K is 32";
  const Status status = plan_status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message(),
            "no kernel accepts m2n2k32:bf16:mxf4:f32:\n"
            "cpu:one:gemm_x: M is 2; it must be at least 16\n"
            "cpu:one:gemm_y: bias is not supported\n"
            "cpu:two:gemm_x: K is 32");
}

TEST_F(PlanChoice, FormatsAreCheckedForTheKernel) {
  desc.format_d = MXGEMM_BF16;
  EXPECT_NE(plan_status().message().find("cpu:one:gemm_x: desc.format_d is bf16; it takes f32"),
            std::string::npos);
  desc.format_d = MXGEMM_F32;
  desc.format_a = MXGEMM_F32;
  EXPECT_NE(plan_status().message().find("desc.format_a is f32; it takes mxf4, bf16"),
            std::string::npos);
}

TEST_F(PlanChoice, ExplainHasALineForEach) {
  answers[1].rank = 3;
  answers[2].refusal = "no";
  EXPECT_EQ(explained(), "cpu:one:gemm_x: accepts\ncpu:one:gemm_y: chosen\ncpu:two:gemm_x: no");
  selection.force = "two";
  answers[2].refusal = "";
  EXPECT_EQ(explained(),
            "cpu:one:gemm_x: MXGEMM_FORCE is two\ncpu:one:gemm_y: MXGEMM_FORCE is two\n"
            "cpu:two:gemm_x: chosen");
}

TEST_F(PlanChoice, KernelsNeverSeeAnEmptyProblem) {
  desc.m = 0;
  answers[0].workspace = 1000;
  Plan plan;
  ASSERT_TRUE(make_plan(fake_registry(), selection, desc, &plan).ok());
  EXPECT_EQ(answers[0].desc_seen.m, 1);
  EXPECT_EQ(plan.desc.m, 0);
  EXPECT_EQ(plan.workspace_size, 0u);
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  const std::vector<uint8_t> b(32, 0);
  args.b.data = b.data();
  args.b.data_bytes = b.size();
  args.b.scale = b.data();
  args.b.scale_bytes = b.size();
  EXPECT_TRUE(run_plan(plan, &args, nullptr).ok());
  EXPECT_EQ(answers[0].runs, 0);
}

TEST_F(PlanChoice, FailuresOfTheKernelNameIt) {
  answers[0].prepare = MXGEMM_OUT_OF_MEMORY;
  EXPECT_EQ(plan_status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(plan_status().message(), "cpu:one:gemm_x: prepare says no");
}

// What run hands to the kernel, and what it asks of the workspace.
TEST_F(PlanChoice, RunResolvesLeadingDimensions) {
  answers[0].workspace = 256;
  Plan plan;
  ASSERT_TRUE(make_plan(fake_registry(), selection, desc, &plan).ok());
  EXPECT_EQ(plan.workspace_size, 256u);
  alignas(256) std::byte workspace[512];
  const std::vector<uint16_t> a(64, 0);
  const std::vector<uint8_t> b(32, 0);
  const std::vector<uint8_t> scale(2, 0);
  std::vector<float> d(4);
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  args.a.data = a.data();
  args.a.data_bytes = a.size() * sizeof(uint16_t);
  args.b.data = b.data();
  args.b.data_bytes = b.size();
  args.b.scale = scale.data();
  args.b.scale_bytes = scale.size();
  args.d = d.data();
  args.d_bytes = d.size() * sizeof(float);
  args.workspace = workspace;
  args.workspace_bytes = 255;
  EXPECT_EQ(run_plan(plan, &args, nullptr).code(), StatusCode::kWorkspaceTooSmall);
  args.workspace_bytes = 256;
  args.workspace = workspace + 128;
  EXPECT_EQ(run_plan(plan, &args, nullptr).code(), StatusCode::kInvalidArgument);
  args.workspace = workspace;
  ASSERT_TRUE(run_plan(plan, &args, nullptr).ok());
  EXPECT_EQ(answers[0].args_seen.a.ld, 32);
  EXPECT_EQ(answers[0].args_seen.b.ld, 32);
  EXPECT_EQ(answers[0].args_seen.b.scale_ld, 1);
  EXPECT_EQ(answers[0].args_seen.ldd, 2);
  EXPECT_EQ(args.ldd, 0) << "the caller's own stay as they are";
  answers[0].run = MXGEMM_INTERNAL;
  const Status status = run_plan(plan, &args, nullptr);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(), "cpu:one:gemm_x: run says no");
}

TEST(IsaReason, SaysWhoForbidsIt) {
  const int32_t offered = cpu::isa_offered();
  EXPECT_EQ(isa_reason(offered, {offered, IsaSource::kMachine}), "");
  if (offered + 1 < cpu::kNumIsaLevels) {
    EXPECT_EQ(isa_reason(offered + 1, {offered, IsaSource::kMachine}),
              cpu::isa_refusal(offered + 1));
  }
  if (offered > 0) {
    EXPECT_EQ(isa_reason(offered, {0, IsaSource::kEnvironment}), "MXGEMM_MAX_ISA is scalar");
    EXPECT_EQ(isa_reason(offered, {0, IsaSource::kApi}), "mxgemm_set_max_isa allows up to scalar");
  }
}

TEST(ParseIsa, NamesAndNothingElse) {
  int32_t isa = -1;
  EXPECT_TRUE(parse_isa("scalar", &isa).ok());
  EXPECT_EQ(isa, 0);
  for (const char* text : {"Scalar", "avx", "avx2 ", "0", "avx5122"}) {
    EXPECT_EQ(parse_isa(text, &isa).code(), StatusCode::kInvalidArgument) << text;
  }
  for (int32_t level = 0; level < cpu::kNumIsaLevels; ++level) {
    EXPECT_EQ(parse_isa(cpu::isa_name(level), &isa).code(),
              level <= cpu::isa_offered() ? StatusCode::kOk : StatusCode::kUnsupported);
  }
}

}  // namespace
}  // namespace mxgemm::internal
