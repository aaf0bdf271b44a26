// SPDX-License-Identifier: Apache-2.0
// setmaxnreg, programmatic launches, asynchronous stores between CTAs.
#include <fstream>

#include "tests/async/ptx_program.hpp"

namespace emu {
namespace {

// The first threads, up to number `last`, execute one list, all others another.
std::string two_parts(const std::string& first, const std::string& others, int last,
                      const std::string& directive = "") {
  return ".visible .entry k()\n" + directive + R"(
{
  .reg .pred p;
  .reg .b32 tid;
  mov.u32 tid, %tid.x;
  setp.gt.u32 p, tid, )" +
         std::to_string(last) + R"(;
  @p bra OTHERS;
)" + first +
         R"(
  ret;
OTHERS:
)" + others +
         R"(
  ret;
}
)";
}

std::string registers(const std::string& first, const std::string& others) {
  return two_parts(first, others, 31);
}

std::string report_of(const std::string& text) {
  PtxProgram program(text);
  LaunchRequest request = program.request({});
  request.block = {128, 1, 1};
  return program.run(request, {}).fault.report;
}

TEST(Setmaxnreg, HandOverOfAWholeWarpgroup) {
  const std::string both =
      "setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.inc.sync.aligned.u32 232;\n";
  EXPECT_EQ(report_of(registers(both, both)), "");
}

TEST(Setmaxnreg, WrongDirectionIsReported) {
  const std::string wrong =
      "setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.dec.sync.aligned.u32 80;\n";
  EXPECT_NE(report_of(registers(wrong, wrong)).find("setmaxnreg.dec to 80"), std::string::npos);
}

TEST(Setmaxnreg, PartOfAWarpgroupIsReported) {
  EXPECT_NE(report_of(registers("setmaxnreg.dec.sync.aligned.u32 40;\n", "")).find("warpgroup"),
            std::string::npos);
}

// Two warpgroups; 64 registers a thread at the launch.
std::string pool(const std::string& first, const std::string& second) {
  return two_parts(first, second, 127, ".maxnreg 64\n");
}

constexpr const char* kTake88 = "setmaxnreg.inc.sync.aligned.u32 88;\n";
constexpr const char* kLeave40 = "setmaxnreg.dec.sync.aligned.u32 40;\n";

LaunchResult run_two_warpgroups(const std::string& text, const Options& options) {
  PtxProgram program(text);
  LaunchRequest request = program.request({});
  request.block = {256, 1, 1};
  return program.run(request, options);
}

TEST(Setmaxnreg, TakesWhatOthersLeave) {
  for (const Options& options : portfolio()) {
    EXPECT_EQ(run_two_warpgroups(pool(kTake88, kLeave40), options).fault.report, "");
  }
}

TEST(Setmaxnreg, WaitsForEverWhereTheCtaHasTooFew) {
  const std::string report = run_two_warpgroups(pool(kTake88, ""), {}).fault.report;
  EXPECT_NE(report.find("setmaxnreg): 88 a thread; 0 of the CTA's are free"), std::string::npos)
      << report;
  // 24 a thread are left and 32 wanted.
  const std::string take_96 = "setmaxnreg.inc.sync.aligned.u32 96;\n";
  EXPECT_NE(run_two_warpgroups(pool(take_96, kLeave40), {}).fault.report, "");
}

TEST(Setmaxnreg, AFileTellsWhatPtxDoesNot) {
  const std::string name = testing::TempDir() + "registers.txt";
  std::ofstream(name) << "# comment\nother 8\nk 80 # registers\n";
  Options options;
  ASSERT_EQ(set_option(options, "EMU_REGISTERS", name), "");
  const std::string take_120 = "setmaxnreg.inc.sync.aligned.u32 120;\n";
  EXPECT_EQ(run_two_warpgroups(pool(take_120, kLeave40), options).fault.report, "");
  const std::string take_128 = "setmaxnreg.inc.sync.aligned.u32 128;\n";
  EXPECT_NE(run_two_warpgroups(pool(take_128, kLeave40), options).fault.report, "");
  for (const char* line : {"k", "k 0", "k 256", "k x", "k 8 9"}) {
    std::ofstream(name) << line << "\n";
    EXPECT_NE(set_option(options, "EMU_REGISTERS", name).find(std::string("line 1 is '") + line),
              std::string::npos);
  }
  EXPECT_NE(set_option(options, "EMU_REGISTERS", name + ".missing").find("cannot be read"),
            std::string::npos);
}

