// SPDX-License-Identifier: Apache-2.0
// Policies, replay, residency, deadlock and livelock reports, coverage (specification 6, 9.5, 9.6).
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "exec/coverage.hpp"
#include "tests/kernel_runner.hpp"

namespace emu::test {
namespace {

const char* kPrologue = R"(
    .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<6>;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mad.lo.u32 %r3, %r1, %r2, %r0;
    mul.wide.u32 %rd1, %r3, 4;
    add.s64 %rd1, %rd1, %rd0;
)";

// The order in which 8 CTAs of 2 warps take tickets.
std::vector<uint32_t> order(const Options& options) {
  KernelRunner run(kernel(std::string(kPrologue) + R"(
    and.b32 %r4, %r0, 31;
    setp.ne.u32 %p0, %r4, 0;
    @%p0 exit;
    shr.u32 %r5, %r3, 5;
    atom.global.add.u32 %r6, [%rd0], 1;
    mul.wide.u32 %rd2, %r6, 4;
    add.s64 %rd2, %rd2, %rd0;
    st.global.u32 [%rd2+4], %r5;)"));
  run.options = options;
  const uint64_t out = run.buffer(std::vector<uint32_t>(17));
  EXPECT_TRUE(run.run({out}, {8, 1, 1}, {64, 1, 1}).ok());
  return run.read<uint32_t>(out, 17);
}

TEST(Scheduler, ASeedReplaysARunAndAnotherSeedGivesAnother) {
  for_portfolio([](const Options& options) { EXPECT_EQ(order(options), order(options)); });
  std::set<std::vector<uint32_t>> orders;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Options options;
    options.policy = Policy::random;
    options.seed = seed;
    orders.insert(order(options));
  }
  EXPECT_GE(orders.size(), 15u);
}

TEST(Scheduler, MoreCtasThanFitAreAllRun) {
  KernelRunner run(kernel(std::string(kPrologue) + "st.global.u32 [%rd1], 1;"));
  const uint64_t out = run.buffer(std::vector<uint32_t>(1000 * 32));
  ASSERT_TRUE(run.run({out}, {1000, 1, 1}, {32, 1, 1}).ok());
  EXPECT_EQ(run.read<uint32_t>(out, 32000), std::vector<uint32_t>(32000, 1));
}

TEST(Scheduler, HostThreadsGiveTheSameResult) {
  KernelRunner run(kernel(std::string(kPrologue) + "st.global.u32 [%rd1], %r3;"));
  run.options.threads = 4;
  const uint64_t out = run.buffer(std::vector<uint32_t>(64 * 32));
  ASSERT_TRUE(run.run({out}, {64, 1, 1}, {32, 1, 1}).ok());
  const auto values = run.read<uint32_t>(out, 64 * 32);
  for (uint32_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], i);
  }
}

const char* kGridBarrier = R"(
    setp.ne.u32 %p0, %r0, 0;
    @%p0 exit;
    atom.global.add.u32 %r4, [%rd0], 1;
SPIN:
    ld.acquire.gpu.global.u32 %r5, [%rd0];
    setp.lt.u32 %p1, %r5, 4;
    @%p1 bra SPIN;)";

TEST(Scheduler, ACooperativeGridIsResidentAsAWhole) {
  KernelRunner run(kernel(std::string(kPrologue) + kGridBarrier));
  const uint64_t out = run.buffer(std::vector<uint32_t>(1));
  LaunchRequest request = run.request({out}, {4, 1, 1}, {32, 1, 1});
  request.cooperative = true;
  EXPECT_TRUE(launch(request, run.options).ok());
}

TEST(Scheduler, AGridThatWaitsForCtasThatCannotStartIsALivelock) {
  KernelRunner run(kernel(std::string(kPrologue) + kGridBarrier));
  run.options.livelock_steps = 100'000;
  const uint64_t out = run.buffer(std::vector<uint32_t>(1));
  const LaunchResult result = run.run({out}, {4, 1, 1}, {32, 1, 1});
  EXPECT_EQ(result.fault.kind, FaultKind::livelock);
  EXPECT_EQ(result.error(), 702);
  EXPECT_NE(result.fault.report.find("warp 0 lanes 00000001"), std::string::npos)
      << result.fault.report;
}

