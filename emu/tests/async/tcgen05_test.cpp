// SPDX-License-Identifier: Apache-2.0
// A small tcgen05 product (nvf4, K = 64 twice) in one CTA and in a pair, exact under every
// schedule; and programs with one step missing.
#include <array>
#include <cmath>
#include <cstring>

#include "tests/async/ptx_program.hpp"

namespace emu {
namespace {

constexpr uint32_t kRows = 128;  // per CTA
constexpr uint32_t kColumns = 32;
constexpr uint32_t kK = 64;
// The image of one CTA's operands: A, B, scales of A, scales of B. Unswizzled K-major core matrices
// of 8 rows x 16 bytes.
constexpr uint32_t kAAt = 0;
constexpr uint32_t kBAt = 4096;
constexpr uint32_t kScaleAAt = 5120;
constexpr uint32_t kScaleBAt = 5632;
constexpr uint32_t kImageBytes = 6144;

struct Steps {
  bool wait_full = true;
  bool wait_done = true;
  bool wait_load = true;
  bool dealloc = true;
};

struct Operands {
  uint32_t group = 1;
  std::vector<uint8_t> a;  // codes [rows][k]
  std::vector<uint8_t> b;
  std::vector<uint8_t> a_scale;  // ue4m3 [rows][4]
  std::vector<uint8_t> b_scale;
};

Operands random_operands(uint32_t group) {
  Operands o;
  o.group = group;
  uint64_t state = 12345;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 40);
  };
  o.a.resize(size_t{kRows} * group * kK);
  o.b.resize(size_t{kColumns} * kK);
  o.a_scale.resize(size_t{kRows} * group * 4);
  o.b_scale.resize(size_t{kColumns} * 4);
  for (auto* codes : {&o.a, &o.b}) {
    for (uint8_t& code : *codes) {
      code = next() % 16;
    }
  }
  for (auto* scales : {&o.a_scale, &o.b_scale}) {
    for (uint8_t& scale : *scales) {
      scale = static_cast<uint8_t>(0x30 + next() % 16);  // 0.5 to 1.875
    }
  }
  return o;
}

void put_row(std::vector<uint8_t>& image, uint32_t at, uint32_t rows, uint32_t row,
             const uint8_t* codes) {
  for (uint32_t k = 0; k < kK; ++k) {
    const uint32_t kb = k / 2;
    const uint32_t to = at + row % 8 * 16 + row / 8 * 128 + kb % 16 + kb / 16 * rows * 16;
    image[to] |= static_cast<uint8_t>(codes[k] << (k % 2 * 4));
  }
}

// Rows of B per CTA: all of them, or its half of the pair's.
std::vector<uint8_t> image_of(const Operands& o, uint32_t cta) {
  std::vector<uint8_t> image(kImageBytes, 0);
  const uint32_t b_rows = kColumns / o.group;
  for (uint32_t r = 0; r < kRows; ++r) {
    put_row(image, kAAt, kRows, r, o.a.data() + (cta * kRows + r) * kK);
    for (uint32_t s = 0; s < 4; ++s) {
      image[kScaleAAt + r % 32 * 16 + r / 32 * 4 + s] = o.a_scale[(cta * kRows + r) * 4 + s];
    }
  }
  for (uint32_t n = 0; n < b_rows; ++n) {
    put_row(image, kBAt, b_rows, n, o.b.data() + (cta * b_rows + n) * kK);
  }
  for (uint32_t n = 0; n < kColumns; ++n) {
    for (uint32_t s = 0; s < 4; ++s) {
      image[kScaleBAt + n * 16 + s] = o.b_scale[n * 4 + s];
    }
  }
  return image;
}

double e2m1(uint8_t code) {
  constexpr std::array<double, 8> kValues{0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8) != 0 ? -kValues[code & 7] : kValues[code & 7];
}

double ue4m3(uint8_t code) {
  return std::ldexp(8 + (code & 7), (code >> 3) - 10);
}

// Twice the product: the kernel accumulates the same step again.
std::vector<float> reference(const Operands& o) {
  std::vector<float> d(size_t{kRows} * o.group * kColumns);
  for (uint32_t r = 0; r < kRows * o.group; ++r) {
    for (uint32_t n = 0; n < kColumns; ++n) {
      double sum = 0;
      for (uint32_t k = 0; k < kK; ++k) {
        sum += e2m1(o.a[r * kK + k]) * e2m1(o.b[n * kK + k]) * ue4m3(o.a_scale[r * 4 + k / 16]) *
               ue4m3(o.b_scale[n * 4 + k / 16]);
      }
      d[r * kColumns + n] = static_cast<float>(2 * sum);
    }
  }
  return d;
}

