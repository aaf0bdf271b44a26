// SPDX-License-Identifier: Apache-2.0
// mapa, getctarank, barrier.cluster, st.async, red.async.
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "exec/engine.hpp"
#include "exec/hooks.hpp"
#include "isa/async_observer.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"
#include "isa/mbarrier.hpp"

namespace emu {
namespace {

// The race detector knows the barrier by an offset that shared memory does not have.
constexpr uint64_t kBarrierOffset = ~uint64_t{0};

// One barrier per cluster. A warp has arrived when all its live lanes have.
struct ClusterBarrier : Extension {
  struct WarpState {
    std::array<uint64_t, kLanes> arrived_at{};  // phase of each lane's last arrival
    bool exited = false;

    // Lanes that arrived in that phase.
    uint32_t arrived(uint64_t phase) const {
      uint32_t lanes = 0;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        lanes |= arrived_at[lane] == phase ? 1u << lane : 0;
      }
      return lanes;
    }
  };
  uint64_t phase = 1;
  uint64_t counter = 0;  // WaitState::counter
  std::vector<WarpState> warps;
};

ClusterBarrier& barrier_of(Cluster& cluster) {
  if (cluster.barrier == nullptr) {
    auto barrier = std::make_unique<ClusterBarrier>();
    barrier->warps.resize(cluster.ctas.size() * cluster.ctas.front()->warps.size());
    cluster.barrier = std::move(barrier);
  }
  return *static_cast<ClusterBarrier*>(cluster.barrier.get());
}

ClusterBarrier::WarpState& state_of(ClusterBarrier& barrier, const Warp& warp) {
  return barrier.warps[warp.cta->rank * warp.cta->warps.size() + warp.index];
}

void settle(Cluster& cluster, ClusterBarrier& barrier) {
  for (const std::unique_ptr<Cta>& cta : cluster.ctas) {
    for (const std::unique_ptr<Warp>& warp : cta->warps) {
      const ClusterBarrier::WarpState& state = state_of(barrier, *warp);
      if (!state.exited && (warp->live & ~state.arrived(barrier.phase)) != 0) {
        return;
      }
    }
  }
  ++barrier.phase;
  ++barrier.counter;
  cluster.engine->progress();
  if (Observer* observer = cluster.engine->observer()) {
    observer->phase_complete(*cluster.ctas.front(), kBarrierOffset);
  }
}

// mode 1: .relaxed
StepResult arrive(ExecContext& ctx, const Instr& i, uint32_t active) {
  ClusterBarrier& barrier = barrier_of(*ctx.cluster);
  ClusterBarrier::WarpState& state = state_of(barrier, *ctx.warp);
  if ((state.arrived(barrier.phase) & active) != 0) {
    return ctx.fault(FaultKind::launch_failure,
                     "barrier.cluster.arrive twice in one phase; a wait belongs in between",
                     static_cast<unsigned>(__builtin_ctz(active)));
  }
  if (Observer* observer = ctx.engine->observer()) {
    observer->phase_arrive(ctx, *ctx.cluster->ctas.front(), kBarrierOffset, i.mode != 0);
  }
  for_lanes(active, [&](unsigned lane) { state.arrived_at[lane] = barrier.phase; });
  settle(*ctx.cluster, barrier);
  return StepResult::next;
}

StepResult wait(ExecContext& ctx, const Instr&, uint32_t active) {
  ClusterBarrier& barrier = barrier_of(*ctx.cluster);
  const ClusterBarrier::WarpState& state = state_of(barrier, *ctx.warp);
  if (const uint32_t strangers = active & state.arrived(0)) {
    return ctx.fault(FaultKind::launch_failure,
                     "barrier.cluster.wait by a lane that has never arrived",
                     static_cast<unsigned>(__builtin_ctz(strangers)));
  }
  if ((active & state.arrived(barrier.phase)) != 0) {
    return ctx.block(WaitKind::cluster_barrier, &barrier.counter, barrier.phase);
  }
  if (Observer* observer = ctx.engine->observer()) {
    observer->phase_wait(ctx, *ctx.cluster->ctas.front(), kBarrierOffset);
  }
  return StepResult::next;
}

// Replaces the CTA rank in a shared address of either form. A rank outside the cluster gives an
// address that is wrong to use but not to compute.
StepResult map_address(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto ranks = static_cast<uint32_t>(ctx.cluster->ctas.size());
  for_lanes(active, [&](unsigned lane) {
    const uint32_t wanted = ctx.reg<uint32_t>(i.ops[2])[lane];
    const uint64_t rank = wanted < ranks ? wanted : kNoSuchRank;
    const uint64_t address = ctx.lane_value(i.ops[1], lane);
    const uint64_t kept = address & (kWindowMask | kSharedOffsetMask);
    ctx.set_lane_value(i.ops[0], lane, kept | rank << kRankShift);
  });
  return StepResult::next;
}

StepResult address_rank(ExecContext& ctx, const Instr& i, uint32_t active) {
  for_lanes(active, [&](unsigned lane) {
    const uint64_t address = ctx.lane_value(i.ops[1], lane);
    ctx.reg<uint32_t>(i.ops[0])[lane] = static_cast<uint32_t>(address >> kRankShift & 0xFF);
  });
  return StepResult::next;
}

// A remote store or reduction that signals an mbarrier of the same CTA.
struct RemoteWrite {
  MbarrierRef barrier;
  uint32_t offset;
  uint32_t bytes;
  uint8_t value[16];
  bool adds;  // red.async: 32- or 64-bit add
  Origin origin;
  uint64_t operation;
};

template <class T>
void add_in_place(uint8_t* to, const uint8_t* from) {
  T old;
  T operand;
  std::memcpy(&old, to, sizeof(T));
  std::memcpy(&operand, from, sizeof(T));
  old = static_cast<T>(old + operand);
  std::memcpy(to, &old, sizeof(T));
}

void write_remote(Engine& engine, const RemoteWrite& write) {
  SharedMemory& shared = write.barrier.cta->shared;
  if (shared.touches_mbarrier(write.offset, write.bytes)) {
    engine.fault(write.origin, FaultKind::launch_failure,
                 "an asynchronous store writes over a valid mbarrier");
    return;
  }
  uint8_t* to = shared.data() + write.offset;
  if (!write.adds) {
    std::memcpy(to, write.value, write.bytes);
  } else if (write.bytes == 4) {
    add_in_place<uint32_t>(to, write.value);
  } else {
    add_in_place<uint64_t>(to, write.value);
  }
  shared.mark_written(write.offset, write.bytes);
  operation_accesses(engine, write.operation, write.origin, write.barrier.cta, write.offset,
                     write.bytes, write.adds ? Access::atomic : Access::write);
  engine.events().schedule(engine.now(), [&engine, write] {
    --write.barrier.cta->pending_async;
    signal_complete_tx(engine, write.origin, write.operation, write.barrier, write.bytes);
    end_operation(engine, write.operation);
  });
}

// ops: address, mbarrier, values...; vector elements of Instr::type; mode 1: red.async add
StepResult store_async(ExecContext& ctx, const Instr& i, uint32_t active) {
  const uint32_t element = ptx::type_bytes(i.type);
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    RemoteWrite write{{}, 0, element * i.vector, {}, i.mode != 0, ctx.origin(lane), 0};
    const Place to = ctx.shared_place(ptx::Space::shared_cluster, lane, ctx.address(i.ops[0], lane),
                                      write.bytes, write.bytes);
    if (!to) {
      return false;
    }
    write.barrier = mbarrier_at(ctx, ptx::Space::shared_cluster, lane, ctx.address(i.ops[1], lane));
    if (!write.barrier) {
      return false;
    }
    if (write.barrier.cta != to.cta) {
      ctx.fault(FaultKind::launch_failure,
                "an asynchronous store and its mbarrier are in different CTAs", lane);
      return false;
    }
    write.offset = to.offset;
    for (uint32_t e = 0; e < i.vector; ++e) {
      const uint64_t value = ctx.lane_value(i.ops[2 + e], lane);
      std::memcpy(write.value + e * element, &value, element);
    }
    ++to.cta->pending_async;
    write.operation = start_operation(ctx);
    Engine& engine = *ctx.engine;
    ctx.schedule([&engine, write] { write_remote(engine, write); });
    return true;
  });
  return ok ? StepResult::next : StepResult::fault;
}

