// SPDX-License-Identifier: Apache-2.0
// What the computing instructions refuse: forms that do not exist, warps that are not whole,
// selectors and descriptors out of range, operands that are not ready.
#include "tests/kernel_runner.hpp"

namespace emu::test {
namespace {

constexpr const char* kRegisters = R"(
  .reg .b16 %h<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<8>;
  .reg .pred %p<4>;
)";

// The complaint of the one instruction, or "".
std::string complaint(const std::string& instruction) {
  const LoadResult loaded =
      load_program(kernel(kRegisters + instruction + ";", "sm_120a"), "test.ptx");
  if (loaded.program == nullptr) {
    return "does not parse";
  }
  return loaded.program->warnings.empty() ? "" : loaded.program->warnings[0].message;
}

TEST(Decode, RefusesWhatItDoesNotKnow) {
  const char* const kRefused[] = {
      "add.wrong.s32 %r0, %r1, %r2",
      "add.sat.u32 %r0, %r1, %r2",
      "add.s32 %r0, %r1",
      "add.s32 %r0, %r1, %rd0",
      "mul.s32 %r0, %r1, %r2",
      "mul.wide.s64 %rd0, %rd1, %rd2",
      "div.b32 %r0, %r1, %r2",
      "neg.u32 %r0, %r1",
      "and.s32 %r0, %r1, %r2",
      "shl.s32 %r0, %r1, %r2",
      "shf.l.b32 %r0, %r1, %r2, %r3",
      "lop3.b32 %r0, %r1, %r2, %r3, 256",
      "prmt.b32.f4e %r0, %r1, %r2, %r3",
      "setp.num.s32 %p0, %r1, %r2",
      "setp.lt.and.s32 %p0, %r1, %r2",
      "selp.b8 %r0, %r1, %r2, %p0",
      "mov.b32 %r0, {%r1, %r2}",
      "ex2.f32 %r0, %r1",
      "ex2.approx.f64 %rd0, %rd1",
      "fma.rz.f16 %h0, %h1, %h2, %h3",
      "cvt.s32.f32 %r0, %r1",
      "cvt.f16.f32 %h0, %r1",
      "cvt.rn.s32.u16 %r0, %h1",
      "cvt.rna.f16.f32 %h0, %r1",
      "cvt.rn.e4m3x2.f32 %h0, %r1, %r2",
      "cvt.rn.satfinite.e4m3x2.bf16x2 %h0, %r1",
      "cvt.rn.satfinite.ue8m0x2.f32 %h0, %r1, %r2",
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1}, [%r2]",
      "ldmatrix.aligned.m8n8.x1.shared.b16 {%r0}, [%r2]",
      "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r2]",
      "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, "
      "{%r8,%r9}, {%r0,%r1,%r2,%r3}",
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, "
      "{%r8,%r9}, {%r0,%r1,%r2,%r3}",
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r8,%r9}, "
      "{%r0,%r1,%r2,%r3}",
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e2m1.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, "
      "{%r8,%r9}, {%r0,%r1,%r2,%r3}",
      "mma.sync.aligned.m16n8k32.row.col.satfinite.f32.e4m3.e4m3.f32 {%r0,%r1,%r2,%r3}, "
      "{%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3}",
      "mma.sync.aligned.kind::mxf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32."
      "ue4m3 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3}, %r10, {0,0}, "
      "%r11, "
      "{0,0}",
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r0,%r1,%r2,%r3}, %rd0, %rd1, %p0, 1, "
      "1, "
      "0, 1",
      "wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 {%r0,%r1,%r2,%r3}, %rd0, %rd1, %p0, 1, "
      "1, 0, 0",
  };
  for (const char* instruction : kRefused) {
    EXPECT_NE(complaint(instruction), "") << instruction;
  }
}

TEST(Decode, TakesQualifiersInAnyOrder) {
  const char* const kTaken[] = {
      "ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r0, %r1, %r2, %r3}, [%r4]",
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%r0, %r1, %r2, %r3}, [%r4]",
      "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32 {%r0,%r1,%r2,%r3}, "
      "{%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3}",
      "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1."
      "f32."
      "ue4m3 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3}, {%r10}, "
      "{%h0,%h1}, "
      "{%r11}, {%h0,%h1}",
      "mma.sync.aligned.kind::mxf4.block_scale.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0 "
      "{%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3}, %r10, {0,0}, %r11, "
      "{0,0}",
  };
  for (const char* instruction : kTaken) {
    EXPECT_EQ(complaint(instruction), "") << instruction;
  }
}

