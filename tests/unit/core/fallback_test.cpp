// SPDX-License-Identifier: Apache-2.0
// The second kernel of a plan: what runs when the arguments lack the alignment that the first
// wants.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/plan.hpp"
#include "core/run_arguments.hpp"
#include "cpu/cpu_backend.hpp"
#include "unit/core/fake_kernels.hpp"

namespace mxgemm::internal {
namespace {

using test::answers;
using test::fake_kernel;

// Row 0 wants 16 bytes, row 1 wants 8, row 2 nothing.
const Registry& registry() {
  static const std::vector<mxgemm_kernel> kernels = [] {
    std::vector<mxgemm_kernel> made = {fake_kernel<0>(MXGEMM_ISA_SCALAR, "one", "gemm_x"),
                                       fake_kernel<1>(MXGEMM_ISA_SCALAR, "one", "gemm_y"),
                                       fake_kernel<2>(MXGEMM_ISA_SCALAR, "two", "gemm_x")};
    made[0].data_alignment = {16, 16, 16};
    made[1].data_alignment = {8, 8, 8};
    made[2].data_alignment = {1, 0, 1};
    return made;
  }();
  static const Registry made{std::span<const mxgemm_kernel>(kernels)};
  return made;
}

// 2 x 4 x 64, mxf4 x mxf4 -> f32 with C, in buffers that begin at multiples of 64 and whose rows
// are multiples of 16 bytes; tests move one thing.
class Fallback : public ::testing::Test {
 protected:
  void SetUp() override {
    test::reset_answers();
    desc.flags = MXGEMM_USE_C;
    desc.m = 2;
    desc.n = 4;
    desc.k = 64;
    desc.format_a = MXGEMM_MXF4;
    desc.format_b = MXGEMM_MXF4;
    desc.format_d = MXGEMM_F32;
    selection.isa = {cpu::isa_offered(), IsaSource::kMachine};
    args.a.data = a;
    args.a.data_bytes = sizeof(a) - 64;
    args.a.scale = scale;
    args.a.scale_bytes = sizeof(scale);
    args.b.data = b;
    args.b.data_bytes = sizeof(b) - 64;
    args.b.scale = scale;
    args.b.scale_bytes = sizeof(scale);
    args.c = c;
    args.c_bytes = sizeof(c) - 64;
    args.d = d;
    args.d_bytes = sizeof(d) - 64;
    args.workspace = workspace;
    args.workspace_bytes = sizeof(workspace);
  }
  void make() { ASSERT_TRUE(make_plan(registry(), selection, desc, &plan).ok()); }
  // The row that ran; -1 if it was not exactly one.
  int ran() {
    const int before[3] = {answers[0].runs, answers[1].runs, answers[2].runs};
    status = run_plan(plan, &args, nullptr);
    int row = -1;
    for (int index = 0; index < 3; ++index) {
      if (answers[index].runs == before[index] + 1) {
        row = row == -1 ? index : -2;
      }
    }
    return row;
  }
  template <typename T>
  static T moved(T pointer, int bytes) {
    return reinterpret_cast<T>(reinterpret_cast<uintptr_t>(pointer) +
                               static_cast<uintptr_t>(bytes));
  }

