// SPDX-License-Identifier: Apache-2.0
// wgmma (specification 7.22). Each warp carries out its own 16 rows. Under an adversarial policy an
// operation reads shared memory at any time between issue and completion, and the registers of D
// hold poison until a wait: their values live in a shadow meanwhile.
#include "isa/wgmma.hpp"

#include <algorithm>
#include <memory>

#include "exec/engine.hpp"
#include "isa/async_observer.hpp"
#include "isa/families.hpp"
#include "isa/lane_ops.hpp"

namespace emu {
namespace {

using ptx::Type;

// A NaN as f32 and as a pair of f16.
constexpr uint32_t kPoison = 0xFFFFFFFFu;

// D of one or more operations that are not complete.
struct Shadow {
  std::vector<uint32_t> offsets;  // of the registers
  uint8_t* registers = nullptr;
  std::vector<uint32_t> values;  // [register][lane]
  uint64_t last_operation = 0;   // restored when this one is complete
};

struct Operation {
  const Instr* instr = nullptr;
  WgmmaInputs inputs;
  size_t shadow = 0;
  uint64_t group = 0;  // that it will be committed with
};

struct WgmmaState : Extension {
  std::vector<Operation> waiting;  // not carried out yet, oldest first
  std::vector<Shadow> shadows;
  std::vector<uint64_t> groups;  // operations before the end of each group not waited for
  uint64_t first_group = 0;      // number of groups that were waited for
  uint64_t issued = 0;
};

WgmmaState& state_of(const ExecContext& ctx) {
  if (ctx.warp->wgmma == nullptr) {
    ctx.warp->wgmma = std::make_unique<WgmmaState>();
  }
  return static_cast<WgmmaState&>(*ctx.warp->wgmma);
}

const WgmmaPlan& plan_of(const Instr& i) {
  return *static_cast<const WgmmaPlan*>(i.extra);
}

bool warpgroup_is_whole(ExecContext& ctx, uint32_t active) {
  const uint32_t last = ctx.warp->index / 4 * 4 + 3;
  if (active == kFullMask && last < ctx.cta->warps.size()) {
    return true;
  }
  ctx.fault(FaultKind::launch_failure,
            "wgmma needs four whole warps, starting at a multiple of four");
  return false;
}

std::vector<uint32_t> offsets_of(const Instr& i, unsigned count) {
  std::vector<uint32_t> offsets(count);
  for (unsigned index = 0; index < count; ++index) {
    offsets[index] = i.ops[index].offset;
  }
  return offsets;
}

// The shadow of the instruction's D, made from the registers if there is none. Null after a fault:
// operations under way may share all registers of D or none.
Shadow* shadow_of(ExecContext& ctx, WgmmaState& state, const Instr& i, size_t* index) {
  const std::vector<uint32_t> offsets = offsets_of(i, plan_of(i).d_registers());
  for (*index = 0; *index < state.shadows.size(); ++*index) {
    Shadow& shadow = state.shadows[*index];
    if (shadow.registers != ctx.regs) {
      continue;
    }
    if (shadow.offsets == offsets) {
      return &shadow;
    }
    if (std::find_first_of(offsets.begin(), offsets.end(), shadow.offsets.begin(),
                           shadow.offsets.end()) != offsets.end()) {
      ctx.fault(FaultKind::launch_failure,
                "wgmma writes registers of which an operation under way has some but not all");
      return nullptr;
    }
  }
  Shadow shadow;
  shadow.offsets = offsets;
  shadow.registers = ctx.regs;
  for (const uint32_t offset : offsets) {
    auto* lanes_of_register = reinterpret_cast<uint32_t*>(ctx.regs + offset);
    shadow.values.insert(shadow.values.end(), lanes_of_register, lanes_of_register + kLanes);
    std::fill_n(lanes_of_register, kLanes, kPoison);
  }
  state.shadows.push_back(std::move(shadow));
  return &state.shadows.back();
}

bool carry_out(ExecContext& ctx, WgmmaState& state, uint64_t before) {
  while (!state.waiting.empty() && state.issued - state.waiting.size() < before) {
    const Operation& operation = state.waiting.front();
    const std::string fault = wgmma_multiply(ctx, plan_of(*operation.instr), operation.inputs,
                                             state.shadows[operation.shadow].values.data());
    if (!fault.empty()) {
      ctx.engine->fault(operation.inputs.origin, FaultKind::launch_failure, fault);
      return false;
    }
    operation_releases_group(*ctx.engine, operation.inputs.observed, &state, operation.group);
    end_operation(*ctx.engine, operation.inputs.observed);
    state.waiting.erase(state.waiting.begin());
  }
  return true;
}

// Results of the operations before `before` go into their registers, unless a later one still
// works on them. All or nothing is left of the list: operations refer to it by index.
void restore(WgmmaState& state, uint64_t before) {
  for (Shadow& shadow : state.shadows) {
    if (shadow.registers == nullptr || shadow.last_operation >= before) {
      continue;
    }
    for (size_t index = 0; index < shadow.offsets.size(); ++index) {
      std::copy_n(shadow.values.data() + index * kLanes, kLanes,
                  reinterpret_cast<uint32_t*>(shadow.registers + shadow.offsets[index]));
    }
    shadow.registers = nullptr;
  }
  const bool all = std::all_of(state.shadows.begin(), state.shadows.end(),
                               [](const Shadow& shadow) { return shadow.registers == nullptr; });
  if (all) {
    state.shadows.clear();
  }
}

// ops: D..., A (descriptor or four registers), descriptor of B, predicate.
StepResult mma_async(ExecContext& ctx, const Instr& i, uint32_t active) {
  if (!warpgroup_is_whole(ctx, active)) {
    return StepResult::fault;
  }
  const WgmmaPlan& plan = plan_of(i);
  const Operand* a = i.ops + plan.d_registers();
  const Operand* b = a + (plan.a_in_registers ? 4 : 1);
  Operation operation;
  operation.instr = &i;
  operation.inputs.origin = ctx.origin(0);
  if (plan.a_in_registers) {
    operation.inputs.a_registers = a;
  } else if (!ctx.uniform(*a, active, "descriptor of A", &operation.inputs.a_descriptor)) {
    return StepResult::fault;
  }
  if (!ctx.uniform(*b, active, "descriptor of B", &operation.inputs.b_descriptor)) {
    return StepResult::fault;
  }
  const uint32_t accumulate = ctx.pred(b[1]) & active;
  if (accumulate != 0 && accumulate != active) {
    return ctx.fault(FaultKind::launch_failure, "lanes give wgmma different predicates");
  }
  operation.inputs.accumulate = accumulate != 0;
  WgmmaState& state = state_of(ctx);
  Shadow* shadow = shadow_of(ctx, state, i, &operation.shadow);
  if (shadow == nullptr) {
    return StepResult::fault;
  }
  operation.inputs.observed = start_operation(ctx);
  operation.group = state.first_group + state.groups.size();
  shadow->last_operation = state.issued++;
  state.waiting.push_back(operation);
  const bool at_once = !ctx.options().adversarial() || ctx.random().one_in(2);
  return at_once && !carry_out(ctx, state, state.issued) ? StepResult::fault : StepResult::next;
}

StepResult commit_group(ExecContext& ctx, const Instr&, uint32_t active) {
  if (!warpgroup_is_whole(ctx, active)) {
    return StepResult::fault;
  }
  WgmmaState& state = state_of(ctx);
  state.groups.push_back(state.issued);
  return StepResult::next;
}

// Waits for all groups but the `data` most recent ones.
StepResult wait_group(ExecContext& ctx, const Instr& i, uint32_t active) {
  if (!warpgroup_is_whole(ctx, active)) {
    return StepResult::fault;
  }
  WgmmaState& state = state_of(ctx);
  if (state.groups.size() <= i.data) {
    return StepResult::next;
  }
  const auto last = state.groups.end() - static_cast<std::ptrdiff_t>(i.data) - 1;
  const uint64_t before = *last;
  if (!carry_out(ctx, state, before)) {
    return StepResult::fault;
  }
  const uint64_t end = state.first_group + static_cast<uint64_t>(last + 1 - state.groups.begin());
  if (Observer* observer = ctx.engine->observer()) {
    observer->group_acquire(ctx, &state, state.first_group, end);
  }
  state.first_group = end;
  state.groups.erase(state.groups.begin(), last + 1);
  restore(state, before);
  return StepResult::next;
}

// Orders register accesses, which happen in order here.
StepResult fence(ExecContext& ctx, const Instr&, uint32_t active) {
  return warpgroup_is_whole(ctx, active) ? StepResult::next : StepResult::fault;
}

// --- decoding ------------------------------------------------------------------------------------

void take_sync_aligned(DecodeContext& d) {
  if (!d.q.take("sync") || !d.q.take("aligned")) {
    d.reject(".sync.aligned is missing");
  }
  d.instr.sync = SyncClass::warp;
}

struct WgmmaSize {
  unsigned columns;
  unsigned k;
};
WgmmaSize take_shape(DecodeContext& d) {
  const std::optional<std::string_view> shape = d.q.take_prefix("m64n");
  const size_t k_at = shape ? shape->find('k') : std::string_view::npos;
  if (k_at == std::string_view::npos) {
    d.reject("the shape m64nNkK is missing");
  }
  const auto number = [](std::string_view digits) {
    unsigned value = 0;
    for (const char digit : digits) {
      value = 10 * value + static_cast<unsigned>(digit - '0');
    }
    return value;
  };
  const WgmmaSize size{number(shape->substr(0, k_at)), number(shape->substr(k_at + 1))};
  if (size.columns < 8 || size.columns > 256 || size.columns % 8 != 0) {
    d.reject("N is a multiple of 8 up to 256");
  }
  return size;
}

// +1 or -1.
bool take_negation(DecodeContext& d, size_t index) {
  const int64_t scale = d.immediate(d.operand(index));
  if (scale != 1 && scale != -1) {
    d.reject("an input scale is 1 or -1");
  }
  return scale == -1;
}

void take_types(DecodeContext& d, WgmmaPlan& plan) {
  const std::vector<std::string_view> types = take_mma_types(d);
  if (types.size() != 3) {
    d.reject("the types of D, A and B are needed");
  }
  const std::optional<MmaElement> a = mma_element(types[1], false);
  const std::optional<MmaElement> b = mma_element(types[2], false);
  const auto narrow = [](const MmaElement& one) {
    return one.kind == MmaElement::Kind::integer || one.type == num::ElementType::e4m3 ||
           one.type == num::ElementType::e5m2;
  };
  if (!a || !b || a->kind != b->kind || a->bits != b->bits ||
      (a->bits == 8 ? !narrow(*a) || !narrow(*b) : a->type != b->type)) {
    d.reject("these element types do not go together");
  }
  plan.a = *a;
  plan.b = *b;
  const bool integers = a->kind == MmaElement::Kind::integer;
  plan.f16_accumulators = types[0] == "f16";
  const bool half =
      plan.f16_accumulators && !integers && (a->type == num::ElementType::f16 || a->bits == 8);
  if (integers ? types[0] != "s32" : types[0] != "f32" && !half) {
    d.reject("D cannot be " + std::string(types[0]));
  }
}

// After the predicate: scales of A and B (not for integers), then (16-bit types) whether A, unless
// in registers, and B are transposed.
void take_immediates(DecodeContext& d, WgmmaPlan& plan) {
  constexpr size_t kFirst = 4;
  if (plan.a.kind == MmaElement::Kind::integer) {
    d.require_count(kFirst, kFirst);
    return;
  }
  const size_t transposes = plan.a.bits != 16 ? 0 : plan.a_in_registers ? 1 : 2;
  d.require_count(kFirst + 2 + transposes, kFirst + 2 + transposes);
  plan.negate_a = take_negation(d, kFirst);
  plan.negate_b = take_negation(d, kFirst + 1);
  for (size_t index = 0; index < transposes; ++index) {
    if (d.immediate(d.operand(kFirst + 2 + index)) != 0) {
      d.reject("operands with M or N along the rows are not supported");
    }
  }
}

void decode_mma_async(DecodeContext& d) {
  d.q.take("mma_async");
  take_sync_aligned(d);
  WgmmaPlan plan;
  const WgmmaSize size = take_shape(d);
  plan.columns = size.columns;
  take_types(d, plan);
  if (size.k != plan.k()) {
    d.reject("the shape does not exist for these types");
  }
  plan.satfinite = plan.a.kind == MmaElement::Kind::integer && d.q.take("satfinite");
  plan.a_in_registers = d.operand(1).kind == ptx::Operand::Kind::vector;
  take_immediates(d, plan);
  const bool integers = plan.a.kind == MmaElement::Kind::integer;
  const Type accumulator = integers ? Type::s32 : plan.f16_accumulators ? Type::b32 : Type::f32;
  add_fragment(d, 0, accumulator, plan.d_registers(), true, "D");
  if (plan.a_in_registers) {
    add_fragment(d, 1, Type::b32, 4, false, "A");
  } else {
    d.add(d.src(d.operand(1), Type::b64));
  }
  d.add(d.src(d.operand(2), Type::b64));
  d.add(d.pred(d.operand(3)));
  d.instr.handler = mma_async;
  d.keep(plan);
}

template <Handler kHandler>
void decode_plain(DecodeContext& d) {
  d.q.take_one_of({"fence", "commit_group"});
  take_sync_aligned(d);
  d.require_count(0, 0);
  d.instr.flags |= Instr::kSynchronising;
  d.instr.handler = kHandler;
}

void decode_wait_group(DecodeContext& d) {
  d.q.take("wait_group");
  take_sync_aligned(d);
  d.require_count(1, 1);
  const int64_t count = d.immediate(d.operand(0));
  if (count < 0 || count > 7) {
    d.reject("wait_group takes 0 to 7");
  }
  d.instr.data = static_cast<uint64_t>(count);
  d.instr.flags |= Instr::kSynchronising;
  d.instr.handler = wait_group;
}

}  // namespace

std::string wgmma_exit_complaint(const Warp& warp) {
  const auto* state = static_cast<const WgmmaState*>(warp.wgmma.get());
  if (state == nullptr || state->shadows.empty()) {
    return {};
  }
  return "the warp exits with wgmma operations that no wgmma.wait_group has completed";
}

void register_wgmma(OpcodeTable& table) {
  table.add("wgmma.mma_async", decode_mma_async);
  table.add("wgmma.fence", decode_plain<fence>);
  table.add("wgmma.commit_group", decode_plain<commit_group>);
  table.add("wgmma.wait_group", decode_wait_group);
}

}  // namespace emu
