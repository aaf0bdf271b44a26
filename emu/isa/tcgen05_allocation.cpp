// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "exec/engine.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"
#include "isa/tcgen05.hpp"

namespace emu {
namespace {

constexpr uint32_t kNoWarp = ~0u;

bool good_count(uint64_t columns) {
  return columns >= 32 && columns <= kTmemColumns && std::has_single_bit(columns);
}

StepResult write_address(ExecContext& ctx, const Instr& i, unsigned lane, uint32_t column) {
  const Place place =
      ctx.place(i.space, lane, ctx.address(i.ops[0], lane), sizeof(column), Access::write);
  if (!place) {
    return StepResult::fault;
  }
  std::memcpy(place.data, &column, sizeof(column));
  return StepResult::next;
}

// ops: shared address, columns; data: cta_group
StepResult alloc(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto lane = static_cast<unsigned>(__builtin_ctz(active));
  uint64_t columns = 0;
  if (!ctx.uniform(i.ops[1], active, "the number of columns", &columns)) {
    return StepResult::fault;
  }
  if (!good_count(columns)) {
    return ctx.fault(FaultKind::illegal_instruction,
                     "tcgen05.alloc of " + std::to_string(columns) +
                         " columns; allowed: powers of two from 32 to 512",
                     lane);
  }
  const auto group = static_cast<uint32_t>(i.data);
  const std::vector<Cta*> ctas = tensor_ctas(ctx, group, lane);
  if (ctas.empty()) {
    return StepResult::fault;
  }
  CtaTensor& own = cta_tensor(*ctx.cta);
  if (own.relinquished) {
    return ctx.fault(FaultKind::launch_failure,
                     "tcgen05.alloc after tcgen05.relinquish_alloc_permit", lane);
  }
  const auto count = static_cast<uint32_t>(columns);
  if (group == 2 && !own.owed.empty()) {
    const CtaTensor::OwedAllocation owed = own.owed.front();
    if (owed.columns != count) {
      return ctx.fault(FaultKind::launch_failure,
                       "the CTAs of a pair allocate different numbers of columns", lane);
    }
    own.owed.pop_front();
    return write_address(ctx, i, lane, owed.column);
  }
  std::vector<const TensorMemory*> memories;
  for (Cta* cta : ctas) {
    memories.push_back(&cta_tensor(*cta).memory);
  }
  const std::optional<uint32_t> column = find_free_columns(memories, count);
  if (!column) {
    return ctx.block(WaitKind::tmem_alloc, &own.freed, count);
  }
  for (Cta* cta : ctas) {
    cta_tensor(*cta).memory.allocate(*column, count);
    if (cta != ctx.cta) {
      cta_tensor(*cta).owed.push_back({*column, count});
    }
  }
  return write_address(ctx, i, lane, *column);
}

// ops: address, columns; data: cta_group
StepResult dealloc(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto lane = static_cast<unsigned>(__builtin_ctz(active));
  uint64_t address = 0;
  uint64_t columns = 0;
  if (!ctx.uniform(i.ops[0], active, "the tensor memory address", &address) ||
      !ctx.uniform(i.ops[1], active, "the number of columns", &columns)) {
    return StepResult::fault;
  }
  const TmemAddress at = split_tmem_address(static_cast<uint32_t>(address));
  const auto count = static_cast<uint32_t>(columns);
  CtaTensor& own = cta_tensor(*ctx.cta);
  std::string fault = columns_fault(own, at.column, count, /*also_queued=*/true);
  if (fault.empty()) {
    fault = unread_fault(own, 0, kTmemLanes, at.column, count, kNoWarp);
  }
  if (fault.empty() && (at.lane != 0 || !own.memory.free(at.column, count))) {
    fault = "these columns are not one allocation";
  }
  if (!fault.empty()) {
    return ctx.fault(FaultKind::launch_failure,
                     "tcgen05.dealloc of " + std::to_string(count) + " columns from " +
                         std::to_string(at.column) + ": " + fault,
                     lane);
  }
  // Waiting allocations of the pair look again.
  for (const std::unique_ptr<Cta>& cta : ctx.cluster->ctas) {
    if ((cta->rank | 1) == (ctx.cta->rank | 1)) {
      ++cta_tensor(*cta).freed;
    }
  }
  return StepResult::next;
}

StepResult relinquish(ExecContext& ctx, const Instr&, uint32_t) {
  cta_tensor(*ctx.cta).relinquished = true;
  return StepResult::next;
}

void decode_alloc(DecodeContext& d) {
  d.q.take("alloc");
  d.instr.data = take_cta_group(d);
  d.q.take("sync");
  d.q.take("aligned");
  d.instr.space = d.q.take("shared::cta") ? ptx::Space::shared_cta : ptx::Space::generic;
  d.q.take("b32");
  d.require_count(2, 2);
  d.set(alloc, {d.address(d.operand(0), d.instr.space), d.src(d.operand(1), ptx::Type::u32)});
  d.instr.sync = SyncClass::warp;
  d.instr.flags |= Instr::kMayBlock | Instr::kSynchronising;
}

void decode_dealloc(DecodeContext& d) {
  d.q.take("dealloc");
  d.instr.data = take_cta_group(d);
  for (const char* part : {"sync", "aligned", "b32"}) {
    d.q.take(part);
  }
  d.require_count(2, 2);
  d.set(dealloc, {d.src(d.operand(0), ptx::Type::b32), d.src(d.operand(1), ptx::Type::u32)});
  d.instr.sync = SyncClass::warp;
  d.instr.flags |= Instr::kSynchronising;
}

void decode_relinquish(DecodeContext& d) {
  d.q.take("relinquish_alloc_permit");
  d.instr.data = take_cta_group(d);
  d.q.take("sync");
  d.q.take("aligned");
  d.require_count(0, 0);
  d.set(relinquish, {});
  d.instr.sync = SyncClass::warp;
}

}  // namespace

CtaTensor& cta_tensor(Cta& cta) {
  if (cta.tmem == nullptr) {
    auto tensor = std::make_unique<CtaTensor>();
    tensor->stores.resize(cta.warps.size(), 0);
    cta.tmem = std::move(tensor);
  }
  return *static_cast<CtaTensor*>(cta.tmem.get());
}

std::vector<Cta*> tensor_ctas(ExecContext& ctx, uint32_t cta_group, unsigned lane) {
  if (cta_group == 1) {
    return {ctx.cta};
  }
  const uint32_t even = ctx.cta->rank & ~1u;
  if (even + 1 >= ctx.cluster->ctas.size()) {
    ctx.fault(FaultKind::launch_failure, ".cta_group::2 in a CTA without a partner in its cluster",
              lane);
    return {};
  }
  return {ctx.cluster->ctas[even].get(), ctx.cluster->ctas[even + 1].get()};
}

uint32_t take_cta_group(DecodeContext& d) {
  if (d.q.take("cta_group::1")) {
    return 1;
  }
  if (!d.q.take("cta_group::2")) {
    d.reject("cta_group is missing");
  }
  return 2;
}

std::string columns_fault(const CtaTensor& tensor, uint32_t column, uint32_t count,
                          bool also_queued) {
  const std::string range = std::to_string(count) + " columns from " + std::to_string(column);
  if (!tensor.memory.allocated(column, count)) {
    return "tensor memory, " + range + ": not all are allocated";
  }
  const auto first = tensor.queued_writes.begin() + column;
  if (also_queued && std::any_of(first, first + count, [](uint16_t n) { return n != 0; })) {
    return "tensor memory, " + range + ": an mma or cp that writes them has not completed";
  }
  return {};
}

std::string unread_fault(const CtaTensor& tensor, uint32_t first_lane, uint32_t lanes,
                         uint32_t first_column, uint32_t columns, uint32_t warp) {
  for (const CtaTensor::Load& load : tensor.loads) {
    const bool lanes_meet =
        load.first_lane < first_lane + lanes && first_lane < load.first_lane + load.lanes;
    const bool columns_meet = load.first_column < first_column + columns &&
                              first_column < load.first_column + load.columns;
    if (load.warp != warp && lanes_meet && columns_meet) {
      return "tensor memory columns from " + std::to_string(first_column) +
             " are overwritten while warp " + std::to_string(load.warp) +
             " has not waited (tcgen05.wait::ld) for its load of them";
    }
  }
  return {};
}

void register_tcgen05_allocation(OpcodeTable& table) {
  table.add("tcgen05.alloc", decode_alloc);
  table.add("tcgen05.dealloc", decode_dealloc);
  table.add("tcgen05.relinquish_alloc_permit", decode_relinquish);
}

}  // namespace emu
