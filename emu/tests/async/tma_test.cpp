// SPDX-License-Identifier: Apache-2.0
// Tensor copies in a kernel: what lands in shared memory and what a store writes back, at every
// edge of the tensor.
#include <cstring>

#include "isa/swizzle.hpp"
#include "isa/tensor_map.hpp"
#include "tests/async/ptx_program.hpp"

namespace emu {
namespace {

constexpr uint32_t kColumns = 40;  // of the tensor, f32
constexpr uint32_t kRows = 20;
constexpr uint32_t kPitch = 48;       // elements from row to row
constexpr uint32_t kBoxColumns = 16;  // 64 bytes
constexpr uint32_t kBoxRows = 8;
constexpr uint32_t kBoxBytes = kBoxColumns * kBoxRows * 4;
constexpr uint32_t kRegionWords = 256;  // twice the box: with a 128B swizzle it has gaps
constexpr uint32_t kUntouched = 0x77;
constexpr uint32_t kSharedBase = 1024;  // of the first static variable

TensorMap map_of(uint64_t address, Swizzle swizzle) {
  TensorMap map;
  map.address = address;
  map.type = TensorType::kF32;
  map.rank = 2;
  map.dims = {kColumns, kRows, 1, 1, 1};
  map.strides = {kPitch * 4};
  map.box = {kBoxColumns, kBoxRows, 1, 1, 1};
  map.swizzle = swizzle;
  return map;
}

uint64_t upload(PtxProgram& program, const TensorMap& map) {
  const TensorMapObject object = encode_tensor_map(map);
  return program.upload(std::vector<std::byte>(object.begin(), object.end()));
}

std::vector<uint32_t> tensor_words() {
  std::vector<uint32_t> words(kPitch * kRows);
  for (uint32_t i = 0; i < words.size(); ++i) {
    words[i] = 0x1000 + i;
  }
  return words;
}

// Where byte `linear` of the box lies in shared memory.
uint32_t place_of(const TensorMap& map, uint32_t linear) {
  constexpr uint32_t kRowBytes = kBoxColumns * 4;
  const uint32_t at = linear / kRowBytes * tensor_row_pitch(map) + linear % kRowBytes;
  return swizzled_offset(kSharedBase + at, map.swizzle) - kSharedBase;
}

// Element (c, r) of the box at (c0, c1), or 0 outside.
uint32_t expected_word(int32_t c, int32_t r) {
  const bool inside =
      c >= 0 && c < static_cast<int32_t>(kColumns) && r >= 0 && r < static_cast<int32_t>(kRows);
  return inside ? 0x1000 + static_cast<uint32_t>(r) * kPitch + static_cast<uint32_t>(c) : 0;
}

constexpr const char* kLoad = R"(
.visible .entry k(.param .u64 map, .param .u64 out, .param .u64 column, .param .u64 row)
{
  .reg .pred p;
  .reg .b32 tid, c, r, at, word;
  .reg .b64 m, dst, wide;
  .shared .align 1024 .b8 box[1024];
  .shared .align 8 .b64 full;
  mov.u32 tid, %tid.x;
  ld.param.u64 m, [map];
  ld.param.u64 dst, [out];
  ld.param.u64 wide, [column];
  cvt.u32.u64 c, wide;
  ld.param.u64 wide, [row];
  cvt.u32.u64 r, wide;
  mov.u32 at, box;
  shl.b32 word, tid, 2;
  add.u32 at, at, word;
  st.shared.u32 [at], 0x77;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.u32 p, tid, 0;
  @p bra READY;
  mbarrier.init.shared::cta.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 512;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [box], [m, {c, r}], [full];
READY:
  bar.sync 0;
W:
  mbarrier.try_wait.parity.shared::cta.b64 p, [full], 0;
  @!p bra W;
  cvt.u64.u32 wide, word;
  add.u64 dst, dst, wide;
  ld.shared.u32 word, [at];
  st.global.u32 [dst], word;
  ret;
}
)";

TEST(TensorCopy, LoadsEveryEdgeUnderEverySwizzle) {
  PtxProgram program(kLoad);
  const uint64_t tensor = program.upload(tensor_words());
  const uint64_t out = program.allocate(kRegionWords * 4);
  for (const Swizzle swizzle : {Swizzle::kNone, Swizzle::k64B, Swizzle::k128B, Swizzle::k128BAtom32,
                                Swizzle::k128BAtom64}) {
    const TensorMap fields = map_of(tensor, swizzle);
    const uint64_t map = upload(program, fields);
    for (const int32_t column : {-20, -4, 0, 28, 36, 48}) {
      for (const int32_t row : {-9, -1, 0, 15, 19}) {
        LaunchRequest request =
            program.request({map, out, static_cast<uint64_t>(column), static_cast<uint64_t>(row)});
        request.block = {kRegionWords, 1, 1};
        Options options;
        options.policy = Policy::random;
        options.seed = static_cast<uint64_t>(column * 64 + row + 4096);
        const LaunchResult result = program.run(request, options);
        ASSERT_TRUE(result.ok()) << result.fault.report;
        std::vector<uint32_t> wanted(kRegionWords, kUntouched);
        for (uint32_t linear = 0; linear < kBoxBytes; linear += 4) {
          const auto r = static_cast<int32_t>(linear / 64) + row;
          const auto c = static_cast<int32_t>(linear % 64 / 4) + column;
          wanted[place_of(fields, linear) / 4] = expected_word(c, r);
        }
        ASSERT_EQ(program.download<uint32_t>(out, kRegionWords), wanted)
            << static_cast<int>(swizzle) << " at " << column << ", " << row;
      }
    }
  }
}

TEST(TensorCopy, ReportsADamagedMap) {
  PtxProgram program(kLoad);
  const uint64_t tensor = program.upload(tensor_words());
  const uint64_t out = program.allocate(kRegionWords * 4);
  TensorMapObject object = encode_tensor_map(map_of(tensor, Swizzle::kNone));
  object[16] ^= std::byte{1};
  const uint64_t map = program.upload(std::vector<std::byte>(object.begin(), object.end()));
  LaunchRequest request = program.request({map, out, 0, 0});
  request.block = {kRegionWords, 1, 1};
  const LaunchResult result = program.run(request, {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.fault.report.find("tensor map"), std::string::npos) << result.fault.report;
}

TEST(TensorCopy, ReportsATensorThatLeavesItsAllocation) {
  PtxProgram program(kLoad);
  const uint64_t tensor = program.allocate((kRows - 1) * kPitch * 4);  // one row too few
  const uint64_t out = program.allocate(kRegionWords * 4);
  const uint64_t map = upload(program, map_of(tensor, Swizzle::kNone));
  LaunchRequest request = program.request({map, out, 0, 16});
  request.block = {kRegionWords, 1, 1};
  const LaunchResult result = program.run(request, {});
  EXPECT_EQ(result.fault.kind, FaultKind::illegal_address) << result.fault.report;
}

constexpr const char* kStore = R"(
.visible .entry k(.param .u64 map, .param .u64 column, .param .u64 row)
{
  .reg .pred p;
  .reg .b32 tid, c, r, at, word;
  .reg .b64 m, wide;
  .shared .align 1024 .b8 box[1024];
  mov.u32 tid, %tid.x;
  ld.param.u64 m, [map];
  ld.param.u64 wide, [column];
  cvt.u32.u64 c, wide;
  ld.param.u64 wide, [row];
  cvt.u32.u64 r, wide;
  mov.u32 at, box;
  shl.b32 word, tid, 2;
  add.u32 at, at, word;
  st.shared.u32 [at], tid;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.u32 p, tid, 0;
  @p bra DONE;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [m, {c, r}], [box];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
DONE:
  ret;
}
)";

TEST(TensorCopy, StoresOnlyWhatLiesInside) {
  PtxProgram program(kStore);
  const uint64_t tensor = program.allocate(kPitch * kRows * 4);
  for (const Swizzle swizzle : {Swizzle::kNone, Swizzle::k64B, Swizzle::k128B}) {
    const TensorMap fields = map_of(tensor, swizzle);
    const uint64_t map = upload(program, fields);
    for (const int32_t column : {-8, 0, 32}) {
      for (const int32_t row : {-3, 0, 16}) {
        program.write(tensor, tensor_words());
        LaunchRequest request =
            program.request({map, static_cast<uint64_t>(column), static_cast<uint64_t>(row)});
        request.block = {kRegionWords, 1, 1};
        Options options;
        options.policy = Policy::late_pct;
        const LaunchResult result = program.run(request, options);
        ASSERT_TRUE(result.ok()) << result.fault.report;
        std::vector<uint32_t> wanted = tensor_words();
        for (uint32_t linear = 0; linear < kBoxBytes; linear += 4) {
          const auto r = static_cast<int32_t>(linear / 64) + row;
          const auto c = static_cast<int32_t>(linear % 64 / 4) + column;
          if (expected_word(c, r) != 0) {
            wanted[static_cast<uint32_t>(r) * kPitch + static_cast<uint32_t>(c)] =
                place_of(fields, linear) / 4;
          }
        }
        EXPECT_EQ(program.download<uint32_t>(tensor, kPitch * kRows), wanted);
      }
    }
  }
}

TEST(TensorCopy, AStoreFinishesTheSixteenBytesAtTheEndOfARow) {
  PtxProgram program(kStore);
  const uint64_t tensor = program.allocate(kPitch * kRows * 4);
  TensorMap fields = map_of(tensor, Swizzle::kNone);
  fields.dims[0] = kColumns - 3;  // 148 bytes
  const uint64_t map = upload(program, fields);
  program.write(tensor, tensor_words());
  LaunchRequest request = program.request({map, 32, 0});
  request.block = {kRegionWords, 1, 1};
  const LaunchResult result = program.run(request, {});
  ASSERT_TRUE(result.ok()) << result.fault.report;
  std::vector<uint32_t> wanted = tensor_words();
  for (uint32_t row = 0; row < kBoxRows; ++row) {
    for (uint32_t column = 32; column < kColumns; ++column) {
      wanted[row * kPitch + column] = row * kBoxColumns + column - 32;
    }
  }
  EXPECT_EQ(program.download<uint32_t>(tensor, kPitch * kRows), wanted);
}

void expect_refused(PtxProgram& program, LaunchRequest request, uint32_t capability,
                    const std::string& why) {
  request.block = {kRegionWords, 1, 1};
  request.device.capability = capability;
  const LaunchResult result = program.run(request, {});
  if (why.empty()) {
    EXPECT_TRUE(result.ok()) << result.fault.report;
    return;
  }
  EXPECT_EQ(result.fault.kind, FaultKind::illegal_instruction) << result.fault.report;
  EXPECT_NE(result.fault.text.find(why), std::string::npos) << result.fault.text;
}

TEST(TensorCopy, RefusesToEnterARowWithinSixteenBytes) {
  for (const char* const text : {kLoad, kStore}) {
    PtxProgram program(text);
    const uint64_t map = upload(program, map_of(program.upload(tensor_words()), Swizzle::kNone));
    const uint64_t out = program.allocate(kRegionWords * 4);
    const auto request = [&](uint64_t column) {
      return text == kLoad ? program.request({map, out, column, 0})
                           : program.request({map, column, 0});
    };
    for (const uint32_t capability : {90u, 100u, 120u}) {
      expect_refused(program, request(4), capability, "");
      expect_refused(program, request(6), capability, "coordinate 0 is 6, 24 bytes into a row");
    }
    const auto minus_one = static_cast<uint64_t>(-1);
    expect_refused(program, request(minus_one), 120, "coordinate 0 is -1, -4 bytes into a row");
  }
}

TEST(TensorCopy, RefusesStoresBelowZeroOn90) {
  PtxProgram program(kStore);
  const uint64_t map = upload(program, map_of(program.upload(tensor_words()), Swizzle::kNone));
  const auto minus = [](uint64_t n) { return 0 - n; };
  expect_refused(program, program.request({map, minus(4), 0}), 90, "coordinate 0 is -4;");
  expect_refused(program, program.request({map, 0, minus(1)}), 90, "coordinate 1 is -1;");
  expect_refused(program, program.request({map, minus(4), minus(1)}), 100, "");
}

}  // namespace
}  // namespace emu
