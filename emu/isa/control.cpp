// SPDX-License-Identifier: Apache-2.0
// Control flow: branches, calls, returns (specification 7.8).
#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/builtins.hpp"
#include "exec/engine.hpp"
#include "exec/frames.hpp"
#include "exec/function_decoder.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"

namespace emu {
namespace {

StepResult bra(ExecContext& ctx, const Instr& i, uint32_t active) {
  if (active == ctx.group->lanes) {
    ctx.group->pc = i.target;
    return StepResult::branched;
  }
  ctx.split(active, i.target);
  ++ctx.group->pc;
  return StepResult::branched;
}

StepResult bra_uni(ExecContext& ctx, const Instr& i, uint32_t active) {
  if (active != ctx.group->lanes) {
    return ctx.fault(FaultKind::launch_failure, "bra.uni is taken by a part of the lanes only");
  }
  ctx.group->pc = i.target;
  return StepResult::branched;
}

void decode_bra(DecodeContext& d) {
  d.require_count(1, 1);
  const bool uniform = d.q.take("uni");
  d.instr.target = d.label(d.operand(0));
  d.instr.flags |= Instr::kBranch;
  d.set(uniform ? bra_uni : bra, {});
}

// Lanes of each target in turn leave the group; the last target keeps the group.
StepResult brx(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto& table = *static_cast<const std::vector<uint32_t>*>(i.extra);
  if (active != ctx.group->lanes) {
    ctx.split(ctx.group->lanes & ~active, i.index + 1);
  }
  uint32_t left = active;
  while (left != 0) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    const uint64_t index = ctx.lane_value(i.ops[0], lane);
    if (index >= table.size()) {
      return ctx.fault(FaultKind::launch_failure,
                       "brx.idx with index " + std::to_string(index) + " of a table of " +
                           std::to_string(table.size()),
                       lane);
    }
    uint32_t same = 0;
    for (uint32_t bits = left; bits != 0; bits &= bits - 1) {
      const auto other = static_cast<unsigned>(__builtin_ctz(bits));
      same |= ctx.lane_value(i.ops[0], other) == index ? 1u << other : 0;
    }
    left &= ~same;
    if (left == 0) {
      ctx.group->pc = table[index];
    } else {
      ctx.split(same, table[index]);
    }
  }
  return StepResult::branched;
}

void decode_brx(DecodeContext& d) {
  d.require_count(2, 2);
  if (!d.q.take("idx")) {
    d.reject("only brx.idx is supported");
  }
  d.q.take("uni");
  d.keep(d.label_table(d.operand(1)));
  d.instr.flags |= Instr::kBranch;
  d.set(brx, {d.src(d.operand(0), ptx::Type::u32)});
}

StepResult exit_thread(ExecContext& ctx, const Instr& i, uint32_t active) {
  if (active != ctx.group->lanes) {
    ctx.group->pc = i.index + 1;
  }
  exit_lanes(*ctx.warp, active);
  return StepResult::exited;
}

void decode_exit(DecodeContext& d) {
  d.require_count(0, 0);
  d.instr.flags |= Instr::kBranch;
  d.set(exit_thread, {});
}

void decode_ret(DecodeContext& d) {
  d.require_count(0, 0);
  d.q.take("uni");
  d.instr.flags |= Instr::kBranch;
  d.set(return_from_function, {});
}

// What a call needs to know; offsets lie in the frames' local memory.
struct Call {
  struct Copy {
    uint32_t from;
    uint32_t to;
    uint32_t bytes;
  };
  const Code* callee = nullptr;  // null: indirect
  Builtin builtin = nullptr;
  std::vector<Copy> arguments;
  std::vector<Copy> results;
  std::vector<uint32_t> argument_offsets;
  std::vector<uint32_t> result_offsets;
  std::vector<uint32_t> argument_bytes;
  std::vector<uint32_t> result_bytes;
};

uint8_t* local_bytes(ExecContext& ctx, const Frame& frame, unsigned lane, uint32_t offset) {
  return ctx.warp->local.data() + size_t{lane} * ctx.warp->local_stride + frame.local_base + offset;
}

StepResult call_builtin(ExecContext& ctx, const Instr& i, uint32_t active) {
  const Call& call = *static_cast<const Call*>(i.extra);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((active >> lane & 1) == 0) {
      continue;
    }
    BuiltinCall arguments;
    for (size_t a = 0; a < call.argument_offsets.size(); ++a) {
      uint64_t value = 0;
      std::memcpy(&value, local_bytes(ctx, *ctx.frame, lane, call.argument_offsets[a]),
                  std::min(call.argument_bytes[a], 8u));
      arguments.values.push_back(value);
    }
    if (!call.builtin(ctx, lane, arguments)) {
      return StepResult::fault;
    }
    if (!call.result_offsets.empty()) {
      std::memcpy(local_bytes(ctx, *ctx.frame, lane, call.result_offsets[0]), &arguments.result,
                  std::min(call.result_bytes[0], 8u));
    }
  }
  return StepResult::next;
}

