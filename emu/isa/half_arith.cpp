// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 arithmetic and their packed pairs (specification 7.3): computed in double, rounded
// once to the format.
#include <cmath>

#include "isa/arith.hpp"
#include "isa/lane_ops.hpp"
#include "num/ieee.hpp"

namespace emu {
namespace {

using ptx::Type;

template <bool kBf16>
struct Format {
  static double decode(uint16_t code) {
    return kBf16 ? num::bf16_to_float(code) : num::f16_to_float(code);
  }
  static uint16_t encode(double value) {
    return kBf16 ? num::round_to_bf16(value) : num::round_to_f16(value);
  }
  static constexpr uint16_t kOne = kBf16 ? 0x3F80 : 0x3C00;
  static constexpr uint16_t kInfinity = kBf16 ? 0x7F80 : 0x7C00;
  static bool is_nan(uint16_t code) { return (code & 0x7FFF) > kInfinity; }
  static uint16_t flush(uint16_t code) {
    return (code & kInfinity) == 0 ? static_cast<uint16_t>(code & 0x8000) : code;
  }
};

template <bool kBf16>
uint16_t finish(const FloatMode& mode, double odd) {
  using F = Format<kBf16>;
  uint16_t code = F::encode(odd);
  if (mode.ftz) {
    code = F::flush(code);
  }
  const bool negative = (code & 0x8000) != 0;
  if (mode.sat) {
    if (F::is_nan(code) || negative) {
      return 0;
    }
    return std::min(code, F::kOne);
  }
  return mode.relu && negative && !F::is_nan(code) ? 0 : code;
}

template <bool kBf16, FloatOp kOp>
uint16_t binary(const FloatMode& mode, uint16_t a, uint16_t b) {
  using F = Format<kBf16>;
  const double x = F::decode(mode.ftz ? F::flush(a) : a);
  const double y = F::decode(mode.ftz ? F::flush(b) : b);
  switch (kOp) {
    case FloatOp::add:
      return finish<kBf16>(mode, num::add_to_odd(x, y));
    case FloatOp::sub:
      return finish<kBf16>(mode, num::add_to_odd(x, -y));
    case FloatOp::mul:
      return finish<kBf16>(mode, x * y);
    default:
      break;
  }
  if (mode.nan && (std::isnan(x) || std::isnan(y))) {
    return num::kF16Nan;
  }
  return finish<kBf16>(mode, kOp == FloatOp::max ? num::maximum(x, y) : num::minimum(x, y));
}

template <bool kBf16>
uint16_t fused(const FloatMode& mode, uint16_t a, uint16_t b, uint16_t c) {
  using F = Format<kBf16>;
  const double x = F::decode(mode.ftz ? F::flush(a) : a);
  const double y = F::decode(mode.ftz ? F::flush(b) : b);
  const double z = F::decode(mode.ftz ? F::flush(c) : c);
  return finish<kBf16>(mode, num::fma_to_odd(x, y, z));
}

// Without any modifier: what nearly all code uses.
template <bool kBf16>
uint16_t fused_plain(uint16_t a, uint16_t b, uint16_t c) {
  using F = Format<kBf16>;
  return F::encode(num::fma_to_odd(F::decode(a), F::decode(b), F::decode(c)));
}

// T holds one number or two.
template <class T, class F>
T each_half(F f) {
  T result = 0;
  for (unsigned shift = 0; shift < 8 * sizeof(T); shift += 16) {
    result = static_cast<T>(result | T{f(shift)} << shift);
  }
  return result;
}

template <class T, bool kBf16, FloatOp kOp>
struct Binary {
  static T run(const Instr& i, T a, T b) {
    const FloatMode mode = FloatMode::unpack(i.mode);
    return each_half<T>([&](unsigned shift) {
      return binary<kBf16, kOp>(mode, static_cast<uint16_t>(a >> shift),
                                static_cast<uint16_t>(b >> shift));
    });
  }
};
template <class T, bool kBf16>
struct Fused {
  static T run(const Instr& i, T a, T b, T c) {
    if (i.mode == 0) {
      return each_half<T>([&](unsigned shift) {
        return fused_plain<kBf16>(static_cast<uint16_t>(a >> shift),
                                  static_cast<uint16_t>(b >> shift),
                                  static_cast<uint16_t>(c >> shift));
      });
    }
    const FloatMode mode = FloatMode::unpack(i.mode);
    return each_half<T>([&](unsigned shift) {
      return fused<kBf16>(mode, static_cast<uint16_t>(a >> shift),
                          static_cast<uint16_t>(b >> shift), static_cast<uint16_t>(c >> shift));
    });
  }
};
template <class T, bool kBf16, FloatOp kOp>
struct Sign {
  static T run(const Instr& i, T a) {
    const bool ftz = FloatMode::unpack(i.mode).ftz;
    return each_half<T>([&](unsigned shift) {
      auto code = static_cast<uint16_t>(a >> shift);
      code = ftz ? Format<kBf16>::flush(code) : code;
      return static_cast<uint16_t>(kOp == FloatOp::abs ? code & 0x7FFF : code ^ 0x8000);
    });
  }
};

template <class T, bool kBf16>
Handler handler_of(FloatOp op) {
  switch (op) {
    case FloatOp::add:
      return lanes_with_fields<Binary<T, kBf16, FloatOp::add>, T, T, T>;
    case FloatOp::sub:
      return lanes_with_fields<Binary<T, kBf16, FloatOp::sub>, T, T, T>;
    case FloatOp::mul:
      return lanes_with_fields<Binary<T, kBf16, FloatOp::mul>, T, T, T>;
    case FloatOp::min:
      return lanes_with_fields<Binary<T, kBf16, FloatOp::min>, T, T, T>;
    case FloatOp::max:
      return lanes_with_fields<Binary<T, kBf16, FloatOp::max>, T, T, T>;
    case FloatOp::fma:
      return lanes_with_fields<Fused<T, kBf16>, T, T, T, T>;
    case FloatOp::abs:
      return lanes_with_fields<Sign<T, kBf16, FloatOp::abs>, T, T>;
    case FloatOp::neg:
      return lanes_with_fields<Sign<T, kBf16, FloatOp::neg>, T, T>;
    case FloatOp::div:
      return nullptr;
  }
  return nullptr;
}

Handler handler_of(Type type, FloatOp op) {
  switch (type) {
    case Type::f16:
      return handler_of<uint16_t, false>(op);
    case Type::f16x2:
      return handler_of<uint32_t, false>(op);
    case Type::bf16:
      return handler_of<uint16_t, true>(op);
    case Type::bf16x2:
      return handler_of<uint32_t, true>(op);
    default:
      return nullptr;
  }
}

}  // namespace

void decode_half(DecodeContext& d, FloatOp op) {
  const Type type = d.instr.type;
  FloatMode mode;
  const bool extreme = op == FloatOp::min || op == FloatOp::max;
  if (extreme) {
    mode.nan = d.q.take("NaN");
  } else if (op != FloatOp::abs && op != FloatOp::neg) {
    if (take_rounding(d).value_or(num::Rounding::kNearestEven) != num::Rounding::kNearestEven) {
      d.reject("16-bit formats round to nearest only");
    }
    mode.sat = d.q.take("sat");
    mode.relu = op == FloatOp::fma && d.q.take("relu");
  }
  mode.ftz = d.q.take("ftz");
  d.instr.mode = mode.pack();
  switch (op) {
    case FloatOp::fma:
      return set_lanes(d, handler_of(type, op), type, {type, type, type});
    case FloatOp::abs:
    case FloatOp::neg:
      return set_lanes(d, handler_of(type, op), type, {type});
    default:
      return set_lanes(d, handler_of(type, op), type, {type, type});
  }
}

}  // namespace emu
