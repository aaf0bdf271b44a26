// SPDX-License-Identifier: Apache-2.0
// shfl, vote, match, redux, elect, activemask (specification 7.9), against loops over the lanes.
#include <algorithm>

#include "tests/kernel_runner.hpp"

namespace emu::test {
namespace {

const char* kPrologue = R"(
    .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<6>; .reg .f32 %f<4>;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd1, %rd1, %rd0;
    ld.global.u32 %r1, [%rd1];
)";

struct Outcome {
  std::vector<uint32_t> values;
  LaunchResult result;
};

// Each lane loads its word, runs the body on %r1, and stores %r2.
Outcome run_lanes(const std::string& body, const std::vector<uint32_t>& in,
                  const Options& options = {}) {
  KernelRunner run(kernel(kPrologue + body + "\nst.global.u32 [%rd1], %r2;", "sm_100a"));
  run.options = options;
  const uint64_t out = run.buffer(in);
  Outcome outcome;
  outcome.result = run.run({out}, {}, {static_cast<uint32_t>(in.size()), 1, 1});
  outcome.values = run.read<uint32_t>(out, in.size());
  return outcome;
}

std::vector<uint32_t> some_values() {
  std::vector<uint32_t> values(32);
  for (uint32_t i = 0; i < 32; ++i) {
    values[i] = i * 2654435761u ^ i >> 2;
  }
  return values;
}

// Specification 7.9, one lane at a time; written apart from the handler, from the text.
int expected_source(const std::string& mode, int lane, int b, int c) {
  const int clamp = c % 32;
  const int segment = c / 256 % 32;
  const int bval = b % 32;
  const int max_lane = (lane & segment) | (clamp & ~segment);
  int j = lane - bval;
  bool valid = j >= max_lane;
  if (mode == "down") {
    j = lane + bval;
    valid = j <= max_lane;
  } else if (mode == "bfly") {
    j = lane ^ bval;
    valid = j <= max_lane;
  } else if (mode == "idx") {
    j = (lane & segment) | (bval & ~segment);
    valid = j <= max_lane;
  }
  return valid ? j : -1;
}

TEST(Shuffle, EveryModeWidthAndDistance) {
  const std::vector<uint32_t> in = some_values();
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    for (const int width : {32, 16, 8, 2}) {
      for (const int b : {0, 1, 3, 7, 16, 31, 33}) {
        const int c = (32 - width) * 256 + (mode == "up" ? 0 : 31);
        const Outcome outcome =
            run_lanes("shfl.sync." + mode + ".b32 %r2|%p0, %r1, " + std::to_string(b) + ", " +
                          std::to_string(c) + ", 0xffffffff;\n@!%p0 xor.b32 %r2, %r2, 1;",
                      in);
        ASSERT_TRUE(outcome.result.ok());
        for (int lane = 0; lane < 32; ++lane) {
          const int source = expected_source(mode, lane, b, c);
          const uint32_t expected =
              source >= 0 ? in[static_cast<size_t>(source)] : in[static_cast<size_t>(lane)] ^ 1;
          ASSERT_EQ(outcome.values[static_cast<size_t>(lane)], expected)
              << mode << " width " << width << " b " << b << " lane " << lane;
        }
      }
    }
  }
}

TEST(Shuffle, ReadingALaneThatDoesNotTakePartIsAnError) {
  const Outcome outcome = run_lanes(R"(
    setp.lt.u32 %p1, %r0, 16;
    @%p1 shfl.sync.idx.b32 %r2, %r1, 20, 31, 0x0000ffff;)",
                                    some_values());
  EXPECT_EQ(outcome.result.error(), 719);
  EXPECT_NE(outcome.result.fault.text.find("reads lane 20"), std::string::npos);
}

TEST(Shuffle, HalvesWithTheirOwnMasksDoNotWaitForEachOther) {
  const std::vector<uint32_t> in = some_values();
  const Outcome outcome = run_lanes(R"(
    setp.lt.u32 %p1, %r0, 16;
    selp.b32 %r3, 0x0000ffff, 0xffff0000, %p1;
    shfl.sync.bfly.b32 %r2, %r1, 1, 31, %r3;)",
                                    in);
  ASSERT_TRUE(outcome.result.ok()) << outcome.result.fault.report;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(outcome.values[lane], in[lane ^ 1]);
  }
}

TEST(Shuffle, ALaneOutsideItsOwnMaskIsAnError) {
  const Outcome outcome =
      run_lanes("shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0x7fffffff;", some_values());
  EXPECT_EQ(outcome.result.error(), 719);
  EXPECT_NE(outcome.result.fault.text.find("does not contain it"), std::string::npos);
}

TEST(Shuffle, AMissingLaneOfTheMaskIsReportedNotWaitedForEver) {
  const Outcome outcome = run_lanes(R"(
    mov.u32 %r2, 0;
    setp.eq.u32 %p1, %r0, 3;
    @%p1 bra SKIP;
    vote.sync.ballot.b32 %r2, 1, 0xffffffff;
    bra END;
SKIP:
    bar.warp.sync 0xffffffff;
END:)",
                                    some_values());
  EXPECT_EQ(outcome.result.error(), 719);
  EXPECT_NE(outcome.result.fault.text.find("never come"), std::string::npos);
}