StepResult enter_function(ExecContext& ctx, const Instr& i, const Code& callee, uint32_t active) {
  // Deep enough for any sensible recursion; a runaway one must not take the machine's memory.
  constexpr uint32_t kMostFrames = 1000;
  const Call& call = *static_cast<const Call*>(i.extra);
  if (ctx.frame->depth >= kMostFrames) {
    return ctx.fault(FaultKind::launch_failure,
                     "calls nest deeper than " + std::to_string(kMostFrames));
  }
  if (active != ctx.group->lanes) {
    ctx.split(ctx.group->lanes & ~active, i.index + 1);
  }
  Frame* caller = ctx.frame;
  Frame* frame = enter_frame(*ctx.warp, caller, i.index, callee, active, ctx.random());
  for_lanes(active, [&](unsigned lane) {
    for (size_t a = 0; a < call.argument_offsets.size(); ++a) {
      std::memcpy(local_bytes(ctx, *frame, lane, callee.formals[a].offset),
                  local_bytes(ctx, *caller, lane, call.argument_offsets[a]),
                  callee.formals[a].bytes);
    }
  });
  ctx.group->frame = frame;
  ctx.group->pc = 0;
  return StepResult::branched;
}

StepResult call_direct(ExecContext& ctx, const Instr& i, uint32_t active) {
  return enter_function(ctx, i, *static_cast<const Call*>(i.extra)->callee, active);
}

// Sizes of what a call passes must be those of the function's parameters.
std::string mismatch(const Call& call, const Code& callee) {
  const auto differs = [](const std::vector<uint32_t>& given,
                          const std::vector<KernelParam>& wanted) {
    if (given.size() != wanted.size()) {
      return true;
    }
    for (size_t k = 0; k < given.size(); ++k) {
      if (given[k] != wanted[k].bytes) {
        return true;
      }
    }
    return false;
  };
  if (differs(call.argument_bytes, callee.formals)) {
    return "the arguments of the call do not fit the parameters of " + callee.name;
  }
  if (differs(call.result_bytes, callee.results)) {
    return "the results of the call do not fit those of " + callee.name;
  }
  return "";
}

StepResult call_indirect(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto lane = static_cast<unsigned>(__builtin_ctz(active));
  const uint64_t handle = ctx.lane_value(i.ops[0], lane);
  uint32_t same = 0;
  for_lanes(active, [&](unsigned other) {
    same |= ctx.lane_value(i.ops[0], other) == handle ? 1u << other : 0;
  });
  const auto& functions = ctx.grid->request->program->functions;
  const uint64_t index = handle - kFunctionHandle - 1;
  if (index >= functions.size() || !functions[index]->has_body() ||
      functions[index]->function->is_entry) {
    return ctx.fault(FaultKind::illegal_address, "indirect call of something that is no function",
                     lane);
  }
  const Code& callee = *functions[index];
  const std::string why = mismatch(*static_cast<const Call*>(i.extra), callee);
  if (!why.empty()) {
    return ctx.fault(FaultKind::launch_failure, why, lane);
  }
  if (same != active) {
    ctx.split(active & ~same, i.index);  // they call another function
  }
  return enter_function(ctx, i, callee, same);
}

void add_variable(DecodeContext& d, const ptx::Operand& operand, std::vector<uint32_t>& offsets,
                  std::vector<uint32_t>& bytes) {
  const auto found = d.function().function().find_variable(d.source.scope, operand.name);
  const auto location = d.function().locate(d.source.scope, operand.name, 4);
  if (!found || !location || location->space != ptx::Space::local) {
    d.reject("'" + std::string(operand.name) + "' is no .param variable of this function");
  }
  offsets.push_back(static_cast<uint32_t>(location->slot.value));
  bytes.push_back(static_cast<uint32_t>(d.function().function().variables[*found].bytes()));
}