// The first grid writes a word after it has let the second one start; the second one reads it.
std::string dependent(const std::string& wait) {
  return R"(
.visible .entry k(.param .u64 out, .param .u64 second)
{
  .reg .pred p;
  .reg .b32 word;
  .reg .b64 at, which;
  ld.param.u64 at, [out];
  ld.param.u64 which, [second];
  setp.ne.u64 p, which, 0;
  @p bra SECOND;
  griddepcontrol.launch_dependents;
  st.global.u32 [at], 5;
  ret;
SECOND:
)" + wait +
         R"(
  ld.global.u32 word, [at];
  st.global.u32 [at+4], word;
  ret;
}
)";
}

int wrong_results(const std::string& text) {
  PtxProgram program(text);
  const uint64_t out = program.allocate(16);
  const std::vector<LaunchRequest> chain = [&] {
    std::vector<LaunchRequest> requests{program.request({out, 0}), program.request({out, 1})};
    requests[1].programmatic = true;
    return requests;
  }();
  int wrong = 0;
  for (const Options& options : portfolio(3)) {
    program.write(out, std::vector<uint32_t>{0, 0, 0, 0});
    const std::vector<LaunchResult> results = launch_chain(chain, options);
    EXPECT_TRUE(results[0].ok() && results[1].ok()) << results[1].fault.report;
    wrong += program.download<uint32_t>(out, 2)[1] == 5 ? 0 : 1;
  }
  return wrong;
}

TEST(ProgrammaticLaunch, WaitSeesThePreviousGrid) {
  EXPECT_EQ(wrong_results(dependent("griddepcontrol.wait;\n")), 0);
}

TEST(ProgrammaticLaunch, MissingWaitIsCaught) {
  EXPECT_GT(wrong_results(dependent("")), 0);
}

// CTA 1 stores and adds to words of CTA 0, which waits for the bytes.
TEST(AsyncStore, SignalsTheMbarrierOfItsDestination) {
  PtxProgram program(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred p;
  .reg .b32 rank, here, bar, word;
  .reg .b64 dst;
  .shared .align 16 .b8 box[16];
  .shared .align 8 .b64 full;
  ld.param.u64 dst, [out];
  mov.u32 rank, %cluster_ctarank;
  mov.u32 here, box;
  mov.u32 bar, full;
  st.shared.u32 [here+8], 100;
  mbarrier.init.shared::cta.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 12;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.eq.u32 p, rank, 0;
  @p bra W;
  mapa.shared::cluster.u32 here, here, 0;
  mapa.shared::cluster.u32 bar, bar, 0;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [here], {7, 8}, [bar];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [here+8], 11, [bar];
  bra DONE;
W:
  mbarrier.try_wait.parity.shared::cta.b64 p, [full], 0;
  @!p bra W;
  ld.shared.u32 word, [here];
  st.global.u32 [dst], word;
  ld.shared.u32 word, [here+4];
  st.global.u32 [dst+4], word;
  ld.shared.u32 word, [here+8];
  st.global.u32 [dst+8], word;
DONE:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}
)");
  const uint64_t out = program.allocate(16);
  LaunchRequest request = program.request({out});
  request.grid = {2, 1, 1};
  request.cluster = {2, 1, 1};
  for (Options options : portfolio(2)) {
    options.race_detector = true;
    const LaunchResult result = program.run(request, options);
    ASSERT_TRUE(result.ok()) << result.fault.report;
    EXPECT_EQ(program.download<uint32_t>(out, 3), (std::vector<uint32_t>{7, 8, 111}));
  }
}

}  // namespace
}  // namespace emu
