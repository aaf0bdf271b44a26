// SPDX-License-Identifier: Apache-2.0
// Named barriers: bar and barrier (specification 7.10).
#include "isa/barriers.hpp"

#include <algorithm>

#include "exec/engine.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"

namespace emu {
namespace {

enum class Kind : uint8_t { sync, arrive, popc, all, any };

uint32_t whole_cta_count(const Cta& cta) {
  return cta.running_warps * kLanes;
}

void complete(NamedBarrier& barrier) {
  ++barrier.phase;
  ++barrier.counter;
  barrier.last_popc = barrier.popc;
  barrier.last_all = barrier.all;
  barrier.last_any = barrier.any;
  barrier.expected = 0;
  barrier.arrived = 0;
  barrier.whole_cta = false;
  barrier.popc = 0;
  barrier.all = true;
  barrier.any = false;
  std::fill(barrier.lanes.begin(), barrier.lanes.end(), 0u);
}

// Threads that this arrival counts for: the aligned forms count a whole warp; a part of a warp
// counts its lanes, and the last part also those that exited or never were.
uint32_t arrival_count(ExecContext& ctx, NamedBarrier& barrier, const Instr& i, uint32_t active) {
  if (i.sync == SyncClass::warp) {
    return kLanes;
  }
  barrier.lanes.resize(ctx.cta->warps.size(), 0);
  uint32_t& lanes = barrier.lanes[ctx.warp->index];
  const uint32_t before = static_cast<uint32_t>(__builtin_popcount(lanes));
  lanes |= active;
  const bool complete_warp = (ctx.warp->live & ~lanes) == 0;
  return (complete_warp ? kLanes : static_cast<uint32_t>(__builtin_popcount(lanes))) - before;
}

// Adds the arrival; false after a fault.
bool arrive(ExecContext& ctx, const Instr& i, uint32_t active, NamedBarrier& barrier, uint64_t id,
            uint32_t expected, bool whole_cta) {
  const std::string name = "barrier " + std::to_string(id);
  if (barrier.arrived == 0) {
    barrier.expected = expected;
    barrier.whole_cta = whole_cta;
  } else if (barrier.expected != expected) {
    ctx.fault(FaultKind::launch_failure, name + ": this warp expects " + std::to_string(expected) +
                                             " threads, those before it expected " +
                                             std::to_string(barrier.expected));
    return false;
  }
  const auto kind = static_cast<Kind>(i.mode);
  if (kind >= Kind::popc) {
    const uint32_t values = ctx.pred(i.ops[2]) & active;
    barrier.popc += static_cast<uint32_t>(__builtin_popcount(values));
    barrier.all = barrier.all && values == active;
    barrier.any = barrier.any || values != 0;
  }
  if (Observer* observer = ctx.engine->observer()) {
    observer->barrier_arrive(ctx, static_cast<uint32_t>(id), barrier.phase);
  }
  barrier.arrived += arrival_count(ctx, barrier, i, active);
  if (barrier.arrived > barrier.expected) {
    ctx.fault(FaultKind::launch_failure, name + ": " + std::to_string(barrier.arrived) +
                                             " threads have arrived, " +
                                             std::to_string(barrier.expected) + " are expected");
    return false;
  }
  if (barrier.arrived == barrier.expected) {
    complete(barrier);
    ctx.progress();
  }
  return true;
}

// ops: id, count (of mode2 != 0), predicate, destination
bool operands(ExecContext& ctx, const Instr& i, uint32_t active, uint64_t* id, uint64_t* count) {
  if (!ctx.uniform(i.ops[0], active, "the barrier's number", id)) {
    return false;
  }
  if (*id >= Cta::kBarriers) {
    ctx.fault(FaultKind::launch_failure,
              "barrier " + std::to_string(*id) + ": there are barriers 0 to 15");
    return false;
  }
  if (i.mode2 == 0) {
    *count = whole_cta_count(*ctx.cta);
    return true;
  }
  if (!ctx.uniform(i.ops[1], active, "the barrier's thread count", count)) {
    return false;
  }
  if (*count == 0 || *count % kLanes != 0) {
    ctx.fault(FaultKind::launch_failure, "a barrier for " + std::to_string(*count) +
                                             " threads: the count must be a multiple of 32");
    return false;
  }
  return true;
}

void give_result(ExecContext& ctx, const Instr& i, uint32_t active, const NamedBarrier& barrier) {
  switch (static_cast<Kind>(i.mode)) {
    case Kind::popc:
      for_lanes(active,
                [&](unsigned lane) { ctx.set_lane_value(i.ops[3], lane, barrier.last_popc); });
      break;
    case Kind::all:
      ctx.set_pred(i.ops[3], barrier.last_all ? kFullMask : 0, active);
      break;
    case Kind::any:
      ctx.set_pred(i.ops[3], barrier.last_any ? kFullMask : 0, active);
      break;
    case Kind::sync:
    case Kind::arrive:
      break;
  }
}

StepResult bar(ExecContext& ctx, const Instr& i, uint32_t active) {
  uint64_t id = 0;
  uint64_t count = 0;
  if (!operands(ctx, i, active, &id, &count)) {
    return StepResult::fault;
  }
  NamedBarrier& barrier = ctx.cta->barriers[id];
  WaitState& wait = ctx.group->wait;
  const bool has_arrived = wait.kind == WaitKind::named_barrier && wait.detail[0] == id;
  const uint64_t phase = has_arrived ? wait.detail[1] : barrier.phase;
  if (!has_arrived &&
      !arrive(ctx, i, active, barrier, id, static_cast<uint32_t>(count), i.mode2 == 0)) {
    return StepResult::fault;
  }
  if (static_cast<Kind>(i.mode) == Kind::arrive) {
    return StepResult::next;
  }
  if (barrier.phase == phase) {
    return ctx.block(WaitKind::named_barrier, &barrier.counter, id, phase);
  }
  wait = {};
  give_result(ctx, i, active, barrier);
  if (Observer* observer = ctx.engine->observer()) {
    observer->barrier_leave(ctx, static_cast<uint32_t>(id), phase);
  }
  return StepResult::next;
}

void decode_reduction(DecodeContext& d, size_t* next, Operand* destination) {
  const auto operation = d.q.take_one_of({"popc", "and", "or"});
  const auto type = d.q.take_type();
  if (!operation || !type) {
    d.reject("bar.red needs .popc.u32, .and.pred or .or.pred");
  }
  d.instr.mode = static_cast<uint8_t>(static_cast<size_t>(Kind::popc) + *operation);
  *destination = *operation == 0 ? d.dst(d.operand(0), ptx::Type::u32) : d.pred_dst(d.operand(0));
  *next = 1;
}

void decode_bar(DecodeContext& d) {
  d.q.take("cta");
  const bool is_bar = d.source.opcode[0] == "bar";
  const bool aligned = d.q.take("aligned") || is_bar;
  size_t next = 0;
  Operand destination;
  if (d.q.take("sync")) {
    d.instr.mode = static_cast<uint8_t>(Kind::sync);
  } else if (d.q.take("arrive")) {
    d.instr.mode = static_cast<uint8_t>(Kind::arrive);
  } else if (d.q.take("red")) {
    decode_reduction(d, &next, &destination);
  } else {
    d.reject("a barrier needs .sync, .arrive or .red");
  }
  const bool reduces = next == 1;
  const Operand id = d.src(d.operand(next++), ptx::Type::u32);
  const size_t left = d.count() - next;
  Operand count = id;
  if (left > (reduces ? 1u : 0u)) {
    count = d.src(d.operand(next++), ptx::Type::u32);
    d.instr.mode2 = 1;
  } else if (static_cast<Kind>(d.instr.mode) == Kind::arrive) {
    d.reject("the arrive form needs a thread count");
  }
  const Operand predicate = reduces ? d.pred(d.operand(next++)) : Operand{};
  d.require_count(next, next);
  d.set(bar, {id, count, predicate, destination});
  d.instr.sync = aligned ? SyncClass::warp : SyncClass::none;
  d.instr.flags |= Instr::kMayBlock | Instr::kSynchronising;
}

StepResult bar_warp(ExecContext&, const Instr&, uint32_t) {
  return StepResult::next;
}

void decode_bar_warp(DecodeContext& d) {
  d.q.take("warp");
  d.q.take("sync");
  d.require_count(1, 1);
  d.instr.sync = SyncClass::mask;
  d.instr.flags |= Instr::kSynchronising;
  d.set(bar_warp, {d.src(d.operand(0), ptx::Type::u32)});
}

}  // namespace

void named_barriers_warp_exited(Cta& cta) {
  // Called before the warp is taken off the count.
  const uint32_t remaining = (cta.running_warps - 1) * kLanes;
  for (NamedBarrier& barrier : cta.barriers) {
    if (barrier.arrived != 0 && barrier.whole_cta) {
      barrier.expected = remaining;
      if (barrier.arrived >= barrier.expected) {
        complete(barrier);
      }
    }
  }
}

void register_barriers(OpcodeTable& table) {
  table.add("bar", decode_bar);
  table.add("barrier", decode_bar);
  table.add("bar.warp", decode_bar_warp);
}

}  // namespace emu
