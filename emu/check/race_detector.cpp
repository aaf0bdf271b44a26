// SPDX-License-Identifier: Apache-2.0
#include "check/race_detector.hpp"

#include <algorithm>

#include "exec/engine.hpp"

namespace emu {
namespace {

// Operations take these slots in turn. One that begins where another ended 256 operations ago is
// taken to come after it, which can hide a race but not invent one.
constexpr uint32_t kAsyncSlots = 256;
constexpr uint32_t kGlobalPiece = 32;

uint32_t byte_mask(uint64_t address, uint64_t end, uint64_t piece, uint32_t piece_bytes) {
  const uint64_t first = std::max(address, piece) - piece;
  const uint64_t last = std::min(end, piece + piece_bytes) - piece;
  const uint64_t ones = (uint64_t{1} << (last - first)) - 1;
  return static_cast<uint32_t>(ones << first);
}

std::string verb(bool writes) {
  return writes ? "write" : "read";
}

}  // namespace

RaceDetector::CtaState& RaceDetector::state_of(const Cta& cta) {
  std::unique_ptr<CtaState>& state = ctas_[&cta];
  if (state != nullptr && state->grid == cta.cluster->grid && state->linear == cta.linear) {
    return *state;
  }
  std::vector<uint32_t> old_slots;
  if (state != nullptr) {
    for (const Actor& warp : state->warps) {
      old_slots.push_back(warp.slot);
    }
  }
  state = std::make_unique<CtaState>();
  state->grid = cta.cluster->grid;
  state->linear = cta.linear;
  state->shared.resize(cta.shared.bytes() / kGranule + 1);
  for (size_t warp = 0; warp < cta.warps.size(); ++warp) {
    Actor actor;
    actor.slot = warp < old_slots.size() ? old_slots[warp] : kAsyncSlots + slots_++;
    advance(actor);
    state->warps.push_back(std::move(actor));
  }
  return *state;
}

RaceDetector::Actor& RaceDetector::warp_actor(ExecContext& ctx) {
  return state_of(*ctx.cta).warps[ctx.warp->index];
}

void RaceDetector::advance(Actor& actor) {
  if (actor.slot >= last_steps_.size()) {
    last_steps_.resize(actor.slot + 1, 0);
  }
  actor.clock.set(actor.slot, ++last_steps_[actor.slot]);
}

VectorClock& RaceDetector::atomic_object(Cta* cta, uint64_t address) {
  return cta == nullptr ? global_atomics_[address] : state_of(*cta).atomics[address];
}

void RaceDetector::report(const AccessRecord& earlier, bool writes, const Cta* cta,
                          uint64_t address, const Origin& origin, const char* kind) {
  reported_ = true;
  const bool earlier_async = earlier.slot < kAsyncSlots;
  std::string other = "warp";
  if (earlier_async) {
    other = "an asynchronous operation";
  } else if (cta != nullptr) {
    const std::vector<Actor>& warps = state_of(*cta).warps;
    for (size_t warp = 0; warp < warps.size(); ++warp) {
      if (warps[warp].slot == earlier.slot) {
        other = "warp " + std::to_string(warp);
      }
    }
  }
  const std::string where = cta == nullptr ? "global memory"
                                           : "shared offset " + std::to_string(address) +
                                                 " of CTA rank " + std::to_string(cta->rank);
  engine_.fault(
      origin, FaultKind::launch_failure,
      "race on " + where + ": this " + kind + " " + verb(writes) + " is not ordered after the " +
          verb(earlier.writes) + " by " + other +
          (earlier.instr == nullptr ? std::string()
                                    : " of PTX line " + std::to_string(earlier.instr->line)));
}

void RaceDetector::check(const Actor& actor, const Instr* instr, Cta* cta, uint64_t address,
                         uint32_t bytes, bool writes, bool ordered, const Origin& origin,
                         const char* kind) {
  const uint32_t piece_bytes = cta == nullptr ? kGlobalPiece : kGranule;
  const uint64_t end = address + bytes;
  CtaState* state = cta == nullptr ? nullptr : &state_of(*cta);
  for (uint64_t piece = address / piece_bytes * piece_bytes; piece < end; piece += piece_bytes) {
    AccessHistory& history = cta == nullptr ? global_[piece] : state->shared[piece / kGranule];
    const AccessRecord now{byte_mask(address, end, piece, piece_bytes),
                           actor.slot,
                           actor.clock.at(actor.slot),
                           writes,
                           ordered,
                           instr,
                           1u << origin.lane};
    if (const auto earlier = history.note(now, actor.clock); earlier && !reported_) {
      report(*earlier, writes, cta, piece, origin, kind);
    }
  }
}

void RaceDetector::access(ExecContext& ctx, unsigned lane, Cta* cta, uint64_t address,
                          uint32_t bytes, Access access, bool ordered) {
  Actor& actor = warp_actor(ctx);
  const bool strong = ordered || access == Access::atomic;
  const bool writes = access == Access::write || access == Access::atomic;
  check(actor, ctx.instr, cta, address, bytes, writes, strong, ctx.origin(lane), "generic");
  if (strong) {
    // Relaxed: orders only together with fences on both sides.
    VectorClock& object = atomic_object(cta, address);
    if (writes) {
      object.join(actor.fenced);
    }
    if (access != Access::write) {
      actor.pending.join(object);
    }
  }
}

void RaceDetector::acquire(ExecContext& ctx, unsigned, Cta* cta, uint64_t address) {
  warp_actor(ctx).clock.join(atomic_object(cta, address));
}

void RaceDetector::release(ExecContext& ctx, unsigned, Cta* cta, uint64_t address) {
  Actor& actor = warp_actor(ctx);
  atomic_object(cta, address).join(actor.clock);
  advance(actor);
}

void RaceDetector::fence(ExecContext& ctx) {
  Actor& actor = warp_actor(ctx);
  actor.clock.join(actor.pending);
  actor.fenced = actor.clock;
  advance(actor);
}

void RaceDetector::barrier_arrive(ExecContext& ctx, uint32_t id, uint64_t phase) {
  Actor& actor = warp_actor(ctx);
  auto& barriers = state_of(*ctx.cta).barriers;
  barriers[{id, phase}].join(actor.clock);
  // Nobody waits for the phase before the one before this any more.
  if (phase >= 2) {
    barriers.erase({id, phase - 2});
  }
  advance(actor);
}

void RaceDetector::barrier_leave(ExecContext& ctx, uint32_t id, uint64_t phase) {
  CtaState& state = state_of(*ctx.cta);
  const auto found = state.barriers.find({id, phase});
  if (found != state.barriers.end()) {
    state.warps[ctx.warp->index].clock.join(found->second);
  }
}

void RaceDetector::phase_arrive(ExecContext& ctx, const Cta& cta, uint64_t offset, bool relaxed) {
  Actor& actor = warp_actor(ctx);
  state_of(cta).phases[offset].gathered.join(relaxed ? actor.fenced : actor.clock);
  advance(actor);
}

void RaceDetector::phase_complete(const Cta& cta, uint64_t offset) {
  PhaseObject& object = state_of(cta).phases[offset];
  object.completed = object.gathered;
}

void RaceDetector::phase_wait(ExecContext& ctx, const Cta& cta, uint64_t offset) {
  warp_actor(ctx).clock.join(state_of(cta).phases[offset].completed);
}

uint64_t RaceDetector::async_start(ExecContext& ctx) {
  Actor& issuer = warp_actor(ctx);
  Actor operation;
  // All lanes of one instruction share a slot: that they write the same place is no race.
  if (ctx.warp != last_issuer_ || ctx.now() != last_issue_) {
    next_async_slot_ = (next_async_slot_ + 1) % kAsyncSlots;
    last_issuer_ = ctx.warp;
    last_issue_ = ctx.now();
  }
  operation.slot = next_async_slot_;
  operation.clock = issuer.clock;
  operation.instr = ctx.instr;
  advance(operation);
  advance(issuer);
  operations_.emplace(next_operation_, std::move(operation));
  return next_operation_++;
}

void RaceDetector::async_after(uint64_t operation, uint64_t earlier) {
  const auto found = operations_.find(operation);
  const auto before = operations_.find(earlier);
  if (found != operations_.end() && before != operations_.end()) {
    found->second.clock.join(before->second.clock);
  }
}

void RaceDetector::async_access(uint64_t operation, const Origin& origin, Cta* cta,
                                uint64_t address, uint32_t bytes, Access access) {
  const auto found = operations_.find(operation);
  if (found != operations_.end()) {
    check(found->second, found->second.instr, cta, address, bytes, access == Access::write,
          /*ordered=*/false, origin, "asynchronous");
  }
}

void RaceDetector::async_arrive(uint64_t operation, const Cta& cta, uint64_t offset) {
  const auto found = operations_.find(operation);
  if (found != operations_.end()) {
    state_of(cta).phases[offset].gathered.join(found->second.clock);
    advance(found->second);
  }
}

void RaceDetector::group_release(uint64_t operation, const void* groups, uint64_t group) {
  const auto found = operations_.find(operation);
  if (found != operations_.end()) {
    groups_[{groups, group}].join(found->second.clock);
    advance(found->second);
  }
}

void RaceDetector::group_acquire(ExecContext& ctx, const void* groups, uint64_t first,
                                 uint64_t end) {
  VectorClock& clock = warp_actor(ctx).clock;
  const auto last = groups_.lower_bound({groups, end});
  for (auto group = groups_.lower_bound({groups, first}); group != last; ++group) {
    clock.join(group->second);
  }
}

void RaceDetector::async_end(uint64_t operation) {
  operations_.erase(operation);
}

}  // namespace emu
