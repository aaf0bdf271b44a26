// SPDX-License-Identifier: Apache-2.0
// Non-bulk cp.async, its groups and its mbarrier arrivals.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "exec/engine.hpp"
#include "isa/async_observer.hpp"
#include "isa/async_state.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"
#include "isa/mbarrier.hpp"

namespace emu {
namespace {

// Instr::mode of a copy.
enum CopyMode : uint8_t { kSourceSize = 1, kIgnoreSource = 2 };

struct LaneCopy {
  unsigned lane;
  uint64_t group;
  const uint8_t* source;
  uint32_t source_bytes;
  uint32_t destination;
};

// One cp.async instruction: all its lanes move at the same moments.
struct Copy {
  uint64_t number;
  uint32_t bytes;
  Cta* cta;
  uint16_t writer;  // Granule::unfenced_write
  std::vector<LaneCopy> lanes;
  std::vector<uint8_t> data;
  std::shared_ptr<AsyncState> state;
  Origin origin;
  uint64_t operation = 0;
};

void read_sources(const Engine& engine, Copy& copy) {
  copy.data.assign(copy.lanes.size() * copy.bytes, 0);  // bytes past the source size are zeros
  uint8_t* to = copy.data.data();
  for (const LaneCopy& lane : copy.lanes) {
    if (lane.source_bytes != 0) {
      std::memcpy(to, lane.source, lane.source_bytes);
      operation_accesses(engine, copy.operation, copy.origin, nullptr,
                         reinterpret_cast<uint64_t>(lane.source), lane.source_bytes, Access::read);
    }
    to += copy.bytes;
  }
}

bool write_destinations(Engine& engine, const Copy& copy) {
  SharedMemory& shared = copy.cta->shared;
  for (size_t index = 0; index < copy.lanes.size(); ++index) {
    const uint32_t to = copy.lanes[index].destination;
    if (shared.touches_mbarrier(to, copy.bytes)) {
      engine.fault(
          copy.origin, FaultKind::launch_failure,
          "cp.async writes over a valid mbarrier near shared offset " + std::to_string(to));
      return false;
    }
    std::memcpy(shared.data() + to, copy.data.data() + index * copy.bytes, copy.bytes);
    shared.mark_written(to, copy.bytes);
    shared.granule(to).unfenced_write = copy.writer;
    operation_accesses(engine, copy.operation, copy.origin, copy.cta, to, copy.bytes,
                       Access::write);
  }
  return true;
}

bool copies_left(const AsyncState& state, const AsyncState::Arrival& arrival) {
  return std::any_of(state.copies.begin(), state.copies.end(), [&](const AsyncState::Copy& copy) {
    return copy.number <= arrival.after && (copy.lanes >> arrival.lane & 1) != 0;
  });
}

void schedule_arrival(Engine& engine, const AsyncState::Arrival& arrival) {
  engine.events().schedule(engine.now(), [&engine, arrival] {
    --arrival.cta->pending_async;
    signal_arrive(engine, arrival.origin, arrival.operation, {arrival.cta, arrival.offset},
                  /*asynchronous_proxy=*/false);
    end_operation(engine, arrival.operation);
  });
}

void finish(Engine& engine, Copy& copy) {
  AsyncState& state = *copy.state;
  for (const LaneCopy& lane : copy.lanes) {
    AsyncGroups& groups = state.copy[lane.lane];
    operation_releases_group(engine, copy.operation, &groups, lane.group);
    groups.source_read(lane.group);
    groups.done(lane.group);
  }
  ++state.changes;
  --copy.cta->pending_async;
  if (Observer* observer = engine.observer()) {
    for (const AsyncState::Arrival& arrival : state.arrivals) {
      if (arrival.after >= copy.number) {
        observer->async_after(arrival.operation, copy.operation);
      }
    }
  }
  end_operation(engine, copy.operation);
  std::erase_if(state.copies,
                [&](const AsyncState::Copy& other) { return other.number == copy.number; });
  std::erase_if(state.arrivals, [&](const AsyncState::Arrival& arrival) {
    if (copies_left(state, arrival)) {
      return false;
    }
    schedule_arrival(engine, arrival);
    return true;
  });
}

void start(ExecContext& ctx, std::shared_ptr<Copy> copy, uint32_t active) {
  Engine& engine = *ctx.engine;
  AsyncState& state = *copy->state;
  copy->number = ++state.copies_issued;
  state.copies.push_back({copy->number, active});
  ++copy->cta->pending_async;
  copy->operation = start_operation(ctx);
  ctx.schedule([&engine, copy = std::move(copy)] {
    read_sources(engine, *copy);
    engine.events().schedule(engine.now(), [&engine, copy] {
      if (write_destinations(engine, *copy)) {
        engine.events().schedule(engine.now(), [&engine, copy] { finish(engine, *copy); });
      }
    });
  });
}

// Bytes to read of a lane; the rest are zeros.
bool source_bytes(ExecContext& ctx, const Instr& i, unsigned lane, uint32_t bytes,
                  uint32_t* result) {
  *result = bytes;
  if ((i.mode & kSourceSize) != 0) {
    *result = ctx.reg<uint32_t>(i.ops[2])[lane];
  } else if ((i.mode & kIgnoreSource) != 0 && (ctx.pred(i.ops[2]) >> lane & 1) != 0) {
    *result = 0;
  }
  if (*result > bytes) {
    ctx.fault(FaultKind::illegal_instruction,
              "cp.async with a source size of " + std::to_string(*result) +
                  " bytes; at most the copied " + std::to_string(bytes),
              lane);
    return false;
  }
  return true;
}

// ops: destination, source, source size or predicate; data: bytes
StepResult copy_async(ExecContext& ctx, const Instr& i, uint32_t active) {
  auto copy = std::make_shared<Copy>();
  copy->bytes = static_cast<uint32_t>(i.data);
  copy->cta = ctx.cta;
  copy->writer = static_cast<uint16_t>(ctx.warp->index + 1);
  copy->state = async_state(*ctx.warp);
  copy->origin = ctx.origin(static_cast<unsigned>(__builtin_ctz(active)));
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    LaneCopy one{lane, 0, nullptr, 0, 0};
    if (!source_bytes(ctx, i, lane, copy->bytes, &one.source_bytes)) {
      return StepResult::fault;
    }
    const Place to = ctx.shared_place(ptx::Space::shared_cta, lane, ctx.address(i.ops[0], lane),
                                      copy->bytes, copy->bytes);
    if (!to) {
      return StepResult::fault;
    }
    const uint64_t from = ctx.address(i.ops[1], lane);
    if (from % copy->bytes != 0) {
      return ctx.fault(FaultKind::misaligned_address,
                       "cp.async from " + ctx.describe(ptx::Space::global, from) +
                           ": not a multiple of " + std::to_string(copy->bytes),
                       lane);
    }
    if (one.source_bytes != 0) {
      const Place source = ctx.global_place(lane, from, one.source_bytes, Access::read);
      if (!source) {
        return StepResult::fault;
      }
      one.source = source.data;
    }
    one.destination = to.offset;
    one.group = copy->state->copy[lane].join();
    copy->lanes.push_back(one);
  }
  start(ctx, std::move(copy), active);
  return StepResult::next;
}

StepResult commit_group(ExecContext& ctx, const Instr&, uint32_t active) {
  const std::shared_ptr<AsyncState>& state = async_state(*ctx.warp);
  for_lanes(active, [&](unsigned lane) { state->copy[lane].commit(); });
  return StepResult::next;
}

void acquire_groups(ExecContext& ctx, const AsyncState& state, uint32_t active, uint64_t recent) {
  Observer* observer = ctx.engine->observer();
  if (observer == nullptr) {
    return;
  }
  for_lanes(active, [&](unsigned lane) {
    const AsyncGroups& groups = state.copy[lane];
    const uint64_t committed = groups.committed();
    observer->group_acquire(ctx, &groups, 0, committed - std::min(committed, recent));
  });
}

StepResult wait_group(ExecContext& ctx, const Instr& i, uint32_t active) {
  const std::shared_ptr<AsyncState>& state = async_state(*ctx.warp);
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    if (!state->copy[lane].finished(i.data, /*only_read=*/false)) {
      return ctx.block(WaitKind::copy_group, &state->changes, i.data);
    }
  }
  acquire_groups(ctx, *state, active, i.data);
  return StepResult::next;
}

