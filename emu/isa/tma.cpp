// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor and its prefetch.
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "exec/engine.hpp"
#include "isa/bulk_operands.hpp"
#include "isa/families.hpp"
#include "isa/tma_box.hpp"

namespace emu {
namespace {

constexpr uint32_t kSharedAlignment = 128;  // of a box in shared memory
// Value of the padding bytes of aligned types, which nobody may rely on.
constexpr uint8_t kAdversarialPad = 0xA5;

// Order of a tensor copy's operands, after decoding:
//   load:     map, shared address, mbarrier, mask, coordinates...
//   store:    map, shared address, coordinates...
//   prefetch: map, coordinates...
struct TensorForm : CopyForm {
  uint32_t first_coordinate = 0;
};

bool read_map(ExecContext& ctx, unsigned lane, uint64_t address, TensorMap* map) {
  std::array<std::byte, kTensorMapBytes> object;
  if (address % kTensorMapAlignment != 0) {
    ctx.fault(
        FaultKind::misaligned_address,
        "a tensor map must be aligned to 64 bytes: " + ctx.describe(ptx::Space::generic, address),
        lane);
    return false;
  }
  constexpr uint32_t kStep = 16;  // the widest access that every space offers
  for (uint32_t at = 0; at < kTensorMapBytes; at += kStep) {
    const Place place = ctx.place(ptx::Space::generic, lane, address + at, kStep, Access::read);
    if (!place) {
      return false;
    }
    std::memcpy(object.data() + at, place.data, kStep);
  }
  const DecodedTensorMap decoded = decode_tensor_map(object.data());
  if (!decoded.fault.empty()) {
    ctx.fault(FaultKind::illegal_instruction,
              decoded.fault + ": " + ctx.describe(ptx::Space::generic, address), lane);
    return false;
  }
  *map = decoded.map;
  return true;
}

std::string store_fault(const ExecContext& ctx, const TensorMap& map,
                        std::span<const int32_t> coordinates) {
  if (map.type == TensorType::kU4Align16 || map.type == TensorType::kU6Align16) {
    return "data types 14 and 15 cannot be stored";
  }
  // Measured on 9.0 (emu/README.md); nothing tells of later ones.
  if (ctx.grid->request->device.capability != 90) {
    return {};
  }
  for (size_t d = 0; d < coordinates.size(); ++d) {
    if (coordinates[d] < 0) {
      return "coordinate " + std::to_string(d) + " is " + std::to_string(coordinates[d]) +
             "; tensor stores of capability 9.0 need 0 or more";
    }
  }
  return {};
}

BoxLayout layout_of(const TensorMap& map) {
  return {map.swizzle, tensor_row_shared_bytes(map), tensor_row_pitch(map)};
}

// Reads the map, plans the box and resolves its rows in global memory.
struct TensorCopy {
  TensorMap map;
  BoxPlan plan;
  std::vector<CopyPiece> pieces;
};

bool plan_copy(ExecContext& ctx, const Instr& i, const TensorForm& form, unsigned lane,
               Access access, TensorCopy* copy) {
  if (!read_map(ctx, lane, ctx.address(i.ops[0], lane), &copy->map)) {
    return false;
  }
  std::array<int32_t, kTensorMapMaxRank> coordinates;
  for (uint32_t d = 0; d < form.rank; ++d) {
    coordinates[d] = ctx.reg<int32_t>(i.ops[form.first_coordinate + d])[lane];
  }
  const BoxUse use = access == Access::write ? BoxUse::store : BoxUse::load;
  const std::span<const int32_t> start(coordinates.data(), form.rank);
  std::string fault = use == BoxUse::store ? store_fault(ctx, copy->map, start) : std::string();
  if (fault.empty()) {
    copy->plan = plan_box(copy->map, start, use);
    fault = copy->plan.fault;
  }
  if (!fault.empty()) {
    ctx.fault(FaultKind::illegal_instruction, fault, lane);
    return false;
  }
  for (const BoxRow& row : copy->plan.rows) {
    const Place place = ctx.global_place(lane, row.global_address, row.global_bytes, access);
    if (!place) {
      return false;
    }
    for_each_piece(copy->map, row, [&](uint32_t at, uint32_t linear, uint32_t bytes) {
      copy->pieces.push_back({place.data + at, linear, bytes});
    });
  }
  return true;
}

StepResult load(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto& form = *static_cast<const TensorForm*>(i.extra);
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    TensorCopy copy;
    if (!plan_copy(ctx, i, form, lane, Access::read, &copy)) {
      return false;
    }
    auto operation = std::make_shared<AsyncLoad>();
    const uint32_t mask = form.multicast ? ctx.reg<uint16_t>(i.ops[3])[lane] : 0;
    operation->targets =
        load_targets(ctx, form, lane, ctx.address(i.ops[1], lane), copy.plan.shared_bytes,
                     kSharedAlignment, ctx.address(i.ops[2], lane), mask);
    if (operation->targets.empty()) {
      return false;
    }
    operation->pieces = std::move(copy.pieces);
    if (load_rounds_to_tf32(copy.map.type)) {
      operation->conversion = round_to_tf32;
    }
    operation->data.resize(copy.plan.linear_bytes);
    fill_box(copy.map, std::as_writable_bytes(std::span(operation->data)),
             std::byte{ctx.options().adversarial() ? kAdversarialPad : uint8_t{0}});
    operation->layout = layout_of(copy.map);
    operation->signal_bytes = copy.plan.data_bytes;
    operation->origin = ctx.origin(lane);
    return start_load(ctx, std::move(operation));
  });
  return ok ? StepResult::next : StepResult::fault;
}