TEST(Vote, AllAnyUniAndBallot) {
  const Outcome outcome = run_lanes(R"(
    setp.gt.u32 %p0, %r0, 3;
    vote.sync.all.pred %p1, %p0, 0xffffffff;
    vote.sync.any.pred %p2, %p0, 0xffffffff;
    vote.sync.uni.pred %p3, !%p0, 0xffffffff;
    vote.sync.ballot.b32 %r2, %p0, 0xffffffff;
    @%p1 mov.u32 %r2, 111;
    @!%p2 mov.u32 %r2, 222;
    @%p3 mov.u32 %r2, 333;)",
                                    some_values());
  ASSERT_TRUE(outcome.result.ok());
  EXPECT_EQ(outcome.values, std::vector<uint32_t>(32, 0xFFFFFFF0u));
}

TEST(Vote, ExitedLanesAreNotWaitedFor) {
  const Outcome outcome = run_lanes(R"(
    setp.gt.u32 %p0, %r0, 19;
    @%p0 exit;
    vote.sync.ballot.b32 %r2, 1, 0xffffffff;)",
                                    some_values());
  ASSERT_TRUE(outcome.result.ok());
  EXPECT_EQ(outcome.values[0], 0x000FFFFFu);
  EXPECT_EQ(outcome.values[20], some_values()[20]);
}

TEST(Match, AnyGivesTheLanesWithTheSameValue) {
  std::vector<uint32_t> in(32);
  for (uint32_t i = 0; i < 32; ++i) {
    in[i] = i % 3;
  }
  const Outcome any = run_lanes("match.any.sync.b32 %r2, %r1, 0xffffffff;", in);
  ASSERT_TRUE(any.result.ok());
  EXPECT_EQ(any.values[0], 0x49249249u);
  EXPECT_EQ(any.values[4], 0x92492492u);
  const std::string all = "match.all.sync.b32 %r2|%p0, %r1, 0xffffffff;\n@%p0 add.u32 %r2, %r2, 2;";
  EXPECT_EQ(run_lanes(all, in).values, std::vector<uint32_t>(32, 0));
  EXPECT_EQ(run_lanes(all, std::vector<uint32_t>(32, 9)).values, std::vector<uint32_t>(32, 1));
}

TEST(Redux, IntegersAndLogic) {
  const std::vector<uint32_t> in = some_values();
  uint32_t sum = 0;
  uint32_t bits_and = ~0u;
  uint32_t bits_or = 0;
  uint32_t bits_xor = 0;
  uint32_t least = ~0u;
  int32_t most = INT32_MIN;
  for (const uint32_t v : in) {
    sum += v;
    bits_and &= v;
    bits_or |= v;
    bits_xor ^= v;
    least = std::min(least, v);
    most = std::max(most, static_cast<int32_t>(v));
  }
  const auto reduced = [&](const std::string& form) {
    return run_lanes("redux.sync." + form + " %r2, %r1, 0xffffffff;", in).values[13];
  };
  EXPECT_EQ(reduced("add.s32"), sum);
  EXPECT_EQ(reduced("and.b32"), bits_and);
  EXPECT_EQ(reduced("or.b32"), bits_or);
  EXPECT_EQ(reduced("xor.b32"), bits_xor);
  EXPECT_EQ(reduced("min.u32"), least);
  EXPECT_EQ(reduced("max.s32"), static_cast<uint32_t>(most));
}

TEST(Redux, FloatsTreatNanAndSignsAsTheInstructionSays) {
  std::vector<uint32_t> in(32, 0x3F800000);  // 1
  in[3] = 0xC0000000;                        // -2
  in[4] = 0x7FC00000;                        // NaN
  in[5] = 0x80000000;                        // -0
  const auto reduced = [&](const std::string& form) {
    return run_lanes("mov.b32 %f0, %r1;\nredux.sync." + form +
                         " %f1, %f0, 0xffffffff;\nmov.b32 %r2, %f1;",
                     in)
        .values[0];
  };
  EXPECT_EQ(reduced("min.f32"), 0xC0000000u);
  EXPECT_EQ(reduced("max.f32"), 0x3F800000u);
  EXPECT_EQ(reduced("max.abs.f32"), 0x40000000u);
  EXPECT_EQ(reduced("min.abs.f32"), 0u);
  EXPECT_EQ(reduced("max.NaN.f32"), 0x7FFFFFFFu);
}

TEST(Elect, TheLowestLaneLeadsUnlessTheOptionSaysOtherwise) {
  const std::string body = R"(
    setp.gt.u32 %p1, %r0, 4;
    mov.u32 %r2, 0;
    @%p1 elect.sync %r2|%p0, 0xffffffe0;
    @%p1 selp.b32 %r3, 100, 0, %p0;
    @%p1 add.u32 %r2, %r2, %r3;)";
  const Outcome lowest = run_lanes(body, some_values());
  ASSERT_TRUE(lowest.result.ok());
  EXPECT_EQ(lowest.values[4], 0u);
  EXPECT_EQ(lowest.values[5], 105u);
  EXPECT_EQ(lowest.values[6], 5u);
  Options options;
  options.elect_lane = 2;
  const Outcome other = run_lanes(body, some_values(), options);
  EXPECT_EQ(other.values[5], 7u);
  EXPECT_EQ(other.values[7], 107u);
}

TEST(ActiveMask, IsTheGroup) {
  const Outcome outcome = run_lanes(R"(
    setp.lt.u32 %p1, %r0, 5;
    mov.u32 %r2, 0;
    @%p1 activemask.b32 %r2;)",
                                    some_values());
  EXPECT_EQ(outcome.values[0], 31u);
}

}  // namespace
}  // namespace emu::test