// "All" includes what no group holds yet; the open group ends here.
StepResult wait_all(ExecContext& ctx, const Instr&, uint32_t active) {
  const std::shared_ptr<AsyncState>& state = async_state(*ctx.warp);
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    if (state->copy[lane].unfinished() != 0) {
      return ctx.block(WaitKind::copy_group, &state->changes);
    }
  }
  for_lanes(active, [&](unsigned lane) { state->copy[lane].commit(); });
  acquire_groups(ctx, *state, active, 0);
  return StepResult::next;
}

// mode 1: .noinc
StepResult arrive_when_copied(ExecContext& ctx, const Instr& i, uint32_t active) {
  const std::shared_ptr<AsyncState>& state = async_state(*ctx.warp);
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const MbarrierRef ref = mbarrier_at(ctx, i.space, lane, ctx.address(i.ops[0], lane));
    if (!ref) {
      return false;
    }
    if (i.mode == 0) {
      MbarrierState barrier = load_mbarrier(ref);
      if (barrier.pending == kMbarrierMaxCount) {
        ctx.fault(FaultKind::launch_failure, "cp.async.mbarrier.arrive: pending count too large",
                  lane);
        return false;
      }
      ++barrier.pending;
      store_mbarrier(ref, barrier);
    }
    const AsyncState::Arrival arrival{
        state->copies_issued, lane, ref.cta, ref.offset, ctx.origin(lane), start_operation(ctx)};
    ++ref.cta->pending_async;
    if (copies_left(*state, arrival)) {
      state->arrivals.push_back(arrival);
    } else {
      schedule_arrival(*ctx.engine, arrival);
    }
    return true;
  });
  return ok ? StepResult::next : StepResult::fault;
}

