// SPDX-License-Identifier: Apache-2.0
// mma.sync with block scales: kind::mxf8f6f4 (K = 32, one scale along K), kind::mxf4 and
// kind::mxf4nvf4 (K = 64, two or four). Specification 7.21.
#include <array>

#include "exec/engine.hpp"
#include "isa/lane_ops.hpp"
#include "isa/mma_sync.hpp"

namespace emu {
namespace {

using ptx::Type;

constexpr unsigned kAccumulators = 4;

struct BlockScalePlan {
  MmaShape shape;
  MmaElement a;
  MmaElement b;
  unsigned scales = 1;  // along K
  bool ue4m3 = false;   // else ue8m0
};

// Operands after those of the fragments.
struct ScaleOperands {
  const Operand* a_scale;
  const Operand* a_byte;
  const Operand* a_thread;
  const Operand* b_scale;
  const Operand* b_byte;
  const Operand* b_thread;
};

struct Selector {
  unsigned byte;
  unsigned thread;
};

// Scale words of the 16 rows of A and of the 8 columns of B, shifted so that the first byte counts.
struct ScaleWords {
  std::array<uint32_t, kMmaRows> a;
  std::array<uint32_t, kMmaColumns> b;
};

bool read_selector(ExecContext& ctx, uint32_t active, const BlockScalePlan& plan,
                   const Operand& byte, const Operand& thread, unsigned threads, const char* name,
                   Selector* selector) {
  uint64_t byte_value = 0;
  uint64_t thread_value = 0;
  if (!ctx.uniform(byte, active, "byte selector of a scale", &byte_value) ||
      !ctx.uniform(thread, active, "thread selector of a scale", &thread_value)) {
    return false;
  }
  // One scale: any byte; two: the lower or the upper pair; four: all of them.
  if (byte_value > 3 || byte_value % plan.scales != 0 || thread_value >= threads) {
    ctx.fault(FaultKind::launch_failure,
              std::string("scale selector of ") + name + " is {" + std::to_string(byte_value) +
                  ", " + std::to_string(thread_value) + "}: the byte must be a multiple of " +
                  std::to_string(plan.scales) + " below 4, the thread below " +
                  std::to_string(threads));
    return false;
  }
  *selector = {static_cast<unsigned>(byte_value), static_cast<unsigned>(thread_value)};
  return true;
}

// Row r of A: lane 4 (r % 8) + 2 threadA + r / 8. Column n of B: lane 4 n + threadB.
bool gather_scales(ExecContext& ctx, uint32_t active, const BlockScalePlan& plan,
                   const ScaleOperands& ops, ScaleWords& words) {
  Selector a;
  Selector b;
  if (!read_selector(ctx, active, plan, *ops.a_byte, *ops.a_thread, 2, "A", &a) ||
      !read_selector(ctx, active, plan, *ops.b_byte, *ops.b_thread, 4, "B", &b)) {
    return false;
  }
  const auto* a_words = ctx.reg<uint32_t>(*ops.a_scale);
  const auto* b_words = ctx.reg<uint32_t>(*ops.b_scale);
  for (unsigned row = 0; row < kMmaRows; ++row) {
    words.a[row] = a_words[4 * (row % 8) + 2 * a.thread + row / 8] >> 8 * a.byte;
  }
  for (unsigned column = 0; column < kMmaColumns; ++column) {
    words.b[column] = b_words[4 * column + b.thread] >> 8 * b.byte;
  }
  return true;
}

ScaleOperands scale_operands(const Instr& i, const BlockScalePlan& plan) {
  const Operand* first =
      i.ops + kAccumulators + plan.shape.a_registers() + plan.shape.b_registers() + kAccumulators;
  return {first, first + 1, first + 2, first + 3, first + 4, first + 5};
}

// --- K = 32
// ------------------------------------------------------------------------------------------

// The exponent that a ue8m0 scale adds.
int32_t scale_exponent(uint32_t word) {
  return num::split_ue8m0(static_cast<uint8_t>(word)).exponent;
}

StepResult mma_mxf8f6f4(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto& plan = *static_cast<const BlockScalePlan*>(i.extra);
  ScaleWords words;
  if (!mma_warp_is_whole(ctx, active) ||
      !gather_scales(ctx, active, plan, scale_operands(i, plan), words)) {
    return StepResult::fault;
  }
  const Operand* a_operand = i.ops + kAccumulators;
  const Operand* b_operand = a_operand + plan.shape.a_registers();
  constexpr unsigned kK = 32;
  MmaCodes codes;
  gather_codes(ctx, plan.shape, a_operand, b_operand, codes);
  alignas(32) std::array<int32_t, kMmaRows * kK> a_significand;
  alignas(32) std::array<int32_t, kMmaRows * kK> a_exponent;
  alignas(32) std::array<int32_t, kMmaColumns * kK> b_significand;
  alignas(32) std::array<int32_t, kMmaColumns * kK> b_exponent;
  num::split(plan.a.type, plan.a.right_shift, {codes.a.data(), a_significand.size()},
             a_significand.data(), a_exponent.data());
  num::split(plan.b.type, plan.b.right_shift, {codes.b.data(), b_significand.size()},
             b_significand.data(), b_exponent.data());
  std::array<int32_t, kMmaRows> a_scale;
  std::array<int32_t, kMmaColumns> b_scale;
  for (unsigned row = 0; row < kMmaRows; ++row) {
    a_scale[row] = scale_exponent(words.a[row]);
  }
  for (unsigned column = 0; column < kMmaColumns; ++column) {
    b_scale[column] = scale_exponent(words.b[column]);
  }
  MmaAccumulators accumulators;
  gather_accumulators(ctx, b_operand + plan.shape.b_registers(), false, accumulators);
  const num::SplitProduct product{kMmaRows,
                                  kMmaColumns,
                                  kK,
                                  num::mantissa_bits(plan.a.type) + num::mantissa_bits(plan.b.type),
                                  a_significand.data(),
                                  a_exponent.data(),
                                  b_significand.data(),
                                  b_exponent.data(),
                                  a_scale.data(),
                                  b_scale.data()};
  num::Accumulation accumulation;
  accumulation.model = mma_model(ctx);
  num::multiply(product, accumulation, accumulators.data());
  scatter_accumulators(ctx, i.ops, false, accumulators);
  return StepResult::next;
}

// --- K = 64
// ------------------------------------------------------------------------------------------

struct Fp4Operands {
  alignas(32) std::array<float, kMmaRows * num::kFp4K> a;     // [row][k]
  alignas(32) std::array<float, kMmaColumns * num::kFp4K> b;  // [k][column]
};

void gather_fp4(const ExecContext& ctx, const Operand* a, const Operand* b, Fp4Operands& values) {
  constexpr unsigned kElements = 8;
  alignas(32) std::array<float, kLanes * kElements> unpacked;
  for (unsigned index = 0; index < 4; ++index) {
    num::unpack_e2m1({ctx.reg<uint32_t>(a[index]), kLanes}, unpacked.data());
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const MatrixPosition first = a_position(4, lane, index, 0);
      for (unsigned j = 0; j < kElements; ++j) {
        values.a[first.row * num::kFp4K + first.k + j] = unpacked[lane * kElements + j];
      }
    }
  }
  for (unsigned index = 0; index < 2; ++index) {
    num::unpack_e2m1({ctx.reg<uint32_t>(b[index]), kLanes}, unpacked.data());
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const MatrixPosition first = b_position(4, lane, index, 0);
      for (unsigned j = 0; j < kElements; ++j) {
        values.b[(first.k + j) * kMmaColumns + first.row] = unpacked[lane * kElements + j];
      }
    }
  }
}