void decode_call(DecodeContext& d) {
  using Kind = ptx::Operand::Kind;
  d.q.take("uni");
  Call call;
  size_t at = 0;
  if (d.operand(at).kind == Kind::list) {
    for (const ptx::Operand& result : d.operand(at).parts) {
      add_variable(d, result, call.result_offsets, call.result_bytes);
    }
    ++at;
  }
  const ptx::Operand& target = d.operand(at++);
  if (at < d.count() && d.operand(at).kind == Kind::list) {
    for (const ptx::Operand& argument : d.operand(at).parts) {
      add_variable(d, argument, call.argument_offsets, call.argument_bytes);
    }
    ++at;
  }
  d.instr.flags |= Instr::kBranch;
  if (d.declared_type(target) != ptx::Type::none) {
    if (at + 1 != d.count()) {
      d.reject("an indirect call needs a prototype or a list of targets");
    }
    d.keep(std::move(call));
    d.set(call_indirect, {d.src(target, ptx::Type::u64)});
    return;
  }
  call.callee = d.function().callee(target.name);
  if (call.callee == nullptr) {
    d.reject("function '" + std::string(target.name) + "' is not declared");
  }
  const std::string why = mismatch(call, *call.callee);
  if (!why.empty()) {
    d.reject(why);
  }
  if (!call.callee->function->has_body) {
    call.builtin = find_builtin(target.name);
    if (call.builtin == nullptr) {
      d.reject("function '" + std::string(target.name) + "' has no body and is not built in");
    }
    d.keep(std::move(call));
    d.set(call_builtin, {});
    return;
  }
  d.keep(std::move(call));
  d.set(call_direct, {});
}

StepResult trap(ExecContext& ctx, const Instr&, uint32_t active) {
  return ctx.fault(FaultKind::launch_failure, "trap", static_cast<unsigned>(__builtin_ctz(active)));
}

StepResult pause(ExecContext&, const Instr&, uint32_t) {
  return StepResult::yielded;
}
StepResult nothing(ExecContext&, const Instr&, uint32_t) {
  return StepResult::next;
}

void decode_trap(DecodeContext& d) {
  d.require_count(0, 0);
  d.set(trap, {});
}

void decode_nanosleep(DecodeContext& d) {
  d.require_count(1, 1);
  d.q.take("u32");
  d.set(pause, {d.src(d.operand(0), ptx::Type::u32)});
}

void decode_pmevent(DecodeContext& d) {
  d.q.take("mask");
  d.set(nothing, {});
}

}  // namespace

StepResult return_from_function(ExecContext& ctx, const Instr& i, uint32_t active) {
  Frame* frame = ctx.frame;
  if (frame->parent == nullptr) {
    return exit_thread(ctx, i, active);
  }
  if (active != ctx.group->lanes) {
    ctx.split(ctx.group->lanes & ~active, i.index + 1);
  }
  Frame* caller = frame->parent;
  const Instr& instr = caller->code->instrs[frame->call_pc];
  const Call& call = *static_cast<const Call*>(instr.extra);
  for_lanes(active, [&](unsigned lane) {
    for (size_t r = 0; r < call.result_offsets.size(); ++r) {
      std::memcpy(local_bytes(ctx, *caller, lane, call.result_offsets[r]),
                  local_bytes(ctx, *frame, lane, frame->code->results[r].offset),
                  frame->code->results[r].bytes);
    }
  });
  ctx.group->pc = frame->call_pc + 1;
  ctx.group->frame = caller;
  leave_frame(*ctx.warp, *frame, active);
  return StepResult::branched;
}

StepResult unsupported_instruction(ExecContext& ctx, const Instr&, uint32_t active) {
  return ctx.fault(FaultKind::illegal_instruction,
                   "an instruction that the emulator does not support is executed",
                   static_cast<unsigned>(__builtin_ctz(active)));
}

void register_control(OpcodeTable& table) {
  table.add("bra", decode_bra);
  table.add("brx", decode_brx);
  table.add("call", decode_call);
  table.add("ret", decode_ret);
  table.add("exit", decode_exit);
  table.add("trap", decode_trap);
  table.add("brkpt", decode_trap);
  table.add("nanosleep", decode_nanosleep);
  table.add("pmevent", decode_pmevent);
}

}  // namespace emu