// --- decoding

void decode_copy(DecodeContext& d) {
  d.q.take("async");
  const auto cache = d.q.take_one_of({"ca", "cg"});
  const auto destination = d.q.take_space();
  const auto source = d.q.take_space();
  if (!cache || !destination || !ptx::is_shared(*destination) || source != ptx::Space::global) {
    d.reject("cp.async goes from .global to .shared with .ca or .cg");
  }
  d.q.take_one_of({"L2::64B", "L2::128B", "L2::256B"});
  const bool hint = d.q.take("L2::cache_hint");
  const size_t count = d.count() - (hint ? 1 : 0);
  d.require_count(3, hint ? 5 : 4);
  const int64_t bytes = d.immediate(d.operand(2));
  if (bytes != 16 && (*cache == 1 || (bytes != 4 && bytes != 8))) {
    d.reject("cp.async of " + std::to_string(bytes) + " bytes");
  }
  d.instr.data = static_cast<uint64_t>(bytes);
  d.set(copy_async, {d.address(d.operand(0), ptx::Space::shared_cta),
                     d.address(d.operand(1), ptx::Space::global)});
  if (count == 4) {
    const ptx::Operand& last = d.operand(3);
    if (d.declared_type(last) == ptx::Type::pred) {
      d.instr.mode = kIgnoreSource;
      d.add(d.pred(last));
    } else {
      d.instr.mode = kSourceSize;
      d.add(d.src(last, ptx::Type::u32));
    }
  }
  if (hint) {
    d.src(d.operand(count), ptx::Type::b64);
  }
  d.instr.flags |= Instr::kSynchronising;
}

void decode_commit(DecodeContext& d) {
  d.q.take("async");
  d.q.take("commit_group");
  d.require_count(0, 0);
  d.set(commit_group, {});
  d.instr.flags |= Instr::kSynchronising;
}

void decode_wait(DecodeContext& d) {
  d.q.take("async");
  d.instr.flags |= Instr::kSynchronising | Instr::kMayBlock;
  if (d.q.take("wait_all")) {
    d.require_count(0, 0);
    d.set(wait_all, {});
    return;
  }
  d.q.take("wait_group");
  d.require_count(1, 1);
  d.instr.data = static_cast<uint64_t>(d.immediate(d.operand(0)));
  d.set(wait_group, {});
}

void decode_arrive(DecodeContext& d) {
  for (const char* part : {"async", "mbarrier", "arrive", "b64"}) {
    d.q.take(part);
  }
  d.instr.mode = d.q.take("noinc") ? 1 : 0;
  d.instr.space = d.q.take_space().value_or(ptx::Space::generic);
  d.require_count(1, 1);
  d.set(arrive_when_copied, {d.address(d.operand(0), d.instr.space)});
  d.instr.flags |= Instr::kSynchronising;
}

}  // namespace

void register_cp_async(OpcodeTable& table) {
  table.add("cp.async", decode_copy);
  table.add("cp.async.commit_group", decode_commit);
  table.add("cp.async.wait_group", decode_wait);
  table.add("cp.async.wait_all", decode_wait);
  table.add("cp.async.mbarrier", decode_arrive);
}

}  // namespace emu
