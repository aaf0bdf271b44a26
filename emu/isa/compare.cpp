// SPDX-License-Identifier: Apache-2.0
// Comparison and selection (specification 7.4).
#include <cmath>

#include "isa/families.hpp"
#include "isa/lane_ops.hpp"
#include "num/ieee.hpp"

namespace emu {
namespace {

using ptx::Type;

// Ordered comparisons are false with a NaN; those ending in u are true.
enum class Compare : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

template <Compare kCompare, class T>
bool holds(T a, T b) {
  switch (kCompare) {
    case Compare::eq:
    case Compare::equ:
      return a == b;
    case Compare::ne:
    case Compare::neu:
      return a != b;
    case Compare::lt:
    case Compare::ltu:
      return a < b;
    case Compare::le:
    case Compare::leu:
      return a <= b;
    case Compare::gt:
    case Compare::gtu:
      return a > b;
    case Compare::ge:
    case Compare::geu:
      return a >= b;
    case Compare::num:
      return true;
    case Compare::nan:
      return false;
  }
  return false;
}

template <Compare kCompare, class T>
bool holds_for_floats(T a, T b) {
  constexpr bool kUnordered = kCompare >= Compare::equ && kCompare <= Compare::geu;
  if (std::isnan(a) || std::isnan(b)) {
    return kUnordered || kCompare == Compare::nan;
  }
  return holds<kCompare, T>(a, b);
}

struct Flushed {};  // f32 with .ftz
struct F16 {};
struct Bf16 {};

// How a lane's register of a tag type is read.
template <class Tag>
struct Value {
  using Register = Tag;
  static Tag of(Tag bits) { return bits; }
};
template <>
struct Value<Flushed> {
  using Register = float;
  static float of(float value) { return num::flush(value); }
};
template <>
struct Value<F16> {
  using Register = uint16_t;
  static float of(uint16_t code) { return num::f16_to_float(code); }
};
template <>
struct Value<Bf16> {
  using Register = uint16_t;
  static float of(uint16_t code) { return num::bf16_to_float(code); }
};

template <Compare kCompare, class Tag>
bool compare_lane(typename Value<Tag>::Register a, typename Value<Tag>::Register b) {
  const auto x = Value<Tag>::of(a);
  const auto y = Value<Tag>::of(b);
  if constexpr (std::is_floating_point_v<decltype(x)>) {
    return holds_for_floats<kCompare>(x, y);
  } else {
    return holds<kCompare>(x, y);
  }
}

// The lanes in which the comparison of operands `first` and `first + 1` holds.
template <Compare kCompare, class Tag>
uint32_t compare_lanes(ExecContext& ctx, const Instr& i, unsigned first, uint32_t active) {
  using Register = typename Value<Tag>::Register;
  const auto* a = ctx.reg<Register>(i.ops[first]);
  const auto* b = ctx.reg<Register>(i.ops[first + 1]);
  uint32_t result = 0;
  for_lanes(active, [&](unsigned lane) {
    result |= (compare_lane<kCompare, Tag>(a[lane], b[lane]) ? 1u : 0u) << lane;
  });
  return result;
}

enum class Combine : uint8_t { none, with_and, with_or, with_xor };

uint32_t combine(uint8_t how, uint32_t t, uint32_t c) {
  switch (static_cast<Combine>(how)) {
    case Combine::with_and:
      return t & c;
    case Combine::with_or:
      return t | c;
    case Combine::with_xor:
      return t ^ c;
    case Combine::none:
      break;
  }
  return t;
}

// ops: p, q, a, b, c
template <Compare kCompare, class Tag>
StepResult setp(ExecContext& ctx, const Instr& i, uint32_t active) {
  const uint32_t t = compare_lanes<kCompare, Tag>(ctx, i, 2, active);
  const uint32_t c = ctx.pred(i.ops[4]);
  ctx.set_pred(i.ops[0], combine(i.mode, t, c), active);
  ctx.set_pred(i.ops[1], combine(i.mode, ~t, c), active);
  return StepResult::next;
}

// ops: d, a, b, c. Instr::mode2: what true is written as.
enum class Truth : uint8_t { all_ones_32, one_f32 };
template <Compare kCompare, class Tag>
StepResult set(ExecContext& ctx, const Instr& i, uint32_t active) {
  const uint32_t t =
      combine(i.mode, compare_lanes<kCompare, Tag>(ctx, i, 1, active), ctx.pred(i.ops[3]));
  const uint32_t yes = i.mode2 == static_cast<uint8_t>(Truth::one_f32) ? 0x3F800000u : ~0u;
  auto* d = ctx.reg<uint32_t>(i.ops[0]);
  for_lanes(active, [&](unsigned lane) { d[lane] = (t >> lane & 1) != 0 ? yes : 0; });
  return StepResult::next;
}

struct Setp {
  template <Compare kCompare, class Tag>
  static constexpr Handler kHandler = setp<kCompare, Tag>;
};
struct Set {
  template <Compare kCompare, class Tag>
  static constexpr Handler kHandler = set<kCompare, Tag>;
};

template <class Which, class Tag>
Handler integer_comparison(Compare compare) {
  switch (compare) {
    case Compare::eq:
      return Which::template kHandler<Compare::eq, Tag>;
    case Compare::ne:
      return Which::template kHandler<Compare::ne, Tag>;
    case Compare::lt:
      return Which::template kHandler<Compare::lt, Tag>;
    case Compare::le:
      return Which::template kHandler<Compare::le, Tag>;
    case Compare::gt:
      return Which::template kHandler<Compare::gt, Tag>;
    case Compare::ge:
      return Which::template kHandler<Compare::ge, Tag>;
    default:
      return nullptr;
  }
}

template <class Which, class Tag>
Handler float_comparison(Compare compare) {
  switch (compare) {
    case Compare::equ:
      return Which::template kHandler<Compare::equ, Tag>;
    case Compare::neu:
      return Which::template kHandler<Compare::neu, Tag>;
    case Compare::ltu:
      return Which::template kHandler<Compare::ltu, Tag>;
    case Compare::leu:
      return Which::template kHandler<Compare::leu, Tag>;
    case Compare::gtu:
      return Which::template kHandler<Compare::gtu, Tag>;
    case Compare::geu:
      return Which::template kHandler<Compare::geu, Tag>;
    case Compare::num:
      return Which::template kHandler<Compare::num, Tag>;
    case Compare::nan:
      return Which::template kHandler<Compare::nan, Tag>;
    default:
      return integer_comparison<Which, Tag>(compare);
  }
}

template <class Which>
Handler comparison(Compare compare, Type type, bool ftz) {
  switch (type) {
    case Type::s16:
      return integer_comparison<Which, int16_t>(compare);
    case Type::u16:
    case Type::b16:
      return integer_comparison<Which, uint16_t>(compare);
    case Type::s32:
      return integer_comparison<Which, int32_t>(compare);
    case Type::u32:
    case Type::b32:
      return integer_comparison<Which, uint32_t>(compare);
    case Type::s64:
      return integer_comparison<Which, int64_t>(compare);
    case Type::u64:
    case Type::b64:
      return integer_comparison<Which, uint64_t>(compare);
    case Type::f32:
      return ftz ? float_comparison<Which, Flushed>(compare)
                 : float_comparison<Which, float>(compare);
    case Type::f64:
      return float_comparison<Which, double>(compare);
    case Type::f16:
      return float_comparison<Which, F16>(compare);
    case Type::bf16:
      return float_comparison<Which, Bf16>(compare);
    default:
      return nullptr;
  }
}

Compare take_compare(DecodeContext& d) {
  if (const auto index = d.q.take_one_of({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu",
                                          "leu", "gtu", "geu", "num", "nan"})) {
    return static_cast<Compare>(*index);
  }
  // The unsigned spellings mean the same as the plain ones of an unsigned type.
  static constexpr Compare kUnsigned[] = {Compare::lt, Compare::le, Compare::gt, Compare::ge};
  if (const auto index = d.q.take_one_of({"lo", "ls", "hi", "hs"})) {
    return kUnsigned[*index];
  }
  d.reject("no comparison");
}

// The Boolean operation and its operand c, if written; else a false predicate that is not used.
Operand take_combination(DecodeContext& d, size_t index) {
  const std::optional<size_t> how = d.q.take_one_of({"and", "or", "xor"});
  if (!how) {
    d.require_count(index, index);
    Operand none;
    none.flags = Operand::kPredicate;
    return none;
  }
  d.require_count(index + 1, index + 1);
  d.instr.mode = static_cast<uint8_t>(*how + 1);
  return d.pred(d.operand(index));
}

Handler required(DecodeContext& d, Handler handler) {
  if (handler == nullptr) {
    d.reject("this comparison does not exist for this type");
  }
  return handler;
}

void decode_setp(DecodeContext& d) {
  const Compare compare = take_compare(d);
  const Operand c = take_combination(d, 3);
  const bool ftz = d.q.take("ftz");
  const Type type = take_type(d);
  const ptx::Operand& result = d.operand(0);
  Operand p;
  Operand q;
  q.flags = Operand::kSink | Operand::kPredicate;
  if (result.kind == ptx::Operand::Kind::pair) {
    p = d.pred_dst(result.parts[0]);
    q = d.pred_dst(result.parts[1]);
  } else {
    p = d.pred_dst(result);
  }
  d.set(required(d, comparison<Setp>(compare, type, ftz)),
        {p, q, d.src(d.operand(1), type), d.src(d.operand(2), type), c});
}

void decode_set(DecodeContext& d) {
  const Compare compare = take_compare(d);
  const Operand c = take_combination(d, 3);
  const bool ftz = d.q.take("ftz");
  const Type result = take_type(d);
  const Type type = take_type(d);
  if (result != Type::u32 && result != Type::s32 && result != Type::f32) {
    d.reject("the result is .u32, .s32 or .f32");
  }
  d.instr.mode2 = static_cast<uint8_t>(result == Type::f32 ? Truth::one_f32 : Truth::all_ones_32);
  d.set(required(d, comparison<Set>(compare, type, ftz)),
        {d.dst(d.operand(0), result), d.src(d.operand(1), type), d.src(d.operand(2), type), c});
}

// --- selection -----------------------------------------------------------------------------------

template <class T>
StepResult selp(ExecContext& ctx, const Instr& i, uint32_t active) {
  T* d = ctx.reg<T>(i.ops[0]);
  const T* a = ctx.reg<T>(i.ops[1]);
  const T* b = ctx.reg<T>(i.ops[2]);
  const uint32_t p = ctx.pred(i.ops[3]);
  for_lanes(active, [&](unsigned lane) { d[lane] = (p >> lane & 1) != 0 ? a[lane] : b[lane]; });
  return StepResult::next;
}

void decode_selp(DecodeContext& d) {
  const Type type = take_type(d);
  d.require_count(4, 4);
  Handler handler = nullptr;
  switch (ptx::type_bytes(type)) {
    case 2:
      handler = selp<uint16_t>;
      break;
    case 4:
      handler = selp<uint32_t>;
      break;
    case 8:
      handler = selp<uint64_t>;
      break;
    default:
      d.reject("the instruction does not exist for this type");
  }
  d.set(handler, {d.dst(d.operand(0), type), d.src(d.operand(1), type), d.src(d.operand(2), type),
                  d.pred(d.operand(3))});
}

// a if c is not negative, else b; NaN takes b.
template <class T, class C>
struct SelectBySign {
  static T run(T a, T b, C c) { return c >= 0 ? a : b; }
};

template <class C>
Handler slct_handler(unsigned bytes) {
  switch (bytes) {
    case 2:
      return lanes<SelectBySign<uint16_t, C>, uint16_t, uint16_t, uint16_t, C>;
    case 4:
      return lanes<SelectBySign<uint32_t, C>, uint32_t, uint32_t, uint32_t, C>;
    case 8:
      return lanes<SelectBySign<uint64_t, C>, uint64_t, uint64_t, uint64_t, C>;
    default:
      return nullptr;
  }
}

void decode_slct(DecodeContext& d) {
  const Type type = take_type(d);
  const Type by = take_type(d);
  if (by != Type::s32 && by != Type::f32) {
    d.reject("the selector is .s32 or .f32");
  }
  const unsigned bytes = ptx::type_bytes(type);
  set_lanes(d, by == Type::s32 ? slct_handler<int32_t>(bytes) : slct_handler<float>(bytes), type,
            {type, type, by});
}

}  // namespace

void register_compare(OpcodeTable& table) {
  table.add("setp", decode_setp);
  table.add("set", decode_set);
  table.add("selp", decode_selp);
  table.add("slct", decode_slct);
}

}  // namespace emu
