// SPDX-License-Identifier: Apache-2.0
#include "isa/mbarrier.hpp"

#include <string>

#include "exec/engine.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"

namespace emu {
namespace {

// One try_wait in this many gives up early. A kernel may look once and go on, so that what looks
// like a wait is none; were that rare, races behind such looks would hardly show.
constexpr uint32_t kEarlyReturnOneIn = 2;

// Instr::mode of arrivals.
enum ArriveMode : uint8_t { kExpectTx = 1, kDrop = 2, kNoComplete = 4, kRelaxedArrive = 8 };
// Instr::mode of waits.
enum WaitMode : uint8_t { kParity = 1, kTry = 2, kRelaxed = 4 };

// --- handlers

StepResult init(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const MbarrierRef ref =
        mbarrier_at(ctx, i.space, lane, ctx.address(i.ops[0], lane), /*needs_valid=*/false);
    if (!ref) {
      return false;
    }
    SharedMemory& shared = ref.cta->shared;
    if (shared.is_mbarrier(ref.offset)) {
      ctx.fault(FaultKind::launch_failure,
                mbarrier_fault_text("mbarrier.init over a valid mbarrier", ref), lane);
      return false;
    }
    MbarrierState state;
    if (const MbarrierFault fault = init_mbarrier(state, ctx.reg<uint32_t>(i.ops[1])[lane])) {
      ctx.fault(FaultKind::launch_failure, fault, lane);
      return false;
    }
    store_mbarrier(ref, state);
    shared.set_mbarrier(ref.offset, true);
    shared.granule(ref.offset).unfenced_init = static_cast<uint8_t>(ctx.warp->index + 1);
    shared.mark_written(ref.offset, kMbarrierBytes);
    ++ref.cta->mbarrier_changes;
    return true;
  });
  return ok ? StepResult::next : StepResult::fault;
}

StepResult inval(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const MbarrierRef ref = mbarrier_at(ctx, i.space, lane, ctx.address(i.ops[0], lane));
    if (ref) {
      ref.cta->shared.set_mbarrier(ref.offset, false);
      ++ref.cta->mbarrier_changes;
    }
    return static_cast<bool>(ref);
  });
  return ok ? StepResult::next : StepResult::fault;
}

void tell_arrival(ExecContext& ctx, const MbarrierRef& ref, bool relaxed) {
  if (Observer* observer = ctx.engine->observer()) {
    observer->phase_arrive(ctx, *ref.cta, ref.offset, relaxed);
  }
}

// ops: state or sink, address, count or tx
StepResult arrive(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool expects = (i.mode & kExpectTx) != 0;
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const MbarrierRef ref = mbarrier_at(ctx, i.space, lane, ctx.address(i.ops[1], lane));
    if (!ref) {
      return false;
    }
    const uint32_t operand = ctx.reg<uint32_t>(i.ops[2])[lane];
    const MbarrierState before = load_mbarrier(ref);
    MbarrierState after = before;
    MbarrierFault fault =
        mbarrier_arrive(after, expects ? 1 : operand, expects ? operand : 0, (i.mode & kDrop) != 0);
    if (fault == nullptr && (i.mode & kNoComplete) != 0 && after.phase != before.phase) {
      fault = "mbarrier.arrive.noComplete that completes the phase";
    }
    if (fault != nullptr) {
      ctx.fault(FaultKind::launch_failure, mbarrier_fault_text(fault, ref), lane);
      return false;
    }
    tell_arrival(ctx, ref, (i.mode & kRelaxedArrive) != 0);
    update_mbarrier(*ctx.engine, ref, before, after);
    if (!i.ops[0].is_sink()) {
      ctx.reg<uint64_t>(i.ops[0])[lane] = pack_mbarrier(before);
    }
    return true;
  });
  return ok ? StepResult::next : StepResult::fault;
}