StepResult store(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto& form = *static_cast<const TensorForm*>(i.extra);
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    TensorCopy copy;
    if (!plan_copy(ctx, i, form, lane, Access::write, &copy)) {
      return false;
    }
    const Place source = store_source(ctx, lane, ctx.address(i.ops[1], lane),
                                      copy.plan.shared_bytes, kSharedAlignment);
    if (!source) {
      return false;
    }
    auto operation = std::make_shared<AsyncStore>();
    operation->pieces = std::move(copy.pieces);
    operation->data.resize(copy.plan.linear_bytes);
    operation->layout = layout_of(copy.map);
    operation->source = source.cta;
    operation->source_offset = source.offset;
    operation->state = async_state(*ctx.warp);
    operation->lane = lane;
    operation->origin = ctx.origin(lane);
    return start_store(ctx, std::move(operation));
  });
  return ok ? StepResult::next : StepResult::fault;
}

StepResult prefetch(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto& form = *static_cast<const TensorForm*>(i.extra);
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    TensorCopy copy;
    return plan_copy(ctx, i, form, lane, Access::read, &copy);
  });
  return ok ? StepResult::next : StepResult::fault;
}

// --- decoding

uint32_t take_rank(DecodeContext& d) {
  const auto rank = d.q.take_one_of({"1d", "2d", "3d", "4d", "5d"});
  if (!rank) {
    d.reject("the number of dimensions is missing");
  }
  d.q.take("tile");
  return static_cast<uint32_t>(*rank) + 1;
}

// Splits [map, {c0, ...}].
void add_coordinates(DecodeContext& d, const ptx::Operand& tensor, TensorForm& form) {
  form.first_coordinate = static_cast<uint32_t>(d.ops.size());
  if (tensor.kind != ptx::Operand::Kind::address || tensor.parts.size() != 2) {
    d.reject("the tensor operand is not [map, {coordinates}]");
  }
  const std::vector<ptx::Operand> coordinates = d.elements(tensor.parts[1]);
  if (coordinates.size() != form.rank) {
    d.reject("the number of coordinates is not that of dimensions");
  }
  for (const ptx::Operand& coordinate : coordinates) {
    d.add(d.src(coordinate, ptx::Type::s32));
  }
}

void decode_copy(DecodeContext& d) {
  TensorForm form;
  d.q.take("async");
  d.q.take("bulk");
  d.q.take("tensor");
  form.rank = take_rank(d);
  const bool hint = take_copy_form(d, form);
  if (form.direction == CopyDirection::shared_to_shared) {
    d.reject("tensor copies go between global and shared memory");
  }
  const bool loads = form.direction == CopyDirection::global_to_shared;
  const size_t plain = loads ? 3 + (form.multicast ? 1 : 0) : 2;
  d.require_count(plain + (hint ? 1 : 0), plain + (hint ? 1 : 0));
  const ptx::Operand& tensor = d.operand(loads ? 1 : 0);
  d.set(loads ? load : store, {d.address(tensor, ptx::Space::generic)});
  if (loads) {
    d.add(d.address(d.operand(0), form.destination));
    d.add(d.address(d.operand(2), form.destination));
    d.add(form.multicast ? d.src(d.operand(3), ptx::Type::b16) : d.constant(0, ptx::Type::b16));
  } else {
    d.add(d.address(d.operand(1), ptx::Space::shared_cta));
  }
  add_coordinates(d, tensor, form);
  if (hint) {
    d.src(d.operand(plain), ptx::Type::b64);
  }
  d.instr.flags |= Instr::kSynchronising;
  d.keep(form);
}

void decode_prefetch(DecodeContext& d) {
  TensorForm form;
  for (const char* part : {"async", "bulk", "prefetch", "tensor", "L2", "global"}) {
    d.q.take(part);
  }
  form.rank = take_rank(d);
  const bool hint = d.q.take("L2::cache_hint");
  d.require_count(hint ? 2 : 1, hint ? 2 : 1);
  d.set(prefetch, {d.address(d.operand(0), ptx::Space::generic)});
  add_coordinates(d, d.operand(0), form);
  d.keep(form);
}

void decode_reduce(DecodeContext& d) {
  d.q.take("reduce");
  d.reject("tensor reductions are not supported");
}

}  // namespace

void register_tma(OpcodeTable& table) {
  table.add("cp.async.bulk.tensor", decode_copy);
  table.add("cp.async.bulk.prefetch.tensor", decode_prefetch);
  table.add("cp.reduce.async.bulk.tensor", decode_reduce);
}

}  // namespace emu
