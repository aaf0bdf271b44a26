// SPDX-License-Identifier: Apache-2.0
// Queues of tensor operations, and the two short ones: cp (shared to tensor memory) and commit.
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/engine.hpp"
#include "isa/async_copy.hpp"
#include "isa/async_observer.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"
#include "isa/matrix_descriptor.hpp"
#include "isa/tcgen05.hpp"

namespace emu {
namespace {

constexpr uint32_t kNoWarp = ~0u;

// cp 32x128b.warpx4
constexpr uint32_t kCopyRows = 32;
constexpr uint32_t kCopyRowBytes = 16;
constexpr uint32_t kCopyColumns = kCopyRowBytes / 4;

void run_next(Engine& engine, const std::shared_ptr<TensorPipe>& pipe) {
  const TensorPipe::Entry entry = std::move(pipe->entries.front());
  pipe->entries.pop_front();
  if (Observer* observer = engine.observer()) {
    observer->async_after(entry.operation, pipe->last_operation);
    observer->async_end(pipe->last_operation);
  }
  pipe->last_operation = entry.operation;
  entry.run(entry.operation);
  engine.progress();
  pipe->running = !pipe->entries.empty() && !engine.faulted();
  if (pipe->running) {
    engine.events().schedule(engine.now(), [&engine, pipe] { run_next(engine, pipe); });
  }
}

struct CopyToTensor {
  SharedMatrix matrix;
  uint32_t column;
  std::vector<Cta*> ctas;
  Origin origin;
};

// One CTA's part; empty, or the complaint.
std::string copy_in(Engine& engine, uint64_t operation, const CopyToTensor& copy, Cta& cta) {
  CtaTensor& tensor = cta_tensor(cta);
  std::string fault = unread_fault(tensor, 0, kTmemLanes, copy.column, kCopyColumns, kNoWarp);
  for (uint32_t row = 0; fault.empty() && row < kCopyRows; ++row) {
    const uint32_t from = shared_matrix_offset(copy.matrix, row, 0);
    if (!cta.shared.inside(from, kCopyRowBytes)) {
      return "tcgen05.cp reads shared offset " + std::to_string(from) +
             ", outside the CTA's memory";
    }
    fault = async_read_fault(engine, cta, from, kCopyRowBytes);
    operation_accesses(engine, operation, copy.origin, &cta, from, kCopyRowBytes, Access::read);
    for (uint32_t lane = row; lane < kTmemLanes; lane += kCopyRows) {
      std::memcpy(tensor.memory.row(lane) + copy.column, cta.shared.data() + from, kCopyRowBytes);
      tensor.memory.mark_written(lane, copy.column, kCopyColumns);
    }
  }
  return fault;
}

void run_copy(Engine& engine, uint64_t operation, const CopyToTensor& copy) {
  for (Cta* cta : copy.ctas) {
    const std::string fault = copy_in(engine, operation, copy, *cta);
    if (!fault.empty()) {
      engine.fault(copy.origin, FaultKind::launch_failure, fault);
      return;
    }
    CtaTensor& tensor = cta_tensor(*cta);
    for (uint32_t c = copy.column; c < copy.column + kCopyColumns; ++c) {
      --tensor.queued_writes[c];
    }
    --cta->pending_async;
  }
}

// ops: tensor address, descriptor; data: cta_group
StepResult copy_to_tensor(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    CopyToTensor copy;
    const DecodedSharedMatrix decoded = decode_shared_matrix(ctx.reg<uint64_t>(i.ops[1])[lane]);
    const TmemAddress at = split_tmem_address(static_cast<uint32_t>(ctx.address(i.ops[0], lane)));
    std::string fault = decoded.fault;
    if (fault.empty() && at.lane != 0) {
      fault = "tcgen05.cp to tensor memory lane " + std::to_string(at.lane) + "; allowed: 0";
    }
    if (!fault.empty()) {
      ctx.fault(FaultKind::illegal_instruction, fault, lane);
      return false;
    }
    const auto group = static_cast<uint32_t>(i.data);
    copy.ctas = tensor_ctas(ctx, group, lane);
    for (Cta* cta : copy.ctas) {
      fault = columns_fault(cta_tensor(*cta), at.column, kCopyColumns, /*also_queued=*/false);
      if (!fault.empty()) {
        ctx.fault(FaultKind::launch_failure, fault, lane);
        return false;
      }
    }
    if (copy.ctas.empty()) {
      return false;
    }
    for (Cta* cta : copy.ctas) {
      ++cta->pending_async;
      for (uint32_t c = at.column; c < at.column + kCopyColumns; ++c) {
        ++cta_tensor(*cta).queued_writes[c];
      }
    }
    copy.matrix = decoded.matrix;
    copy.column = at.column;
    copy.origin = ctx.origin(lane);
    enqueue(ctx, lane, group, [&engine = *ctx.engine, copy = std::move(copy)](uint64_t operation) {
      run_copy(engine, operation, copy);
    });
    return true;
  });
  return ok ? StepResult::next : StepResult::fault;
}