// --- decoding

void decode_barrier(DecodeContext& d) {
  d.q.take("cluster");
  const bool arrives = d.q.take("arrive");
  if (!arrives && !d.q.take("wait")) {
    d.reject("barrier.cluster without arrive or wait");
  }
  d.instr.mode = d.q.take("relaxed") ? 1 : 0;
  d.q.take(arrives ? "release" : "acquire");
  if (d.q.take("aligned")) {
    d.instr.sync = SyncClass::warp;
  }
  d.require_count(0, 0);
  d.set(arrives ? arrive : wait, {});
  d.instr.flags |= Instr::kSynchronising;
  if (!arrives) {
    d.instr.flags |= Instr::kMayBlock;
  }
}

ptx::Type take_address_type(DecodeContext& d) {
  const ptx::Type type = d.q.take_type().value_or(ptx::Type::none);
  if (type != ptx::Type::u32 && type != ptx::Type::u64) {
    d.reject("the address type must be .u32 or .u64");
  }
  return type;
}

void decode_mapa(DecodeContext& d) {
  d.q.take("shared::cluster");
  const ptx::Type type = take_address_type(d);
  d.require_count(3, 3);
  d.set(map_address, {d.dst(d.operand(0), type), d.src(d.operand(1), type),
                      d.src(d.operand(2), ptx::Type::u32)});
}

