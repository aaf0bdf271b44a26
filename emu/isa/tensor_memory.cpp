// SPDX-License-Identifier: Apache-2.0
#include "isa/tensor_memory.hpp"

#include <algorithm>

namespace emu {

bool TensorMemory::free(uint32_t column, uint32_t count) {
  if (column >= kTmemColumns || sizes_[column] != count || count == 0) {
    return false;
  }
  sizes_[column] = 0;
  for (uint32_t c = column; c < column + count; ++c) {
    allocated_[c] = false;
  }
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
    std::fill_n(row(lane) + column, count, kTmemPoison);
    for (uint32_t c = column; c < column + count; ++c) {
      written_[lane * kTmemColumns + c] = false;
    }
  }
  return true;
}

std::optional<uint32_t> find_free_columns(const std::vector<const TensorMemory*>& memories,
                                          uint32_t count) {
  for (uint32_t column = 0; column + count <= kTmemColumns; column += count) {
    const bool free = std::all_of(memories.begin(), memories.end(), [&](const TensorMemory* m) {
      for (uint32_t c = column; c < column + count; ++c) {
        if (m->allocated(c, 1)) {
          return false;
        }
      }
      return true;
    });
    if (free) {
      return column;
    }
  }
  return std::nullopt;
}

}  // namespace emu
