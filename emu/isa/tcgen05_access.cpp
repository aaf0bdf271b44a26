// SPDX-License-Identifier: Apache-2.0
// Threads' own accesses to tensor memory: ld, st and their waits.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/engine.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"
#include "isa/tcgen05.hpp"

namespace emu {
namespace {

struct AccessForm {
  TmemShape shape = TmemShape::k32x32b;
  uint32_t registers = 1;  // per thread
};

// Resolves and checks the address, which the warp shares; a warp reaches only its quarter of the
// lanes.
bool warp_address(ExecContext& ctx, const Operand& operand, const AccessForm& form, uint32_t active,
                  TmemAddress* at) {
  uint32_t address = 0;
  bool same = true;
  const auto first = static_cast<unsigned>(__builtin_ctz(active));
  address = static_cast<uint32_t>(ctx.address(operand, first));
  for_lanes(active, [&](unsigned lane) {
    same = same && static_cast<uint32_t>(ctx.address(operand, lane)) == address;
  });
  if (!same) {
    ctx.fault(FaultKind::illegal_instruction, "lanes give different tensor memory addresses",
              first);
    return false;
  }
  *at = split_tmem_address(address);
  const uint32_t quarter = ctx.warp->index % 4 * 32;
  const uint32_t lanes = tmem_shape_lanes(form.shape);
  if (at->lane < quarter || at->lane + lanes > quarter + 32 || at->lane % lanes != 0) {
    ctx.fault(FaultKind::illegal_address,
              "tensor memory lanes " + std::to_string(at->lane) + ".." +
                  std::to_string(at->lane + lanes - 1) + " from warp " +
                  std::to_string(ctx.warp->index) + ", which reaches " + std::to_string(quarter) +
                  ".." + std::to_string(quarter + 31),
              first);
    return false;
  }
  const std::string fault =
      columns_fault(cta_tensor(*ctx.cta), at->column,
                    tmem_shape_columns(form.shape, form.registers), /*also_queued=*/true);
  if (!fault.empty()) {
    ctx.fault(FaultKind::launch_failure, fault, first);
  }
  return fault.empty();
}

// ops: address, registers...
StepResult load(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto& form = *static_cast<const AccessForm*>(i.extra);
  TmemAddress at;
  if (!warp_address(ctx, i.ops[0], form, active, &at)) {
    return StepResult::fault;
  }
  CtaTensor& tensor = cta_tensor(*ctx.cta);
  for (uint32_t r = 0; r < form.registers; ++r) {
    uint32_t* to = ctx.reg<uint32_t>(i.ops[1 + r]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const TmemAddress place = tmem_register_place(form.shape, lane, r);
      const uint32_t row = at.lane + place.lane;
      const uint32_t column = at.column + place.column;
      if (!tensor.memory.written(row, column)) {
        return ctx.fault(FaultKind::launch_failure,
                         "tcgen05.ld of tensor memory that was never written: lane " +
                             std::to_string(row) + ", column " + std::to_string(column),
                         lane);
      }
      if (!i.ops[1 + r].is_sink()) {
        to[lane] = tensor.memory.row(row)[column];
      }
    }
  }
  tensor.loads.push_back({ctx.warp->index, at.lane, tmem_shape_lanes(form.shape), at.column,
                          tmem_shape_columns(form.shape, form.registers)});
  return StepResult::next;
}

void write_registers(CtaTensor& tensor, const AccessForm& form, const TmemAddress& at,
                     const std::vector<uint32_t>& values) {
  for (uint32_t r = 0; r < form.registers; ++r) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const TmemAddress place = tmem_register_place(form.shape, lane, r);
      tensor.memory.row(at.lane + place.lane)[at.column + place.column] = values[r * kLanes + lane];
      tensor.memory.mark_written(at.lane + place.lane, at.column + place.column, 1);
    }
  }
}

