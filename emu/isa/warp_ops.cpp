// SPDX-License-Identifier: Apache-2.0
// Exchange between the lanes of a warp (specification 7.9).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "exec/engine.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"

namespace emu {
namespace {

using ptx::Type;

void add_mask(DecodeContext& d, const ptx::Operand& mask) {
  d.instr.mask_operand = static_cast<uint8_t>(d.ops.size());
  d.add(d.src(mask, Type::u32));
  d.instr.sync = SyncClass::mask;
}

// --- shfl.sync. ops: destination, predicate, a, b, c, mask

enum class Shuffle : uint8_t { up, down, bfly, idx };

struct Source {
  unsigned lane;
  bool valid;
};

Source shuffle_source(Shuffle mode, unsigned lane, uint32_t b, uint32_t c) {
  const uint32_t value = b & 31;
  const uint32_t clamp = c & 31;
  const uint32_t segment = c >> 8 & 31;
  const uint32_t limit = (lane & segment) | (clamp & ~segment & 31);
  const uint32_t low = lane & segment;
  int j = 0;
  bool valid = false;
  switch (mode) {
    case Shuffle::up:
      j = static_cast<int>(lane) - static_cast<int>(value);
      valid = j >= static_cast<int>(limit);
      break;
    case Shuffle::down:
      j = static_cast<int>(lane + value);
      valid = j <= static_cast<int>(limit);
      break;
    case Shuffle::bfly:
      j = static_cast<int>(lane ^ value);
      valid = j <= static_cast<int>(limit);
      break;
    case Shuffle::idx:
      j = static_cast<int>(low | (value & ~segment & 31));
      valid = j <= static_cast<int>(limit);
      break;
  }
  return {valid ? static_cast<unsigned>(j) : lane, valid};
}

StepResult shfl(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto mode = static_cast<Shuffle>(i.mode);
  std::array<uint32_t, kLanes> values;
  std::memcpy(values.data(), ctx.reg<uint32_t>(i.ops[2]), sizeof values);
  const uint32_t* b = ctx.reg<uint32_t>(i.ops[3]);
  const uint32_t* c = ctx.reg<uint32_t>(i.ops[4]);
  std::array<uint32_t, kLanes> results{};
  uint32_t valid = 0;
  for (uint32_t left = active; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    const Source source = shuffle_source(mode, lane, b[lane], c[lane]);
    if ((active >> source.lane & 1) == 0) {
      return ctx.fault(FaultKind::launch_failure,
                       "lane " + std::to_string(lane) + " reads lane " +
                           std::to_string(source.lane) + ", which does not take part",
                       lane);
    }
    results[lane] = values[source.lane];
    valid |= source.valid ? 1u << lane : 0;
  }
  if (!i.ops[0].is_sink()) {
    uint32_t* d = ctx.reg<uint32_t>(i.ops[0]);
    for_lanes(active, [&](unsigned lane) { d[lane] = results[lane]; });
  }
  ctx.set_pred(i.ops[1], valid, active);
  return StepResult::next;
}

void decode_shfl(DecodeContext& d) {
  d.require_count(5, 5);
  const auto mode = d.q.take_one_of({"up", "down", "bfly", "idx"});
  if (!d.q.take("sync") || !mode || !d.q.take("b32")) {
    d.reject("only shfl.sync with .up, .down, .bfly or .idx and .b32 is supported");
  }
  d.instr.mode = static_cast<uint8_t>(*mode);
  const ptx::Operand& target = d.operand(0);
  Operand predicate;
  predicate.flags = Operand::kSink | Operand::kPredicate;
  if (target.kind == ptx::Operand::Kind::pair) {
    d.add(d.dst(target.parts[0], Type::b32));
    predicate = d.pred_dst(target.parts[1]);
  } else {
    d.add(d.dst(target, Type::b32));
  }
  d.add(predicate);
  for (size_t k = 1; k <= 3; ++k) {
    d.add(d.src(d.operand(k), Type::b32));
  }
  add_mask(d, d.operand(4));
  d.set(shfl, {});
}

// --- vote.sync. ops: destination, a, mask

enum class Vote : uint8_t { all, any, uni, ballot };

StepResult vote(ExecContext& ctx, const Instr& i, uint32_t active) {
  const uint32_t values = ctx.pred(i.ops[1]) & active;
  bool result = false;
  switch (static_cast<Vote>(i.mode)) {
    case Vote::all:
      result = values == active;
      break;
    case Vote::any:
      result = values != 0;
      break;
    case Vote::uni:
      result = values == 0 || values == active;
      break;
    case Vote::ballot: {
      if (!i.ops[0].is_sink()) {
        uint32_t* d = ctx.reg<uint32_t>(i.ops[0]);
        for_lanes(active, [&](unsigned lane) { d[lane] = values; });
      }
      return StepResult::next;
    }
  }
  ctx.set_pred(i.ops[0], result ? kFullMask : 0, active);
  return StepResult::next;
}

void decode_vote(DecodeContext& d) {
  d.require_count(3, 3);
  const auto mode = d.q.take_one_of({"all", "any", "uni", "ballot"});
  if (!d.q.take("sync") || !mode) {
    d.reject("only vote.sync with .all, .any, .uni or .ballot is supported");
  }
  const bool ballot = *mode == static_cast<size_t>(Vote::ballot);
  if (!d.q.take(ballot ? "b32" : "pred")) {
    d.reject(ballot ? "vote.ballot gives a .b32" : "this vote gives a .pred");
  }
  d.instr.mode = static_cast<uint8_t>(*mode);
  d.add(ballot ? d.dst(d.operand(0), Type::b32) : d.pred_dst(d.operand(0)));
  d.add(d.pred(d.operand(1)));
  add_mask(d, d.operand(2));
  d.set(vote, {});
}

// --- match.sync. ops: destination, predicate, a, mask

StepResult match(ExecContext& ctx, const Instr& i, uint32_t active) {
  const bool all = i.mode != 0;
  std::array<uint32_t, kLanes> same{};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned other = 0; other < kLanes; ++other) {
      if ((active >> lane & 1) != 0 && (active >> other & 1) != 0 &&
          ctx.lane_value(i.ops[2], lane) == ctx.lane_value(i.ops[2], other)) {
        same[lane] |= 1u << other;
      }
    }
  }
  const auto first = static_cast<unsigned>(__builtin_ctz(active));
  const bool agree = same[first] == active;
  for_lanes(active, [&](unsigned lane) {
    if (!i.ops[0].is_sink()) {
      ctx.set_lane_value(i.ops[0], lane, all ? (agree ? active : 0) : same[lane]);
    }
  });
  ctx.set_pred(i.ops[1], agree ? kFullMask : 0, active);
  return StepResult::next;
}