// Scales of the four groups of 16: each of two scales serves two groups.
void split_scales(const BlockScalePlan& plan, uint32_t word, num::SplitScale* groups) {
  for (unsigned group = 0; group < num::kFp4Groups; ++group) {
    const unsigned index = group * plan.scales / num::kFp4Groups;
    const auto code = static_cast<uint8_t>(word >> 8 * index);
    groups[group] = plan.ue4m3 ? num::split_ue4m3(code) : num::split_ue8m0(code);
  }
}

StepResult mma_mxf4(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto& plan = *static_cast<const BlockScalePlan*>(i.extra);
  ScaleWords words;
  if (!mma_warp_is_whole(ctx, active) ||
      !gather_scales(ctx, active, plan, scale_operands(i, plan), words)) {
    return StepResult::fault;
  }
  const Operand* a_operand = i.ops + kAccumulators;
  const Operand* b_operand = a_operand + plan.shape.a_registers();
  Fp4Operands values;
  gather_fp4(ctx, a_operand, b_operand, values);
  std::array<num::SplitScale, kMmaRows * num::kFp4Groups> a_scale;
  std::array<num::SplitScale, kMmaColumns * num::kFp4Groups> b_scale;
  for (unsigned row = 0; row < kMmaRows; ++row) {
    split_scales(plan, words.a[row], a_scale.data() + row * num::kFp4Groups);
  }
  for (unsigned column = 0; column < kMmaColumns; ++column) {
    split_scales(plan, words.b[column], b_scale.data() + column * num::kFp4Groups);
  }
  MmaAccumulators accumulators;
  gather_accumulators(ctx, b_operand + plan.shape.b_registers(), false, accumulators);
  num::multiply_fp4(
      {kMmaRows, kMmaColumns, values.a.data(), values.b.data(), a_scale.data(), b_scale.data()},
      mma_model(ctx), accumulators.data());
  scatter_accumulators(ctx, i.ops, false, accumulators);
  return StepResult::next;
}

