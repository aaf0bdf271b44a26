// SPDX-License-Identifier: Apache-2.0
// f32 and f64 arithmetic (specification 7.3).
#include <cmath>

#include "isa/arith.hpp"
#include "isa/families.hpp"
#include "isa/lane_ops.hpp"
#include "num/ieee.hpp"

namespace emu {
namespace {

using num::Rounding;
using ptx::Type;

// --- f32, nearest even, without flushing or saturation: what nearly all code uses
// ------------------

struct AddF32 {
  static float run(float a, float b) { return num::canonical(a + b); }
};
struct SubF32 {
  static float run(float a, float b) { return num::canonical(a - b); }
};
struct MulF32 {
  static float run(float a, float b) { return num::canonical(a * b); }
};
struct FmaF32 {
  static float run(float a, float b, float c) { return num::canonical(std::fma(a, b, c)); }
};
struct DivF32 {
  static float run(float a, float b) { return num::canonical(a / b); }
};
struct SqrtF32 {
  static float run(float a) { return num::canonical(std::sqrt(a)); }
};
struct RcpF32 {
  static float run(float a) { return num::canonical(1.0f / a); }
};

// --- f32 with modifiers
// ----------------------------------------------------------------------------

float finish(const FloatMode& mode, double odd) {
  const double kept = mode.ftz ? num::flush_exact(odd) : odd;
  const float result = num::canonical(num::round_to_f32(kept, mode.rounding));
  return mode.sat ? num::saturate(result) : result;
}

double flushed(const FloatMode& mode, float value) {
  return mode.ftz ? num::flush(value) : value;
}

template <FloatOp kOp>
struct BinaryF32 {
  static float run(const Instr& i, float a, float b) {
    const FloatMode mode = FloatMode::unpack(i.mode);
    const double x = flushed(mode, a);
    const double y = flushed(mode, b);
    double odd = 0;
    switch (kOp) {
      case FloatOp::add:
        odd = num::add_to_odd(x, y, mode.rounding);
        break;
      case FloatOp::sub:
        odd = num::add_to_odd(x, -y, mode.rounding);
        break;
      case FloatOp::mul:
        odd = x * y;  // exact in double
        break;
      default:
        odd = num::divide_to_odd(x, y);
        break;
    }
    return finish(mode, odd);
  }
};
struct FmaF32WithMode {
  static float run(const Instr& i, float a, float b, float c) {
    const FloatMode mode = FloatMode::unpack(i.mode);
    return finish(
        mode, num::fma_to_odd(flushed(mode, a), flushed(mode, b), flushed(mode, c), mode.rounding));
  }
};
struct SqrtF32WithMode {
  static float run(const Instr& i, float a) {
    const FloatMode mode = FloatMode::unpack(i.mode);
    return finish(mode, num::sqrt_to_odd(flushed(mode, a)));
  }
};
struct RcpF32WithMode {
  static float run(const Instr& i, float a) {
    const FloatMode mode = FloatMode::unpack(i.mode);
    return finish(mode, num::divide_to_odd(1, flushed(mode, a)));
  }
};

template <bool kMax>
struct ExtremeF32 {
  static float run(const Instr& i, float a, float b) {
    const FloatMode mode = FloatMode::unpack(i.mode);
    if (mode.nan && (std::isnan(a) || std::isnan(b))) {
      return num::float_of(num::kF32Nan);
    }
    if (mode.ftz) {
      a = num::flush(a);
      b = num::flush(b);
    }
    return num::canonical(kMax ? num::maximum(a, b) : num::minimum(a, b));
  }
};

// Of two equal registers ptxas makes a move, also where a NaN would have become the canonical one
// (min and max without modifiers only; measured on 9.0).
struct SameF32 {
  static uint32_t run(uint32_t a, uint32_t) { return a; }
};

// Sign changes are operations on bits; .ftz flushes first.
template <FloatOp kOp>
struct SignF32 {
  static uint32_t run(const Instr& i, uint32_t a) {
    if (FloatMode::unpack(i.mode).ftz) {
      a = num::bits_of(num::flush(num::float_of(a)));
    }
    return kOp == FloatOp::abs ? a & 0x7FFFFFFFu : a ^ 0x80000000u;
  }
};

// --- f64
// -------------------------------------------------------------------------------------------

template <FloatOp kOp>
struct BinaryF64 {
  static double run(const Instr& i, double a, double b) {
    const volatile double x = a;
    const volatile double y = b;
    return num::with_host_rounding(FloatMode::unpack(i.mode).rounding, [&] {
      switch (kOp) {
        case FloatOp::add:
          return x + y;
        case FloatOp::sub:
          return x - y;
        case FloatOp::mul:
          return x * y;
        default:
          return x / y;
      }
    });
  }
};
struct FmaF64 {
  static double run(const Instr& i, double a, double b, double c) {
    const volatile double x = a;
    const volatile double y = b;
    const volatile double z = c;
    return num::with_host_rounding(FloatMode::unpack(i.mode).rounding,
                                   [&] { return std::fma(x, y, z); });
  }
};
struct SqrtF64 {
  static double run(const Instr& i, double a) {
    const volatile double x = a;
    return num::with_host_rounding(FloatMode::unpack(i.mode).rounding,
                                   [&] { return std::sqrt(x); });
  }
};
struct RcpF64 {
  static double run(const Instr& i, double a) { return BinaryF64<FloatOp::div>::run(i, 1, a); }
};
template <bool kMax>
struct ExtremeF64 {
  static double run(double a, double b) { return kMax ? num::maximum(a, b) : num::minimum(a, b); }
};
template <FloatOp kOp>
struct SignF64 {
  static uint64_t run(uint64_t a) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    return kOp == FloatOp::abs ? a & ~kSign : a ^ kSign;
  }
};

// --- decoding
// --------------------------------------------------------------------------------------

// Reads rounding, .ftz and .sat; true if the plain handler will do.
bool take_mode(DecodeContext& d, FloatMode& mode) {
  mode.rounding = take_rounding(d).value_or(Rounding::kNearestEven);
  if (d.instr.type == Type::f32) {
    mode.ftz = d.q.take("ftz");
    mode.sat = d.q.take("sat");
  }
  d.instr.mode = mode.pack();
  return mode.rounding == Rounding::kNearestEven && !mode.ftz && !mode.sat;
}

template <FloatOp kOp, class Plain>
void decode_binary(DecodeContext& d) {
  FloatMode mode;
  const bool plain = take_mode(d, mode);
  const Type type = d.instr.type;
  const Handler f32 = plain ? lanes<Plain, float, float, float>
                            : lanes_with_fields<BinaryF32<kOp>, float, float, float>;
  const Handler f64 = lanes_with_fields<BinaryF64<kOp>, double, double, double>;
  set_lanes(d, type == Type::f32 ? f32 : f64, type, {type, type});
}

void decode_fma(DecodeContext& d) {
  FloatMode mode;
  const bool plain = take_mode(d, mode);
  const Type type = d.instr.type;
  const Handler f32 = plain ? lanes<FmaF32, float, float, float, float>
                            : lanes_with_fields<FmaF32WithMode, float, float, float, float>;
  const Handler f64 = lanes_with_fields<FmaF64, double, double, double, double>;
  set_lanes(d, type == Type::f32 ? f32 : f64, type, {type, type, type});
}

template <bool kMax>
void decode_extreme(DecodeContext& d) {
  FloatMode mode;
  const Type type = d.instr.type;
  if (type == Type::f32) {
    mode.ftz = d.q.take("ftz");
    mode.nan = d.q.take("NaN");
  }
  d.instr.mode = mode.pack();
  const Handler f32 = lanes_with_fields<ExtremeF32<kMax>, float, float, float>;
  set_lanes(d, type == Type::f32 ? f32 : lanes<ExtremeF64<kMax>, double, double, double>, type,
            {type, type});
  const auto is_register = [](const Operand& one) { return (one.flags & Operand::kConstant) == 0; };
  const bool same =
      is_register(d.ops[1]) && is_register(d.ops[2]) && d.ops[1].offset == d.ops[2].offset;
  if (same && type == Type::f32 && !mode.ftz && !mode.nan) {
    d.instr.handler = lanes<SameF32, uint32_t, uint32_t, uint32_t>;
  }
}

template <FloatOp kOp>
void decode_sign(DecodeContext& d) {
  FloatMode mode;
  const Type type = d.instr.type;
  mode.ftz = type == Type::f32 && d.q.take("ftz");
  d.instr.mode = mode.pack();
  const Handler f32 = lanes_with_fields<SignF32<kOp>, uint32_t, uint32_t>;
  set_lanes(d, type == Type::f32 ? f32 : lanes<SignF64<kOp>, uint64_t, uint64_t>, type, {type});
}

struct CopySign32 {
  static uint32_t run(uint32_t sign, uint32_t magnitude) {
    return (magnitude & 0x7FFFFFFFu) | (sign & 0x80000000u);
  }
};
struct CopySign64 {
  static uint64_t run(uint64_t sign, uint64_t magnitude) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    return (magnitude & ~kSign) | (sign & kSign);
  }
};
void decode_copysign(DecodeContext& d) {
  const Type type = take_type(d);
  Handler handler = nullptr;
  if (type == Type::f32) {
    handler = lanes<CopySign32, uint32_t, uint32_t, uint32_t>;
  } else if (type == Type::f64) {
    handler = lanes<CopySign64, uint64_t, uint64_t, uint64_t>;
  }
  set_lanes(d, handler, type, {type, type});
}