void decode_match(DecodeContext& d) {
  d.require_count(3, 3);
  const auto mode = d.q.take_one_of({"any", "all"});
  const auto type = d.q.take_type();
  if (!mode || !d.q.take("sync") || !type || (*type != Type::b32 && *type != Type::b64)) {
    d.reject("only match.any.sync and match.all.sync of .b32 or .b64 are supported");
  }
  d.instr.mode = static_cast<uint8_t>(*mode);
  const ptx::Operand& target = d.operand(0);
  Operand predicate;
  predicate.flags = Operand::kSink | Operand::kPredicate;
  const bool pair = target.kind == ptx::Operand::Kind::pair;
  d.add(d.dst(pair ? target.parts[0] : target, Type::b32));
  d.add(pair ? d.pred_dst(target.parts[1]) : predicate);
  d.add(d.src(d.operand(1), *type));
  add_mask(d, d.operand(2));
  d.set(match, {});
}

// --- redux.sync. ops: destination, a, mask

template <class T, class F>
StepResult reduce(ExecContext& ctx, const Instr& i, uint32_t active, F combine) {
  const T* a = ctx.reg<T>(i.ops[1]);
  T value = a[__builtin_ctz(active)];
  for (uint32_t left = active & (active - 1); left != 0; left &= left - 1) {
    value = combine(value, a[__builtin_ctz(left)]);
  }
  T* d = ctx.reg<T>(i.ops[0]);
  for_lanes(active, [&](unsigned lane) { d[lane] = value; });
  return StepResult::next;
}

StepResult redux_add(ExecContext& c, const Instr& i, uint32_t m) {
  return reduce<uint32_t>(c, i, m, [](uint32_t a, uint32_t b) { return a + b; });
}
StepResult redux_and(ExecContext& c, const Instr& i, uint32_t m) {
  return reduce<uint32_t>(c, i, m, [](uint32_t a, uint32_t b) { return a & b; });
}
StepResult redux_or(ExecContext& c, const Instr& i, uint32_t m) {
  return reduce<uint32_t>(c, i, m, [](uint32_t a, uint32_t b) { return a | b; });
}
StepResult redux_xor(ExecContext& c, const Instr& i, uint32_t m) {
  return reduce<uint32_t>(c, i, m, [](uint32_t a, uint32_t b) { return a ^ b; });
}
template <class T>
StepResult redux_min(ExecContext& c, const Instr& i, uint32_t m) {
  return reduce<T>(c, i, m, [](T a, T b) { return std::min(a, b); });
}
template <class T>
StepResult redux_max(ExecContext& c, const Instr& i, uint32_t m) {
  return reduce<T>(c, i, m, [](T a, T b) { return std::max(a, b); });
}

constexpr uint32_t kCanonicalNan = 0x7FFFFFFF;

bool is_nan(uint32_t bits) {
  return (bits & 0x7FFFFFFF) > 0x7F800000;
}

// Orders floats by value with -0 below +0.
int32_t sort_key(uint32_t bits) {
  return static_cast<int32_t>(bits) < 0 ? static_cast<int32_t>(~bits ^ 0x80000000u)
                                        : static_cast<int32_t>(bits);
}

enum FloatBits : uint8_t { kAbs = 1, kNan = 2, kMax = 4 };

