// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic (specification 7.1).
#include "isa/arith.hpp"

#include <limits>
#include <type_traits>

#include "isa/families.hpp"
#include "isa/lane_ops.hpp"

namespace emu {
namespace {

using ptx::Type;

template <class T>
struct Add {
  static T run(T a, T b) { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); }
};
template <class T>
struct Sub {
  static T run(T a, T b) { return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b)); }
};
template <class T>
struct MulLow {
  static T run(T a, T b) { return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b)); }
};
template <class T>
struct MulHigh {
  static T run(T a, T b) {
    using Wide =
        std::conditional_t<sizeof(T) == 8,
                           std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                           std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
    return static_cast<T>((Wide{a} * Wide{b}) >> (8 * sizeof(T)));
  }
};
template <class T>
struct MadLow {
  static T run(T a, T b, T c) { return Add<T>::run(MulLow<T>::run(a, b), c); }
};
template <class T>
struct MadHigh {
  static T run(T a, T b, T c) { return Add<T>::run(MulHigh<T>::run(a, b), c); }
};
template <class Narrow, class Wide>
struct MulWide {
  static Wide run(Narrow a, Narrow b) { return static_cast<Wide>(Wide{a} * Wide{b}); }
};
template <class Narrow, class Wide>
struct MadWide {
  static Wide run(Narrow a, Narrow b, Wide c) {
    return Add<Wide>::run(MulWide<Narrow, Wide>::run(a, b), c);
  }
};
template <class T>
struct Min {
  static T run(T a, T b) { return a < b ? a : b; }
};
template <class T>
struct Max {
  static T run(T a, T b) { return a > b ? a : b; }
};
template <class T>
struct Negate {
  static T run(T a) { return static_cast<T>(0 - Wrapping<T>(a)); }
};
template <class T>
struct Absolute {
  static T run(T a) { return a < 0 ? Negate<T>::run(a) : a; }
};
template <class T>
struct SumOfDifference {
  static T run(T a, T b, T c) {
    return Add<T>::run(c, a < b ? Sub<T>::run(b, a) : Sub<T>::run(a, b));
  }
};

// By zero: all ones and the dividend. The most negative number by -1 is itself, remainder 0.
template <class T>
struct Divide {
  static T run(T a, T b) {
    if (b == 0) {
      return static_cast<T>(~T{0});
    }
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) {
        return Negate<T>::run(a);
      }
    }
    return static_cast<T>(a / b);
  }
};
template <class T>
struct Remainder {
  static T run(T a, T b) {
    if (b == 0) {
      return a;
    }
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) {
        return 0;
      }
    }
    return static_cast<T>(a % b);
  }
};

// Unspecified by the instruction set, so worth a warning.
template <template <class> class Op, class T>
StepResult division(ExecContext& ctx, const Instr& i, uint32_t active) {
  T* d = ctx.reg<T>(i.ops[0]);
  const T* a = ctx.reg<T>(i.ops[1]);
  const T* b = ctx.reg<T>(i.ops[2]);
  bool by_zero = false;
  for_lanes(active, [&](unsigned lane) {
    by_zero = by_zero || b[lane] == 0;
    d[lane] = Op<T>::run(a[lane], b[lane]);
  });
  if (by_zero) {
    ctx.warn("integer division by zero");
  }
  return StepResult::next;
}

template <template <class> class Op>
Handler division_handler(Type type) {
  switch (type) {
    case Type::s16:
      return division<Op, int16_t>;
    case Type::u16:
      return division<Op, uint16_t>;
    case Type::s32:
      return division<Op, int32_t>;
    case Type::u32:
      return division<Op, uint32_t>;
    case Type::s64:
      return division<Op, int64_t>;
    case Type::u64:
      return division<Op, uint64_t>;
    default:
      return nullptr;
  }
}

template <bool kSubtract>
struct Saturating {
  static int32_t run(int32_t a, int32_t b) {
    const int64_t exact = kSubtract ? int64_t{a} - b : int64_t{a} + b;
    return static_cast<int32_t>(
        std::min<int64_t>(std::max<int64_t>(exact, std::numeric_limits<int32_t>::min()),
                          std::numeric_limits<int32_t>::max()));
  }
};

