// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk and cp.reduce.async.bulk without tensor maps, and the groups of bulk stores.
#include <algorithm>
#include <memory>
#include <string>

#include "exec/engine.hpp"
#include "isa/bulk_operands.hpp"
#include "isa/families.hpp"

namespace emu {
namespace {

constexpr uint32_t kBulkAlignment = 16;  // of addresses and of the size

bool good_size(ExecContext& ctx, unsigned lane, uint32_t bytes) {
  if (bytes % kBulkAlignment == 0) {
    return true;
  }
  ctx.fault(FaultKind::misaligned_address,
            "a bulk copy of " + std::to_string(bytes) + " bytes; multiples of 16 are allowed",
            lane);
  return false;
}

Place global_run(ExecContext& ctx, unsigned lane, uint64_t address, uint32_t bytes, Access access) {
  if (address % kBulkAlignment != 0) {
    ctx.fault(FaultKind::misaligned_address,
              "a bulk copy needs global addresses that are multiples of 16: " +
                  ctx.describe(ptx::Space::global, address),
              lane);
    return {};
  }
  return ctx.global_place(lane, address, bytes, access);
}

// Measured on 9.0 (emu/README.md), whether addresses are plain or made by mapa. Nothing tells of
// later ones.
bool may_copy_in_shared(ExecContext& ctx, unsigned lane) {
  const LaunchRequest& request = *ctx.grid->request;
  if (request.device.capability != 90 || request.has_cluster || request.cluster.count() > 1) {
    return true;
  }
  ctx.fault(FaultKind::illegal_instruction,
            "a bulk copy from shared to shared memory in a kernel launched without clusters; "
            "capability 9.0 wants a cluster launch, be it with clusters of 1 CTA",
            lane);
  return false;
}

// ops: destination, source, size, mbarrier, mask
StepResult load(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto& form = *static_cast<const CopyForm*>(i.extra);
  const bool from_shared = form.direction == CopyDirection::shared_to_shared;
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const uint32_t bytes = ctx.reg<uint32_t>(i.ops[2])[lane];
    if (!good_size(ctx, lane, bytes) || (from_shared && !may_copy_in_shared(ctx, lane))) {
      return false;
    }
    const uint64_t address = ctx.address(i.ops[1], lane);
    const Place source = from_shared ? store_source(ctx, lane, address, bytes, kBulkAlignment)
                                     : global_run(ctx, lane, address, bytes, Access::read);
    if (!source) {
      return false;
    }
    auto operation = std::make_shared<AsyncLoad>();
    const uint32_t mask = form.multicast ? ctx.reg<uint16_t>(i.ops[4])[lane] : 0;
    operation->targets = load_targets(ctx, form, lane, ctx.address(i.ops[0], lane), bytes,
                                      kBulkAlignment, ctx.address(i.ops[3], lane), mask);
    if (operation->targets.empty()) {
      return false;
    }
    if (from_shared) {
      operation->source = source.cta;
      operation->source_offset = source.offset;
    } else {
      operation->pieces.push_back({source.data, 0, bytes});
    }
    operation->data.resize(bytes);
    operation->signal_bytes = bytes;
    operation->origin = ctx.origin(lane);
    return start_load(ctx, std::move(operation));
  });
  return ok ? StepResult::next : StepResult::fault;
}

// ops: destination, source, size
StepResult store(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto& form = *static_cast<const CopyForm*>(i.extra);
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const uint32_t bytes = ctx.reg<uint32_t>(i.ops[2])[lane];
    if (!good_size(ctx, lane, bytes)) {
      return false;
    }
    const Place destination =
        global_run(ctx, lane, ctx.address(i.ops[0], lane), bytes, Access::write);
    if (!destination) {
      return false;
    }
    const Place source =
        store_source(ctx, lane, ctx.address(i.ops[1], lane), bytes, kBulkAlignment);
    if (!source) {
      return false;
    }
    auto operation = std::make_shared<AsyncStore>();
    operation->pieces.push_back({destination.data, 0, bytes});
    operation->data.resize(bytes);
    operation->source = source.cta;
    operation->source_offset = source.offset;
    operation->reduction = form.reduction;
    operation->state = async_state(*ctx.warp);
    operation->lane = lane;
    operation->origin = ctx.origin(lane);
    return start_store(ctx, std::move(operation));
  });
  return ok ? StepResult::next : StepResult::fault;
}