StepResult redux_float(ExecContext& ctx, const Instr& i, uint32_t active) {
  const uint32_t* a = ctx.reg<uint32_t>(i.ops[1]);
  uint32_t result = kCanonicalNan;  // of nothing but NaN
  bool any_nan = false;
  for (uint32_t left = active; left != 0; left &= left - 1) {
    uint32_t value = a[__builtin_ctz(left)];
    value = (i.mode & kAbs) != 0 ? value & 0x7FFFFFFF : value;
    if (is_nan(value)) {
      any_nan = true;
      continue;
    }
    const bool better = (i.mode & kMax) != 0 ? sort_key(value) > sort_key(result)
                                             : sort_key(value) < sort_key(result);
    result = is_nan(result) || better ? value : result;
  }
  result = any_nan && (i.mode & kNan) != 0 ? kCanonicalNan : result;
  uint32_t* d = ctx.reg<uint32_t>(i.ops[0]);
  for_lanes(active, [&](unsigned lane) { d[lane] = result; });
  return StepResult::next;
}

Handler redux_handler(DecodeContext& d, size_t operation, Type type) {
  switch (operation) {
    case 0:
      return redux_add;
    case 1:
      return redux_and;
    case 2:
      return redux_or;
    case 3:
      return redux_xor;
    case 4:
    case 5:
      break;
    default:
      d.reject("this reduction is not supported");
  }
  const bool max = operation == 5;
  if (type == Type::f32) {
    return redux_float;
  }
  if (type == Type::s32) {
    return max ? redux_max<int32_t> : redux_min<int32_t>;
  }
  return max ? redux_max<uint32_t> : redux_min<uint32_t>;
}

void decode_redux(DecodeContext& d) {
  d.require_count(3, 3);
  const auto operation = d.q.take_one_of({"add", "and", "or", "xor", "min", "max"});
  const unsigned abs = d.q.take("abs") ? kAbs + 0u : 0u;
  const unsigned nan = d.q.take("NaN") ? kNan + 0u : 0u;
  const auto type = d.q.take_type();
  const bool logic = operation && *operation >= 1 && *operation <= 3;
  const bool float_fits = operation && *operation >= 4;
  if (!d.q.take("sync") || !operation || !type ||
      !(*type == Type::b32 ? logic
        : *type == Type::f32
            ? float_fits
            : !logic && abs + nan == 0 && (*type == Type::u32 || *type == Type::s32))) {
    d.reject("this form of redux is not supported");
  }
  d.instr.mode = static_cast<uint8_t>(abs | nan | (*operation == 5 ? kMax + 0u : 0u));
  d.add(d.dst(d.operand(0), *type));
  if (d.ops[0].is_sink()) {
    d.reject("redux needs a destination");
  }
  d.add(d.src(d.operand(1), *type));
  add_mask(d, d.operand(2));
  d.set(redux_handler(d, *operation, *type), {});
}

// --- elect.sync. ops: destination, predicate, mask

StepResult elect(ExecContext& ctx, const Instr& i, uint32_t active) {
  const auto lane0 = static_cast<unsigned>(__builtin_ctz(active));
  auto mask = static_cast<uint32_t>(ctx.lane_value(i.ops[2], lane0));
  // EMU_ELECT picks another one, to find code that counts on the lowest.
  const unsigned count = static_cast<unsigned>(__builtin_popcount(mask));
  for (unsigned skip = ctx.options().elect_lane % count; skip != 0; --skip) {
    mask &= mask - 1;
  }
  const auto leader = static_cast<unsigned>(__builtin_ctz(mask));
  if (!i.ops[0].is_sink()) {
    for_lanes(active, [&](unsigned lane) { ctx.set_lane_value(i.ops[0], lane, leader); });
  }
  ctx.set_pred(i.ops[1], 1u << leader, active);
  return StepResult::next;
}

void decode_elect(DecodeContext& d) {
  d.require_count(2, 2);
  if (!d.q.take("sync") || d.operand(0).kind != ptx::Operand::Kind::pair) {
    d.reject("elect.sync gives a register and a predicate");
  }
  d.add(d.dst(d.operand(0).parts[0], Type::b32));
  d.add(d.pred_dst(d.operand(0).parts[1]));
  add_mask(d, d.operand(1));
  d.set(elect, {});
}

StepResult activemask(ExecContext& ctx, const Instr& i, uint32_t active) {
  for_lanes(active, [&](unsigned lane) { ctx.set_lane_value(i.ops[0], lane, active); });
  return StepResult::next;
}

void decode_activemask(DecodeContext& d) {
  d.require_count(1, 1);
  d.q.take("b32");
  d.set(activemask, {d.dst(d.operand(0), Type::b32)});
}

}  // namespace

void register_warp_ops(OpcodeTable& table) {
  table.add("shfl", decode_shfl);
  table.add("vote", decode_vote);
  table.add("match", decode_match);
  table.add("redux", decode_redux);
  table.add("elect", decode_elect);
  table.add("activemask", decode_activemask);
}

}  // namespace emu
