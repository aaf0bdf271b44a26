// SPDX-License-Identifier: Apache-2.0
// Logic, shifts and byte permutation (specification 7.2).
#include <algorithm>
#include <type_traits>

#include "isa/families.hpp"
#include "isa/lane_ops.hpp"

namespace emu {
namespace {

using ptx::Type;

template <class T>
struct And {
  static T run(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct Or {
  static T run(T a, T b) { return static_cast<T>(a | b); }
};
template <class T>
struct Xor {
  static T run(T a, T b) { return static_cast<T>(a ^ b); }
};
template <class T>
struct Not {
  static T run(T a) { return static_cast<T>(~a); }
};
template <class T>
struct CNot {
  static T run(T a) { return a == 0 ? 1 : 0; }
};

// Predicates are masks of lanes: one operation for all of them.
template <template <class> class Op>
StepResult predicates(ExecContext& ctx, const Instr& i, uint32_t active) {
  ctx.set_pred(i.ops[0], Op<uint32_t>::run(ctx.pred(i.ops[1]), ctx.pred(i.ops[2])), active);
  return StepResult::next;
}
StepResult predicate_not(ExecContext& ctx, const Instr& i, uint32_t active) {
  ctx.set_pred(i.ops[0], ~ctx.pred(i.ops[1]), active);
  return StepResult::next;
}

template <template <class> class Op>
void decode_logic(DecodeContext& d) {
  const Type type = take_type(d);
  if (type != Type::pred) {
    set_lanes(d, is_bits(type) ? integer_handler<Op, 2>(type) : nullptr, type, {type, type});
    return;
  }
  d.require_count(3, 3);
  d.set(predicates<Op>, {d.pred_dst(d.operand(0)), d.pred(d.operand(1)), d.pred(d.operand(2))});
}

void decode_not(DecodeContext& d) {
  const Type type = take_type(d);
  if (type != Type::pred) {
    set_lanes(d, is_bits(type) ? integer_handler<Not, 1>(type) : nullptr, type, {type});
    return;
  }
  d.require_count(2, 2);
  d.set(predicate_not, {d.pred_dst(d.operand(0)), d.pred(d.operand(1))});
}

void decode_cnot(DecodeContext& d) {
  const Type type = take_type(d);
  set_lanes(d, is_bits(type) ? integer_handler<CNot, 1>(type) : nullptr, type, {type});
}

// --- shifts ------------------------------------------------------------------------------------

template <class T>
struct ShiftLeft {
  static T run(T a, uint32_t count) {
    return count >= 8 * sizeof(T) ? T{0} : static_cast<T>(Wrapping<T>(a) << count);
  }
};
template <class T>
struct ShiftRight {
  static T run(T a, uint32_t count) {
    constexpr uint32_t kTop = 8 * sizeof(T) - 1;
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a >> (count > kTop ? kTop : count));
    }
    return count > kTop ? T{0} : static_cast<T>(a >> count);
  }
};

template <template <class> class Op>
Handler shift_handler(Type type) {
  switch (type) {
    case Type::b16:
    case Type::u16:
      return lanes<Op<uint16_t>, uint16_t, uint16_t, uint32_t>;
    case Type::s16:
      return lanes<Op<int16_t>, int16_t, int16_t, uint32_t>;
    case Type::b32:
    case Type::u32:
      return lanes<Op<uint32_t>, uint32_t, uint32_t, uint32_t>;
    case Type::s32:
      return lanes<Op<int32_t>, int32_t, int32_t, uint32_t>;
    case Type::b64:
    case Type::u64:
      return lanes<Op<uint64_t>, uint64_t, uint64_t, uint32_t>;
    case Type::s64:
      return lanes<Op<int64_t>, int64_t, int64_t, uint32_t>;
    default:
      return nullptr;
  }
}

void decode_shl(DecodeContext& d) {
  const Type type = take_type(d);
  set_lanes(d, is_bits(type) ? shift_handler<ShiftLeft>(type) : nullptr, type, {type, Type::u32});
}
void decode_shr(DecodeContext& d) {
  const Type type = take_type(d);
  set_lanes(d, shift_handler<ShiftRight>(type), type, {type, Type::u32});
}

// The 64-bit value {b:a}: upper word after a left shift, lower word after a right one.
template <bool kLeft, bool kWrap>
struct Funnel {
  static uint32_t run(uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t count = kWrap ? c & 31 : std::min(c, 32u);
    const uint64_t value = uint64_t{b} << 32 | a;
    return static_cast<uint32_t>(kLeft ? (value << count) >> 32 : value >> count);
  }
};

void decode_shf(DecodeContext& d) {
  const std::optional<size_t> side = d.q.take_one_of({"l", "r"});
  const std::optional<size_t> mode = d.q.take_one_of({"wrap", "clamp"});
  if (!side || !mode || take_type(d) != Type::b32) {
    d.reject("shf is .l or .r, .wrap or .clamp, .b32");
  }
  using F = Handler;
  const F handlers[] = {lanes<Funnel<true, true>, uint32_t, uint32_t, uint32_t, uint32_t>,
                        lanes<Funnel<true, false>, uint32_t, uint32_t, uint32_t, uint32_t>,
                        lanes<Funnel<false, true>, uint32_t, uint32_t, uint32_t, uint32_t>,
                        lanes<Funnel<false, false>, uint32_t, uint32_t, uint32_t, uint32_t>};
  set_lanes(d, handlers[2 * *side + *mode], Type::b32, {Type::b32, Type::b32, Type::u32});
}

// --- lop3, prmt ----------------------------------------------------------------------------------

// Result bit = table bit 4a + 2b + c: three levels of choosing, without a branch.
StepResult lop3(ExecContext& ctx, const Instr& i, uint32_t active) {
  auto* d = ctx.reg<uint32_t>(i.ops[0]);
  const auto* a = ctx.reg<uint32_t>(i.ops[1]);
  const auto* b = ctx.reg<uint32_t>(i.ops[2]);
  const auto* c = ctx.reg<uint32_t>(i.ops[3]);
  uint32_t entry[8];
  for (unsigned index = 0; index < 8; ++index) {
    entry[index] = (i.mode >> index & 1) != 0 ? ~0u : 0;
  }
  for_lanes(active, [&](unsigned lane) {
    const uint32_t x = a[lane];
    const uint32_t y = b[lane];
    const uint32_t z = c[lane];
    // Chosen by c, then by b, then by a.
    const auto choose = [&](unsigned base) {
      const uint32_t low = (entry[base] & ~z) | (entry[base + 1] & z);
      const uint32_t high = (entry[base + 2] & ~z) | (entry[base + 3] & z);
      return (low & ~y) | (high & y);
    };
    d[lane] = (choose(0) & ~x) | (choose(4) & x);
  });
  return StepResult::next;
}

void decode_lop3(DecodeContext& d) {
  if (take_type(d) != Type::b32) {
    d.reject("lop3 needs .b32");
  }
  d.require_count(5, 5);
  const int64_t lut = d.immediate(d.operand(4));
  if (lut < 0 || lut > 255) {
    d.reject("the look-up table is a number from 0 to 255");
  }
  d.instr.mode = static_cast<uint8_t>(lut);
  d.set(lop3, {d.dst(d.operand(0), Type::b32), d.src(d.operand(1), Type::b32),
               d.src(d.operand(2), Type::b32), d.src(d.operand(3), Type::b32)});
}

struct Permute {
  static uint32_t run(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = uint64_t{b} << 32 | a;
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += 8, selector >>= 4) {
      auto byte = static_cast<uint8_t>(bytes >> 8 * (selector & 7));
      if ((selector & 8) != 0) {
        byte = (byte & 0x80) != 0 ? 0xFF : 0;
      }
      result |= uint32_t{byte} << shift;
    }
    return result;
  }
};

void decode_prmt(DecodeContext& d) {
  if (take_type(d) != Type::b32) {
    d.reject("prmt needs .b32");
  }
  set_lanes(d, lanes<Permute, uint32_t, uint32_t, uint32_t, uint32_t>, Type::b32,
            {Type::b32, Type::b32, Type::b32});
}

}  // namespace

void register_logic(OpcodeTable& table) {
  table.add("and", decode_logic<And>);
  table.add("or", decode_logic<Or>);
  table.add("xor", decode_logic<Xor>);
  table.add("not", decode_not);
  table.add("cnot", decode_cnot);
  table.add("shl", decode_shl);
  table.add("shr", decode_shr);
  table.add("shf", decode_shf);
  table.add("lop3", decode_lop3);
  table.add("prmt", decode_prmt);
}

}  // namespace emu