// --- decoding ------------------------------------------------------------------------------------

// Scales along K: `scale_vec::` if written, else the kind's default.
unsigned take_scale_count(DecodeContext& d, std::string_view kind) {
  const std::optional<std::string_view> written = d.q.take_prefix("scale_vec::");
  const unsigned count = !written           ? kind == "mxf8f6f4" ? 1
                                              : kind == "mxf4"   ? 2
                                                                 : 0
                         : *written == "1X" ? 1
                         : *written == "2X" ? 2
                         : *written == "4X" ? 4
                                            : 0;
  const bool right = kind == "mxf8f6f4" ? count == 1
                     : kind == "mxf4"   ? count == 2
                                        : count == 2 || count == 4;
  if (!right) {
    d.reject("kind::" + std::string(kind) + " does not take this scale vector size");
  }
  return count;
}

void take_scale_type(DecodeContext& d, BlockScalePlan& plan) {
  const std::optional<size_t> type = d.q.take_one_of({"ue8m0", "ue4m3"});
  plan.ue4m3 = type == size_t{1};
  if (!type || (plan.ue4m3 && plan.scales != 4)) {
    d.reject("the scale type is .ue8m0, or with scale_vec::4X .ue4m3");
  }
}

// scale register, {byte, thread}
void add_scale(DecodeContext& d, size_t index) {
  const std::vector<ptx::Operand> scale = d.elements(d.operand(index));
  const std::vector<ptx::Operand> selector = d.elements(d.operand(index + 1));
  if (scale.size() != 1 || selector.size() != 2) {
    d.reject("a scale is one register and {byte, thread}");
  }
  d.add(d.src(scale[0], Type::b32));
  d.add(d.src(selector[0], Type::u16));
  d.add(d.src(selector[1], Type::u16));
}

void take_shape_and_types(DecodeContext& d, std::string_view kind, BlockScalePlan& plan) {
  const bool packed = kind != "mxf8f6f4";
  if (!d.q.take(packed ? "m16n8k64" : "m16n8k32")) {
    d.reject("kind::" + std::string(kind) + " does not have this shape");
  }
  plan.shape = packed ? MmaShape{64, 4} : MmaShape{32, 8};
  const std::vector<std::string_view> types = take_mma_types(d);
  if (types.size() != 4 || types[0] != "f32" || types[3] != "f32") {
    d.reject("C and D are .f32");
  }
  const std::optional<MmaElement> a = mma_element(types[1], packed);
  const std::optional<MmaElement> b = mma_element(types[2], packed);
  const auto right = [&](const std::optional<MmaElement>& one) {
    return one && one->kind == MmaElement::Kind::floating &&
           (packed ? one->type == num::ElementType::e2m1 : one->bits == 8);
  };
  if (!right(a) || !right(b)) {
    d.reject("kind::" + std::string(kind) + " does not take these element types");
  }
  plan.a = *a;
  plan.b = *b;
}

}  // namespace

void decode_mma_block_scale(DecodeContext& d, std::string_view kind) {
  if (kind != "mxf8f6f4" && kind != "mxf4" && kind != "mxf4nvf4") {
    d.reject("kind::" + std::string(kind) + " is not known");
  }
  if (!d.q.take("block_scale")) {
    d.reject(".block_scale is missing");
  }
  BlockScalePlan plan;
  plan.scales = take_scale_count(d, kind);
  take_scale_type(d, plan);
  take_shape_and_types(d, kind, plan);
  d.require_count(8, 8);
  add_fragment(d, 0, Type::f32, kAccumulators, true, "D");
  add_fragment(d, 1, Type::b32, plan.shape.a_registers(), false, "A");
  add_fragment(d, 2, Type::b32, plan.shape.b_registers(), false, "B");
  add_fragment(d, 3, Type::f32, kAccumulators, false, "C");
  add_scale(d, 4);
  add_scale(d, 6);
  d.instr.handler = plan.shape.k == 64 ? mma_mxf4 : mma_mxf8f6f4;
  d.keep(plan);
}

}  // namespace emu
