// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix (specification 7.20). A matrix has 8 rows; row i of matrix j is at
// the address that lane 8j + i holds. Lane l has two neighbouring elements of row l / 4.
#include <array>
#include <cstring>

#include "isa/families.hpp"
#include "isa/lane_ops.hpp"

namespace emu {
namespace {

using ptx::Type;

constexpr unsigned kRows = 8;
constexpr unsigned kRowBytes = 16;  // what a row occupies, whatever part of it is data
constexpr unsigned kMaxMatrices = 4;

// Rows of one matrix as bytes.
using Rows = std::array<std::array<uint8_t, kRowBytes>, kRows>;

// How elements lie in a row. Instr::mode.
enum class Element : uint8_t { b16, b4x16_p64, b6x16_p32 };

unsigned data_bytes(Element element) {
  switch (element) {
    case Element::b16:
      return kRowBytes;
    case Element::b4x16_p64:
      return 8;
    case Element::b6x16_p32:
      return 12;
  }
  return kRowBytes;
}

bool warp_is_whole(ExecContext& ctx, uint32_t active, const char* name) {
  if (active != kFullMask) {
    ctx.fault(FaultKind::launch_failure, std::string(name) + " needs all 32 lanes; lanes " +
                                             std::to_string(active) + " (mask) are there");
    return false;
  }
  return true;
}

// Reads or writes `bytes` of the row whose address `lane` holds.
bool move_row(ExecContext& ctx, const Instr& i, unsigned lane, uint8_t* row, unsigned bytes,
              Access access) {
  const uint64_t address = ctx.address(i.ops[0], lane);
  if (address % kRowBytes != 0) {
    ctx.fault(
        FaultKind::misaligned_address,
        "a matrix row's address must be a multiple of 16: " + ctx.describe(i.ops[0].space, address),
        lane);
    return false;
  }
  // 12 bytes go as 8 and 4: an access has the size of its alignment.
  for (unsigned done = 0; done < bytes;) {
    const unsigned left = bytes - done;
    const unsigned part = left >= 16 ? 16 : left >= 8 ? 8 : 4;
    const Place place = ctx.place(i.ops[0].space, lane, address + done, part, access);
    if (!place) {
      return false;
    }
    if (access == Access::read) {
      std::memcpy(row + done, place.data, part);
    } else {
      std::memcpy(place.data, row + done, part);
    }
    done += part;
  }
  return true;
}

uint16_t element16(const Rows& rows, unsigned row, unsigned column) {
  uint16_t value;
  std::memcpy(&value, rows[row].data() + 2 * column, sizeof value);
  return value;
}

// Lane `lane`'s register of a matrix of 16-bit elements.
uint32_t pair_of(const Rows& rows, unsigned lane, bool transposed) {
  const unsigned row = lane / 4;
  const unsigned column = 2 * (lane % 4);
  const uint32_t low = transposed ? element16(rows, column, row) : element16(rows, row, column);
  const uint32_t high =
      transposed ? element16(rows, column + 1, row) : element16(rows, row, column + 1);
  return low | high << 16;
}

// Lane `lane`'s four narrow elements of a row of 16, each in the low bits of a byte.
uint32_t four_of(const Rows& rows, unsigned lane, Element element) {
  const unsigned bits = element == Element::b4x16_p64 ? 4 : 6;
  const uint8_t* row = rows[lane / 4].data();
  uint32_t result = 0;
  for (unsigned j = 0; j < 4; ++j) {
    const unsigned position = bits * (4 * (lane % 4) + j);
    // A 6-bit element may lie in two bytes; byte 12 is never needed: 16 * 6 = 96 bits.
    const unsigned low = row[position / 8];
    const unsigned high = position / 8 + 1 < data_bytes(element) ? row[position / 8 + 1] : 0;
    const unsigned code = (low | high << 8) >> position % 8 & ((1u << bits) - 1);
    result |= code << 8 * j;
  }
  return result;
}

// ops: address, registers. mode: element, mode2: transposed.
StepResult ldmatrix(ExecContext& ctx, const Instr& i, uint32_t active) {
  if (!warp_is_whole(ctx, active, "ldmatrix")) {
    return StepResult::fault;
  }
  const auto element = static_cast<Element>(i.mode);
  const unsigned matrices = i.op_count - 1u;
  // All rows first: a destination may be the register of the addresses.
  std::array<Rows, kMaxMatrices> rows;
  for (unsigned lane = 0; lane < matrices * kRows; ++lane) {
    if (!move_row(ctx, i, lane, rows[lane / kRows][lane % kRows].data(), data_bytes(element),
                  Access::read)) {
      return StepResult::fault;
    }
  }
  for (unsigned j = 0; j < matrices; ++j) {
    if (i.ops[j + 1].is_sink()) {
      continue;
    }
    auto* d = ctx.reg<uint32_t>(i.ops[j + 1]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      d[lane] = element == Element::b16 ? pair_of(rows[j], lane, i.mode2 != 0)
                                        : four_of(rows[j], lane, element);
    }
  }
  return StepResult::next;
}

StepResult stmatrix(ExecContext& ctx, const Instr& i, uint32_t active) {
  if (!warp_is_whole(ctx, active, "stmatrix")) {
    return StepResult::fault;
  }
  const unsigned matrices = i.op_count - 1u;
  std::array<Rows, kMaxMatrices> rows;
  for (unsigned j = 0; j < matrices; ++j) {
    const auto* s = ctx.reg<uint32_t>(i.ops[j + 1]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned half = 0; half < 2; ++half) {
        const auto value = static_cast<uint16_t>(s[lane] >> 16 * half);
        const unsigned row = i.mode2 != 0 ? 2 * (lane % 4) + half : lane / 4;
        const unsigned column = i.mode2 != 0 ? lane / 4 : 2 * (lane % 4) + half;
        std::memcpy(rows[j][row].data() + 2 * column, &value, sizeof value);
      }
    }
  }
  const auto lanes_used = static_cast<uint32_t>((uint64_t{1} << (matrices * kRows)) - 1);
  const bool ok = ctx.each_lane_in_order(lanes_used, [&](unsigned lane) {
    return move_row(ctx, i, lane, rows[lane / kRows][lane % kRows].data(), kRowBytes,
                    Access::write);
  });
  return ok ? StepResult::next : StepResult::fault;
}

StepResult movmatrix(ExecContext& ctx, const Instr& i, uint32_t active) {
  if (!warp_is_whole(ctx, active, "movmatrix")) {
    return StepResult::fault;
  }
  Rows rows;
  const auto* s = ctx.reg<uint32_t>(i.ops[1]);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    std::memcpy(rows[lane / 4].data() + 4 * (lane % 4), &s[lane], sizeof s[lane]);
  }
  auto* d = ctx.reg<uint32_t>(i.ops[0]);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    d[lane] = pair_of(rows, lane, true);
  }
  return StepResult::next;
}

