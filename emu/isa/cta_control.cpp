// SPDX-License-Identifier: Apache-2.0
#include "isa/cta_control.hpp"

#include <memory>
#include <string>

#include "exec/engine.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"

namespace emu {
namespace {

// data: registers per thread; mode 1: inc.
StepResult set_registers(ExecContext& ctx, const Instr& i, uint32_t) {
  const auto wanted = static_cast<uint32_t>(i.data);
  CtaControl& control = cta_control(ctx);
  CtaControl::Registers& registers = control.registers[ctx.warp->index];
  const bool wrong_way =
      registers.count != 0 && (i.mode != 0 ? wanted < registers.count : wanted > registers.count);
  if (wrong_way) {
    return ctx.fault(FaultKind::launch_failure,
                     std::string("setmaxnreg.") + (i.mode != 0 ? "inc" : "dec") + " to " +
                         std::to_string(wanted) + " of a warp that has " +
                         std::to_string(registers.count));
  }
  if (control.knows_pool) {
    const uint64_t before = allocated_registers(registers.count, kLanes);
    const uint64_t after = allocated_registers(wanted, kLanes);
    if (after > before + control.free_registers) {
      return ctx.block(WaitKind::registers, &control.releases, wanted, control.free_registers);
    }
    control.free_registers += before - after;
    ++control.releases;
  }
  registers.count = wanted;
  ++registers.changes;
  return StepResult::next;
}

StepResult launch_dependents(ExecContext& ctx, const Instr&, uint32_t) {
  ctx.engine->launch_dependents(*ctx.cta);
  return StepResult::yielded;  // the dependent grid gets its chance to be early
}

StepResult wait_previous(ExecContext& ctx, const Instr&, uint32_t) {
  const Grid* previous = ctx.grid->previous;
  if (previous != nullptr && !previous->complete()) {
    return ctx.block(WaitKind::previous_grid, &previous->completion_counter);
  }
  return StepResult::next;
}

void decode_set_registers(DecodeContext& d) {
  const bool increases = d.q.take("inc");
  if (!increases && !d.q.take("dec")) {
    d.reject("setmaxnreg without inc or dec");
  }
  for (const char* part : {"sync", "aligned", "u32"}) {
    d.q.take(part);
  }
  d.require_count(1, 1);
  const int64_t count = d.immediate(d.operand(0));
  if (count < 24 || count > 256 || count % 8 != 0) {
    d.reject("setmaxnreg " + std::to_string(count) + "; allowed: multiples of 8 from 24 to 256");
  }
  d.instr.data = static_cast<uint64_t>(count);
  d.instr.mode = increases ? 1 : 0;
  d.instr.sync = SyncClass::warp;
  d.set(set_registers, {});
  d.instr.flags |= Instr::kSynchronising | Instr::kMayBlock;
}

void decode_grid_dependency(DecodeContext& d) {
  d.require_count(0, 0);
  d.instr.flags |= Instr::kSynchronising;
  if (d.q.take("launch_dependents")) {
    d.set(launch_dependents, {});
  } else if (d.q.take("wait")) {
    d.set(wait_previous, {});
    d.instr.flags |= Instr::kMayBlock;
  } else {
    d.reject("griddepcontrol without launch_dependents or wait");
  }
}

}  // namespace

CtaControl& cta_control(ExecContext& ctx) {
  Cta& cta = *ctx.cta;
  if (cta.launch_control == nullptr) {
    auto control = std::make_unique<CtaControl>();
    const uint32_t launched = ctx.options().registers.of(*ctx.grid->kernel);
    control->knows_pool = launched != 0;
    control->registers.resize(cta.warps.size(), {launched, 0});
    cta.launch_control = std::move(control);
  }
  return *static_cast<CtaControl*>(cta.launch_control.get());
}

const CtaControl* cta_control_if_any(const Cta& cta) {
  return static_cast<const CtaControl*>(cta.launch_control.get());
}

void register_cta_control(OpcodeTable& table) {
  table.add("setmaxnreg", decode_set_registers);
  table.add("griddepcontrol", decode_grid_dependency);
}

}  // namespace emu
