// SPDX-License-Identifier: Apache-2.0
// Programs that hand data from one warp to another by mbarriers and bulk copies: the right ones
// pass under every schedule, each wrong one is caught by some schedule of the portfolio.
#include "tests/async/ptx_program.hpp"

namespace emu {
namespace {

constexpr uint32_t kWords = 64;

std::vector<uint32_t> counting(uint32_t count, uint32_t first) {
  std::vector<uint32_t> values(count);
  for (uint32_t i = 0; i < count; ++i) {
    values[i] = first + i;
  }
  return values;
}

// What of a program is left out.
struct Variant {
  bool wait = true;
  bool expect = true;
  bool empty_wait = true;   // the producer waits until the consumer has read the stage before
  bool empty_retry = true;  // and does not go on after one look
  bool proxy_fence = true;  // before the store of the result
  bool store_wait = true;   // before the staging buffer is used again
  bool init_fence = true;   // between mbarrier.init and the first copy
};

// Warp 0 loads `rounds` rows of 256 bytes by bulk copies into one stage; warp 1 adds 1 to each word
// and stores the row by a bulk copy from a staging buffer.
std::string pipeline(const Variant& v) {
  const std::string wait_full =
      "W1: mbarrier.try_wait.parity.shared::cta.b64 p, [full], parity;\n @!p bra W1;\n";
  const std::string wait_empty =
      std::string("W0: mbarrier.try_wait.parity.shared::cta.b64 p, [empty], other;\n") +
      (v.empty_retry ? "@!p bra W0;\n" : "");
  return std::string() + R"(
.visible .entry k(.param .u64 from, .param .u64 to, .param .u64 rounds)
{
  .reg .pred p, q, lead;
  .reg .b32 tid, lane, warp, round, parity, other, word, n, stage_at, out_at, sh;
  .reg .b64 src, dst, total, step;
  .shared .align 128 .b8 stage[256];
  .shared .align 128 .b8 out[256];
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 empty;
  mov.u32 tid, %tid.x;
  and.b32 lane, tid, 31;
  shr.u32 warp, tid, 5;
  ld.param.u64 src, [from];
  ld.param.u64 dst, [to];
  ld.param.u64 total, [rounds];
  cvt.u32.u64 n, total;
  setp.eq.u32 lead, lane, 0;
  setp.ne.u32 p, tid, 0;
  @p bra READY;
  mbarrier.init.shared::cta.b64 [full], 1;
  mbarrier.init.shared::cta.b64 [empty], 32;
)" + (v.init_fence ? "fence.mbarrier_init.release.cluster;\n" : "") +
         R"(
READY:
  bar.sync 0;
  mov.u32 round, 0;
  setp.ne.u32 p, warp, 0;
  @p bra CONSUMER;
  setp.ne.u32 p, lane, 0;
  @p bra DONE;
PRODUCE:
  and.b32 parity, round, 1;
  xor.b32 other, parity, 1;
)" + (v.empty_wait ? wait_empty : "") +
         (v.expect ? "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 256;\n"
                   : "mbarrier.arrive.shared::cta.b64 _, [full];\n") +
         R"(
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [stage], [src], 256, [full];
  add.u64 src, src, 256;
  add.u32 round, round, 1;
  setp.lt.u32 p, round, n;
  @p bra PRODUCE;
  bra DONE;
CONSUMER:
  shl.b32 sh, lane, 2;
  mov.u32 stage_at, stage;
  add.u32 stage_at, stage_at, sh;
  mov.u32 out_at, out;
  add.u32 out_at, out_at, sh;
CONSUME:
  and.b32 parity, round, 1;
)" + (v.wait ? wait_full : "") +
         (v.store_wait ? "@lead cp.async.bulk.wait_group.read 0;\n" : "") + R"(
  bar.warp.sync 0xFFFFFFFF;
  ld.shared.u32 word, [stage_at];
  add.u32 word, word, 1;
  st.shared.u32 [out_at], word;
  ld.shared.u32 word, [stage_at+128];
  add.u32 word, word, 1;
  st.shared.u32 [out_at+128], word;
  mbarrier.arrive.shared::cta.b64 _, [empty];
)" + (v.proxy_fence ? "fence.proxy.async.shared::cta;\n" : "") +
         R"(
  bar.warp.sync 0xFFFFFFFF;
  @lead cp.async.bulk.global.shared::cta.bulk_group [dst], [out], 256;
  @lead cp.async.bulk.commit_group;
  add.u64 dst, dst, 256;
  add.u32 round, round, 1;
  setp.lt.u32 p, round, n;
  @p bra CONSUME;
  @lead cp.async.bulk.wait_group 0;