// --- decoding ------------------------------------------------------------------------------------

void take_sync_aligned(DecodeContext& d) {
  if (!d.q.take("sync") || !d.q.take("aligned")) {
    d.reject(".sync.aligned is missing");
  }
  d.instr.sync = SyncClass::warp;
}

unsigned take_matrices(DecodeContext& d) {
  static constexpr unsigned kCounts[] = {1, 2, 4};
  const std::optional<size_t> index = d.q.take_one_of({"x1", "x2", "x4"});
  if (!index) {
    d.reject(".x1, .x2 or .x4 is missing");
  }
  return kCounts[*index];
}

ptx::Space take_shared(DecodeContext& d) {
  const std::optional<ptx::Space> space = d.q.take_space();
  if (space && (*space == ptx::Space::shared_cluster || !ptx::is_shared(*space))) {
    d.reject("the space is .shared or .shared::cta");
  }
  return space.value_or(ptx::Space::generic);
}

void decode_ldmatrix(DecodeContext& d) {
  take_sync_aligned(d);
  const unsigned matrices = take_matrices(d);
  const ptx::Space space = take_shared(d);
  const bool narrow = d.q.take("m8n16");
  if (!narrow && !d.q.take("m8n8")) {
    d.reject("the shape is .m8n8 or .m8n16");
  }
  Element element = Element::b16;
  if (narrow) {
    const bool bytes = d.q.take("b8x16");
    const std::optional<size_t> packing = d.q.take_one_of({"b4x16_p64", "b6x16_p32"});
    if (!bytes || !packing) {
      d.reject(".m8n16 takes .b8x16.b4x16_p64 or .b8x16.b6x16_p32");
    }
    element = *packing == 0 ? Element::b4x16_p64 : Element::b6x16_p32;
  } else if (take_type(d) != Type::b16) {
    d.reject(".m8n8 takes .b16");
  }
  d.instr.mode = static_cast<uint8_t>(element);
  d.instr.mode2 = !narrow && d.q.take("trans") ? 1 : 0;
  d.require_count(2, 2);
  const std::vector<ptx::Operand> registers = d.elements(d.operand(0));
  if (registers.size() != matrices) {
    d.reject("the number of registers is not that of the matrices");
  }
  d.instr.handler = ldmatrix;
  d.add(d.address(d.operand(1), space));
  for (const ptx::Operand& one : registers) {
    d.add(d.dst(one, Type::b32));
  }
}

void decode_stmatrix(DecodeContext& d) {
  take_sync_aligned(d);
  const unsigned matrices = take_matrices(d);
  const ptx::Space space = take_shared(d);
  if (!d.q.take("m8n8") || take_type(d) != Type::b16) {
    d.reject("the shape and type are .m8n8 .b16");
  }
  d.instr.mode2 = d.q.take("trans") ? 1 : 0;
  d.require_count(2, 2);
  const std::vector<ptx::Operand> registers = d.elements(d.operand(1));
  if (registers.size() != matrices) {
    d.reject("the number of registers is not that of the matrices");
  }
  d.instr.handler = stmatrix;
  d.add(d.address(d.operand(0), space));
  for (const ptx::Operand& one : registers) {
    d.add(d.src(one, Type::b32));
  }
}

void decode_movmatrix(DecodeContext& d) {
  take_sync_aligned(d);
  if (!d.q.take("m8n8") || !d.q.take("trans") || take_type(d) != Type::b16) {
    d.reject("movmatrix is .m8n8.trans.b16");
  }
  set_lanes(d, movmatrix, Type::b32, {Type::b32});
}

}  // namespace

void register_matrix_fragment(OpcodeTable& table) {
  table.add("ldmatrix", decode_ldmatrix);
  table.add("stmatrix", decode_stmatrix);
  table.add("movmatrix", decode_movmatrix);
}

}  // namespace emu
