// SPDX-License-Identifier: Apache-2.0
// Issue of tcgen05.mma, block-scaled kinds.
#include <string>
#include <utility>

#include "exec/engine.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"
#include "isa/tcgen05.hpp"
#include "isa/tcgen05_multiply.hpp"

namespace emu {
namespace {

std::string plan_columns(TensorMma& mma, uint32_t d, uint32_t a_scale, uint32_t b_scale) {
  const TmemAddress to = split_tmem_address(d);
  const TmemAddress a = split_tmem_address(scale_tmem_address(a_scale));
  const TmemAddress b = split_tmem_address(scale_tmem_address(b_scale));
  if (to.lane != 0 || a.lane != 0 || b.lane != 0) {
    return "tcgen05.mma with operands in tensor memory that do not begin at lane 0";
  }
  mma.d_column = to.column;
  mma.a_scale_column = a.column;
  mma.b_scale_column = b.column;
  const uint32_t n = mma.instruction.n;
  for (Cta* cta : mma.ctas) {
    const CtaTensor& tensor = cta_tensor(*cta);
    for (const auto& [column, count] : {std::pair{to.column, n},
                                        {a.column, tensor_scale_columns(kTensorRowsPerCta)},
                                        {b.column, tensor_scale_columns(n)}}) {
      if (std::string fault = columns_fault(tensor, column, count, /*also_queued=*/false);
          !fault.empty()) {
        return "tcgen05.mma: " + fault;
      }
    }
  }
  return {};
}

// ops: d, a descriptor, b descriptor, instruction descriptor, a scales, b scales, accumulate
bool plan(ExecContext& ctx, const Instr& i, unsigned lane, TensorMma& mma) {
  mma.form = *static_cast<const MmaForm*>(i.extra);
  mma.origin = ctx.origin(lane);
  mma.accumulates = (ctx.pred(i.ops[6]) >> lane & 1) != 0;
  const DecodedSharedMatrix a = decode_shared_matrix(ctx.reg<uint64_t>(i.ops[1])[lane]);
  const DecodedSharedMatrix b = decode_shared_matrix(ctx.reg<uint64_t>(i.ops[2])[lane]);
  const DecodedInstruction instruction =
      decode_instruction(ctx.reg<uint32_t>(i.ops[3])[lane], mma.form.kind, mma.form.scales_per_row,
                         mma.form.cta_group);
  for (const std::string& fault : {a.fault, b.fault, instruction.fault}) {
    if (!fault.empty()) {
      ctx.fault(FaultKind::illegal_instruction, fault, lane);
      return false;
    }
  }
  mma.a = a.matrix;
  mma.b = b.matrix;
  mma.instruction = instruction.instruction;
  mma.ctas = tensor_ctas(ctx, mma.form.cta_group, lane);
  if (mma.ctas.empty()) {
    return false;
  }
  const std::string fault = plan_columns(mma, static_cast<uint32_t>(ctx.address(i.ops[0], lane)),
                                         static_cast<uint32_t>(ctx.address(i.ops[4], lane)),
                                         static_cast<uint32_t>(ctx.address(i.ops[5], lane)));
  if (!fault.empty()) {
    ctx.fault(FaultKind::launch_failure, fault, lane);
  }
  return fault.empty();
}

StepResult multiply(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool ok = ctx.each_lane_in_order(active, [&](unsigned lane) {
    TensorMma mma;
    if (!plan(ctx, i, lane, mma)) {
      return false;
    }
    for (Cta* cta : mma.ctas) {
      CtaTensor& tensor = cta_tensor(*cta);
      for (uint32_t c = mma.d_column; c < mma.d_column + mma.instruction.n; ++c) {
        ++tensor.queued_writes[c];
      }
      ++cta->pending_async;
    }
    const uint32_t group = mma.form.cta_group;
    enqueue(ctx, lane, group, [&engine = *ctx.engine, mma = std::move(mma)](uint64_t operation) {
      run_tensor_mma(engine, operation, mma);
    });
    return true;
  });
  return ok ? StepResult::next : StepResult::fault;
}

// Number of scales per row from the kind and the block size, which has two spellings and may be
// missing.
uint32_t take_scales(DecodeContext& d, BlockScaledKind kind) {
  const bool block16 = d.q.take("block16");
  const bool block32 = d.q.take("block32");
  const auto vector = d.q.take_one_of({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X"});
  const uint32_t byte_kind = kind == BlockScaledKind::kMxf8f6f4 ? 1 : 2;
  uint32_t scales = byte_kind;
  if (vector) {
    scales = 1u << *vector;
  } else if (block16) {
    scales = 4;
  } else if (!block32 && kind == BlockScaledKind::kMxf4Nvf4) {
    d.reject("the scale block size is missing");
  }
  const bool allowed = scales == byte_kind || (kind == BlockScaledKind::kMxf4Nvf4 && scales == 4);
  if (!allowed) {
    d.reject("this kind does not have that scale block size");
  }
  return scales;
}

void decode(DecodeContext& d) {
  d.q.take("mma");
  MmaForm form;
  form.cta_group = take_cta_group(d);
  const auto kind = d.q.take_one_of({"kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  if (!kind || !d.q.take("block_scale")) {
    d.reject("only the block-scaled kinds are supported");
  }
  form.kind = static_cast<BlockScaledKind>(*kind);
  form.scales_per_row = take_scales(d, form.kind);
  while (d.q.take_prefix("collector::")) {
  }
  d.require_count(7, 7);
  if (d.operand(1).kind == ptx::Operand::Kind::address) {
    d.reject("A in tensor memory is not supported");
  }
  d.set(multiply,
        {d.address(d.operand(0), ptx::Space::generic), d.src(d.operand(1), ptx::Type::b64),
         d.src(d.operand(2), ptx::Type::b64), d.src(d.operand(3), ptx::Type::b32),
         d.address(d.operand(4), ptx::Space::generic), d.address(d.operand(5), ptx::Space::generic),
         d.pred(d.operand(6))});
  d.instr.flags |= Instr::kSynchronising;
  d.keep(form);
}

}  // namespace

void register_tcgen05_mma(OpcodeTable& table) {
  table.add("tcgen05.mma", decode);
}

}  // namespace emu
