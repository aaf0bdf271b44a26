// SPDX-License-Identifier: Apache-2.0
#include "isa/tma_box.hpp"

#include <algorithm>
#include <array>

namespace emu {
namespace {

// Padded types load whole groups of this many elements, and only at such boundaries.
constexpr uint32_t kPaddedSpan = 128;
constexpr int64_t kChunkBits = 128;

std::string copy_fault(const TensorMap& map, std::span<const int32_t> coordinates) {
  if (map.interleave != Interleave::kNone) {
    return "interleaved tensor maps are not supported";
  }
  if (map.swizzle == Swizzle::k128BAtom32Flip8) {
    return "swizzle 5 (32-byte atoms with 8-byte flip) is not supported";
  }
  if (coordinates.size() != map.rank) {
    return "the copy has " + std::to_string(coordinates.size()) + " coordinates, its tensor map " +
           std::to_string(map.rank) + " dimensions";
  }
  if (row_groups(map.type).data_bytes != row_groups(map.type).shared_bytes &&
      coordinates[0] % static_cast<int32_t>(kPaddedSpan) != 0) {
    return "coordinate 0 is " + std::to_string(coordinates[0]) +
           "; data types 14 and 15 need a multiple of 128";
  }
  // Measured on 9.0 (emu/README.md) and assumed for what came later.
  const int64_t bits = tensor_element_bits(map.type);
  if (coordinates[0] * bits % kChunkBits != 0) {
    return "coordinate 0 is " + std::to_string(coordinates[0]) + ", " +
           (coordinates[0] * bits % 8 == 0 ? std::to_string(coordinates[0] * bits / 8) + " bytes"
                                           : "no whole number of bytes") +
           " into a row; it must come to a multiple of 16 bytes, so of " +
           std::to_string(kChunkBits / bits) + " elements";
  }
  return {};
}

// The NaN that fills the box, the same 16 bits for all types: measured on 9.0.
constexpr uint64_t kNanPattern = 0x7FF77FF77FF77FF7;

struct InnerRange {
  int64_t first;  // element within the row
  int64_t count;
};

InnerRange inner_range(const TensorMap& map, int32_t start, BoxUse use) {
  const int64_t first = std::max<int64_t>(0, -int64_t{start});
  int64_t inside = static_cast<int64_t>(map.dims[0]) - int64_t{start};
  if (use == BoxUse::store) {
    // Measured on 9.0; CUTLASS wants rows of whole 16 bytes everywhere.
    const int64_t chunk = kChunkBits / tensor_element_bits(map.type);
    inside = (inside + chunk - 1) / chunk * chunk;
  }
  const int64_t end = std::min<int64_t>(map.box[0], inside);
  return {first, std::max<int64_t>(0, end - first)};
}

}  // namespace

RowGroups row_groups(TensorType type) {
  switch (type) {
    case TensorType::kU4Align16:
      return {8, 16};
    case TensorType::kU6Align16:
      return {12, 16};
    default:
      return {16, 16};
  }
}

BoxPlan plan_box(const TensorMap& map, std::span<const int32_t> coordinates, BoxUse use) {
  BoxPlan plan;
  plan.fault = copy_fault(map, coordinates);
  if (!plan.fault.empty()) {
    return plan;
  }
  plan.linear_bytes = static_cast<uint32_t>(tensor_box_linear_bytes(map));
  plan.shared_bytes = static_cast<uint32_t>(tensor_box_shared_bytes(map));
  plan.data_bytes = static_cast<uint32_t>(tensor_box_data_bytes(map));
  const uint32_t row_bytes = tensor_row_shared_bytes(map);
  const uint64_t row_count = tensor_box_rows(map);
  const InnerRange inner = inner_range(map, coordinates[0], use);
  if (inner.count == 0) {
    return plan;
  }
  const uint64_t bits = tensor_element_bits(map.type);
  const RowGroups groups = row_groups(map.type);
  const uint64_t first_data = static_cast<uint64_t>(inner.first) * bits / 8;
  const auto linear_first = static_cast<uint32_t>(
      first_data / groups.data_bytes * groups.shared_bytes + first_data % groups.data_bytes);
  const uint64_t inner_address =
      static_cast<uint64_t>(int64_t{coordinates[0]} + inner.first) * bits / 8;
  std::array<uint32_t, kTensorMapMaxRank> index{};  // [0] unused
  for (uint64_t r = 0; r < row_count; ++r) {
    bool inside = true;
    uint64_t address = map.address + inner_address;
    for (uint32_t d = 1; d < map.rank; ++d) {
      const int64_t x = int64_t{coordinates[d]} + int64_t{index[d]} * map.element_strides[d];
      inside = inside && x >= 0 && static_cast<uint64_t>(x) < map.dims[d];
      address += static_cast<uint64_t>(x) * map.strides[d - 1];
    }
    if (inside) {
      plan.rows.push_back({address, static_cast<uint32_t>(inner.count * bits / 8),
                           static_cast<uint32_t>(r) * row_bytes + linear_first});
    }
    for (uint32_t d = 1; d < map.rank; ++d) {
      const uint32_t steps = (map.box[d] + map.element_strides[d] - 1) / map.element_strides[d];
      if (++index[d] < steps) {
        break;
      }
      index[d] = 0;
    }
  }
  return plan;
}

// Measured on 9.0; for ties, infinities and NaNs see emu/README.md. Subnormals are rounded like
// other numbers, also by the .ftz type.
bool load_rounds_to_tf32(TensorType type) {
  return type == TensorType::kTf32 || type == TensorType::kTf32Ftz;
}

void round_to_tf32(uint8_t* elements, uint32_t bytes) {
  constexpr uint32_t kExponent = 0x7F800000;
  constexpr uint32_t kDropped = 0x1FFF;
  for (uint32_t at = 0; at < bytes; at += sizeof(uint32_t)) {
    uint32_t bits;
    std::memcpy(&bits, elements + at, sizeof(bits));
    if ((bits & kExponent) != kExponent) {
      const uint32_t odd = bits / (kDropped + 1) % 2;
      bits = (bits + kDropped / 2 + odd) & ~kDropped;
      std::memcpy(elements + at, &bits, sizeof(bits));
    }
  }
}

void fill_box(const TensorMap& map, std::span<std::byte> linear, std::byte pad) {
  if (map.fill == OutOfBoundsFill::kNan) {
    for (std::size_t i = 0; i < linear.size(); i += sizeof(kNanPattern)) {
      std::memcpy(linear.data() + i, &kNanPattern, sizeof(kNanPattern));
    }
    return;
  }
  std::fill(linear.begin(), linear.end(), std::byte{0});
  const RowGroups groups = row_groups(map.type);
  if (groups.data_bytes == groups.shared_bytes) {
    return;
  }
  for (std::size_t i = 0; i < linear.size(); i += groups.shared_bytes) {
    std::fill_n(linear.begin() + static_cast<std::ptrdiff_t>(i + groups.data_bytes),
                groups.shared_bytes - groups.data_bytes, pad);
  }
}

}  // namespace emu
