// SPDX-License-Identifier: Apache-2.0
#include "isa/tensor_map.hpp"

#include <algorithm>
#include <cstring>

namespace emu {
namespace {

// Bytes 8..15 stay zero: a widely used template library clears a bit there after the encoding.
constexpr std::size_t kAddressAt = 0;
constexpr std::size_t kReservedAt = 8;
constexpr std::size_t kReservedEnd = 16;
constexpr std::size_t kDimsAt = 16;  // five u32, extent - 1
constexpr std::size_t kChecksumAt = 36;
constexpr std::size_t kStridesAt = 40;         // four u64
constexpr std::size_t kBoxAt = 72;             // five u16
constexpr std::size_t kElementStridesAt = 82;  // five u8
constexpr std::size_t kRankAt = 87;
constexpr std::size_t kTypeAt = 88;
constexpr std::size_t kSwizzleAt = 89;
constexpr std::size_t kFillAt = 90;
constexpr std::size_t kInterleaveAt = 91;
constexpr std::size_t kL2PromotionAt = 92;
constexpr std::size_t kMagicAt = 93;
constexpr uint8_t kMagic = 0x7D;  // any value that poison and zeros do not have

constexpr uint64_t kStrideLimit = uint64_t{1} << 40;
constexpr uint64_t kDimLimit = uint64_t{1} << 32;

template <typename T>
void put(TensorMapObject& object, std::size_t at, T value) {
  std::memcpy(object.data() + at, &value, sizeof(value));
}

template <typename T>
T get(const std::byte* object, std::size_t at) {
  T value;
  std::memcpy(&value, object + at, sizeof(value));
  return value;
}

// FNV-1a over everything but the reserved word and the checksum itself.
uint32_t checksum(const std::byte* object) {
  uint32_t hash = 0x811C9DC5;
  for (std::size_t i = 0; i < kTensorMapBytes; ++i) {
    const bool skipped =
        (i >= kReservedAt && i < kReservedEnd) || (i >= kChecksumAt && i < kChecksumAt + 4);
    if (!skipped) {
      hash = (hash ^ static_cast<uint32_t>(object[i])) * 0x01000193;
    }
  }
  return hash;
}

bool is_float(TensorType type) {
  return type >= TensorType::kF16 && type <= TensorType::kTf32Ftz;
}

bool is_padded(TensorType type) {
  return type == TensorType::kU4Align16 || type == TensorType::kU6Align16;
}

std::string indexed(const char* name, uint32_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

std::string complaint(const std::string& name, uint64_t value, const std::string& allowed) {
  return name + " is " + std::to_string(value) + "; allowed: " + allowed;
}

std::string enumeration_fault(const TensorMap& map) {
  if (static_cast<uint32_t>(map.type) > 15) {
    return complaint("data type", static_cast<uint64_t>(map.type), "0 to 15");
  }
  if (static_cast<uint32_t>(map.interleave) > 2) {
    return complaint("interleave", static_cast<uint64_t>(map.interleave), "0 to 2");
  }
  if (static_cast<uint32_t>(map.swizzle) > 6) {
    return complaint("swizzle", static_cast<uint64_t>(map.swizzle), "0 to 6");
  }
  if (map.l2_promotion > 3) {
    return complaint("L2 promotion", map.l2_promotion, "0 to 3");
  }
  if (static_cast<uint32_t>(map.fill) > 1) {
    return complaint("out-of-bounds fill", static_cast<uint64_t>(map.fill), "0 or 1");
  }
  if (map.fill == OutOfBoundsFill::kNan && !is_float(map.type)) {
    return complaint("out-of-bounds fill", 1,
                     "0 for data type " + std::to_string(static_cast<uint32_t>(map.type)) +
                         " (NaN needs a float type)");
  }
  const uint32_t least_rank = map.interleave == Interleave::kNone ? 1 : 3;
  if (map.rank < least_rank || map.rank > kTensorMapMaxRank) {
    return complaint("rank", map.rank, std::to_string(least_rank) + " to 5");
  }
  return {};
}

std::string tensor_fault(const TensorMap& map) {
  const bool wide = is_padded(map.type) || map.interleave == Interleave::k32B;
  const uint64_t alignment = wide ? 32 : 16;
  const std::string multiple = "a multiple of " + std::to_string(alignment);
  if (map.address == 0 || map.address % alignment != 0) {
    return complaint("global address", map.address, multiple + " other than 0");
  }
  for (uint32_t d = 0; d < map.rank; ++d) {
    if (map.dims[d] == 0 || map.dims[d] > kDimLimit) {
      return complaint(indexed("dims", d), map.dims[d], "1 to 2^32");
    }
  }
  if (map.type == TensorType::kU4Packed && map.dims[0] % 2 != 0) {
    return complaint("dims[0]", map.dims[0], "even numbers for packed 4-bit elements");
  }
  if (is_padded(map.type) && map.dims[0] % 128 != 0) {
    return complaint("dims[0]", map.dims[0], "multiples of 128 for data types 14 and 15");
  }
  for (uint32_t d = 0; d + 1 < map.rank; ++d) {
    if (map.strides[d] % alignment != 0 || map.strides[d] >= kStrideLimit) {
      return complaint(indexed("strides", d), map.strides[d], multiple + " below 2^40");
    }
  }
  return {};
}

uint32_t swizzle_span(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::kNone:
      return 0;
    case Swizzle::k32B:
      return 32;
    case Swizzle::k64B:
      return 64;
    default:
      return 128;
  }
}

std::string box_fault(const TensorMap& map) {
  for (uint32_t d = 0; d < map.rank; ++d) {
    if (map.box[d] == 0 || map.box[d] > 256) {
      return complaint(indexed("box", d), map.box[d], "1 to 256");
    }
    if (map.element_strides[d] == 0 || map.element_strides[d] > 8) {
      return complaint(indexed("element strides", d), map.element_strides[d], "1 to 8");
    }
  }
  if (is_padded(map.type)) {
    if (map.box[0] != 128) {
      return complaint("box[0]", map.box[0], "128 for data types 14 and 15");
    }
  } else if (map.box[0] * tensor_element_bits(map.type) % 128 != 0) {
    return complaint("box[0]", map.box[0], "whole multiples of 16 bytes");
  }
  const uint32_t span = swizzle_span(map.swizzle);
  const uint32_t row = tensor_row_shared_bytes(map);
  if (span != 0 && map.interleave == Interleave::kNone && row > span) {
    return complaint("box[0] in bytes", row,
                     "at most " + std::to_string(span) + " for swizzle " +
                         std::to_string(static_cast<uint32_t>(map.swizzle)));
  }
  if (map.type == TensorType::kU4Align16 && map.swizzle != Swizzle::kNone &&
      map.swizzle != Swizzle::k128B && map.swizzle != Swizzle::k128BAtom32) {
    return complaint("swizzle", static_cast<uint64_t>(map.swizzle), "0, 3 or 4 for data type 14");
  }
  return {};
}

}  // namespace

uint32_t tensor_element_bits(TensorType type) {
  switch (type) {
    case TensorType::kU8:
      return 8;
    case TensorType::kU16:
    case TensorType::kF16:
    case TensorType::kBf16:
      return 16;
    case TensorType::kU32:
    case TensorType::kS32:
    case TensorType::kF32:
    case TensorType::kF32Ftz:
    case TensorType::kTf32:
    case TensorType::kTf32Ftz:
      return 32;
    case TensorType::kU64:
    case TensorType::kS64:
    case TensorType::kF64:
      return 64;
    case TensorType::kU4Packed:
    case TensorType::kU4Align16:
      return 4;
    case TensorType::kU6Align16:
      return 6;
  }
  return 0;  // tensor_map_fault refuses every other number
}

uint32_t tensor_row_shared_bytes(const TensorMap& map) {
  return is_padded(map.type) ? map.box[0] : map.box[0] * tensor_element_bits(map.type) / 8;
}

uint32_t tensor_row_pitch(const TensorMap& map) {
  return std::max(tensor_row_shared_bytes(map), swizzle_span(map.swizzle));
}

uint64_t tensor_box_rows(const TensorMap& map) {
  uint64_t rows = 1;
  for (uint32_t d = 1; d < map.rank; ++d) {
    rows *= (map.box[d] + map.element_strides[d] - 1) / map.element_strides[d];
  }
  return rows;
}

uint64_t tensor_box_data_bytes(const TensorMap& map) {
  return tensor_box_rows(map) * map.box[0] * tensor_element_bits(map.type) / 8;
}

uint64_t tensor_box_linear_bytes(const TensorMap& map) {
  return tensor_box_rows(map) * tensor_row_shared_bytes(map);
}

uint64_t tensor_box_shared_bytes(const TensorMap& map) {
  return tensor_box_rows(map) * tensor_row_pitch(map);
}

std::string tensor_map_fault(const TensorMap& map) {
  if (std::string fault = enumeration_fault(map); !fault.empty()) {
    return fault;
  }
  if (std::string fault = tensor_fault(map); !fault.empty()) {
    return fault;
  }
  return box_fault(map);
}

TensorMapObject encode_tensor_map(const TensorMap& map) {
  TensorMapObject object{};
  put(object, kAddressAt, map.address);
  for (uint32_t d = 0; d < map.rank; ++d) {
    put(object, kDimsAt + 4 * d, static_cast<uint32_t>(map.dims[d] - 1));
    put(object, kBoxAt + 2 * d, static_cast<uint16_t>(map.box[d]));
    put(object, kElementStridesAt + d, static_cast<uint8_t>(map.element_strides[d]));
  }
  for (uint32_t d = 0; d + 1 < map.rank; ++d) {
    put(object, kStridesAt + 8 * d, map.strides[d]);
  }
  put(object, kRankAt, static_cast<uint8_t>(map.rank));
  put(object, kTypeAt, map.type);
  put(object, kSwizzleAt, map.swizzle);
  put(object, kFillAt, map.fill);
  put(object, kInterleaveAt, map.interleave);
  put(object, kL2PromotionAt, map.l2_promotion);
  put(object, kMagicAt, kMagic);
  put(object, kChecksumAt, checksum(object.data()));
  return object;
}

DecodedTensorMap decode_tensor_map(const std::byte* object) {
  DecodedTensorMap decoded;
  if (get<uint8_t>(object, kMagicAt) != kMagic) {
    decoded.fault = "not a tensor map: its mark is missing";
    return decoded;
  }
  if (get<uint32_t>(object, kChecksumAt) != checksum(object)) {
    decoded.fault = "damaged tensor map: its checksum is wrong";
    return decoded;
  }
  TensorMap& map = decoded.map;
  map.address = get<uint64_t>(object, kAddressAt);
  map.rank = get<uint8_t>(object, kRankAt);
  map.type = get<TensorType>(object, kTypeAt);
  map.swizzle = get<Swizzle>(object, kSwizzleAt);
  map.fill = get<OutOfBoundsFill>(object, kFillAt);
  map.interleave = get<Interleave>(object, kInterleaveAt);
  map.l2_promotion = get<uint8_t>(object, kL2PromotionAt);
  for (uint32_t d = 0; d < map.rank && d < kTensorMapMaxRank; ++d) {
    map.dims[d] = uint64_t{get<uint32_t>(object, kDimsAt + 4 * d)} + 1;
    map.box[d] = get<uint16_t>(object, kBoxAt + 2 * d);
    map.element_strides[d] = get<uint8_t>(object, kElementStridesAt + d);
    if (d + 1 < map.rank) {
      map.strides[d] = get<uint64_t>(object, kStridesAt + 8 * d);
    }
  }
  decoded.fault = tensor_map_fault(map);
  return decoded;
}

}  // namespace emu
