// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/engine.hpp"
#include "exec/function_decoder.hpp"
#include "isa/async_copy.hpp"
#include "isa/async_observer.hpp"
#include "isa/cta_control.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"
#include "isa/launch_control_response.hpp"

namespace emu {
namespace {

constexpr uint32_t kResponseBytes = 16;
// One request in this many is refused although clusters are waiting; they then start as usual.
constexpr uint32_t kRefusalOneIn = 16;

std::optional<uint32_t> take_pending(Engine& engine, Grid& grid, uint32_t cluster_size) {
  if (grid.pending.empty()) {
    return std::nullopt;
  }
  size_t index = grid.pending.size() - 1;  // the end from which the engines take, too
  if (engine.options().adversarial()) {
    if (engine.random().one_in(kRefusalOneIn)) {
      return std::nullopt;
    }
    index = engine.random().below(static_cast<uint32_t>(grid.pending.size()));
  }
  const uint32_t cluster = grid.pending[index];
  grid.pending.erase(grid.pending.begin() + static_cast<std::ptrdiff_t>(index));
  --grid.clusters_left;  // it never runs
  grid.ctas_not_launched_dependents -= cluster_size;
  return cluster;
}

LaunchControlResponse answer(Engine& engine, Cluster& cluster) {
  Grid& grid = *cluster.grid;
  const auto size = static_cast<uint32_t>(cluster.ctas.size());
  const std::optional<uint32_t> taken = take_pending(engine, grid, size);
  if (!taken) {
    return {};
  }
  const Dim3& counts = grid.clusters;
  const Dim3& shape = grid.request->cluster;
  return {true,
          {*taken % counts.x * shape.x, *taken / counts.x % counts.y * shape.y,
           *taken / counts.x / counts.y * shape.z}};
}

// One CTA that gets the response.
void deliver(Engine& engine, const Origin& origin, uint64_t operation, const LoadTarget& target,
             const ResponseBits& bits) {
  uint8_t bytes[kResponseBytes];
  std::memcpy(bytes, &bits, sizeof(bytes));
  // The only reverse hazard that is checked: kernels do not fence reads of what tensor copies write
  // again.
  if (const uint32_t readers = target.cta->shared.granule(target.offset).unfenced_read) {
    engine.fault(origin, FaultKind::launch_failure,
                 "a launch-control response overwrites one that warp " +
                     std::to_string(__builtin_ctz(readers)) +
                     " read with no fence.proxy.async since");
    return;
  }
  const std::string fault = async_write(*target.cta, target.offset, bytes, kResponseBytes);
  if (!fault.empty()) {
    engine.fault(origin, FaultKind::launch_failure, fault);
    return;
  }
  operation_accesses(engine, operation, origin, target.cta, target.offset, kResponseBytes,
                     Access::write);
  engine.events().schedule(engine.now(), [&engine, origin, operation, target] {
    --target.cta->pending_async;
    signal_complete_tx(engine, origin, operation, target.mbarrier, kResponseBytes);
    end_operation(engine, operation);
  });
}

// ops: address, mbarrier; mode 1: multicast to all CTAs of the cluster
StepResult try_cancel(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    if (cta_control(ctx).saw_failed_cancel) {
      ctx.fault(FaultKind::launch_failure,
                "clusterlaunchcontrol.try_cancel after this CTA has seen a request fail", lane);
      return false;
    }
    const Place place = ctx.shared_place(i.space, lane, ctx.address(i.ops[0], lane), kResponseBytes,
                                         kResponseBytes);
    if (!place) {
      return false;
    }
    const MbarrierRef barrier = mbarrier_at(ctx, i.space, lane, ctx.address(i.ops[1], lane));
    if (!barrier) {
      return false;
    }
    std::vector<LoadTarget> targets;
    if (i.mode == 0) {
      targets.push_back({place.cta, place.offset, barrier});
    } else {
      for (const std::unique_ptr<Cta>& cta : ctx.cluster->ctas) {
        targets.push_back({cta.get(), place.offset, {cta.get(), barrier.offset}});
      }
    }
    std::vector<uint64_t> operations;  // one per receiver
    for (const LoadTarget& target : targets) {
      ++target.cta->pending_async;
      operations.push_back(start_operation(ctx));
    }
    ctx.schedule([&engine = *ctx.engine, cluster = ctx.cluster, origin = ctx.origin(lane),
                  operations = std::move(operations), targets = std::move(targets)] {
      const ResponseBits bits = encode_response(answer(engine, *cluster));
      for (size_t index = 0; index < targets.size(); ++index) {
        engine.events().schedule(
            engine.now(), [&engine, origin, operation = operations[index], target = targets[index],
                           bits] { deliver(engine, origin, operation, target, bits); });
      }
    });
    return true;
  });
  return ok ? StepResult::next : StepResult::fault;
}

