// SPDX-License-Identifier: Apache-2.0
// mma.sync without block scales: f16, bf16, tf32, 8-bit and narrower floating point, 8-bit integers
// (specification 7.21).
#include "isa/mma_sync.hpp"

#include <algorithm>
#include <array>

#include "exec/engine.hpp"
#include "isa/families.hpp"
#include "isa/lane_ops.hpp"

namespace emu {
namespace {

using ptx::Type;

struct MmaPlan {
  MmaShape shape;
  MmaElement a;
  MmaElement b;
  bool f16_accumulators = false;
  bool satfinite = false;
};

// Offsets in Instr::ops: D, A, B, C.
struct MmaOperands {
  const Operand* d;
  const Operand* a;
  const Operand* b;
  const Operand* c;
};
MmaOperands operands_of(const Instr& i, const MmaShape& shape, bool f16) {
  const unsigned accumulators = f16 ? 2 : 4;
  const Operand* a = i.ops + accumulators;
  const Operand* b = a + shape.a_registers();
  return {i.ops, a, b, b + shape.b_registers()};
}

bool is_fp8(num::ElementType type) {
  return type == num::ElementType::e4m3 || type == num::ElementType::e5m2;
}

uint32_t capability_of(const ExecContext& ctx) {
  return ctx.grid->request->device.capability;
}

// Capability 8.9 adds 8-bit products in fewer bits, as wgmma of 9.0 does.
num::Accumulation accumulation_of(const ExecContext& ctx, const MmaPlan& plan) {
  num::Accumulation accumulation;
  accumulation.model = mma_model(ctx);
  accumulation.f16_result = plan.f16_accumulators;
  if (plan.a.bits == 8 && capability_of(ctx) < 90) {
    accumulation.fraction_bits = num::kFp8WgmmaFraction;
    accumulation.result_fraction = num::kFp8WgmmaFraction;
  }
  return accumulation;
}

void multiply_directly(const ExecContext& ctx, const MmaPlan& plan, const MmaCodes& codes,
                       MmaAccumulators& accumulators) {
  const size_t a_count = kMmaRows * plan.shape.k;
  const size_t b_count = kMmaColumns * plan.shape.k;
  alignas(32) std::array<int32_t, kMmaRows * kMmaMaxK> a_significand;
  alignas(32) std::array<int32_t, kMmaRows * kMmaMaxK> a_exponent;
  alignas(32) std::array<int32_t, kMmaColumns * kMmaMaxK> b_significand;
  alignas(32) std::array<int32_t, kMmaColumns * kMmaMaxK> b_exponent;
  num::split(plan.a.type, plan.a.right_shift, {codes.a.data(), a_count}, a_significand.data(),
             a_exponent.data());
  num::split(plan.b.type, plan.b.right_shift, {codes.b.data(), b_count}, b_significand.data(),
             b_exponent.data());
  num::SplitProduct product;
  product.rows = kMmaRows;
  product.columns = kMmaColumns;
  product.k = static_cast<int>(plan.shape.k);
  product.product_fraction = num::mantissa_bits(plan.a.type) + num::mantissa_bits(plan.b.type);
  product.a_significand = a_significand.data();
  product.a_exponent = a_exponent.data();
  product.b_significand = b_significand.data();
  product.b_exponent = b_exponent.data();
  num::multiply(product, accumulation_of(ctx, plan), accumulators.data());
}

StepResult mma_floating(ExecContext& ctx, const Instr& i, uint32_t active) {
  if (!mma_warp_is_whole(ctx, active)) {
    return StepResult::fault;
  }
  const auto& plan = *static_cast<const MmaPlan*>(i.extra);
  const MmaOperands ops = operands_of(i, plan.shape, plan.f16_accumulators);
  MmaCodes codes;
  gather_codes(ctx, plan.shape, ops.a, ops.b, codes);
  MmaAccumulators accumulators;
  gather_accumulators(ctx, ops.c, plan.f16_accumulators, accumulators);
  const bool unpacked = is_fp8(plan.a.type) && is_fp8(plan.b.type) &&
                        unpacks_fp8(capability_of(ctx)) &&
                        mma_model(ctx) == num::MmaModel::kHardware;
  if (unpacked) {
    multiply_unpacked(plan.shape, plan.a.type, plan.b.type, plan.f16_accumulators, codes,
                      accumulators);
  } else {
    multiply_directly(ctx, plan, codes, accumulators);
  }
  scatter_accumulators(ctx, ops.d, plan.f16_accumulators, accumulators);
  return StepResult::next;
}

template <size_t kSize>
void to_integers(const std::array<uint32_t, kSize>& codes, bool is_signed,
                 std::array<int32_t, kSize>& values) {
  for (size_t index = 0; index < kSize; ++index) {
    const auto byte = static_cast<uint8_t>(codes[index]);
    values[index] = is_signed ? static_cast<int8_t>(byte) : byte;
  }
}

StepResult mma_integer(ExecContext& ctx, const Instr& i, uint32_t active) {
  if (!mma_warp_is_whole(ctx, active)) {
    return StepResult::fault;
  }
  const auto& plan = *static_cast<const MmaPlan*>(i.extra);
  const MmaOperands ops = operands_of(i, plan.shape, false);
  MmaCodes codes{};  // shapes of K = 16 use half of it
  gather_codes(ctx, plan.shape, ops.a, ops.b, codes);
  std::array<int32_t, kMmaRows * kMmaMaxK> a;
  std::array<int32_t, kMmaColumns * kMmaMaxK> b;
  to_integers(codes.a, plan.a.is_signed, a);
  to_integers(codes.b, plan.b.is_signed, b);
  MmaAccumulators accumulators;
  gather_accumulators(ctx, ops.c, false, accumulators);
  num::multiply_int8(kMmaRows, kMmaColumns, static_cast<int>(plan.shape.k), a.data(), b.data(),
                     plan.satfinite, accumulators.data());
  scatter_accumulators(ctx, ops.d, false, accumulators);
  return StepResult::next;
}

// --- decoding ------------------------------------------------------------------------------------

unsigned take_k(DecodeContext& d) {
  static constexpr unsigned kSizes[] = {4, 8, 16, 32};
  const std::optional<size_t> index =
      d.q.take_one_of({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  if (!index) {
    d.reject("the shape is not one of m16n8k4, m16n8k8, m16n8k16, m16n8k32, m16n8k64");
  }
  return kSizes[*index];
}

// Which shapes exist for which elements: one or two K blocks of the registers.
void check_shape(DecodeContext& d, const MmaPlan& plan) {
  const unsigned unit = 4 * (32 / plan.shape.bits);
  if (plan.shape.k != unit && plan.shape.k != 2 * unit) {
    d.reject("the shape does not exist for these types");
  }
  const bool integers = plan.a.kind == MmaElement::Kind::integer;
  if (integers != (plan.b.kind == MmaElement::Kind::integer) || plan.a.bits != plan.b.bits) {
    d.reject("A and B do not go together");
  }
  if (!integers && plan.a.bits > 8 && plan.a.type != plan.b.type) {
    d.reject("A and B must have the same type");
  }
}

void check_accumulators(DecodeContext& d, const MmaPlan& plan, std::string_view d_type,
                        std::string_view c_type) {
  if (d_type != c_type) {
    d.reject("C and D must have the same type");
  }
  const bool integers = plan.a.kind == MmaElement::Kind::integer;
  const bool half_possible =
      !integers && (plan.a.type == num::ElementType::f16 || plan.a.bits == 8);
  if (integers ? d_type != "s32" : d_type != "f32" && !(half_possible && d_type == "f16")) {
    d.reject("C and D cannot be " + std::string(d_type));
  }
}

void decode_mma(DecodeContext& d) {
  if (!d.q.take("sync") || !d.q.take("aligned")) {
    d.reject(".sync.aligned is missing");
  }
  d.instr.sync = SyncClass::warp;
  // Of A and of B: here the order counts.
  const auto& parts = d.source.opcode;
  const auto row = std::find(parts.begin(), parts.end(), "row");
  const bool in_order = std::find(row, parts.end(), "col") != parts.end();
  if (!d.q.take("row") || !d.q.take("col") || !in_order) {
    d.reject("the layout is .row.col");
  }
  const std::optional<std::string_view> kind = d.q.take_prefix("kind::");
  if (kind && *kind != "f8f6f4") {
    decode_mma_block_scale(d, *kind);
    return;
  }
  MmaPlan plan;
  plan.shape.k = take_k(d);
  const std::vector<std::string_view> types = take_mma_types(d);
  if (types.size() != 4) {
    d.reject("the types of D, A, B and C are needed");
  }
  const std::optional<MmaElement> a = mma_element(types[1], false);
  const std::optional<MmaElement> b = mma_element(types[2], false);
  if (!a || !b) {
    d.reject("A or B has no type that is supported");
  }
  if (!kind && a->bits == 8 && a->kind == MmaElement::Kind::floating) {
    if (!is_fp8(a->type) || !is_fp8(b->type)) {
      d.reject("6-bit and 4-bit types need .kind::f8f6f4");
    }
  }
  plan.a = *a;
  plan.b = *b;
  plan.shape.bits = a->bits;
  check_shape(d, plan);
  check_accumulators(d, plan, types[0], types[3]);
  plan.f16_accumulators = types[0] == "f16";
  const bool integers = a->kind == MmaElement::Kind::integer;
  plan.satfinite = integers && d.q.take("satfinite");
  d.require_count(4, 4);
  const unsigned accumulators = plan.f16_accumulators ? 2 : 4;
  const Type accumulator = integers ? Type::s32 : plan.f16_accumulators ? Type::b32 : Type::f32;
  add_fragment(d, 0, accumulator, accumulators, true, "D");
  add_fragment(d, 1, Type::b32, plan.shape.a_registers(), false, "A");
  add_fragment(d, 2, Type::b32, plan.shape.b_registers(), false, "B");
  add_fragment(d, 3, accumulator, accumulators, false, "C");
  d.instr.handler = integers ? mma_integer : mma_floating;
  d.keep(plan);
}

}  // namespace

std::optional<MmaElement> mma_element(std::string_view name, bool packed) {
  using Kind = MmaElement::Kind;
  using num::ElementType;
  static const std::pair<std::string_view, MmaElement> kElements[] = {
      {"f16", {Kind::floating, ElementType::f16, false, 16, 0}},
      {"bf16", {Kind::floating, ElementType::bf16, false, 16, 0}},
      // An f32's place; the low 13 bits are not looked at.
      {"tf32", {Kind::floating, ElementType::tf32, false, 32, 13}},
      {"e4m3", {Kind::floating, ElementType::e4m3, false, 8, 0}},
      {"e5m2", {Kind::floating, ElementType::e5m2, false, 8, 0}},
      {"e2m3", {Kind::floating, ElementType::e2m3, false, 8, 0}},
      {"e3m2", {Kind::floating, ElementType::e3m2, false, 8, 0}},
      // Bits 5:2 of its byte.
      {"e2m1", {Kind::floating, ElementType::e2m1, false, 8, 2}},
      {"s8", {Kind::integer, ElementType::e2m1, true, 8, 0}},
      {"u8", {Kind::integer, ElementType::e2m1, false, 8, 0}},
  };
  for (const auto& [known, element] : kElements) {
    if (known == name) {
      MmaElement result = element;
      if (packed) {
        result.bits = 4;
        result.right_shift = 0;
      }
      return result;
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> take_mma_types(DecodeContext& d) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "f16", "bf16", "tf32", "f32",  "f64",  "s32",  "s8",   "u8",
      "s4",  "u4",   "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "b1"};
  std::vector<std::string_view> types;
  for (size_t index = 1; index < d.source.opcode.size(); ++index) {
    const std::string_view part = d.source.opcode[index];
    for (const std::string_view name : kNames) {
      if (name == part) {
        d.q.take(part);
        types.push_back(part);
      }
    }
  }
  return types;
}

void add_fragment(DecodeContext& d, size_t index, Type slot, unsigned registers, bool result,
                  const char* name) {
  const std::vector<ptx::Operand> elements = d.elements(d.operand(index));
  if (elements.size() != registers) {
    d.reject(std::string(name) + " has " + std::to_string(elements.size()) +
             " registers; this shape and type take " + std::to_string(registers));
  }
  for (const ptx::Operand& element : elements) {
    d.add(result ? d.dst(element, slot) : d.src(element, slot));
  }
}

bool mma_warp_is_whole(ExecContext& ctx, uint32_t active) {
  if (active == kFullMask) {
    return true;
  }
  ctx.fault(FaultKind::launch_failure, "mma.sync needs all 32 lanes of the warp");
  return false;
}

num::MmaModel mma_model(const ExecContext& ctx) {
  return ctx.options().mma == MmaModel::exact ? num::MmaModel::kExact : num::MmaModel::kHardware;
}

void register_mma_sync(OpcodeTable& table) {
  table.add("mma", decode_mma);
}

}  // namespace emu