// ops: address, bytes. mode 1: complete_tx.
StepResult transaction(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const MbarrierRef ref = mbarrier_at(ctx, i.space, lane, ctx.address(i.ops[0], lane));
    if (!ref) {
      return false;
    }
    const uint32_t bytes = ctx.reg<uint32_t>(i.ops[1])[lane];
    const MbarrierState before = load_mbarrier(ref);
    MbarrierState after = before;
    const MbarrierFault fault =
        i.mode != 0 ? mbarrier_complete_tx(after, bytes) : mbarrier_expect_tx(after, bytes);
    if (fault != nullptr) {
      ctx.fault(FaultKind::launch_failure, mbarrier_fault_text(fault, ref), lane);
      return false;
    }
    if (i.mode != 0) {
      tell_arrival(ctx, ref, /*relaxed=*/true);
    }
    update_mbarrier(*ctx.engine, ref, before, after);
    return true;
  });
  return ok ? StepResult::next : StepResult::fault;
}

// ops: predicate, address, state or parity
StepResult wait(ExecContext& ctx, const Instr& i, uint32_t active) {
  uint32_t over = 0;
  MbarrierRef last;
  uint32_t parity = 0;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    last = mbarrier_at(ctx, i.space, lane, ctx.address(i.ops[1], lane));
    if (!last) {
      return StepResult::fault;
    }
    // A state word carries the parity of its phase in bit 0, where the parity operand has it, too.
    parity = static_cast<uint32_t>(ctx.lane_value(i.ops[2], lane) & 1);
    if (mbarrier_phase_over(load_mbarrier(last), parity)) {
      over |= 1u << lane;
      if (Observer* observer = ctx.engine->observer();
          observer != nullptr && (i.mode & kRelaxed) == 0) {
        observer->phase_wait(ctx, *last.cta, last.offset);
      }
    }
  }
  if (over == 0 && (i.mode & kTry) != 0) {
    const bool gives_up = ctx.options().adversarial() && ctx.random().one_in(kEarlyReturnOneIn);
    if (!gives_up) {
      return ctx.block(WaitKind::mbarrier, &ctx.cta->mbarrier_changes, last.offset, parity);
    }
  }
  ctx.set_pred(i.ops[0], over, active);
  return StepResult::next;
}

StepResult pending_count(ExecContext& ctx, const Instr& i, uint32_t active) {
  for_lanes(active, [&](unsigned lane) {
    ctx.reg<uint32_t>(i.ops[0])[lane] = unpack_mbarrier(ctx.reg<uint64_t>(i.ops[1])[lane]).pending;
  });
  return StepResult::next;
}

// --- decoding

void take_order(DecodeContext& d) {
  d.q.take_one_of({"release", "acquire", "relaxed"});
  d.q.take_one_of({"cta", "cluster"});
}

ptx::Space take_shared(DecodeContext& d) {
  const ptx::Space space = d.q.take_space().value_or(ptx::Space::generic);
  if (space != ptx::Space::generic && !ptx::is_shared(space)) {
    d.reject("an mbarrier lies in shared memory");
  }
  return space;
}

void decode_init(DecodeContext& d) {
  d.q.take("init");
  d.instr.space = take_shared(d);
  d.q.take("b64");
  d.require_count(2, 2);
  d.set(init, {d.address(d.operand(0), d.instr.space), d.src(d.operand(1), ptx::Type::u32)});
  d.instr.flags |= Instr::kSynchronising;
}

void decode_inval(DecodeContext& d) {
  d.q.take("inval");
  d.instr.space = take_shared(d);
  d.q.take("b64");
  d.require_count(1, 1);
  d.set(inval, {d.address(d.operand(0), d.instr.space)});
}