void decode_getctarank(DecodeContext& d) {
  d.q.take("shared::cluster");
  const ptx::Type type = take_address_type(d);
  d.require_count(2, 2);
  d.set(address_rank, {d.dst(d.operand(0), ptx::Type::u32), d.src(d.operand(1), type)});
}

void decode_store_async(DecodeContext& d) {
  const bool adds = d.source.opcode.front() == "red";
  for (const char* part : {"async", "weak", "relaxed", "cluster", "shared::cluster"}) {
    d.q.take(part);
  }
  if (!d.q.take("mbarrier::complete_tx::bytes")) {
    d.reject("the completion mechanism is missing");
  }
  if (adds && !d.q.take("add")) {
    d.reject("red.async supports .add");
  }
  const auto vector = d.q.take_one_of({"v2", "v4"});
  d.instr.vector = vector ? (*vector == 0 ? 2 : 4) : 1;
  d.instr.type = d.q.take_type().value_or(ptx::Type::none);
  const uint32_t bytes = ptx::type_bytes(d.instr.type);
  if ((bytes != 4 && bytes != 8) || bytes * d.instr.vector > 16 ||
      (adds && (d.instr.vector != 1 || ptx::is_float(d.instr.type)))) {
    d.reject("type or vector length");
  }
  d.require_count(3, 3);
  d.instr.mode = adds ? 1 : 0;
  d.set(store_async, {d.address(d.operand(0), ptx::Space::shared_cluster),
                      d.address(d.operand(2), ptx::Space::shared_cluster)});
  for (const ptx::Operand& element : d.elements(d.operand(1))) {
    d.add(d.src(element, d.instr.type));
  }
  if (d.ops.size() != 2u + d.instr.vector) {
    d.reject("the number of values is not the vector length");
  }
  d.instr.flags |= Instr::kSynchronising;
}

}  // namespace

void cluster_barrier_warp_exited(Cluster& cluster, Warp& warp) {
  ClusterBarrier& barrier = barrier_of(cluster);
  state_of(barrier, warp).exited = true;
  settle(cluster, barrier);
}

void register_cluster(OpcodeTable& table) {
  table.add("barrier.cluster", decode_barrier);
  table.add("mapa", decode_mapa);
  table.add("getctarank", decode_getctarank);
  table.add("st.async", decode_store_async);
  table.add("red.async", decode_store_async);
}

}  // namespace emu
