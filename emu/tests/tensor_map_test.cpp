// SPDX-License-Identifier: Apache-2.0
#include "isa/tensor_map.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>

#include "isa/tma_box.hpp"

namespace emu {
namespace {

constexpr uint64_t kAddress = 0x7F0000000100;

// Operand A of a 256 x 256 x 512 block-scaled 4-bit product.
TensorMap operand_a() {
  TensorMap map;
  map.address = kAddress;
  map.type = TensorType::kU4Packed;
  map.rank = 3;
  map.dims = {512, 256, 1, 1, 1};
  map.strides = {256, 0};
  map.box = {128, 128, 1, 1, 1};
  map.swizzle = Swizzle::k64B;
  return map;
}

TensorMap scales_a() {
  TensorMap map;
  map.address = kAddress;
  map.type = TensorType::kU16;
  map.rank = 4;
  map.dims = {256, 2, 4, 1, 1};
  map.strides = {2048, 512, 4096};
  map.box = {256, 1, 1, 1, 1};
  return map;
}

TensorMap output() {
  TensorMap map;
  map.address = kAddress;
  map.type = TensorType::kBf16;
  map.rank = 3;
  map.dims = {256, 256, 1, 1, 1};
  map.strides = {512, 0};
  map.box = {32, 64, 1, 1, 1};
  map.swizzle = Swizzle::k64B;
  return map;
}

TensorMap padded_b() {
  TensorMap map = operand_a();
  map.type = TensorType::kU4Align16;
  map.swizzle = Swizzle::k128B;
  return map;
}

TEST(TensorMap, WorkedMapsAreValidAndSurviveTheRoundTrip) {
  for (const TensorMap& map : {operand_a(), scales_a(), output(), padded_b()}) {
    ASSERT_EQ(tensor_map_fault(map), "");
    const DecodedTensorMap decoded = decode_tensor_map(encode_tensor_map(map).data());
    EXPECT_EQ(decoded.fault, "");
    EXPECT_EQ(decoded.map, map);
  }
}

TEST(TensorMap, LargestFieldsSurviveTheRoundTrip) {
  TensorMap map;
  map.address = kAddress;
  map.type = TensorType::kF32;
  map.rank = 5;
  map.dims = {uint64_t{1} << 32, 1, 77, uint64_t{1} << 32, 3};
  map.strides = {(uint64_t{1} << 40) - 16, 16, 0, 32};
  map.box = {32, 256, 256, 1, 2};
  map.element_strides = {1, 8, 2, 3, 4};
  map.swizzle = Swizzle::k128B;
  map.fill = OutOfBoundsFill::kNan;
  map.l2_promotion = 3;
  ASSERT_EQ(tensor_map_fault(map), "");
  EXPECT_EQ(decode_tensor_map(encode_tensor_map(map).data()).map, map);
}

TEST(TensorMap, ReservedWordIsZeroAndOutsideTheChecksum) {
  TensorMapObject object = encode_tensor_map(operand_a());
  for (std::size_t i = 8; i < 16; ++i) {
    EXPECT_EQ(object[i], std::byte{0});
    object[i] = std::byte{0x5A};
  }
  EXPECT_EQ(decode_tensor_map(object.data()).fault, "");
}

TEST(TensorMap, EveryOtherDamagedByteIsReported) {
  for (std::size_t i = 0; i < kTensorMapBytes; ++i) {
    if (i >= 8 && i < 16) {
      continue;
    }
    TensorMapObject object = encode_tensor_map(operand_a());
    object[i] ^= std::byte{0x10};
    EXPECT_NE(decode_tensor_map(object.data()).fault, "") << "byte " << i;
  }
  const TensorMapObject zeros{};
  EXPECT_NE(decode_tensor_map(zeros.data()).fault, "");
}

struct BadMap {
  const char* name;  // must appear in the message
  std::function<void(TensorMap&)> damage;
};

TEST(TensorMap, EachRuleIsEnforcedByName) {
  const BadMap cases[] = {
      {"rank", [](TensorMap& m) { m.rank = 0; }},
      {"rank", [](TensorMap& m) { m.rank = 6; }},
      {"rank",
       [](TensorMap& m) {
         m.rank = 2;
         m.interleave = Interleave::k16B;
       }},
      {"global address", [](TensorMap& m) { m.address += 8; }},
      {"global address", [](TensorMap& m) { m.address = 0; }},
      {"dims[1]", [](TensorMap& m) { m.dims[1] = 0; }},
      {"dims[1]", [](TensorMap& m) { m.dims[1] = (uint64_t{1} << 32) + 1; }},
      {"dims[0]", [](TensorMap& m) { m.dims[0] = 511; }},
      {"strides[0]", [](TensorMap& m) { m.strides[0] = 24; }},
      {"strides[1]", [](TensorMap& m) { m.strides[1] = uint64_t{1} << 40; }},
      {"box[1]", [](TensorMap& m) { m.box[1] = 0; }},
      {"box[1]", [](TensorMap& m) { m.box[1] = 257; }},
      {"box[0]", [](TensorMap& m) { m.box[0] = 48; }},
      {"box[0]", [](TensorMap& m) { m.swizzle = Swizzle::k32B; }},
      {"element strides[2]", [](TensorMap& m) { m.element_strides[2] = 9; }},
      {"fill", [](TensorMap& m) { m.fill = OutOfBoundsFill::kNan; }},
      {"data type", [](TensorMap& m) { m.type = static_cast<TensorType>(16); }},
      {"swizzle", [](TensorMap& m) { m.swizzle = static_cast<Swizzle>(7); }},
      {"L2", [](TensorMap& m) { m.l2_promotion = 4; }},
  };
  for (const BadMap& bad : cases) {
    TensorMap map = operand_a();
    bad.damage(map);
    const std::string fault = tensor_map_fault(map);
    EXPECT_NE(fault.find(bad.name), std::string::npos) << bad.name << " / " << fault;
  }
}

TEST(TensorMap, PaddedTypesHaveTheirOwnRules) {
  const BadMap cases[] = {
      {"global address", [](TensorMap& m) { m.address += 16; }},
      {"dims[0]", [](TensorMap& m) { m.dims[0] = 192; }},
      {"strides[0]", [](TensorMap& m) { m.strides[0] = 272; }},
      {"box[0]", [](TensorMap& m) { m.box[0] = 64; }},
      {"swizzle", [](TensorMap& m) { m.swizzle = Swizzle::k128BAtom64; }},
  };
  for (const BadMap& bad : cases) {
    TensorMap map = padded_b();
    bad.damage(map);
    const std::string fault = tensor_map_fault(map);
    EXPECT_NE(fault.find(bad.name), std::string::npos) << bad.name << " / " << fault;
  }
}

TEST(TensorMap, BoxSizes) {
  EXPECT_EQ(tensor_box_shared_bytes(operand_a()), 8192u);
  EXPECT_EQ(tensor_box_data_bytes(operand_a()), 8192u);
  EXPECT_EQ(tensor_box_shared_bytes(scales_a()), 512u);
  EXPECT_EQ(tensor_box_shared_bytes(padded_b()), 16384u);
  EXPECT_EQ(tensor_box_data_bytes(padded_b()), 8192u);
  TensorMap strided = operand_a();
  strided.element_strides[1] = 3;
  EXPECT_EQ(tensor_box_rows(strided), 43u);  // ceil(128 / 3)
  // Rows shorter than the swizzle's span lie as far apart as it spans.
  TensorMap narrow = operand_a();
  narrow.box[0] /= 2;
  EXPECT_EQ(tensor_box_data_bytes(narrow), 4096u);
  EXPECT_EQ(tensor_box_linear_bytes(narrow), 4096u);
  EXPECT_EQ(tensor_row_pitch(narrow), tensor_row_shared_bytes(operand_a()));
  EXPECT_EQ(tensor_box_shared_bytes(narrow), 8192u);
}

TEST(Swizzle, WorkedExamples) {
  EXPECT_EQ(swizzled_offset(0x7F0, Swizzle::k32B), 0x7E0u);
  EXPECT_EQ(swizzled_offset(0x7F0, Swizzle::k64B), 0x7C0u);
  EXPECT_EQ(swizzled_offset(0x7F0, Swizzle::k128B), 0x780u);
  EXPECT_EQ(swizzled_offset(0x1C0, Swizzle::k32B), 0x1D0u);
  EXPECT_EQ(swizzled_offset(0x1C0, Swizzle::k64B), 0x1F0u);
  EXPECT_EQ(swizzled_offset(0x1C0, Swizzle::k128B), 0x1F0u);
  EXPECT_EQ(swizzled_offset(0x3A0, Swizzle::k32B), 0x3B0u);
  EXPECT_EQ(swizzled_offset(0x3A0, Swizzle::k64B), 0x390u);
  EXPECT_EQ(swizzled_offset(0x3A0, Swizzle::k128B), 0x3D0u);
  // Bits 8:7 = 3 onto bits 6:5, bit 7 onto bit 6.
  EXPECT_EQ(swizzled_offset(0x180, Swizzle::k128BAtom32), 0x1E0u);
  EXPECT_EQ(swizzled_offset(0x080, Swizzle::k128BAtom64), 0x0C0u);
  EXPECT_EQ(swizzled_offset(0x3FF, Swizzle::kNone), 0x3FFu);
}

// Reference: each element of the box by itself, from the definition.
std::vector<std::byte> load_by_element(const TensorMap& map, const std::vector<int32_t>& c,
                                       const std::vector<std::byte>& tensor) {
  std::vector<std::byte> box(tensor_box_linear_bytes(map));
  const uint32_t bits = tensor_element_bits(map.type);
  std::vector<uint32_t> index(map.rank, 0);
  for (uint64_t row = 0; row < tensor_box_rows(map); ++row) {
    for (uint32_t i0 = 0; i0 < map.box[0]; ++i0) {
      bool inside = c[0] + int64_t{i0} >= 0 && c[0] + int64_t{i0} < int64_t(map.dims[0]);
      int64_t bit = (c[0] + int64_t{i0}) * bits;
      for (uint32_t d = 1; d < map.rank; ++d) {
        const int64_t x = c[d] + int64_t{index[d]} * map.element_strides[d];
        inside = inside && x >= 0 && x < int64_t(map.dims[d]);
        bit += x * int64_t(map.strides[d - 1]) * 8;
      }
      for (uint32_t b = 0; inside && b < bits; ++b) {
        const int64_t from = bit + b;
        const bool set = (static_cast<unsigned>(tensor[from / 8]) >> (from % 8) & 1) != 0;
        uint64_t to = row * tensor_row_shared_bytes(map) * 8 + uint64_t{i0} * bits + b;
        if (map.type == TensorType::kU4Align16 || map.type == TensorType::kU6Align16) {
          to = row * map.box[0] * 8 + i0 / 16 * 128 + uint64_t{i0 % 16} * bits + b;
        }
        box[to / 8] |= std::byte(set ? 1 << (to % 8) : 0);
      }
    }
    for (uint32_t d = 1; d < map.rank; ++d) {
      if (++index[d] * map.element_strides[d] < map.box[d]) {
        break;
      }
      index[d] = 0;
    }
  }
  return box;
}

std::vector<std::byte> load_by_plan(const TensorMap& map, const std::vector<int32_t>& c,
                                    const std::vector<std::byte>& tensor) {
  const BoxPlan plan = plan_box(map, c, BoxUse::load);
  EXPECT_EQ(plan.fault, "");
  std::vector<std::byte> box(plan.linear_bytes);
  fill_box(map, box, std::byte{0});
  for (const BoxRow& row : plan.rows) {
    for_each_piece(map, row, [&](uint32_t at, uint32_t linear, uint32_t bytes) {
      const uint64_t from = row.global_address - map.address + at;
      ASSERT_LE(from + bytes, tensor.size());
      std::memcpy(box.data() + linear, tensor.data() + from, bytes);
    });
  }
  return box;
}

TEST(BoxPlan, AgreesWithTheDefinitionInsideAndAcrossEveryEdge) {
  std::vector<TensorMap> maps{operand_a(), scales_a(), output(), padded_b()};
  TensorMap strided = output();
  strided.element_strides = {1, 3, 1, 1, 1};
  maps.push_back(strided);
  TensorMap six = padded_b();
  six.type = TensorType::kU6Align16;
  six.strides[0] = 384;
  maps.push_back(six);
  for (const TensorMap& map : maps) {
    uint64_t bytes = map.dims[0] * tensor_element_bits(map.type) / 8;
    for (uint32_t d = 1; d < map.rank; ++d) {
      bytes += (map.dims[d] - 1) * map.strides[d - 1];
    }
    std::vector<std::byte> tensor(bytes);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      tensor[i] = std::byte((i * 2654435761u) >> 13);
    }
    for (const int32_t c0 : {0, 128, 384, 512, -128}) {
      for (const int32_t c1 : {0, 1, -5, 200, 300}) {
        std::vector<int32_t> c(map.rank, 0);
        c[0] = c0;
        c[1] = c1;
        EXPECT_EQ(load_by_plan(map, c, tensor), load_by_element(map, c, tensor))
            << static_cast<int>(map.type) << " at " << c0 << ", " << c1;
      }
    }
  }
}

TEST(BoxPlan, FillsWithNanAndPads) {
  TensorMap map = output();
  map.fill = OutOfBoundsFill::kNan;
  std::vector<std::byte> box(tensor_box_linear_bytes(map));
  fill_box(map, box, std::byte{0xA5});
  EXPECT_EQ(box[0], std::byte{0xF7});
  EXPECT_EQ(box[1], std::byte{0x7F});

  const TensorMap padded = padded_b();
  box.assign(tensor_box_shared_bytes(padded), std::byte{1});
  fill_box(padded, box, std::byte{0xA5});
  EXPECT_EQ(box[7], std::byte{0});
  EXPECT_EQ(box[8], std::byte{0xA5});
  EXPECT_EQ(box[15], std::byte{0xA5});
  EXPECT_EQ(box[16], std::byte{0});
}

TEST(BoxPlan, RoundsToTf32) {
  // Pairs: before, after.
  constexpr uint32_t kCases[][2] = {
      {0x00000000, 0x00000000}, {0x80000000, 0x80000000}, {0x3F800FFF, 0x3F800000},
      {0x3F801000, 0x3F800000}, {0x3F801001, 0x3F802000}, {0xBF803000, 0xBF804000},
      {0x3FFFF000, 0x40000000}, {0x005DFC93, 0x005E0000}, {0x80000FFF, 0x80000000},
      {0x007FFFFF, 0x00800000}, {0x7F7FFFFF, 0x7F800000}, {0xFF800000, 0xFF800000},
      {0x7FF77FF7, 0x7FF77FF7}, {0x7F800001, 0x7F800001},
  };
  for (const auto& [before, after] : kCases) {
    std::array<uint8_t, 4> element;
    std::memcpy(element.data(), &before, sizeof(before));
    round_to_tf32(element.data(), sizeof(before));
    uint32_t found;
    std::memcpy(&found, element.data(), sizeof(found));
    EXPECT_EQ(found, after) << std::hex << before;
  }
  EXPECT_FALSE(load_rounds_to_tf32(TensorType::kF32));
  EXPECT_FALSE(load_rounds_to_tf32(TensorType::kF32Ftz));
  EXPECT_TRUE(load_rounds_to_tf32(TensorType::kTf32));
  EXPECT_TRUE(load_rounds_to_tf32(TensorType::kTf32Ftz));
}

TEST(BoxPlan, RefusesWhatItCannotDo) {
  TensorMap map = operand_a();
  EXPECT_NE(plan_box(map, std::vector<int32_t>{0, 0}, BoxUse::load).fault, "");
  EXPECT_NE(plan_box(map, std::vector<int32_t>{1, 0, 0}, BoxUse::load).fault, "");
  EXPECT_NE(plan_box(padded_b(), std::vector<int32_t>{64, 0, 0}, BoxUse::load).fault, "");
  map.swizzle = Swizzle::k128BAtom32Flip8;
  EXPECT_NE(plan_box(map, std::vector<int32_t>{0, 0, 0}, BoxUse::load).fault, "");
  map = operand_a();
  map.interleave = Interleave::k16B;
  EXPECT_NE(plan_box(map, std::vector<int32_t>{0, 0, 0}, BoxUse::load).fault, "");
}

}  // namespace
}  // namespace emu
