// SPDX-License-Identifier: Apache-2.0
// Branches, lane groups, calls, printf, assert, special registers (specification 5.5, 6.1, 7.8).
#include "tests/kernel_runner.hpp"

namespace emu::test {
namespace {

// out[thread] = value
const char* kPrologue = R"(
    .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<6>;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd1, %rd1, %rd0;
)";

std::vector<uint32_t> results(const std::string& body, uint32_t threads,
                              const std::string& before = "", const Options& options = {}) {
  KernelRunner run(kernel(kPrologue + body, "sm_80", before));
  run.options = options;
  const uint64_t out = run.buffer<uint32_t>(std::vector<uint32_t>(threads));
  const LaunchResult result = run.run({out}, {}, {threads, 1, 1});
  EXPECT_TRUE(result.ok()) << result.fault.report;
  return run.read<uint32_t>(out, threads);
}

TEST(Control, DivergentLoopsEndWithEachLanesOwnCount) {
  const auto values = results(R"(
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
LOOP:
    setp.ge.u32 %p0, %r1, %r0;
    @%p0 bra DONE;
    add.u32 %r2, %r2, %r1;
    add.u32 %r1, %r1, 1;
    bra LOOP;
DONE:
    st.global.u32 [%rd1], %r2;)",
                              70);
  for (uint32_t i = 0; i < 70; ++i) {
    EXPECT_EQ(values[i], i * (i - 1) / 2 * (i > 0)) << i;
  }
}

TEST(Control, LanesThatSpinDoNotStarveTheLaneTheyWaitFor) {
  for_portfolio([](const Options& options) {
    const auto values = results(R"(
    .shared .u32 flag;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 st.shared.u32 [flag], 0;
    bar.warp.sync 0xffffffff;
    setp.eq.u32 %p1, %r0, 31;
    @%p1 bra SET;
SPIN:
    ld.volatile.shared.u32 %r1, [flag];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra SPIN;
    bra DONE;
SET:
    st.volatile.shared.u32 [flag], 5;
    mov.u32 %r1, 5;
DONE:
    st.global.u32 [%rd1], %r1;)",
                                32, "", options);
    EXPECT_EQ(values, std::vector<uint32_t>(32, 5));
  });
}

TEST(Control, BranchTablesSendLanesToTheirTargets) {
  const auto values = results(R"(
    and.b32 %r1, %r0, 3;
T:  .branchtargets A, B, C, A;
    brx.idx %r1, T;
A:  mov.u32 %r2, 10; bra E;
B:  mov.u32 %r2, 20; bra E;
C:  mov.u32 %r2, 30;
E:  st.global.u32 [%rd1], %r2;)",
                              32);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(values[i], (std::vector<uint32_t>{10, 20, 30, 10}[i % 4]));
  }
}

TEST(Control, GuardedExitLeavesTheOthersRunning) {
  const auto values = results(R"(
    setp.lt.u32 %p0, %r0, 16;
    @%p0 exit;
    bar.warp.sync 0xffffffff;
    st.global.u32 [%rd1], 1;)",
                              32);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(values[i], i < 16 ? 0u : 1u);
  }
}

const char* kFibonacci = R"(
.func (.param .b32 result) fib(.param .b32 n)
{
    .reg .b32 %r<6>; .reg .pred %p<2>;
    ld.param.b32 %r0, [n];
    setp.lt.u32 %p0, %r0, 2;
    @%p0 bra SMALL;
    sub.u32 %r1, %r0, 1;
    {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r1;
    call.uni (b), fib, (a);
    ld.param.b32 %r2, [b];
    }
    sub.u32 %r1, %r0, 2;
    {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r1;
    call.uni (b), fib, (a);
    ld.param.b32 %r3, [b];
    }
    add.u32 %r0, %r2, %r3;
SMALL:
    st.param.b32 [result], %r0;
    ret;
}
)";

TEST(Control, RecursionWorksWithEachLaneAtItsOwnDepth) {
  const std::string body = R"(
    and.b32 %r1, %r0, 7;
    {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r1;
    call (b), fib, (a);
    ld.param.b32 %r2, [b];
    }
    st.global.u32 [%rd1], %r2;)";
  for_portfolio([&](const Options& options) {
    const auto values = results(body, 40, kFibonacci, options);
    const uint32_t expected[] = {0, 1, 1, 2, 3, 5, 8, 13};
    for (uint32_t i = 0; i < 40; ++i) {
      EXPECT_EQ(values[i], expected[i % 8]) << i;
    }
  });
}