std::string registers32() {
  std::string list;
  for (uint32_t r = 0; r < 32; ++r) {
    list += (r == 0 ? "r" : ", r") + std::to_string(r);
  }
  return "{" + list + "}";
}

std::string stores32() {
  std::string text;
  for (uint32_t r = 0; r < 32; ++r) {
    text += "st.global.b32 [dst+" + std::to_string(4 * r) + "], r" + std::to_string(r) + ";\n";
  }
  return text;
}

// Builds a descriptor of the array at data + `at`.
std::string descriptor(const std::string& name, uint32_t at, uint32_t leading) {
  const uint64_t fixed =
      uint64_t{1} << 46 | uint64_t{128 / 16} << 32 | uint64_t{leading / 16} << 16;
  return "add.u32 t, sdata, " + std::to_string(at) +
         ";\nand.b32 t, t, 0x3FFFF;\nshr.u32 t, t, 4;\n" + "cvt.u64.u32 " + name + ", t;\nor.b64 " +
         name + ", " + name + ", " + std::to_string(fixed) + ";\n";
}

std::string kernel(uint32_t group, const Steps& steps) {
  const std::string g = "cta_group::" + std::to_string(group);
  const std::string commit =
      group == 1 ? "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];\n"
                 : "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::"
                   "cluster.b64 [done], mask;\n";
  const std::string mma = "tcgen05.mma." + g +
                          ".kind::mxf4nvf4.block_scale.block16 [tm], da, db, idesc, [sfa], [sfb], ";
  return R"(
.visible .entry k(.param .u64 image, .param .u64 out)
{
  .reg .pred p, accumulate;
  .reg .b16 mask;
  .reg .b32 tid, warp, rank, t, tm, sfa, sfb, idesc, sdata, at, r<32>;
  .reg .b64 src, dst, wide, da, db, dsa, dsb;
  .shared .align 1024 .b8 data[6144];
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 slot;
  mov.u32 tid, %tid.x;
  shr.u32 warp, tid, 5;
  mov.u32 rank, %cluster_ctarank;
  ld.param.u64 src, [image];
  ld.param.u64 dst, [out];
  mul.wide.u32 wide, rank, 6144;
  add.u64 src, src, wide;
  mov.u32 sdata, data;
  setp.ne.u32 p, tid, 0;
  @p bra READY;
  mbarrier.init.shared::cta.b64 [full], 1;
  mbarrier.init.shared::cta.b64 [done], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 6144;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [data], [src], 6144, [full];
READY:
  setp.ne.u32 p, warp, 0;
  @p bra ALLOCATED;
  tcgen05.alloc.)" +
         g + R"(.sync.aligned.shared::cta.b32 [slot], 64;
  tcgen05.relinquish_alloc_permit.)" +
         g + R"(.sync.aligned;
ALLOCATED:
  bar.sync 0;
)" +
         (steps.wait_full
              ? "W1: mbarrier.try_wait.parity.shared::cta.b64 p, [full], 0;\n@!p bra W1;\n"
              : "") +
         R"(
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ld.shared.b32 tm, [slot];
  or.b32 t, tid, rank;
  setp.ne.u32 p, t, 0;
  @p bra ISSUED;
  add.u32 sfa, tm, 32;
  add.u32 sfb, tm, 36;
)" + descriptor("da", kAAt, kRows * 16) +
         descriptor("db", kBAt, kColumns / group * 16) + descriptor("dsa", kScaleAAt, 16) +
         descriptor("dsb", kScaleBAt, 16) + "mov.b32 idesc, " +
         std::to_string(0x480u | kColumns / 8 << 17 | group << 27) + ";\n" +
         "mov.u16 mask, 3;\n"
         "tcgen05.cp." +
         g + ".32x128b.warpx4 [sfa], dsa;\n" + "tcgen05.cp." + g + ".32x128b.warpx4 [sfb], dsb;\n" +
         "setp.ne.b32 accumulate, 0, 0;\n" + mma + "accumulate;\n" +
         "setp.eq.b32 accumulate, 0, 0;\n" + mma + "accumulate;\n" + commit + R"(