// test_wait never blocks, and kernels for sm_80 have nothing else: a loop around it must not keep
// completions away that a late policy delivers only when nothing else can run.
TEST(Scheduler, PollingForACopyDoesNotHoldUpTheCopy) {
  for_portfolio([](Options options) {
    KernelRunner run(kernel(std::string(kPrologue) + R"(
    .shared .align 16 .b8 data[8192];
    .shared .align 8 .b64 bar;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra WAIT;
    mbarrier.init.shared.b64 [bar], 64;
WAIT:
    bar.sync 0;
    mov.u32 %r4, data;
    shl.b32 %r5, %r0, 4;
    add.u32 %r4, %r4, %r5;
    mul.wide.u32 %rd2, %r0, 16;
    add.s64 %rd2, %rd0, %rd2;
    mov.u32 %r6, 0;
COPY:
    cp.async.cg.shared.global [%r4], [%rd2], 16;
    add.u32 %r4, %r4, 1024;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p1, %r6, 8;
    @%p1 bra COPY;
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
POLL:
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra POLL;)"));
    options.livelock_steps = 200'000;
    const uint64_t in = run.buffer(std::vector<uint32_t>(256, 7));
    EXPECT_TRUE(run.run({in}, {2, 1, 1}, {64, 1, 1}).ok());
  });
}

TEST(Scheduler, ADeadlockShowsWhereEveryWarpStands) {
  KernelRunner run(kernel(std::string(kPrologue) + R"(
    setp.lt.u32 %p0, %r0, 32;
    @%p0 bra A;
    bar.sync 1, 64;
    bra E;
A:  bar.sync 2, 64;
E:)"));
  run.options.seed = 77;
  const uint64_t out = run.buffer(std::vector<uint32_t>(64));
  const LaunchResult result = run.run({out}, {1, 1, 1}, {64, 1, 1});
  EXPECT_EQ(result.fault.kind, FaultKind::deadlock);
  for (const char* part :
       {"warp 0 lanes ffffffff", "bar.sync 2, 64  [waits for barrier 2]", "warp 1 lanes ffffffff",
        "barrier 1: 32 of 64", "EMU_SCHED=plain EMU_SEED=77", "kernel k"}) {
    EXPECT_NE(result.fault.report.find(part), std::string::npos) << part << "\n"
                                                                 << result.fault.report;
  }
}

TEST(Scheduler, TheStepLimitEndsALaunch) {
  KernelRunner run(kernel(std::string(kPrologue) + "L: bra L;"));
  run.options.max_steps = 10'000;
  const LaunchResult result = run.run({0}, {1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(result.fault.kind, FaultKind::step_limit);
}

TEST(Scheduler, LanesOfOneStoreGoInAnyOrderUnderAnAdversarialPolicy) {
  std::set<uint32_t> winners;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    KernelRunner run(kernel(std::string(kPrologue) + "st.global.u32 [%rd0], %r0;"));
    run.options.policy = Policy::random;
    run.options.seed = seed;
    const uint64_t out = run.buffer(std::vector<uint32_t>(1));
    ASSERT_TRUE(run.run({out}, {}, {32, 1, 1}).ok());
    winners.insert(run.read<uint32_t>(out, 1)[0]);
  }
  EXPECT_GE(winners.size(), 8u);
}

TEST(Scheduler, LaneSplitFindsAReadModifyWriteWithoutAtomics) {
  const std::string text = kernel(std::string(kPrologue) + R"(
    ld.volatile.global.u32 %r4, [%rd0];
    add.u32 %r4, %r4, 1;
    st.volatile.global.u32 [%rd0], %r4;)");
  const auto differs = [&](bool split) {
    std::set<uint32_t> results;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      KernelRunner run(text);
      run.options.policy = Policy::random;
      run.options.lane_split = split;
      run.options.seed = seed;
      const uint64_t out = run.buffer(std::vector<uint32_t>(1));
      EXPECT_TRUE(run.run({out}, {}, {32, 1, 1}).ok());
      results.insert(run.read<uint32_t>(out, 1)[0]);
    }
    return results.size();
  };
  EXPECT_EQ(differs(false), 1u);  // one step for all lanes
  EXPECT_GT(differs(true), 1u);
}

TEST(Report, ReportsGoToTheFileAsJsonLines) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "emu_scheduler_test_report.jsonl";
  std::filesystem::remove(file);
  KernelRunner run(kernel(std::string(kPrologue) + "st.global.u32 [%rd1+2], 1;"));
  run.options.report_file = file.string();
  const uint64_t out = run.buffer(std::vector<uint32_t>(32));
  EXPECT_EQ(run.run({out}, {}, {32, 1, 1}).error(), 716);
  std::ifstream in(file);
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  for (const char* part :
       {"\"kind\":\"misaligned address\"", "\"kernel\":\"k\"", "\"cta\":[0,0,0]", "\"seed\":1",
        "\"policy\":\"plain\"", "\"text\":\"st.global.u32 [%rd1+2], 1\""}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
  }
  std::filesystem::remove(file);
}

TEST(Report, AbortEndsTheProcess) {
  KernelRunner run(kernel("trap;"));
  run.options.abort_on_fault = true;
  EXPECT_DEATH(run.run({0}, {}, {32, 1, 1}), "launch failure: trap");
}

TEST(Coverage, CountsInstructionsAndBothWaysOfBranchesAndAddsUp) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "emu_scheduler_test_coverage.txt";
  std::filesystem::remove(file);
  KernelRunner run(kernel(std::string(kPrologue) + R"(
    setp.gt.u32 %p0, %r3, 100;
    @%p0 bra NEVER;
    setp.gt.u32 %p1, %r3, 3;
    @%p1 bra SOME;
    bar.warp.sync 15;
SOME:
    ret;
NEVER:
    bar.sync 0;)"));
  run.options.coverage_file = file.string();
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(run.run({0}, {}, {32, 1, 1}).ok());
    write_coverage(file.string());
  }
  std::ifstream in(file);
  std::stringstream all;
  all << in.rdbuf();
  const std::string text = all.str();
  EXPECT_NE(text.find("\t0\t2\t-\t@%p0 bra NEVER"), std::string::npos) << text;
  EXPECT_NE(text.find("\t2\t3\t-\t@%p1 bra SOME"), std::string::npos) << text;
  EXPECT_NE(text.find("\t2\t-\tsync\tbar.warp.sync 15"), std::string::npos) << text;
  EXPECT_NE(text.find("\t0\t-\tsync\tbar.sync 0"), std::string::npos) << text;
  std::filesystem::remove(file);
  std::filesystem::remove(file.string() + ".lock");
}

TEST(Options, RefuseWhatTheyDoNotKnow) {
  Options options;
  EXPECT_EQ(set_option(options, "EMU_SCHED", "late+pct"), "");
  EXPECT_EQ(options.policy, Policy::late_pct);
  EXPECT_NE(set_option(options, "EMU_SCHED", "lazy").find("late+pct"), std::string::npos);
  EXPECT_NE(set_option(options, "EMU_Q", "0").find("from 1"), std::string::npos);
  EXPECT_NE(set_option(options, "EMU_NONE", "1").find("EMU_NONE"), std::string::npos);
  EXPECT_EQ(set_option(options, "EMU_TRACE", "api,launch"), "");
  EXPECT_TRUE(options.trace_api && options.trace_launches && !options.trace_instructions);
}

}  // namespace
}  // namespace emu::test