// Registers of 16 bytes are read bytewise: their alignment is that of the register block.
bool read_response(ExecContext& ctx, const Operand& operand, unsigned lane,
                   LaunchControlResponse* response) {
  ResponseBits bits;
  std::memcpy(&bits, ctx.reg<uint8_t>(operand) + lane * sizeof(bits), sizeof(bits));
  const DecodedResponse decoded = decode_response(bits);
  if (!decoded.valid) {
    char bytes[40];
    std::snprintf(bytes, sizeof(bytes), "%016llx%016llx",
                  static_cast<unsigned long long>(bits.high),
                  static_cast<unsigned long long>(bits.low));
    ctx.fault(
        FaultKind::illegal_instruction,
        std::string("clusterlaunchcontrol.query_cancel of 16 bytes that are no response: 0x") +
            bytes,
        lane);
    return false;
  }
  *response = decoded.response;
  return true;
}

// ops: predicate, response
StepResult is_canceled(ExecContext& ctx, const Instr& i, uint32_t active) {
  uint32_t canceled = 0;
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    LaunchControlResponse response;
    if (!read_response(ctx, i.ops[1], lane, &response)) {
      return false;
    }
    canceled |= response.canceled ? 1u << lane : 0;
    return true;
  });
  if (!ok) {
    return StepResult::fault;
  }
  if (canceled != active) {
    cta_control(ctx).saw_failed_cancel = true;
  }
  ctx.set_pred(i.ops[0], canceled, active);
  return StepResult::next;
}

// ops: response, then up to three destinations; mode: the first one's axis
StepResult first_ctaid(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    LaunchControlResponse response;
    if (!read_response(ctx, i.ops[0], lane, &response)) {
      return false;
    }
    if (!response.canceled) {
      ctx.fault(FaultKind::illegal_instruction,
                "clusterlaunchcontrol.query_cancel.get_first_ctaid of a failed request", lane);
      return false;
    }
    for (uint32_t axis = i.mode, op = 1; op < i.op_count; ++axis, ++op) {
      if (!i.ops[op].is_sink()) {
        ctx.reg<uint32_t>(i.ops[op])[lane] = response.ctaid[axis];
      }
    }
    return true;
  });
  return ok ? StepResult::next : StepResult::fault;
}

// --- decoding

void decode_try_cancel(DecodeContext& d) {
  d.q.take("try_cancel");
  if (!d.q.take("async") || !d.q.take("mbarrier::complete_tx::bytes")) {
    d.reject("try_cancel is asynchronous and completes by an mbarrier");
  }
  d.q.take("shared::cta");
  d.instr.space = ptx::Space::shared_cta;
  d.instr.mode = d.q.take("multicast::cluster::all") ? 1 : 0;
  d.q.take("b128");
  d.require_count(2, 2);
  d.set(try_cancel,
        {d.address(d.operand(0), d.instr.space), d.address(d.operand(1), d.instr.space)});
  d.function().code().uses_global_atomics = true;  // engines would not see each other's clusters
  d.instr.flags |= Instr::kSynchronising;
}

void decode_query(DecodeContext& d) {
  d.q.take("query_cancel");
  d.require_count(2, 2);
  if (d.q.take("is_canceled")) {
    d.q.take("pred");
    d.q.take("b128");
    d.set(is_canceled, {d.pred_dst(d.operand(0)), d.src(d.operand(1), ptx::Type::b128)});
    return;
  }
  const auto axis = d.q.take_one_of(
      {"get_first_ctaid", "get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"});
  if (!axis) {
    d.reject("this query");
  }
  const bool vector = d.q.take("v4");
  d.q.take("b32");
  d.q.take("b128");
  if (vector != (*axis == 0)) {
    d.reject("get_first_ctaid is .v4 or names its axis");
  }
  d.instr.mode = static_cast<uint8_t>(vector ? 0 : *axis - 1);
  d.set(first_ctaid, {d.src(d.operand(1), ptx::Type::b128)});
  const std::vector<ptx::Operand> destinations = d.elements(d.operand(0));
  if (destinations.size() != (vector ? 4u : 1u)) {
    d.reject("the number of destinations");
  }
  for (size_t e = 0; e < destinations.size() && e < 3; ++e) {
    d.add(d.dst(destinations[e], ptx::Type::b32));
  }
}

}  // namespace

void register_launch_control(OpcodeTable& table) {
  table.add("clusterlaunchcontrol.try_cancel", decode_try_cancel);
  table.add("clusterlaunchcontrol.query_cancel", decode_query);
}

}  // namespace emu