// ops: address, size
StepResult prefetch(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const uint32_t bytes = ctx.reg<uint32_t>(i.ops[1])[lane];
    return good_size(ctx, lane, bytes) &&
           global_run(ctx, lane, ctx.address(i.ops[0], lane), bytes, Access::read);
  });
  return ok ? StepResult::next : StepResult::fault;
}

StepResult commit_group(ExecContext& ctx, const Instr&, uint32_t active) {
  const std::shared_ptr<AsyncState>& state = async_state(*ctx.warp);
  for_lanes(active, [&](unsigned lane) { state->bulk[lane].commit(); });
  return StepResult::next;
}

// data: groups that may stay behind; mode 1: only their sources must have been read
StepResult wait_group(ExecContext& ctx, const Instr& i, uint32_t active) {
  const std::shared_ptr<AsyncState>& state = async_state(*ctx.warp);
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    if (!state->bulk[lane].finished(i.data, i.mode != 0)) {
      return ctx.block(WaitKind::copy_group, &state->changes, i.data, i.mode);
    }
  }
  if (Observer* observer = ctx.engine->observer()) {
    for_lanes(active, [&](unsigned lane) {
      const AsyncGroups& groups = state->bulk[lane];
      const uint64_t committed = groups.committed();
      observer->group_acquire(ctx, &groups, 0, committed - std::min(committed, i.data));
    });
  }
  return StepResult::next;
}

// --- decoding

void decode_copy(DecodeContext& d) {
  CopyForm form;
  d.q.take("async");
  d.q.take("bulk");
  const bool reduces = d.q.take("reduce");
  const bool hint = take_copy_form(d, form);
  if (reduces) {
    if (form.direction != CopyDirection::shared_to_global) {
      d.reject("only bulk reductions into global memory are supported");
    }
    const auto type = d.q.take_type();
    form.reduction = take_reduction(d, type.value_or(ptx::Type::none));
  }
  const bool signals = form.direction != CopyDirection::shared_to_global;
  const size_t plain = (signals ? 4 : 3) + (form.multicast ? 1 : 0);
  d.require_count(plain + (hint ? 1 : 0), plain + (hint ? 1 : 0));
  const ptx::Space source = form.direction == CopyDirection::global_to_shared
                                ? ptx::Space::global
                                : ptx::Space::shared_cta;
  d.set(signals ? load : store,
        {d.address(d.operand(0), form.destination), d.address(d.operand(1), source),
         d.src(d.operand(2), ptx::Type::u32)});
  if (signals) {
    d.add(d.address(d.operand(3), form.destination));
    d.add(form.multicast ? d.src(d.operand(4), ptx::Type::b16) : d.constant(0, ptx::Type::b16));
  }
  if (hint) {
    d.src(d.operand(plain), ptx::Type::b64);
  }
  d.instr.flags |= Instr::kSynchronising;
  d.keep(form);
}

void decode_prefetch(DecodeContext& d) {
  for (const char* part : {"async", "bulk", "prefetch", "L2", "global"}) {
    d.q.take(part);
  }
  const bool hint = d.q.take("L2::cache_hint");
  d.require_count(hint ? 3 : 2, hint ? 3 : 2);
  d.set(prefetch,
        {d.address(d.operand(0), ptx::Space::global), d.src(d.operand(1), ptx::Type::u32)});
}

void decode_commit(DecodeContext& d) {
  for (const char* part : {"async", "bulk", "commit_group"}) {
    d.q.take(part);
  }
  d.require_count(0, 0);
  d.set(commit_group, {});
  d.instr.flags |= Instr::kSynchronising;
}

void decode_wait(DecodeContext& d) {
  for (const char* part : {"async", "bulk", "wait_group"}) {
    d.q.take(part);
  }
  d.instr.mode = d.q.take("read") ? 1 : 0;
  d.require_count(1, 1);
  d.instr.data = static_cast<uint64_t>(d.immediate(d.operand(0)));
  d.set(wait_group, {});
  d.instr.flags |= Instr::kSynchronising | Instr::kMayBlock;
}

}  // namespace

void register_bulk(OpcodeTable& table) {
  table.add("cp.async.bulk", decode_copy);
  table.add("cp.reduce.async.bulk", decode_copy);
  table.add("cp.async.bulk.prefetch", decode_prefetch);
  table.add("cp.async.bulk.commit_group", decode_commit);
  table.add("cp.async.bulk.wait_group", decode_wait);
}

}  // namespace emu