ISSUED:
)" +
         (steps.wait_done
              ? "W2: mbarrier.try_wait.parity.shared::cta.b64 p, [done], 0;\n@!p bra W2;\n"
              : "") +
         R"(
  shl.b32 t, warp, 21;
  add.u32 at, tm, t;
  tcgen05.ld.sync.aligned.32x32b.x32.b32 )" +
         registers32() + ", [at];\n" + (steps.wait_load ? "tcgen05.wait::ld.sync.aligned;\n" : "") +
         R"(
  shl.b32 t, rank, 7;
  add.u32 t, t, tid;
  mul.wide.u32 wide, t, 128;
  add.u64 dst, dst, wide;
)" + stores32() +
         R"(
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  setp.ne.u32 p, warp, 0;
  @p bra DONE;
)" + (steps.dealloc ? "tcgen05.dealloc." + g + ".sync.aligned.b32 tm, 64;\n" : "") +
         "DONE:\n  ret;\n}\n";
}

struct Outcome {
  int wrong = 0;
  std::string report;
};

Outcome run(uint32_t group, const Steps& steps, uint64_t scale, bool race_detector = false) {
  const Operands operands = random_operands(group);
  PtxProgram program(kernel(group, steps));
  std::vector<uint8_t> images = image_of(operands, 0);
  if (group == 2) {
    const std::vector<uint8_t> odd = image_of(operands, 1);
    images.insert(images.end(), odd.begin(), odd.end());
  }
  const uint64_t image = program.upload(images);
  const uint64_t count = uint64_t{kRows} * group * kColumns;
  const uint64_t out = program.allocate(count * 4);
  LaunchRequest request = program.request({image, out});
  request.block = {128, 1, 1};
  request.grid = {group, 1, 1};
  request.cluster = {group, 1, 1};
  const std::vector<float> wanted = reference(operands);
  Outcome outcome;
  for (Options options : portfolio(scale)) {
    options.race_detector = race_detector;
    program.write(out, std::vector<float>(count, 0));
    const LaunchResult result = program.run(request, options);
    if (!result.ok() || program.download<float>(out, count) != wanted) {
      ++outcome.wrong;
      outcome.report = result.fault.report;
    }
  }
  return outcome;
}

TEST(Tcgen05, OneCtaIsExactUnderEverySchedule) {
  const Outcome outcome = run(1, {}, 2);
  EXPECT_EQ(outcome.wrong, 0) << outcome.report;
}

TEST(Tcgen05, PairIsExactUnderEverySchedule) {
  const Outcome outcome = run(2, {}, 2);
  EXPECT_EQ(outcome.wrong, 0) << outcome.report;
}

TEST(Tcgen05, RightProgramsHaveNoRaces) {
  for (const uint32_t group : {1u, 2u}) {
    const Outcome outcome = run(group, {}, 1, /*race_detector=*/true);
    EXPECT_EQ(outcome.wrong, 0) << outcome.report;
  }
}

TEST(Tcgen05, MissingWaitForTheOperandsIsCaught) {
  Steps steps;
  steps.wait_full = false;
  EXPECT_GT(run(1, steps, 1).wrong, 0);
  EXPECT_GT(run(2, steps, 1).wrong, 0);
}

TEST(Tcgen05, MissingWaitForTheProductIsCaught) {
  Steps steps;
  steps.wait_done = false;
  EXPECT_GT(run(1, steps, 1).wrong, 0);
  EXPECT_GT(run(2, steps, 1).wrong, 0);
}

TEST(Tcgen05, DeallocationWithALoadNotWaitedForIsReported) {
  Steps steps;
  steps.wait_load = false;
  const Outcome outcome = run(1, steps, 1);
  EXPECT_EQ(outcome.wrong, static_cast<int>(portfolio().size()));
  EXPECT_NE(outcome.report.find("wait::ld"), std::string::npos) << outcome.report;
}

TEST(Tcgen05, KeptTensorMemoryIsReported) {
  Steps steps;
  steps.dealloc = false;
  const Outcome outcome = run(1, steps, 1);
  EXPECT_EQ(outcome.wrong, static_cast<int>(portfolio().size()));
  EXPECT_NE(outcome.report.find("tensor memory"), std::string::npos) << outcome.report;
}

}  // namespace
}  // namespace emu