DONE:
  ret;
}
)";
}

// Number of schedules that report a fault or give a wrong result.
int caught(const std::string& text, uint64_t scale, std::string* first_report = nullptr,
           bool race_detector = false) {
  constexpr uint32_t kRounds = 5;
  PtxProgram program(text);
  const uint64_t from = program.upload(counting(kRounds * kWords, 100));
  const uint64_t to = program.allocate(kRounds * kWords * 4);
  LaunchRequest request = program.request({from, to, kRounds});
  request.block = {64, 1, 1};
  int count = 0;
  for (Options options : portfolio(scale)) {
    options.race_detector = race_detector;
    program.write(to, std::vector<uint32_t>(kRounds * kWords, 0));
    const LaunchResult result = program.run(request, options);
    const bool good = result.ok() && program.download<uint32_t>(to, kRounds * kWords) ==
                                         counting(kRounds * kWords, 101);
    if (!good && count++ == 0 && first_report != nullptr) {
      *first_report = result.fault.report;
    }
  }
  return count;
}

TEST(MbarrierPipeline, RightProgramPassesManySchedules) {
  std::string report;
  EXPECT_EQ(caught(pipeline({}), 20, &report), 0) << report;
}

TEST(MbarrierPipeline, RightProgramHasNoRaces) {
  std::string report;
  EXPECT_EQ(caught(pipeline({}), 3, &report, /*race_detector=*/true), 0) << report;
}

// What schedules only sometimes show, the race detector sees in nearly every one.
TEST(MbarrierPipeline, MissingWaitsAreRaces) {
  for (bool Variant::*left_out : {&Variant::wait, &Variant::empty_wait, &Variant::store_wait}) {
    Variant v;
    v.*left_out = false;
    std::string report;
    EXPECT_GT(caught(pipeline(v), 1, &report, /*race_detector=*/true),
              static_cast<int>(portfolio().size()) * 3 / 4);
  }
}

// A single try_wait that suspends its warp each time would hide it.
TEST(MbarrierPipeline, OneLookInPlaceOfAWaitIsARace) {
  Variant v;
  v.empty_retry = false;
  std::string report;
  EXPECT_GT(caught(pipeline(v), 1, &report, /*race_detector=*/true),
            static_cast<int>(portfolio().size()) * 3 / 4);
}

TEST(MbarrierPipeline, MissingWaitIsCaught) {
  Variant v;
  v.wait = false;
  EXPECT_GT(caught(pipeline(v), 1), 0);
}

TEST(MbarrierPipeline, MissingExpectationIsCaught) {
  Variant v;
  v.expect = false;
  EXPECT_GT(caught(pipeline(v), 1), 0);
}

TEST(MbarrierPipeline, MissingWaitForTheEmptyStageIsCaught) {
  Variant v;
  v.empty_wait = false;
  EXPECT_GT(caught(pipeline(v), 1), 0);
}

TEST(MbarrierPipeline, MissingProxyFenceIsCaughtByEverySchedule) {
  Variant v;
  v.proxy_fence = false;
  std::string report;
  EXPECT_EQ(caught(pipeline(v), 1, &report), static_cast<int>(portfolio().size()));
  EXPECT_NE(report.find("fence.proxy.async"), std::string::npos) << report;
}

TEST(MbarrierPipeline, MissingFenceAfterInitIsCaughtByEverySchedule) {
  Variant v;
  v.init_fence = false;
  std::string report;
  EXPECT_EQ(caught(pipeline(v), 1, &report), static_cast<int>(portfolio().size()));
  EXPECT_NE(report.find("fence.mbarrier_init"), std::string::npos) << report;
}

TEST(MbarrierPipeline, MissingWaitForTheStagingBufferIsCaught) {
  Variant v;
  v.store_wait = false;
  EXPECT_GT(caught(pipeline(v), 1), 0);
}

}  // namespace
}  // namespace emu