void decode_float_fma(DecodeContext& d) {
  take_type(d);
  if (!decode_if_float(d, FloatOp::fma)) {
    d.reject("fma is for floating point");
  }
}

}  // namespace

void decode_float(DecodeContext& d, FloatOp op) {
  switch (op) {
    case FloatOp::add:
      return decode_binary<FloatOp::add, AddF32>(d);
    case FloatOp::sub:
      return decode_binary<FloatOp::sub, SubF32>(d);
    case FloatOp::mul:
      return decode_binary<FloatOp::mul, MulF32>(d);
    case FloatOp::div:
      return decode_binary<FloatOp::div, DivF32>(d);
    case FloatOp::fma:
      return decode_fma(d);
    case FloatOp::min:
      return decode_extreme<false>(d);
    case FloatOp::max:
      return decode_extreme<true>(d);
    case FloatOp::abs:
      return decode_sign<FloatOp::abs>(d);
    case FloatOp::neg:
      return decode_sign<FloatOp::neg>(d);
  }
}

void decode_rounded_sqrt(DecodeContext& d) {
  FloatMode mode;
  const bool plain = take_mode(d, mode);
  const Type type = d.instr.type;
  const Handler f32 =
      plain ? lanes<SqrtF32, float, float> : lanes_with_fields<SqrtF32WithMode, float, float>;
  set_lanes(d, type == Type::f32 ? f32 : lanes_with_fields<SqrtF64, double, double>, type, {type});
}

void decode_rounded_rcp(DecodeContext& d) {
  FloatMode mode;
  const bool plain = take_mode(d, mode);
  const Type type = d.instr.type;
  const Handler f32 =
      plain ? lanes<RcpF32, float, float> : lanes_with_fields<RcpF32WithMode, float, float>;
  set_lanes(d, type == Type::f32 ? f32 : lanes_with_fields<RcpF64, double, double>, type, {type});
}

void register_float_arith(OpcodeTable& table) {
  table.add("fma", decode_float_fma);
  table.add("copysign", decode_copysign);
}

}  // namespace emu