LaunchResult run_body(const std::string& body, uint32_t threads, const Options& options = {}) {
  KernelRunner run(kernel(kRegisters + body, "sm_120a"));
  run.options = options;
  const uint64_t out = run.buffer<uint64_t>({0});
  return run.run({out}, {}, {threads, 1, 1});
}

void expect_fault(const LaunchResult& result, FaultKind kind, const std::string& words) {
  EXPECT_EQ(result.fault.kind, kind) << result.fault.report;
  EXPECT_NE(result.fault.text.find(words), std::string::npos) << result.fault.text;
}

constexpr const char* kMma =
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, "
    "{%r8,%r9}, {%r0,%r1,%r2,%r3};";

TEST(Fault, MatrixInstructionsNeedTheWholeWarp) {
  expect_fault(run_body(kMma, 16), FaultKind::launch_failure, "all 32 lanes");
  expect_fault(run_body(".shared .align 16 .b8 s[512]; mov.u32 %r1, s;"
                        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];",
                        16),
               FaultKind::launch_failure, "all 32 lanes");
}

TEST(Fault, RowsOfMatricesAreAligned) {
  const LaunchResult result = run_body(
      ".shared .align 16 .b8 s[512]; mov.u32 %r1, s; add.u32 %r1, %r1, 8;"
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];",
      32);
  expect_fault(result, FaultKind::misaligned_address, "multiple of 16");
}

TEST(Fault, ScaleSelectorsOutOfRange) {
  const auto mma = [](const std::string& selectors) {
    return "mov.b16 %h0, 1; cvt.u16.u32 %h1, %tid.x;"
           "mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1."
           "e2m1"
           ".f32.ue8m0 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3}, " +
           selectors + ";";
  };
  EXPECT_TRUE(run_body(mma("%r10, {2, 1}, %r11, {0, 3}"), 32).ok());
  expect_fault(run_body(mma("%r10, {%h0, 0}, %r11, {0, 0}"), 32), FaultKind::launch_failure,
               "selector");
  expect_fault(run_body(mma("%r10, {0, 2}, %r11, {0, 0}"), 32), FaultKind::launch_failure,
               "selector");
  expect_fault(run_body(mma("%r10, {0, 0}, %r11, {4, 0}"), 32), FaultKind::launch_failure,
               "selector");
  const LaunchResult result = run_body(mma("%r10, {0, %h1}, %r11, {0, 0}"), 32);
  EXPECT_FALSE(result.ok()) << "lanes give different selectors";
}

// --- wgmma
// ----------------------------------------------------------------------------------------

// Specification, appendix D: C of 16777214 and one group of 0.75.
TEST(Mma, ModelIsChosenBySetting) {
  const std::string body = R"(
    mov.u32 %r20, %laneid;
    setp.eq.u32 %p0, %r20, 0;
    selp.b32 %r4, 0x1, 0, %p0;        // A(0, 0) = 0.5
    mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0;
    selp.b32 %r8, 0x3, 0, %p0;        // B(0, 0) = 1.5
    mov.b32 %r9, 0;
    mov.b32 %r10, 0x7F7F7F7F;         // scales of one
    mov.b32 %r0, 0f4B7FFFFE; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;
    mma.sync.aligned.kind::mxf4.block_scale.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0
      {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3}, %r10, {0,0}, %r10, {0,0};
    ld.param.u64 %rd0, [out];
    @%p0 st.global.b32 [%rd0], %r0;
)";
  for (const MmaModel model : {MmaModel::hw, MmaModel::exact}) {
    KernelRunner run(kernel(kRegisters + body, "sm_120a"));
    run.options.mma = model;
    const uint64_t out = run.buffer<uint64_t>({0});
    const LaunchResult result = run.run({out}, {}, {32, 1, 1});
    ASSERT_TRUE(result.ok()) << result.fault.report;
    EXPECT_EQ(run.read<float>(out, 1)[0], model == MmaModel::hw ? 16777214.0f : 16777215.0f);
  }
}