// ops: mbarrier, mask; data: cta_group; mode 1: multicast
StepResult commit(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const MbarrierRef named =
        mbarrier_at(ctx, i.space, lane, ctx.address(i.ops[0], lane), /*needs_valid=*/i.mode == 0);
    if (!named) {
      return false;
    }
    std::vector<MbarrierRef> targets;
    if (i.mode == 0) {
      targets.push_back(named);
    } else {
      const uint32_t mask = ctx.reg<uint16_t>(i.ops[1])[lane];
      const auto size = static_cast<uint32_t>(ctx.cluster->ctas.size());
      if (mask == 0 || (mask >> size) != 0) {
        ctx.fault(FaultKind::launch_failure,
                  "multicast mask " + std::to_string(mask) + " in a cluster of " +
                      std::to_string(size) + " CTAs",
                  lane);
        return false;
      }
      for (uint32_t rank = 0; rank < size; ++rank) {
        if ((mask >> rank & 1) != 0) {
          targets.push_back({ctx.cluster->ctas[rank].get(), named.offset});
        }
      }
    }
    for (const MbarrierRef& target : targets) {
      ++target.cta->pending_async;
    }
    enqueue(ctx, lane, static_cast<uint32_t>(i.data),
            [&engine = *ctx.engine, origin = ctx.origin(lane),
             targets = std::move(targets)](uint64_t operation) {
              for (const MbarrierRef& target : targets) {
                --target.cta->pending_async;
                if (!signal_arrive(engine, origin, operation, target)) {
                  return;
                }
              }
            });
    return true;
  });
  return ok ? StepResult::next : StepResult::fault;
}

void decode_copy(DecodeContext& d) {
  d.q.take("cp");
  d.instr.data = take_cta_group(d);
  if (!d.q.take("32x128b") || !d.q.take("warpx4")) {
    d.reject("only the shape .32x128b.warpx4 is supported");
  }
  d.require_count(2, 2);
  d.set(copy_to_tensor,
        {d.address(d.operand(0), ptx::Space::generic), d.src(d.operand(1), ptx::Type::b64)});
  d.instr.flags |= Instr::kSynchronising;
}

void decode_commit(DecodeContext& d) {
  d.q.take("commit");
  d.instr.data = take_cta_group(d);
  if (!d.q.take("mbarrier::arrive::one")) {
    d.reject("the completion mechanism is missing");
  }
  d.instr.space = d.q.take("shared::cluster") ? ptx::Space::shared_cluster : ptx::Space::generic;
  d.instr.mode = d.q.take("multicast::cluster") ? 1 : 0;
  d.q.take("b64");
  d.require_count(d.instr.mode == 0 ? 1 : 2, d.instr.mode == 0 ? 1 : 2);
  d.set(commit, {d.address(d.operand(0), d.instr.space)});
  if (d.instr.mode != 0) {
    d.add(d.src(d.operand(1), ptx::Type::b16));
  }
  d.instr.flags |= Instr::kSynchronising;
}

}  // namespace

void enqueue(ExecContext& ctx, unsigned lane, uint32_t cta_group,
             std::function<void(uint64_t operation)> run) {
  std::shared_ptr<TensorPipe>& pipe =
      cta_tensor(*ctx.cta).pipes[{ctx.warp->index, lane, cta_group}];
  if (pipe == nullptr) {
    pipe = std::make_shared<TensorPipe>();
  }
  pipe->entries.push_back({start_operation(ctx), std::move(run)});
  if (!pipe->running) {
    pipe->running = true;
    ctx.schedule([&engine = *ctx.engine, pipe = pipe] { run_next(engine, pipe); });
  }
}

void register_tcgen05_copy(OpcodeTable& table) {
  table.add("tcgen05.cp", decode_copy);
  table.add("tcgen05.commit", decode_commit);
}

}  // namespace emu