// Two 16-bit halves.
template <template <class> class Op, class T>
struct Packed {
  static uint32_t run(uint32_t a, uint32_t b) {
    const auto half = [&](int shift) {
      const T result = Op<T>::run(static_cast<T>(a >> shift), static_cast<T>(b >> shift));
      return uint32_t{static_cast<uint16_t>(result)} << shift;
    };
    return half(0) | half(16);
  }
};

// True (and decoded) if the type is a packed pair of 16-bit integers.
template <template <class> class Op>
bool decode_packed(DecodeContext& d) {
  if (d.q.take("s16x2")) {
    set_lanes(d, lanes<Packed<Op, int16_t>, uint32_t, uint32_t, uint32_t>, Type::b32,
              {Type::b32, Type::b32});
    return true;
  }
  if (d.q.take("u16x2")) {
    set_lanes(d, lanes<Packed<Op, uint16_t>, uint32_t, uint32_t, uint32_t>, Type::b32,
              {Type::b32, Type::b32});
    return true;
  }
  return false;
}

template <template <class> class Op, bool kSubtract>
void decode_sum(DecodeContext& d) {
  if (!kSubtract && decode_packed<Op>(d)) {
    return;
  }
  const Type type = take_type(d);
  if (decode_if_float(d, kSubtract ? FloatOp::sub : FloatOp::add)) {
    return;
  }
  if (d.q.take("sat")) {
    if (type != Type::s32) {
      d.reject(".sat needs .s32");
    }
    set_lanes(d, lanes<Saturating<kSubtract>, int32_t, int32_t, int32_t>, type, {type, type});
    return;
  }
  set_lanes(d, integer_handler<Op, 2>(type), type, {type, type});
}

void decode_mul(DecodeContext& d) {
  const Type type = take_type(d);
  if (decode_if_float(d, FloatOp::mul)) {
    return;
  }
  const std::optional<size_t> part = d.q.take_one_of({"lo", "hi", "wide"});
  if (!part) {
    d.reject(".lo, .hi or .wide is missing");
  }
  if (*part == 0) {
    set_lanes(d, integer_handler<MulLow, 2>(type), type, {type, type});
  } else if (*part == 1) {
    set_lanes(d, integer_handler<MulHigh, 2>(type), type, {type, type});
  } else if (type == Type::s16) {
    set_lanes(d, lanes<MulWide<int16_t, int32_t>, int32_t, int16_t, int16_t>, Type::s32,
              {type, type});
  } else if (type == Type::u16) {
    set_lanes(d, lanes<MulWide<uint16_t, uint32_t>, uint32_t, uint16_t, uint16_t>, Type::u32,
              {type, type});
  } else if (type == Type::s32) {
    set_lanes(d, lanes<MulWide<int32_t, int64_t>, int64_t, int32_t, int32_t>, Type::s64,
              {type, type});
  } else if (type == Type::u32) {
    set_lanes(d, lanes<MulWide<uint32_t, uint64_t>, uint64_t, uint32_t, uint32_t>, Type::u64,
              {type, type});
  } else {
    d.reject(".wide needs a 16-bit or 32-bit type");
  }
}

void decode_mad_wide(DecodeContext& d, Type type) {
  if (type == Type::s16) {
    set_lanes(d, lanes<MadWide<int16_t, int32_t>, int32_t, int16_t, int16_t, int32_t>, Type::s32,
              {type, type, Type::s32});
  } else if (type == Type::u16) {
    set_lanes(d, lanes<MadWide<uint16_t, uint32_t>, uint32_t, uint16_t, uint16_t, uint32_t>,
              Type::u32, {type, type, Type::u32});
  } else if (type == Type::s32) {
    set_lanes(d, lanes<MadWide<int32_t, int64_t>, int64_t, int32_t, int32_t, int64_t>, Type::s64,
              {type, type, Type::s64});
  } else if (type == Type::u32) {
    set_lanes(d, lanes<MadWide<uint32_t, uint64_t>, uint64_t, uint32_t, uint32_t, uint64_t>,
              Type::u64, {type, type, Type::u64});
  } else {
    d.reject(".wide needs a 16-bit or 32-bit type");
  }
}

