// SPDX-License-Identifier: Apache-2.0
// Which bytes a tensor copy moves: the rows of a box, their addresses in global memory and their
// places in the box as it lies in shared memory before swizzling ("linear").
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "isa/swizzle.hpp"
#include "isa/tensor_map.hpp"

namespace emu {

enum class BoxUse : uint8_t { load, store };

// The part of one row that lies inside the tensor; rows wholly outside have no entry. A store that
// crosses the end of the tensor's row takes in the rest of the 16 bytes that it has begun.
struct BoxRow {
  uint64_t global_address = 0;
  uint32_t global_bytes = 0;
  uint32_t linear_offset = 0;  // of the first byte inside, within the box
};

struct BoxPlan {
  std::string fault;  // empty when the copy can be done
  std::vector<BoxRow> rows;
  uint32_t linear_bytes = 0;  // the full box, padding included
  uint32_t shared_bytes = 0;  // what it takes in shared memory
  uint32_t data_bytes = 0;    // what a load signals
};

// `coordinates` holds map.rank entries, innermost first, in elements.
BoxPlan plan_box(const TensorMap& map, std::span<const int32_t> coordinates, BoxUse use);

// Value of elements outside the tensor over the whole box, and `pad` in the padding bytes of the
// aligned types.
void fill_box(const TensorMap& map, std::span<std::byte> linear, std::byte pad);

// Loads of these types round the elements inside the tensor; stores leave them as they are.
bool load_rounds_to_tf32(TensorType type);
// f32 to the nearest of 10 bits, ties to even; infinities and NaNs stay. `bytes`: whole elements.
void round_to_tf32(uint8_t* elements, uint32_t bytes);

// How the bytes of a row alternate between data and padding in the box: {data, data + padding}.
struct RowGroups {
  uint32_t data_bytes;
  uint32_t shared_bytes;
};
RowGroups row_groups(TensorType type);

// Calls piece(global offset within the row, linear offset within the box, bytes) for each run that
// is contiguous on both sides.
template <typename Piece>
void for_each_piece(const TensorMap& map, const BoxRow& row, Piece&& piece) {
  const RowGroups groups = row_groups(map.type);
  if (groups.data_bytes == groups.shared_bytes) {
    piece(0u, row.linear_offset, row.global_bytes);
    return;
  }
  uint32_t linear = row.linear_offset;
  for (uint32_t at = 0; at < row.global_bytes; at += groups.data_bytes) {
    piece(at, linear, groups.data_bytes);
    linear += groups.shared_bytes;
  }
}

}  // namespace emu
