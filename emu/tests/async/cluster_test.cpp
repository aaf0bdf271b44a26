// SPDX-License-Identifier: Apache-2.0
// Clusters: remote shared memory, the cluster barrier, multicast, launch control.
#include <algorithm>
#include <numeric>

#include "tests/async/ptx_program.hpp"

namespace emu {
namespace {

// Every CTA writes its rank into the next one's memory and then reads its own.
std::string exchange(bool waits) {
  return std::string(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred p;
  .reg .b32 rank, size, next, here, there, word;
  .reg .b64 dst, wide;
  .shared .align 16 .b8 box[16];
  ld.param.u64 dst, [out];
  mov.u32 rank, %cluster_ctarank;
  mov.u32 size, %cluster_nctarank;
  add.u32 next, rank, 1;
  rem.u32 next, next, size;
  mov.u32 here, box;
  st.shared.u32 [here], 99;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mapa.shared::cluster.u32 there, here, next;
  st.shared::cluster.u32 [there], rank;
)") + (waits ? "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n" : "") +
         R"(
  ld.shared.u32 word, [here];
  mul.wide.u32 wide, rank, 4;
  add.u64 dst, dst, wide;
  st.global.u32 [dst], word;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
)";
}

int failures(const std::string& text, uint64_t scale, bool race_detector = false) {
  PtxProgram program(text);
  const uint64_t out = program.allocate(16);
  LaunchRequest request = program.request({out});
  request.grid = {4, 1, 1};
  request.cluster = {4, 1, 1};
  int count = 0;
  for (Options options : portfolio(scale)) {
    options.race_detector = race_detector;
    const LaunchResult result = program.run(request, options);
    const bool good =
        result.ok() && program.download<uint32_t>(out, 4) == std::vector<uint32_t>{3, 0, 1, 2};
    count += good ? 0 : 1;
  }
  return count;
}

TEST(Cluster, RemoteStoresAreSeenAfterTheBarrier) {
  EXPECT_EQ(failures(exchange(true), 20), 0);
}

TEST(Cluster, MissingBarrierIsCaught) {
  EXPECT_GT(failures(exchange(false), 1), 0);
}

TEST(Cluster, RaceDetectorTellsTheTwoApart) {
  EXPECT_EQ(failures(exchange(true), 1, /*race_detector=*/true), 0);
  EXPECT_EQ(failures(exchange(false), 1, /*race_detector=*/true),
            static_cast<int>(portfolio().size()));
}

TEST(Cluster, SecondArrivalInAPhaseIsReported) {
  PtxProgram program(R"(
.visible .entry k()
{
  barrier.cluster.arrive.aligned;
  barrier.cluster.arrive.aligned;
  ret;
}
)");
  LaunchRequest request = program.request({});
  request.grid = {2, 1, 1};
  request.cluster = {2, 1, 1};
  const LaunchResult result = program.run(request, {});
  EXPECT_NE(result.fault.report.find("twice"), std::string::npos) << result.fault.report;
}

TEST(Cluster, UsingAnAddressOfARankOutsideIsReported) {
  PtxProgram program(R"(
.visible .entry k()
{
  .reg .b32 here, there;
  .shared .align 16 .b8 box[16];
  mov.u32 here, box;
  mapa.shared::cluster.u32 there, here, 5;
  st.shared::cluster.u32 [there], 1;
  ret;
}
)");
  LaunchRequest request = program.request({});
  request.grid = {2, 1, 1};
  request.cluster = {2, 1, 1};
  EXPECT_EQ(program.run(request, {}).fault.kind, FaultKind::illegal_address);
}

// CTA 0 multicasts a row of 64 bytes to all four; each waits on its own mbarrier.
TEST(Cluster, MulticastReachesEveryCtaOfTheMask) {
  PtxProgram program(R"(
.visible .entry k(.param .u64 from, .param .u64 out)
{
  .reg .pred p;
  .reg .b32 rank, lane, at, word;
  .reg .b16 mask;
  .reg .b64 src, dst, wide;
  .shared .align 128 .b8 box[64];
  .shared .align 8 .b64 full;
  ld.param.u64 src, [from];
  ld.param.u64 dst, [out];
  mov.u32 rank, %cluster_ctarank;
  mov.u32 lane, %tid.x;
  setp.ne.u32 p, lane, 0;
  @p bra READY;
  mbarrier.init.shared::cta.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 64;
READY:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  or.b32 word, rank, lane;
  setp.ne.u32 p, word, 0;
  mov.u16 mask, 15;
  @p bra W;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [box], [src], 64, [full], mask;
W:
  mbarrier.try_wait.parity.shared::cta.b64 p, [full], 0;
  @!p bra W;
  setp.gt.u32 p, lane, 15;
  @p bra DONE;
  mov.u32 at, box;
  shl.b32 word, lane, 2;
  add.u32 at, at, word;
  shl.b32 rank, rank, 6;
  add.u32 word, word, rank;
  cvt.u64.u32 wide, word;
  add.u64 dst, dst, wide;
  ld.shared.u32 word, [at];
  st.global.u32 [dst], word;
DONE:
  ret;
}
)");
  std::vector<uint32_t> row(16);
  std::iota(row.begin(), row.end(), 7);
  const uint64_t from = program.upload(row);
  const uint64_t out = program.allocate(256);
  LaunchRequest request = program.request({from, out});
  request.grid = {4, 1, 1};
  request.cluster = {4, 1, 1};
  request.block = {32, 1, 1};
  for (const Options& options : portfolio(3)) {
    program.write(out, std::vector<uint32_t>(64, 0));
    const LaunchResult result = program.run(request, options);
    ASSERT_TRUE(result.ok()) << result.fault.report;
    const auto words = program.download<uint32_t>(out, 64);
    for (uint32_t i = 0; i < 64; ++i) {
      ASSERT_EQ(words[i], 7 + i % 16);
    }
  }
}

// Persistent CTAs: each counts the tile it started with and every tile whose cluster it cancelled.
constexpr const char* kPersistent = R"(
.visible .entry k(.param .u64 counts, .param .u64 again)
{
  .reg .pred p;
  .reg .b32 x, y, z, parity, one;
  .reg .b64 at, base, wide, more;
  .reg .b128 response;
  .shared .align 16 .b8 answer[16];
  .shared .align 8 .b64 full;
  ld.param.u64 base, [counts];
  ld.param.u64 more, [again];
  mov.u32 x, %ctaid.x;
  mov.u32 y, %ctaid.y;
  mov.u32 parity, 0;
  mbarrier.init.shared::cta.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
TILE:
  mad.lo.u32 x, y, 6, x;
  mul.wide.u32 wide, x, 4;
  add.u64 at, base, wide;
  red.relaxed.gpu.global.add.u32 [at], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [full];
W:
  mbarrier.try_wait.parity.shared::cta.b64 p, [full], parity;
  @!p bra W;
  xor.b32 parity, parity, 1;
  ld.shared.b128 response, [answer];
  fence.proxy.async.shared::cta;
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response;
  @p clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {x, y, z, _}, response;
  @p bra TILE;
  mov.u32 x, 0;
  mov.u32 y, 0;
  setp.ne.u64 p, more, 0;
  @p bra TILE;
  ret;
}
)";

TEST(LaunchControl, EveryTileIsDoneOnce) {
  PtxProgram program(kPersistent);
  const uint64_t counts = program.allocate(24 * 4);
  LaunchRequest request = program.request({counts, 0});
  request.grid = {6, 4, 1};
  for (const Options& options : portfolio(3)) {
    program.write(counts, std::vector<uint32_t>(24, 0));
    const LaunchResult result = program.run(request, options);
    ASSERT_TRUE(result.ok()) << result.fault.report;
    EXPECT_EQ(program.download<uint32_t>(counts, 24), std::vector<uint32_t>(24, 1));
  }
}

TEST(LaunchControl, RequestAfterAFailureIsReported) {
  PtxProgram program(kPersistent);
  const uint64_t counts = program.allocate(24 * 4);
  LaunchRequest request = program.request({counts, 1});
  request.grid = {6, 4, 1};
  program.write(counts, std::vector<uint32_t>(24, 0));
  const LaunchResult result = program.run(request, {});
  EXPECT_NE(result.fault.report.find("try_cancel"), std::string::npos) << result.fault.report;
}

}  // namespace
}  // namespace emu