  alignas(256) std::byte a[512];
  alignas(256) std::byte b[512];
  alignas(256) std::byte c[512];
  alignas(256) std::byte d[512];
  alignas(256) std::byte workspace[4096];
  uint8_t scale[64] = {};
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  Selection selection;
  Plan plan;
  Status status;
};

TEST_F(Fallback, AlignedArgumentsStayWithTheFirst) {
  make();
  EXPECT_EQ(plan.entry->id, "cpu:one:gemm_x");
  ASSERT_NE(plan.fallback, nullptr);
  EXPECT_EQ(plan.fallback->id, "cpu:two:gemm_x") << "the best without a demand, not the next best";
  EXPECT_EQ(ran(), 0);
}

TEST_F(Fallback, EachPointer) {
  make();
  args.a.data = moved(args.a.data, 1);
  EXPECT_EQ(ran(), 2) << status.message();
  args.a.data = moved(args.a.data, 15);
  EXPECT_EQ(ran(), 0) << "16 bytes on";
  args.b.data = moved(args.b.data, 8);
  EXPECT_EQ(ran(), 2);
  args.b.data = b;
  args.d = moved(args.d, 4);
  EXPECT_EQ(ran(), 2);
  args.d = d;
  args.c = moved(args.c, 12);
  EXPECT_EQ(ran(), 2);
  args.c = c;
  EXPECT_EQ(ran(), 0);
  // Scales may begin anywhere.
  args.a.scale = moved(args.a.scale, 3);
  args.a.scale_bytes = 8;
  EXPECT_EQ(ran(), 0);
}

TEST_F(Fallback, EachRowPitch) {
  make();
  args.a.ld = 66;  // 33 bytes
  EXPECT_EQ(ran(), 2);
  args.a.ld = 96;
  EXPECT_EQ(ran(), 0);
  args.b.ld = 80;  // 40 bytes
  EXPECT_EQ(ran(), 2);
  args.b.ld = 0;
  args.ldd = 5;
  EXPECT_EQ(ran(), 2);
  args.ldd = 8;
  EXPECT_EQ(ran(), 0);
  args.ldc = 7;
  EXPECT_EQ(ran(), 2);
}

TEST_F(Fallback, WorkspaceServesBoth) {
  answers[0].workspace = 256;
  answers[2].workspace = 1024;
  make();
  EXPECT_EQ(plan.workspace_size, 1024u);
  args.workspace_bytes = 1023;
  EXPECT_EQ(ran(), -1);
  EXPECT_EQ(status.code(), StatusCode::kWorkspaceTooSmall);
}

TEST_F(Fallback, AForcedKernelHasNone) {
  selection.kernel_id = "cpu:one:gemm_x";
  make();
  EXPECT_EQ(plan.fallback, nullptr);
  EXPECT_EQ(ran(), 0);
  args.a.data = moved(args.a.data, 1);
  EXPECT_EQ(ran(), -1);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  for (const char* part : {"args.a.data is 0x", "cpu:one:gemm_x needs multiples of 16 bytes"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
  args.a.data = a;
  args.ldd = 5;
  EXPECT_EQ(ran(), -1);
  EXPECT_NE(status.message().find("args.ldd makes rows of 20 bytes"), std::string::npos)
      << status.message();
}

TEST_F(Fallback, AForcedArchLooksOnlyThere) {
  selection.force = "one";
  make();
  EXPECT_EQ(plan.fallback, nullptr);
  args.d = moved(args.d, 4);
  EXPECT_EQ(ran(), -1);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
}

TEST_F(Fallback, TheSecondMustAcceptTheProblem) {
  answers[2].refusal = "K is 64";
  make();
  EXPECT_EQ(plan.fallback, nullptr);
  EXPECT_EQ(ran(), 0);
  args.d = moved(args.d, 4);
  EXPECT_EQ(ran(), -1);
  EXPECT_NE(status.message().find("no kernel without that demand takes this problem"),
            std::string::npos)
      << status.message();
}

TEST_F(Fallback, ASecondThatCannotBePreparedDoesNotCostTheFirst) {
  answers[2].prepare = MXGEMM_CUDA_ERROR;
  make();
  EXPECT_EQ(ran(), 0);
  args.d = moved(args.d, 4);
  EXPECT_EQ(ran(), -1);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("cpu:two:gemm_x: prepare says no"), std::string::npos)
      << status.message();
}

TEST_F(Fallback, AFirstWithoutADemandNeedsNone) {
  answers[2].rank = 9;
  make();
  EXPECT_EQ(plan.entry->id, "cpu:two:gemm_x");
  EXPECT_EQ(plan.fallback, nullptr);
  args.d = moved(args.d, 4);
  EXPECT_EQ(ran(), 2);
}

TEST_F(Fallback, ExplainSaysIt) {
  std::string text;
  ASSERT_TRUE(explain(registry(), selection, desc, &text).ok());
  EXPECT_EQ(text,
            "cpu:one:gemm_x: chosen for data pointers and row pitches that are multiples of 16 "
            "bytes; others go to cpu:two:gemm_x\n"
            "cpu:one:gemm_y: accepts\n"
            "cpu:two:gemm_x: accepts");
  selection.force = "one";
  ASSERT_TRUE(explain(registry(), selection, desc, &text).ok());
  EXPECT_NE(text.find("bytes; others are refused"), std::string::npos) << text;
}

TEST(FindMisaligned, LargePitchesDoNotOverflow) {
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  desc.format_a = MXGEMM_F32;
  desc.format_b = MXGEMM_MXF4;
  desc.format_d = MXGEMM_F32;
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  args.ldd = INT64_MAX / 4 - 1;
  args.b.ld = INT64_MAX - 1;  // one row: no byte of it is ever addressed
  EXPECT_STREQ(find_misaligned(desc, args, {16, 16, 16}).argument, "args.b.ld");
  args.b.ld = 0;
  EXPECT_STREQ(find_misaligned(desc, args, {16, 16, 16}).argument, "args.ldd");
  EXPECT_EQ(find_misaligned(desc, args, {0, 0, 0}).argument, nullptr);
  EXPECT_EQ(find_misaligned(desc, args, {1, 1, 1}).argument, nullptr);
}

TEST_F(Fallback, EachMatrixHasItsOwnDemand) {
  const auto misaligned = [&](const mxgemm_data_alignment& alignment) {
    const Misaligned found = find_misaligned(desc, args, alignment);
    return std::string(found.argument == nullptr ? "" : found.argument) + " " +
           std::to_string(found.alignment);
  };
  args.a.ld = 64;  // 32 bytes
  args.b.ld = 96;  // 48
  args.ldc = 4;    // 16
  args.ldd = 4;
  EXPECT_EQ(misaligned({32, 16, 16}), " 1");
  EXPECT_EQ(misaligned({64, 16, 16}), "args.a.ld 64");
  EXPECT_EQ(misaligned({32, 32, 16}), "args.b.ld 32");
  EXPECT_EQ(misaligned({32, 16, 32}), "args.ldc 32");
  args.ldc = 8;
  EXPECT_EQ(misaligned({0, 1, 32}), "args.ldd 32");
  args.a.data = moved(args.a.data, 16);
  EXPECT_EQ(misaligned({16, 16, 16}), " 1");
  EXPECT_EQ(misaligned({32, 16, 16}), "args.a.data 32");
  args.b.data = moved(args.b.data, 16);
  EXPECT_EQ(misaligned({16, 32, 16}), "args.b.data 32");
}

TEST_F(Fallback, ExplainSaysWhichMatrixWantsWhat) {
  mxgemm_kernel mixed[] = {test::fake_kernel<0>(MXGEMM_ISA_SCALAR, "one", "gemm_x")};
  mixed[0].data_alignment = {0, 32, 16};
  const Registry registry{std::span<const mxgemm_kernel>(mixed)};
  std::string text;
  ASSERT_TRUE(explain(registry, selection, desc, &text).ok());
  EXPECT_EQ(text,
            "cpu:one:gemm_x: chosen for data pointers and row pitches that are multiples of 1 (A), "
            "32 (B) "
            "and 16 bytes (C, D); others are refused");
}

}  // namespace
}  // namespace mxgemm::internal