TEST(Control, LanesThatCallFromDifferentTurnsMeetInTheFunction) {
  const auto values = results(R"(
    setp.lt.u32 %p0, %r0, 8;
    @%p0 bra A;
    mov.u32 %r1, 2;
    bra B;
A:  mov.u32 %r1, 3;
B:  {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r1;
    call (b), total, (a);
    ld.param.b32 %r2, [b];
    }
    st.global.u32 [%rd1], %r2;)",
                              32, R"(
.func (.param .b32 result) total(.param .b32 n) {
    .reg .b32 %r<3>;
    ld.param.b32 %r0, [n];
    redux.sync.add.u32 %r1, %r0, 0xffffffff;
    st.param.b32 [result], %r1;
    ret; })");
  EXPECT_EQ(values, std::vector<uint32_t>(32, 8 * 3 + 24 * 2));
}

TEST(Control, IndirectCallsGoWhereThePointerSays) {
  const auto values = results(R"(
    and.b32 %r1, %r0, 1;
    setp.eq.u32 %p0, %r1, 0;
    mov.u64 %rd2, twice;
    mov.u64 %rd3, thrice;
    selp.b64 %rd4, %rd2, %rd3, %p0;
    {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r0;
P:  .callprototype (.param .b32 _) _ (.param .b32 _);
    call (b), %rd4, (a), P;
    ld.param.b32 %r2, [b];
    }
    st.global.u32 [%rd1], %r2;)",
                              32, R"(
.func (.param .b32 r) twice(.param .b32 n) {
    .reg .b32 %r<2>; ld.param.b32 %r0, [n]; shl.b32 %r1, %r0, 1; st.param.b32 [r], %r1; ret; }
.func (.param .b32 r) thrice(.param .b32 n) {
    .reg .b32 %r<2>; ld.param.b32 %r0, [n]; mul.lo.u32 %r1, %r0, 3; st.param.b32 [r], %r1; ret; }
)");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(values[i], i % 2 == 0 ? 2 * i : 3 * i);
  }
}

TEST(Control, SpecialRegisters) {
  KernelRunner run(kernel(R"(
    .reg .b64 %rd<4>; .reg .b32 %r<20>; .reg .pred %p;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %laneid;
    mad.lo.u32 %r4, %r1, 20, %r0;
    mad.lo.u32 %r5, %r2, 40, %r4;
    mul.wide.u32 %rd1, %r5, 16;
    add.s64 %rd0, %rd0, %rd1;
    mov.u32 %r6, %lanemask_lt;
    mov.u32 %r7, %warpid;
    mov.u32 %r8, %clock;
    mov.u64 %rd2, %clock64;
    cvt.u32.u64 %r9, %rd2;
    setp.lt.u32 %p, %r8, %r9;
    selp.u32 %r9, 1, 0, %p;
    st.global.v4.u32 [%rd0], {%r3, %r6, %r7, %r9};)"));
  const uint64_t out = run.buffer<uint32_t>(std::vector<uint32_t>(80 * 4));
  ASSERT_TRUE(run.run({out}, {2, 1, 1}, {20, 2, 1}).ok());
  const auto values = run.read<uint32_t>(out, 80 * 4);
  for (uint32_t i = 0; i < 80; ++i) {
    const uint32_t lane = i % 40 % 32;
    EXPECT_EQ(values[4 * i], lane);
    EXPECT_EQ(values[4 * i + 1], (1u << lane) - 1);
    EXPECT_EQ(values[4 * i + 2], i % 40 / 32);
    EXPECT_EQ(values[4 * i + 3], 1u);
  }
}

TEST(Control, PrintfFormatsLaneByLane) {
  KernelRunner run(kernel(R"(
    .local .align 8 .b8 depot[32];
    .reg .b64 %rd<6>; .reg .b32 %r<6>;
    mov.u32 %r0, %tid.x;
    mov.u64 %rd1, depot;
    cvta.local.u64 %rd2, %rd1;
    st.local.u32 [%rd1], %r0;
    mov.u64 %rd3, word;
    cvta.global.u64 %rd3, %rd3;
    st.local.u64 [%rd1+8], %rd3;
    st.local.f64 [%rd1+16], 0d3FF8000000000000;
    st.local.u64 [%rd1+24], -3;
    mov.u64 %rd4, format;
    cvta.global.u64 %rd4, %rd4;
    {
    .param .b64 a; .param .b64 b; .param .b32 c;
    st.param.b64 [a], %rd4;
    st.param.b64 [b], %rd2;
    call.uni (c), vprintf, (a, b);
    })",
                          "sm_80", R"(
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.global .align 1 .b8 word[3] = {104, 105};
// "%02d %s %.1f %lld%%\n"
.global .align 1 .b8 format[] = {37,48,50,100,32,37,115,32,37,46,49,102,32,37,108,108,100,37,37,10,0};
)"));
  testing::internal::CaptureStdout();
  const LaunchResult result = run.run({0}, {}, {2, 1, 1});
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(printed, "00 hi 1.5 -3%\n01 hi 1.5 -3%\n");
  EXPECT_EQ(result.printed, printed);
}

TEST(Control, AFailedAssertionIsError710AndSaysWhat) {
  KernelRunner run(kernel(R"(
    .reg .b64 %rd<6>;
    mov.u64 %rd1, text;
    cvta.global.u64 %rd1, %rd1;
    {
    .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %rd1; st.param.b64 [b], %rd1; st.param.b32 [c], 12;
    st.param.b64 [d], %rd1; st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e);
    })",
                          "sm_80", R"(
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 text[] = {120, 62, 48, 0};
)"));
  const LaunchResult result = run.run({0}, {}, {1, 1, 1});
  EXPECT_EQ(result.error(), 710);
  EXPECT_NE(result.fault.text.find("'x>0' failed"), std::string::npos) << result.fault.text;
  EXPECT_NE(result.fault.text.find(":12"), std::string::npos);
}

