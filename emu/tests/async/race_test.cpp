// SPDX-License-Identifier: Apache-2.0
// The race detector on small programs: what it must report under every schedule and what it must
// leave alone.
#include "tests/async/ptx_program.hpp"

namespace emu {
namespace {

// Two warps; each thread stores a word and loads the one of the thread 32 further on.
std::string neighbours(const std::string& between) {
  return R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred p;
  .reg .b32 tid, at, other, word;
  .reg .b64 dst, wide;
  .shared .align 16 .b8 box[256];
  ld.param.u64 dst, [out];
  mov.u32 tid, %tid.x;
  mov.u32 at, box;
  shl.b32 word, tid, 2;
  add.u32 at, at, word;
  st.shared.u32 [at], tid;
)" + between +
         R"(
  xor.b32 other, word, 128;
  mov.u32 at, box;
  add.u32 at, at, other;
  ld.shared.u32 other, [at];
  cvt.u64.u32 wide, word;
  add.u64 dst, dst, wide;
  st.global.u32 [dst], other;
  ret;
}
)";
}

// One CTA publishes a word and a flag, the other waits for the flag.
std::string message(const std::string& publish, const std::string& observe) {
  return R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred p;
  .reg .b32 cta, word, flag;
  .reg .b64 at;
  ld.param.u64 at, [out];
  mov.u32 cta, %ctaid.x;
  setp.ne.u32 p, cta, 0;
  @p bra RECEIVE;
  st.global.u32 [at], 42;
)" + publish +
         R"(
  ret;
RECEIVE:
)" + observe +
         R"(
  setp.eq.u32 p, flag, 0;
  @p bra RECEIVE;
  ld.global.u32 word, [at];
  st.global.u32 [at+8], word;
  ret;
}
)";
}

// How many schedules report a race; any other fault is a failure of the test.
int races(const std::string& text, Dim3 grid, Dim3 block) {
  PtxProgram program(text);
  const uint64_t out = program.allocate(256);
  LaunchRequest request = program.request({out});
  request.grid = grid;
  request.block = block;
  int count = 0;
  for (Options options : portfolio()) {
    options.race_detector = true;
    program.write(out, std::vector<uint32_t>(64, 0));
    const LaunchResult result = program.run(request, options);
    const bool race = result.fault.report.find("race on") != std::string::npos;
    EXPECT_TRUE(result.ok() || race) << result.fault.report;
    count += race ? 1 : 0;
  }
  return count;
}

const int kEverySchedule = static_cast<int>(portfolio().size());

TEST(RaceDetector, SharedMemoryWithoutBarrier) {
  // The second store is not ordered; without the first, loads of never-written words would be
  // reported instead.
  EXPECT_EQ(races(neighbours("bar.sync 0;\nst.shared.u32 [at], 7;\n"), {}, {64, 1, 1}),
            kEverySchedule);
}

TEST(RaceDetector, SharedMemoryWithBarrier) {
  EXPECT_EQ(races(neighbours("bar.sync 0;\n"), {}, {64, 1, 1}), 0);
}

TEST(RaceDetector, NeighboursInOneGranuleAreNoRace) {
  EXPECT_EQ(races(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 tid, warp, at;
  .shared .align 16 .b8 box[16];
  mov.u32 tid, %tid.x;
  shr.u32 warp, tid, 5;
  shl.b32 warp, warp, 2;
  mov.u32 at, box;
  add.u32 at, at, warp;
  st.shared.u32 [at], tid;
  ret;
}
)",
                  {}, {128, 1, 1}),
            0);
}

TEST(RaceDetector, MessageByReleaseAndAcquire) {
  EXPECT_EQ(races(message("st.release.gpu.global.u32 [at+4], 1;\n",
                          "ld.acquire.gpu.global.u32 flag, [at+4];\n"),
                  {2, 1, 1}, {}),
            0);
}

TEST(RaceDetector, MessageByFencesAndRelaxedAccesses) {
  EXPECT_EQ(races(message("fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [at+4], 1;\n",
                          "ld.relaxed.gpu.global.u32 flag, [at+4];\nfence.acq_rel.gpu;\n"),
                  {2, 1, 1}, {}),
            0);
}

TEST(RaceDetector, MessageWithoutTheReleasingFence) {
  EXPECT_GT(races(message("st.relaxed.gpu.global.u32 [at+4], 1;\n",
                          "ld.relaxed.gpu.global.u32 flag, [at+4];\nfence.acq_rel.gpu;\n"),
                  {2, 1, 1}, {}),
            kEverySchedule / 2);
}

TEST(RaceDetector, AtomicsDoNotRaceWithEachOther) {
  EXPECT_EQ(races(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 at;
  ld.param.u64 at, [out];
  red.relaxed.gpu.global.add.u32 [at], 1;
  ret;
}
)",
                  {4, 1, 1}, {64, 1, 1}),
            0);
}

TEST(RaceDetector, TwoCtasWriteOneWord) {
  EXPECT_EQ(races(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 at;
  ld.param.u64 at, [out];
  st.global.u32 [at], 1;
  ret;
}
)",
                  {2, 1, 1}, {}),
            kEverySchedule);
}

// The copy's destination is read as soon as the other warp, which waited, has passed a barrier.
std::string copied(const std::string& wait) {
  return R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred p;
  .reg .b32 tid, at, word;
  .reg .b64 src;
  .shared .align 16 .b8 box[1024];
  ld.param.u64 src, [out];
  mov.u32 tid, %tid.x;
  shl.b32 word, tid, 2;
  mov.u32 at, box;
  add.u32 at, at, word;
  st.shared.u32 [at], 0;
  bar.sync 0;
  setp.ne.u32 p, tid, 0;
  @p bra READ;
  cp.async.ca.shared.global [box], [src], 16;
  cp.async.commit_group;
)" + wait +
         R"(
READ:
  bar.sync 0;
  ld.shared.u32 word, [at];
  bar.sync 0;
  @p bra DONE;
  cp.async.wait_group 0;
DONE:
  ret;
}
)";
}

TEST(RaceDetector, CopyThatIsWaitedFor) {
  EXPECT_EQ(races(copied("cp.async.wait_group 0;\n"), {}, {64, 1, 1}), 0);
}

TEST(RaceDetector, CopyThatIsNotWaitedFor) {
  EXPECT_EQ(races(copied(""), {}, {64, 1, 1}), kEverySchedule);
}

}  // namespace
}  // namespace emu
