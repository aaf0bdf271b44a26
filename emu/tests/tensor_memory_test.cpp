// SPDX-License-Identifier: Apache-2.0
#include "isa/tensor_memory.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "isa/matrix_descriptor.hpp"

namespace emu {
namespace {

TEST(SharedMatrix, WorkedDescriptor) {
  const DecodedSharedMatrix decoded = decode_shared_matrix(0x4000404000010480);
  ASSERT_EQ(decoded.fault, "");
  EXPECT_EQ(decoded.matrix.start, 0x4800u);
  EXPECT_EQ(decoded.matrix.leading, 16u);
  EXPECT_EQ(decoded.matrix.stride, 1024u);
  EXPECT_EQ(decoded.matrix.swizzle, Swizzle::k128B);
  const DecodedSharedMatrix next = decode_shared_matrix(0x4000404000010482);
  EXPECT_EQ(next.matrix.start, 0x4820u);
  // Row 9 of the next K step: group 1, row 1 of it, then 128-byte swizzle by bits 9:7 = 1.
  EXPECT_EQ(shared_matrix_offset(next.matrix, 9, 16), (0x4820u + 0x480u + 16u) ^ 0x10u);
}

TEST(SharedMatrix, UnswizzledUsesBothOffsets) {
  const uint64_t descriptor =
      uint64_t{1} << 46 | uint64_t{128 / 16} << 32 | (256 / 16) << 16 | 0x40;
  const DecodedSharedMatrix decoded = decode_shared_matrix(descriptor);
  ASSERT_EQ(decoded.fault, "");
  EXPECT_EQ(shared_matrix_offset(decoded.matrix, 0, 0), 0x400u);
  EXPECT_EQ(shared_matrix_offset(decoded.matrix, 3, 5), 0x400u + 48 + 5);
  EXPECT_EQ(shared_matrix_offset(decoded.matrix, 8, 17), 0x400u + 128 + 256 + 1);
}

TEST(SharedMatrix, RefusesWhatItDoesNotKnow) {
  constexpr uint64_t kGood = 0x4000404000010480;
  for (const uint64_t flip : {uint64_t{1} << 46, uint64_t{1} << 49, uint64_t{1} << 52,
                              uint64_t{1} << 53, uint64_t{1} << 14, uint64_t{1} << 61}) {
    const std::string fault = decode_shared_matrix(kGood ^ flip).fault;
    if (flip == uint64_t{1} << 61) {  // mode 3 is none of the five
      EXPECT_NE(fault.find("swizzle"), std::string::npos);
    } else {
      EXPECT_NE(fault, "") << flip;
    }
  }
}

TEST(InstructionDescriptor, WorkedValues) {
  const DecodedInstruction one = decode_instruction(0x08A00480, BlockScaledKind::kMxf4, 2, 1);
  ASSERT_EQ(one.fault, "");
  EXPECT_EQ(one.instruction.m, 128u);
  EXPECT_EQ(one.instruction.n, 128u);
  EXPECT_TRUE(one.instruction.ue8m0);
  EXPECT_EQ(one.instruction.a, OperandType::kE2m1);
  EXPECT_EQ(one.instruction.scale_id_a, 0u);
  const DecodedInstruction two = decode_instruction(0x48A004A0, BlockScaledKind::kMxf4, 2, 1);
  ASSERT_EQ(two.fault, "");
  EXPECT_EQ(two.instruction.scale_id_a, 2u);
  EXPECT_EQ(two.instruction.scale_id_b, 2u);
  const DecodedInstruction pair = decode_instruction(0x10200480, BlockScaledKind::kMxf4Nvf4, 4, 2);
  ASSERT_EQ(pair.fault, "");
  EXPECT_EQ(pair.instruction.m, 256u);
  EXPECT_EQ(pair.instruction.n, 128u);
  EXPECT_FALSE(pair.instruction.ue8m0);
  EXPECT_EQ(scale_tmem_address(0x80000100), 256u);
}

TEST(InstructionDescriptor, RefusesWhatItDoesNotKnow) {
  constexpr uint32_t kGood = 0x08A00480;
  struct Case {
    uint32_t descriptor;
    const char* word;
  };
  const Case cases[] = {
      {kGood | 1, "reserved"},          {kGood | 1u << 6, "reserved"},
      {kGood | 1u << 24, "reserved"},   {kGood | 1u << 15, "transposed"},
      {kGood | 1u << 31, "K = 96"},     {kGood ^ 1u << 7, "types"},
      {kGood ^ 1u << 23, "scale type"}, {kGood ^ 3u << 27, "M is"},
      {kGood & ~(0x3Fu << 17), "N is"}, {kGood | 0x3Fu << 17, "N is"},
      {kGood | 1u << 29, "scale id"},   {kGood | 1u << 4, "scale id"},
  };
  for (const Case& c : cases) {
    const std::string fault = decode_instruction(c.descriptor, BlockScaledKind::kMxf4, 2, 1).fault;
    EXPECT_NE(fault.find(c.word), std::string::npos) << std::hex << c.descriptor << ": " << fault;
  }
}

TEST(TensorMemory, AllocationIsAlignedSharedByThePairAndExact) {
  TensorMemory even;
  TensorMemory odd;
  odd.allocate(0, 32);
  EXPECT_EQ(find_free_columns({&even}, 128), 0u);
  const auto both = find_free_columns({&even, &odd}, 128);
  ASSERT_EQ(both, 128u);
  even.allocate(*both, 128);
  EXPECT_TRUE(even.allocated(128, 128));
  EXPECT_FALSE(even.allocated(255, 2));
  EXPECT_FALSE(find_free_columns({&even}, 512).has_value());
  EXPECT_FALSE(even.free(128, 64));
  EXPECT_FALSE(even.free(160, 32));
  even.row(5)[200] = 1;
  even.mark_written(5, 200, 1);
  EXPECT_TRUE(even.written(5, 200));
  EXPECT_TRUE(even.free(128, 128));
  EXPECT_FALSE(even.written(5, 200));
  EXPECT_EQ(even.row(5)[200], kTmemPoison);
  EXPECT_FALSE(even.any_allocated());
}

// Second derivation of the register layouts, as shape and stride lists over bits of a (columns x 16
// or 32 lanes) tile, thread modes first, then register modes; the same way in which layout algebra
// libraries state them.
struct Mode {
  uint32_t extent;
  uint32_t column_stride;
  uint32_t lane_stride;
};
struct TmemLayout {
  TmemShape shape;
  std::vector<Mode> thread;
  std::vector<Mode> value;  // the last mode repeats
};

TmemAddress by_modes(const std::vector<Mode>& modes, uint32_t index, TmemAddress at) {
  for (std::size_t m = 0; m < modes.size(); ++m) {
    const bool last = m + 1 == modes.size();
    const uint32_t digit = last ? index : index % modes[m].extent;
    index /= modes[m].extent;
    at.column += digit * modes[m].column_stride;
    at.lane += digit * modes[m].lane_stride;
  }
  return at;
}

TEST(TensorMemory, RegisterLayoutsAgreeWithTheirShapeAndStrideForm) {
  const TmemLayout layouts[] = {
      {TmemShape::k32x32b, {{32, 0, 1}}, {{128, 1, 0}}},
      {TmemShape::k16x64b, {{2, 0, 8}, {2, 1, 0}, {8, 0, 1}}, {{128, 2, 0}}},
      {TmemShape::k16x128b, {{4, 1, 0}, {8, 0, 1}}, {{2, 0, 8}, {64, 4, 0}}},
      {TmemShape::k16x256b, {{4, 2, 0}, {8, 0, 1}}, {{2, 1, 0}, {2, 0, 8}, {32, 8, 0}}},
  };
  for (const TmemLayout& layout : layouts) {
    std::set<std::pair<uint32_t, uint32_t>> places;
    for (uint32_t t = 0; t < 32; ++t) {
      for (uint32_t r = 0; r < 128; ++r) {
        const TmemAddress place = tmem_register_place(layout.shape, t, r);
        const TmemAddress other = by_modes(layout.value, r, by_modes(layout.thread, t, {}));
        ASSERT_EQ(place.lane, other.lane) << t << " " << r;
        ASSERT_EQ(place.column, other.column) << t << " " << r;
        EXPECT_LT(place.lane, tmem_shape_lanes(layout.shape));
        EXPECT_LT(place.column, tmem_shape_columns(layout.shape, 128));
        places.emplace(place.lane, place.column);
      }
    }
    EXPECT_EQ(places.size(), 32u * 128u);  // each word once
  }
}

}  // namespace
}  // namespace emu
