// SPDX-License-Identifier: Apache-2.0
// Tensor memory of one CTA: 128 lanes of 512 columns of 32-bit words, its column allocation, and
// where the registers of tcgen05.ld / .st lie in it.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

namespace emu {

inline constexpr uint32_t kTmemLanes = 128;
inline constexpr uint32_t kTmemColumns = 512;
inline constexpr uint32_t kTmemPoison =
    0xE7E7E7E7;  // as a float a huge negative number, as scales absurd ones

struct TmemAddress {
  uint32_t lane = 0;
  uint32_t column = 0;
};
constexpr TmemAddress split_tmem_address(uint32_t address) {
  return {address >> 16, address & 0xFFFF};
}
// Scale operands carry a selector in bits 31:30, which is not part of the address.
constexpr uint32_t scale_tmem_address(uint32_t operand) {
  return operand & 0x3FFFFFFF;
}

enum class TmemShape : uint8_t { k32x32b, k16x64b, k16x128b, k16x256b };

// Registers per thread of the .x1 form.
constexpr uint32_t tmem_registers_per_repeat(TmemShape shape) {
  switch (shape) {
    case TmemShape::k16x128b:
      return 2;
    case TmemShape::k16x256b:
      return 4;
    default:
      return 1;
  }
}
constexpr uint32_t tmem_max_repeat(TmemShape shape) {
  return 128 / tmem_registers_per_repeat(shape);
}
constexpr uint32_t tmem_shape_lanes(TmemShape shape) {
  return shape == TmemShape::k32x32b ? 32 : 16;
}
// Columns that a form with that many registers per thread covers.
constexpr uint32_t tmem_shape_columns(TmemShape shape, uint32_t registers) {
  return shape == TmemShape::k32x32b ? registers : registers * 2;
}

// Place of register `r` of thread `t` relative to the address operand.
constexpr TmemAddress tmem_register_place(TmemShape shape, uint32_t t, uint32_t r) {
  switch (shape) {
    case TmemShape::k32x32b:
      return {t, r};
    case TmemShape::k16x64b:
      return {8 * (t % 2) + t / 4, 2 * r + t / 2 % 2};
    case TmemShape::k16x128b:
      return {t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2)};
    case TmemShape::k16x256b:
      return {t / 4 + 8 * (r / 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4)};
  }
  return {};
}

class TensorMemory {
 public:
  TensorMemory() : words_(kTmemLanes * kTmemColumns, kTmemPoison) {}

  uint32_t* row(uint32_t lane) { return words_.data() + lane * kTmemColumns; }
  const uint32_t* row(uint32_t lane) const { return words_.data() + lane * kTmemColumns; }

  bool written(uint32_t lane, uint32_t column) const {
    return written_[lane * kTmemColumns + column];
  }
  void mark_written(uint32_t lane, uint32_t column, uint32_t count) {
    for (uint32_t c = column; c < column + count; ++c) {
      written_[lane * kTmemColumns + c] = true;
    }
  }

  bool allocated(uint32_t column, uint32_t count) const {
    for (uint32_t c = column; c < column + count; ++c) {
      if (c >= kTmemColumns || !allocated_[c]) {
        return false;
      }
    }
    return true;
  }
  bool any_allocated() const { return allocated_.any(); }
  void allocate(uint32_t column, uint32_t count) {
    for (uint32_t c = column; c < column + count; ++c) {
      allocated_[c] = true;
    }
    sizes_[column] = count;
  }
  // False when `column` does not begin an allocation of `count` columns. What was there is poison
  // again.
  bool free(uint32_t column, uint32_t count);

 private:
  std::vector<uint32_t> words_;
  std::bitset<kTmemLanes * kTmemColumns> written_;
  std::bitset<kTmemColumns> allocated_;
  std::vector<uint32_t> sizes_ = std::vector<uint32_t>(kTmemColumns, 0);  // by first column
};

// The first range of `count` columns, at a multiple of `count`, that is free in all `memories`
// (both of a CTA pair get the same address).
std::optional<uint32_t> find_free_columns(const std::vector<const TensorMemory*>& memories,
                                          uint32_t count);

}  // namespace emu