struct BadFlow {
  const char* name;
  const char* body;
  int error;
  const char* part;
};

class BadFlows : public ::testing::TestWithParam<BadFlow> {};

TEST_P(BadFlows, AreReported) {
  KernelRunner run(kernel(std::string(kPrologue) + GetParam().body));
  const uint64_t out = run.buffer<uint32_t>(std::vector<uint32_t>(32));
  const LaunchResult result = run.run({out}, {}, {32, 1, 1});
  EXPECT_EQ(result.error(), GetParam().error) << result.fault.report;
  EXPECT_NE(result.fault.report.find(GetParam().part), std::string::npos) << result.fault.report;
}

INSTANTIATE_TEST_SUITE_P(
    Control, BadFlows,
    ::testing::Values(
        BadFlow{"trap", "trap;", 719, "trap"},
        BadFlow{"split_bra_uni", "setp.lt.u32 %p0, %r0, 4; @%p0 bra.uni L; L:", 719, "bra.uni"},
        BadFlow{"unsupported", "frobnicate.u32 %r1, %r2;", 715, "frobnicate.u32 %r1, %r2"},
        BadFlow{"table_overrun", "T: .branchtargets L, L; brx.idx %r0, T; L:", 719, "table of 2"},
        BadFlow{"divergent_aligned",
                "setp.lt.u32 %p0, %r0, 4; @%p0 bra L; bar.sync 0; bra E; L: bar.sync 1; E:", 719,
                "divergent .aligned"},
        BadFlow{"guarded_aligned", "setp.lt.u32 %p0, %r0, 4; @%p0 bar.sync 0;", 719, "guard"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Control, UnsupportedInstructionsAreListedWhenTheModuleIsLoaded) {
  const LoadResult loaded =
      load_program(kernel(".reg .b32 %r<2>;\nadd.bogus.s32 %r0, %r1, 1;\nmov.b64 %r0, %r1;"), "t");
  ASSERT_NE(loaded.program, nullptr);
  ASSERT_EQ(loaded.program->warnings.size(), 2u);
  EXPECT_EQ(loaded.program->warnings[0].line, 7u);
  EXPECT_NE(loaded.program->warnings[0].message.find("bogus"), std::string::npos);
  EXPECT_NE(loaded.program->warnings[1].message.find("32 bits wide"), std::string::npos);
}

}  // namespace
}  // namespace emu::test