struct MadHighSaturating {
  static int32_t run(int32_t a, int32_t b, int32_t c) {
    return Saturating<false>::run(MulHigh<int32_t>::run(a, b), c);
  }
};

void decode_mad(DecodeContext& d) {
  const Type type = take_type(d);
  if (decode_if_float(d, FloatOp::fma)) {
    return;
  }
  const std::optional<size_t> part = d.q.take_one_of({"lo", "hi", "wide"});
  if (!part) {
    d.reject(".lo, .hi or .wide is missing");
  }
  if (*part == 0) {
    set_lanes(d, integer_handler<MadLow, 3>(type), type, {type, type, type});
  } else if (*part == 2) {
    decode_mad_wide(d, type);
  } else if (d.q.take("sat")) {
    if (type != Type::s32) {
      d.reject(".hi.sat needs .s32");
    }
    set_lanes(d, lanes<MadHighSaturating, int32_t, int32_t, int32_t, int32_t>, type,
              {type, type, type});
  } else {
    set_lanes(d, integer_handler<MadHigh, 3>(type), type, {type, type, type});
  }
}

void decode_div(DecodeContext& d) {
  const Type type = take_type(d);
  if (ptx::is_float(type)) {
    if (d.q.has("approx") || d.q.has("full")) {
      decode_approximate_division(d);
    } else {
      decode_float(d, FloatOp::div);
    }
    return;
  }
  set_lanes(d, division_handler<Divide>(type), type, {type, type});
}

void decode_rem(DecodeContext& d) {
  const Type type = take_type(d);
  set_lanes(d, division_handler<Remainder>(type), type, {type, type});
}

template <template <class> class Op, FloatOp kFloat>
void decode_extreme(DecodeContext& d) {
  const bool relu = d.q.has("s16x2") || d.q.has("s32") ? d.q.take("relu") : false;
  if (relu) {
    d.reject("integer .relu is not supported");
  }
  if (decode_packed<Op>(d)) {
    return;
  }
  const Type type = take_type(d);
  if (!decode_if_float(d, kFloat)) {
    set_lanes(d, is_bits(type) ? nullptr : integer_handler<Op, 2>(type), type, {type, type});
  }
}

template <template <class> class Op, FloatOp kFloat>
void decode_sign(DecodeContext& d) {
  const Type type = take_type(d);
  if (!decode_if_float(d, kFloat)) {
    set_lanes(d, ptx::is_signed(type) ? integer_handler<Op, 1>(type) : nullptr, type, {type});
  }
}

void decode_sad(DecodeContext& d) {
  const Type type = take_type(d);
  set_lanes(d, is_bits(type) ? nullptr : integer_handler<SumOfDifference, 3>(type), type,
            {type, type, type});
}

}  // namespace

bool decode_if_float(DecodeContext& d, FloatOp op) {
  switch (d.instr.type) {
    case Type::f32:
    case Type::f64:
      decode_float(d, op);
      return true;
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
      decode_half(d, op);
      return true;
    default:
      return false;
  }
}

void register_arith(OpcodeTable& table) {
  table.add("add", decode_sum<Add, false>);
  table.add("sub", decode_sum<Sub, true>);
  table.add("mul", decode_mul);
  table.add("mad", decode_mad);
  table.add("div", decode_div);
  table.add("rem", decode_rem);
  table.add("min", decode_extreme<Min, FloatOp::min>);
  table.add("max", decode_extreme<Max, FloatOp::max>);
  table.add("neg", decode_sign<Negate, FloatOp::neg>);
  table.add("abs", decode_sign<Absolute, FloatOp::abs>);
  table.add("sad", decode_sad);
}

}  // namespace emu