TEST(Arithmetic, DivisionByZeroGoesOn) {
  KernelRunner run(kernel(kRegisters + std::string(R"(
    mov.u32 %r1, 7; mov.u32 %r2, 0;
    div.u32 %r3, %r1, %r2;
    rem.s32 %r4, %r1, %r2;
    mov.b32 %r5, 0x80000000; mov.b32 %r6, -1;
    div.s32 %r7, %r5, %r6;
    rem.s32 %r8, %r5, %r6;
    ld.param.u64 %rd0, [out];
    st.global.v4.b32 [%rd0], {%r3, %r4, %r7, %r8};)")));
  const uint64_t out = run.buffer<uint32_t>({1, 1, 1, 1});
  const LaunchResult result = run.run({out}, {}, {1, 1, 1});
  ASSERT_TRUE(result.ok()) << result.fault.report;
  EXPECT_EQ(run.read<uint32_t>(out, 4), (std::vector<uint32_t>{0xFFFFFFFF, 7, 0x80000000, 0}));
}

std::string wgmma_body(const std::string& before, const std::string& after) {
  return R"(
    .shared .align 1024 .b8 s[4096];
    mov.u32 %r20, s;
    mov.u32 %r21, %tid.x;
    mad.lo.u32 %r22, %r21, 16, %r20;
    mov.b32 %r4, 0x3F803F80;
    st.shared.v4.b32 [%r22], {%r4, %r4, %r4, %r4};
    st.shared.v4.b32 [%r22+2048], {%r4, %r4, %r4, %r4};
)" + before +
         R"(
    bar.sync 0;
    shr.u32 %r20, %r20, 4;
    cvt.u64.u32 %rd0, %r20;
    or.b64 %rd0, %rd0, 0x0000000800400000;
    add.u64 %rd1, %rd0, 128;
    setp.ne.u32 %p0, 0, 0;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r0,%r1,%r2,%r3}, %rd0, %rd1, %p0, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
)" + after +
         R"(
    ld.param.u64 %rd2, [out];
    st.global.b32 [%rd2], %r0;
)";
}

constexpr const char* kProxyFence = "fence.proxy.async.shared::cta;";
constexpr const char* kWait = "wgmma.wait_group.sync.aligned 0;";

float first_result(const std::string& body, const Options& options) {
  KernelRunner run(kernel(kRegisters + body, "sm_90a"));
  run.options = options;
  const uint64_t out = run.buffer<uint64_t>({0});
  const LaunchResult result = run.run({out}, {}, {128, 1, 1});
  EXPECT_TRUE(result.ok()) << result.fault.report;
  return run.read<float>(out, 1)[0];
}

TEST(Wgmma, AddsOnesUnderEverySchedule) {
  for_portfolio([](const Options& options) {
    EXPECT_EQ(first_result(wgmma_body(kProxyFence, kWait), options), 16.0f);
  });
}

// Poison is what a kernel sees in D before the wait.
TEST(Wgmma, ResultsAreNotThereBeforeTheWait) {
  for_portfolio([](const Options& options) {
    for (const char* early : {"", "wgmma.wait_group.sync.aligned 1;"}) {
      const std::string body = wgmma_body(
          kProxyFence, early + std::string("mov.b32 %r9, %r0;") + kWait + "mov.b32 %r0, %r9;");
      EXPECT_NE(first_result(body, options), 16.0f);
    }
  });
}

TEST(Wgmma, ExitNeedsTheWait) {
  expect_fault(run_body(wgmma_body(kProxyFence, ""), 128), FaultKind::launch_failure,
               "no wgmma.wait_group");
}

TEST(Wgmma, OperandsNeedTheProxyFence) {
  expect_fault(run_body(wgmma_body("", kWait), 128), FaultKind::launch_failure, "proxy");
}

TEST(Wgmma, NeedsFourWarps) {
  expect_fault(run_body(wgmma_body(kProxyFence, kWait), 96), FaultKind::launch_failure,
               "four whole warps");
}

}  // namespace
}  // namespace emu::test
