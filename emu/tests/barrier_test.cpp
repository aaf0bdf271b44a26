// SPDX-License-Identifier: Apache-2.0
// Named barriers (specification 7.10) under every policy.
#include "tests/kernel_runner.hpp"

namespace emu::test {
namespace {

const char* kPrologue = R"(
    .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<6>;
    .shared .align 4 .b8 tile[1024];
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd1, %rd1, %rd0;
    mov.u32 %r9, tile;
    shl.b32 %r8, %r0, 2;
    add.u32 %r8, %r8, %r9;
)";

struct Outcome {
  std::vector<uint32_t> values;
  LaunchResult result;
};

Outcome run_threads(const std::string& body, uint32_t threads, const Options& options = {}) {
  KernelRunner run(kernel(kPrologue + body));
  run.options = options;
  const uint64_t out = run.buffer(std::vector<uint32_t>(threads));
  Outcome outcome;
  outcome.result = run.run({out}, {}, {threads, 1, 1});
  outcome.values = run.read<uint32_t>(out, threads);
  return outcome;
}

// Each thread reads what the thread at the other end has written.
const char* kReverse = R"(
    st.shared.u32 [%r8], %r0;
    BARRIER
    mov.u32 %r3, %ntid.x;
    sub.u32 %r3, %r3, %r0;
    shl.b32 %r3, %r3, 2;
    add.u32 %r3, %r3, %r9;
    ld.shared.u32 %r2, [%r3-4];
    st.global.u32 [%rd1], %r2;
)";

std::string reverse_with(const std::string& barrier) {
  std::string text = kReverse;
  text.replace(text.find("BARRIER"), 7, barrier);
  return text;
}

TEST(Barrier, SeparatesWritersFromReadersUnderEveryPolicy) {
  for (const char* barrier : {"bar.sync 0;", "bar.sync 3, 128;", "barrier.sync 1;",
                              "barrier.cta.sync.aligned 2;", "mov.u32 %r3, 5; bar.sync %r3;"}) {
    for_portfolio([&](const Options& options) {
      const Outcome outcome = run_threads(reverse_with(barrier), 128, options);
      ASSERT_TRUE(outcome.result.ok()) << outcome.result.fault.report;
      for (uint32_t i = 0; i < 128; ++i) {
        ASSERT_EQ(outcome.values[i], 127 - i) << barrier;
      }
    });
  }
}

TEST(Barrier, TheFixedKernelPassesAThousandSeeds) {
  KernelRunner run(kernel(kPrologue + reverse_with("bar.sync 0;")));
  const uint64_t out = run.buffer(std::vector<uint32_t>(64));
  run.options.policy = Policy::early_pct;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    run.options.seed = seed;
    ASSERT_TRUE(run.run({out}, {}, {64, 1, 1}).ok()) << seed;
    ASSERT_EQ(run.read<uint32_t>(out, 1)[0], 63u) << seed;
  }
}

TEST(Barrier, AMissingBarrierIsSeenByThePortfolio) {
  int caught = 0;
  for_portfolio([&](const Options& options) {
    caught += run_threads(reverse_with(""), 128, options).result.ok() ? 0 : 1;
  });
  EXPECT_GE(caught, 10);
}

TEST(Barrier, ProducersArriveConsumersWait) {
  for_portfolio([](const Options& options) {
    const Outcome outcome = run_threads(R"(
    setp.lt.u32 %p0, %r0, 64;
    @%p0 bra PRODUCER;
    bar.sync 1, 128;
    ld.shared.u32 %r2, [%r8-256];
    st.global.u32 [%rd1], %r2;
    bra END;
PRODUCER:
    st.shared.u32 [%r8], %r0;
    bar.arrive 1, 128;
END:)",
                                        128, options);
    ASSERT_TRUE(outcome.result.ok()) << outcome.result.fault.report;
    for (uint32_t i = 64; i < 128; ++i) {
      ASSERT_EQ(outcome.values[i], i - 64);
    }
  });
}

TEST(Barrier, ReductionsCombineAllThreads) {
  for_portfolio([](const Options& options) {
    const Outcome outcome = run_threads(R"(
    setp.lt.u32 %p0, %r0, 50;
    barrier.red.popc.aligned.u32 %r2, 0, %p0;
    bar.red.and.pred %p1, 0, %p0;
    bar.red.or.pred %p2, 0, !%p0;
    @%p1 add.u32 %r2, %r2, 1000;
    @%p2 add.u32 %r2, %r2, 100;
    st.global.u32 [%rd1], %r2;)",
                                        96, options);
    ASSERT_TRUE(outcome.result.ok()) << outcome.result.fault.report;
    ASSERT_EQ(outcome.values, std::vector<uint32_t>(96, 150));
  });
}

TEST(Barrier, WarpsThatHaveExitedAreNotExpected) {
  for_portfolio([](const Options& options) {
    const Outcome outcome = run_threads(R"(
    setp.ge.u32 %p0, %r0, 64;
    @%p0 exit;
    bar.sync 0;
    st.global.u32 [%rd1], 1;)",
                                        128, options);
    ASSERT_TRUE(outcome.result.ok()) << outcome.result.fault.report;
    ASSERT_EQ(outcome.values[0], 1u);
    ASSERT_EQ(outcome.values[127], 0u);
  });
}

TEST(Barrier, LanesOfAWarpMayComeByDifferentWaysWithoutAligned) {
  const Outcome outcome = run_threads(R"(
    setp.lt.u32 %p0, %r0, 7;
    @%p0 bra A;
    barrier.sync 0;
    bra E;
A:  barrier.sync 0;
E:  st.global.u32 [%rd1], 1;)",
                                      48);
  EXPECT_TRUE(outcome.result.ok()) << outcome.result.fault.report;
  EXPECT_EQ(outcome.values, std::vector<uint32_t>(48, 1));
}

struct Misuse {
  const char* name;
  const char* body;
  const char* part;
};

class Misuses : public ::testing::TestWithParam<Misuse> {};

TEST_P(Misuses, AreReported) {
  const Outcome outcome = run_threads(GetParam().body, 64);
  EXPECT_FALSE(outcome.result.ok());
  EXPECT_NE(outcome.result.fault.report.find(GetParam().part), std::string::npos)
      << outcome.result.fault.report;
}

INSTANTIATE_TEST_SUITE_P(
    Barrier, Misuses,
    ::testing::Values(
        Misuse{"number", "bar.sync 16;", "barriers 0 to 15"},
        Misuse{"count_of_part_of_a_warp", "bar.sync 0, 40;", "multiple of 32"},
        Misuse{"counts_differ",
               "setp.lt.u32 %p0, %r0, 32; selp.b32 %r1, 64, 96, %p0; bar.sync 0, %r1;", "expects"},
        Misuse{"left_behind", "bar.arrive 2, 96;", "barrier 2 holds 64 arrivals of 96"},
        Misuse{"number_differs_between_lanes", "bar.sync %r0;", "differs between lanes"},
        Misuse{"half_of_the_cta_waits", "setp.lt.u32 %p0, %r0, 32; @%p0 bra E; bar.sync 1, 64; E:",
               "barrier 1: 32 of 64 threads have arrived"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace emu::test