StepResult store(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto& form = *static_cast<const AccessForm*>(i.extra);
  TmemAddress at;
  if (!warp_address(ctx, i.ops[0], form, active, &at)) {
    return StepResult::fault;
  }
  CtaTensor& tensor = cta_tensor(*ctx.cta);
  const std::string fault =
      unread_fault(tensor, at.lane, tmem_shape_lanes(form.shape), at.column,
                   tmem_shape_columns(form.shape, form.registers), ctx.warp->index);
  if (!fault.empty()) {
    return ctx.fault(FaultKind::launch_failure, fault);
  }
  std::vector<uint32_t> values;
  values.reserve(size_t{form.registers} * kLanes);
  for (uint32_t r = 0; r < form.registers; ++r) {
    const uint32_t* from = ctx.reg<uint32_t>(i.ops[1 + r]);
    values.insert(values.end(), from, from + kLanes);
  }
  const uint32_t warp = ctx.warp->index;
  ++tensor.stores[warp];
  ++ctx.cta->pending_async;
  ctx.schedule([cta = ctx.cta, &tensor, form, at, warp, values = std::move(values)] {
    write_registers(tensor, form, at, values);
    --tensor.stores[warp];
    --cta->pending_async;
    ++tensor.stored;
  });
  return StepResult::next;
}

StepResult wait_load(ExecContext& ctx, const Instr&, uint32_t) {
  std::erase_if(cta_tensor(*ctx.cta).loads,
                [&](const CtaTensor::Load& load) { return load.warp == ctx.warp->index; });
  return StepResult::next;
}

StepResult wait_store(ExecContext& ctx, const Instr&, uint32_t) {
  const CtaTensor& tensor = cta_tensor(*ctx.cta);
  if (tensor.stores[ctx.warp->index] != 0) {
    return ctx.block(WaitKind::copy_group, &tensor.stored);
  }
  return StepResult::next;
}

StepResult fence(ExecContext& ctx, const Instr&, uint32_t) {
  if (Observer* observer = ctx.engine->observer()) {
    observer->fence(ctx);
  }
  return StepResult::next;
}

// --- decoding

AccessForm take_form(DecodeContext& d) {
  d.q.take("sync");
  d.q.take("aligned");
  const auto shape = d.q.take_one_of({"32x32b", "16x64b", "16x128b", "16x256b"});
  const auto repeat = d.q.take_one_of({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"});
  if (!shape || !repeat) {
    d.reject("shape or repetition");
  }
  AccessForm form;
  form.shape = static_cast<TmemShape>(*shape);
  const uint32_t times = 1u << *repeat;
  if (times > tmem_max_repeat(form.shape)) {
    d.reject("too many repetitions for the shape");
  }
  form.registers = times * tmem_registers_per_repeat(form.shape);
  d.q.take("b32");
  return form;
}

void decode_access(DecodeContext& d) {
  const bool loads = d.q.take("ld");
  d.q.take("st");
  const AccessForm form = take_form(d);
  d.require_count(2, 2);
  d.set(loads ? load : store, {d.address(d.operand(loads ? 1 : 0), ptx::Space::generic)});
  const std::vector<ptx::Operand> registers = d.elements(d.operand(loads ? 0 : 1));
  if (registers.size() != form.registers) {
    d.reject("the form has " + std::to_string(form.registers) + " registers, the vector " +
             std::to_string(registers.size()));
  }
  for (const ptx::Operand& one : registers) {
    d.add(loads ? d.dst(one, ptx::Type::b32) : d.src(one, ptx::Type::b32));
  }
  d.instr.sync = SyncClass::warp;
  d.keep(form);
}

void decode_wait(DecodeContext& d) {
  const bool loads = d.q.take("wait::ld");
  d.q.take("wait::st");
  d.q.take("sync");
  d.q.take("aligned");
  d.require_count(0, 0);
  d.set(loads ? wait_load : wait_store, {});
  d.instr.sync = SyncClass::warp;
  d.instr.flags |= Instr::kSynchronising;
  if (!loads) {
    d.instr.flags |= Instr::kMayBlock;
  }
}

void decode_fence(DecodeContext& d) {
  d.q.take_one_of({"fence::before_thread_sync", "fence::after_thread_sync"});
  d.require_count(0, 0);
  d.set(fence, {});
  d.instr.flags |= Instr::kSynchronising;
}

}  // namespace

void register_tcgen05_access(OpcodeTable& table) {
  table.add("tcgen05.ld", decode_access);
  table.add("tcgen05.st", decode_access);
  table.add("tcgen05.wait::ld", decode_wait);
  table.add("tcgen05.wait::st", decode_wait);
  table.add("tcgen05.fence::before_thread_sync", decode_fence);
  table.add("tcgen05.fence::after_thread_sync", decode_fence);
}

}  // namespace emu