void decode_arrive(DecodeContext& d) {
  if (d.q.take("arrive_drop")) {
    d.instr.mode |= kDrop;
  } else {
    d.q.take("arrive");
  }
  if (d.q.take("expect_tx")) {
    d.instr.mode |= kExpectTx;
  }
  if (d.q.take("noComplete")) {
    d.instr.mode |= kNoComplete;
  }
  if (d.q.has("relaxed")) {
    d.instr.mode |= kRelaxedArrive;
  }
  take_order(d);
  d.instr.space = take_shared(d);
  d.q.take("b64");
  // The remote form may leave the state operand out altogether.
  const bool has_state = d.operand(0).kind != ptx::Operand::Kind::address;
  const size_t first = has_state ? 1 : 0;
  d.require_count(first + 1, first + 2);
  if ((d.instr.mode & (kExpectTx | kNoComplete)) != 0 && d.count() != first + 2) {
    d.reject("the count operand is missing");
  }
  Operand state;
  state.flags = Operand::kSink;
  if (has_state) {
    state = d.dst(d.operand(0), ptx::Type::b64);
    if (d.instr.space == ptx::Space::shared_cluster && !state.is_sink()) {
      d.reject("the .shared::cluster form returns no state");
    }
  }
  const Operand amount = d.count() == first + 2 ? d.src(d.operand(first + 1), ptx::Type::u32)
                                                : d.constant(1, ptx::Type::u32);
  d.set(arrive, {state, d.address(d.operand(first), d.instr.space), amount});
  d.instr.flags |= Instr::kSynchronising;
}

void decode_transaction(DecodeContext& d) {
  d.instr.mode = d.q.take("complete_tx") ? 1 : 0;
  d.q.take("expect_tx");
  take_order(d);
  d.instr.space = take_shared(d);
  d.q.take("b64");
  d.require_count(2, 2);
  d.set(transaction, {d.address(d.operand(0), d.instr.space), d.src(d.operand(1), ptx::Type::u32)});
  d.instr.flags |= Instr::kSynchronising;
}

void decode_wait(DecodeContext& d) {
  if (d.q.take("try_wait")) {
    d.instr.mode |= kTry;
    d.instr.flags |= Instr::kMayBlock;
  } else {
    d.q.take("test_wait");
  }
  if (d.q.take("parity")) {
    d.instr.mode |= kParity;
  }
  if (d.q.has("relaxed")) {
    d.instr.mode |= kRelaxed;
  }
  take_order(d);
  d.instr.space = take_shared(d);
  if (d.instr.space == ptx::Space::shared_cluster) {
    d.reject("waiting works on the own CTA's mbarriers only");
  }
  d.q.take("b64");
  const bool may_have_hint = (d.instr.mode & kTry) != 0;
  d.require_count(3, may_have_hint ? 4 : 3);
  const ptx::Type slot = (d.instr.mode & kParity) != 0 ? ptx::Type::u32 : ptx::Type::b64;
  d.set(wait, {d.pred_dst(d.operand(0)), d.address(d.operand(1), d.instr.space),
               d.src(d.operand(2), slot)});
  if (d.count() == 4) {
    d.src(d.operand(3), ptx::Type::u32);  // the hint has no effect, but must be a legal operand
  }
  d.instr.flags |= Instr::kSynchronising;
}

void decode_pending_count(DecodeContext& d) {
  d.q.take("pending_count");
  d.q.take("b64");
  d.require_count(2, 2);
  d.set(pending_count, {d.dst(d.operand(0), ptx::Type::u32), d.src(d.operand(1), ptx::Type::b64)});
}

}  // namespace

void register_mbarrier(OpcodeTable& table) {
  table.add("mbarrier.init", decode_init);
  table.add("mbarrier.inval", decode_inval);
  table.add("mbarrier.arrive", decode_arrive);
  table.add("mbarrier.arrive_drop", decode_arrive);
  table.add("mbarrier.expect_tx", decode_transaction);
  table.add("mbarrier.complete_tx", decode_transaction);
  table.add("mbarrier.test_wait", decode_wait);
  table.add("mbarrier.try_wait", decode_wait);
  table.add("mbarrier.pending_count", decode_pending_count);
}

}  // namespace emu
