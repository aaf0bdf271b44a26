// SPDX-License-Identifier: Apache-2.0
// Approximate functions (specification 7.3), and sqrt and rcp, which have an exact form too.
#include "num/approximate.hpp"

#include "exec/engine.hpp"
#include "isa/arith.hpp"
#include "isa/families.hpp"
#include "isa/lane_ops.hpp"
#include "num/ieee.hpp"

namespace emu {
namespace {

using num::Approximate;
using ptx::Type;

// Uniform in [-1, 1].
double noise(ExecContext& ctx) {
  return static_cast<double>(ctx.random().next() >> 11) * 0x1p-52 - 1;
}

// As f32, with an error where the settings ask for one.
float rounded(ExecContext& ctx, double value, double bound) {
  const bool jitter = ctx.options().approx_jitter;
  return num::canonical(jitter ? num::jittered(value, bound, noise(ctx))
                               : static_cast<float>(value));
}

float evaluate(ExecContext& ctx, const Instr& i, float a,
               double (*bound)(Approximate) = num::approximate_bound) {
  const auto function = static_cast<Approximate>(i.mode2);
  const bool ftz = FloatMode::unpack(i.mode).ftz;
  const float result =
      rounded(ctx, num::approximated(function, ftz ? num::flush(a) : a), bound(function));
  return ftz ? num::flush(result) : result;
}

StepResult function_f32(ExecContext& ctx, const Instr& i, uint32_t active) {
  float* d = ctx.reg<float>(i.ops[0]);
  const float* a = ctx.reg<float>(i.ops[1]);
  for_lanes(active, [&](unsigned lane) { d[lane] = evaluate(ctx, i, a[lane]); });
  return StepResult::next;
}

// One or two 16-bit numbers in a register of type T.
template <class T, bool kBf16>
StepResult function_half(ExecContext& ctx, const Instr& i, uint32_t active) {
  T* d = ctx.reg<T>(i.ops[0]);
  const T* a = ctx.reg<T>(i.ops[1]);
  for_lanes(active, [&](unsigned lane) {
    T result = 0;
    for (unsigned shift = 0; shift < 8 * sizeof(T); shift += 16) {
      const auto code = static_cast<uint16_t>(a[lane] >> shift);
      const float x = kBf16 ? num::bf16_to_float(code) : num::f16_to_float(code);
      const float y = evaluate(ctx, i, x, num::half_approximate_bound);
      const uint16_t rounded = kBf16 ? num::round_to_bf16(y) : num::round_to_f16(y);
      result = static_cast<T>(result | T{rounded} << shift);
    }
    d[lane] = result;
  });
  return StepResult::next;
}

Handler function_handler(Type type) {
  switch (type) {
    case Type::f32:
      return function_f32;
    case Type::f16:
      return function_half<uint16_t, false>;
    case Type::f16x2:
      return function_half<uint32_t, false>;
    case Type::bf16:
      return function_half<uint16_t, true>;
    case Type::bf16x2:
      return function_half<uint32_t, true>;
    default:
      return nullptr;
  }
}

template <Approximate kFunction>
void decode_function(DecodeContext& d) {
  const Type type = d.instr.type == Type::none ? take_type(d) : d.instr.type;
  if (!d.q.take("approx")) {
    d.reject(".approx is missing");
  }
  constexpr bool kHalfToo = kFunction == Approximate::kEx2 || kFunction == Approximate::kTanh;
  FloatMode mode;
  mode.ftz = d.q.take("ftz");
  d.instr.mode = mode.pack();
  d.instr.mode2 = static_cast<uint8_t>(kFunction);
  set_lanes(d, kHalfToo || type == Type::f32 ? function_handler(type) : nullptr, type, {type});
}

void decode_sqrt(DecodeContext& d) {
  take_type(d);
  if (d.q.has("approx")) {
    decode_function<Approximate::kSqrt>(d);
  } else {
    decode_rounded_sqrt(d);
  }
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 look at the upper word only: not offered.
void decode_rcp(DecodeContext& d) {
  take_type(d);
  if (d.q.has("approx")) {
    decode_function<Approximate::kRcp>(d);
  } else {
    decode_rounded_rcp(d);
  }
}

// Instr::mode2 of div.
enum DivideMode : uint8_t { kApprox = 0, kFull = 1 };

StepResult divide_f32(ExecContext& ctx, const Instr& i, uint32_t active) {
  float* d = ctx.reg<float>(i.ops[0]);
  const float* a = ctx.reg<float>(i.ops[1]);
  const float* b = ctx.reg<float>(i.ops[2]);
  const bool ftz = FloatMode::unpack(i.mode).ftz;
  for_lanes(active, [&](unsigned lane) {
    const float x = ftz ? num::flush(a[lane]) : a[lane];
    const float y = ftz ? num::flush(b[lane]) : b[lane];
    const double quotient =
        i.mode2 == kApprox ? num::approximate_quotient(x, y) : static_cast<double>(x) / y;
    const float result = rounded(ctx, quotient, num::divide_bound());
    d[lane] = ftz ? num::flush(result) : result;
  });
  return StepResult::next;
}

}  // namespace

void decode_approximate_division(DecodeContext& d) {
  d.instr.mode2 = d.q.has("full") ? kFull : kApprox;
  d.q.take_one_of({"approx", "full"});
  FloatMode mode;
  mode.ftz = d.q.take("ftz");
  d.instr.mode = mode.pack();
  const Type type = d.instr.type;
  set_lanes(d, type == Type::f32 ? divide_f32 : nullptr, type, {type, type});
}

void register_approximate(OpcodeTable& table) {
  table.add("ex2", decode_function<Approximate::kEx2>);
  table.add("lg2", decode_function<Approximate::kLg2>);
  table.add("rsqrt", decode_function<Approximate::kRsqrt>);
  table.add("sin", decode_function<Approximate::kSin>);
  table.add("cos", decode_function<Approximate::kCos>);
  table.add("tanh", decode_function<Approximate::kTanh>);
  table.add("sqrt", decode_sqrt);
  table.add("rcp", decode_rcp);
}

}  // namespace emu
