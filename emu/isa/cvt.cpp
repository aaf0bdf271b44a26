// SPDX-License-Identifier: Apache-2.0
// Conversions of single numbers (specification 7.6). Registers may be wider than the types: the low
// bits of the source count, the result is extended, by its sign where the type is signed.
#include "isa/cvt.hpp"

#include <cmath>

#include "isa/families.hpp"
#include "isa/lane_ops.hpp"
#include "num/ieee.hpp"

namespace emu {
namespace {

using num::Rounding;
using ptx::Type;

// --- the usual cases, one handler for each pair of types
// -------------------------------------------

template <class D, class S>
struct Cast {
  static D run(S value) { return static_cast<D>(value); }
};
struct F32FromF16 {
  static uint32_t run(uint16_t code) {
    return num::kF16.is_nan(code) ? num::kF32Nan : num::bits_of(num::f16_to_float(code));
  }
};
struct F32FromBf16 {
  static uint32_t run(uint16_t code) { return uint32_t{code} << 16; }
};
struct F16FromF32 {
  static uint16_t run(float value) { return num::round_to_f16(value); }
};
struct Bf16FromF32 {
  static uint16_t run(float value) { return num::float_to_bf16(value); }
};
struct F32FromF64 {
  static float run(double value) { return num::canonical(static_cast<float>(value)); }
};

template <class S>
Handler cast_from(Type to) {
  switch (to) {
    case Type::u16:
    case Type::s16:
      return lanes<Cast<uint16_t, S>, uint16_t, S>;
    case Type::u32:
    case Type::s32:
      return lanes<Cast<uint32_t, S>, uint32_t, S>;
    case Type::u64:
    case Type::s64:
      return lanes<Cast<uint64_t, S>, uint64_t, S>;
    case Type::f32:
      return lanes<Cast<float, S>, float, S>;
    case Type::f64:
      return lanes<Cast<double, S>, double, S>;
    default:
      return nullptr;
  }
}

// Null where the general way is needed. Integers to floating point come here only with .rn, which
// is how the host casts.
Handler usual_handler(Type to, Type from) {
  switch (from) {
    case Type::u16:
      return cast_from<uint16_t>(to);
    case Type::s16:
      return cast_from<int16_t>(to);
    case Type::u32:
      return cast_from<uint32_t>(to);
    case Type::s32:
      return cast_from<int32_t>(to);
    case Type::u64:
      return cast_from<uint64_t>(to);
    case Type::s64:
      return cast_from<int64_t>(to);
    case Type::f16:
      return to == Type::f32 ? lanes<F32FromF16, uint32_t, uint16_t> : nullptr;
    case Type::bf16:
      return to == Type::f32 ? lanes<F32FromBf16, uint32_t, uint16_t> : nullptr;
    case Type::f32:
      return to == Type::f16    ? lanes<F16FromF32, uint16_t, float>
             : to == Type::bf16 ? lanes<Bf16FromF32, uint16_t, float>
             : to == Type::f64  ? lanes<Cast<double, float>, double, float>
                                : nullptr;
    case Type::f64:
      return to == Type::f32 ? lanes<F32FromF64, float, double> : nullptr;
    default:
      return nullptr;
  }
}

// --- the general way
// ---------------------------------------------------------------------------------

const num::FloatFormat* format_of(Type type) {
  switch (type) {
    case Type::f16:
      return &num::kF16;
    case Type::bf16:
      return &num::kBf16;
    case Type::tf32:
    case Type::f32:
      return &num::kF32;
    case Type::f64:
      return &num::kF64;
    default:
      return nullptr;
  }
}

uint64_t low_bits(uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

struct Integer {
  bool negative;
  uint64_t magnitude;
};

Integer integer_of(Type type, uint64_t raw) {
  const unsigned bits = 8 * ptx::type_bytes(type);
  raw = low_bits(raw, bits);
  const bool negative = ptx::is_signed(type) && (raw >> (bits - 1) & 1) != 0;
  return {negative, negative ? low_bits(~raw + 1, bits) : raw};
}

uint64_t clamp_integer(Type type, Integer value) {
  const unsigned bits = 8 * ptx::type_bytes(type);
  const uint64_t top = uint64_t{1} << (bits - 1);
  if (!ptx::is_signed(type)) {
    return value.negative ? 0 : std::min(value.magnitude, top | (top - 1));
  }
  const uint64_t magnitude = std::min(value.magnitude, value.negative ? top : top - 1);
  return value.negative ? ~magnitude + 1 : magnitude;
}

uint64_t saturate_code(const num::FloatFormat& format, uint64_t code) {
  if (format.is_nan(code) || (code & format.sign_bit()) != 0) {
    return 0;
  }
  return std::min(code, num::encode(format, 1));
}

uint64_t finish_float(Type type, uint64_t code, const ConvertMode& mode) {
  const num::FloatFormat& format = *format_of(type);
  if (mode.sat) {
    code = saturate_code(format, code);
  }
  return code;
}

uint64_t float_from_integer(Type type, Integer value, const ConvertMode& mode) {
  const uint64_t code = num::encode_exact(*format_of(type), value.negative, value.magnitude, 0,
                                          false, mode.encoding());
  return finish_float(type, code, mode);
}

// Rounded at 10 bits, kept in an f32's place: the low 13 bits are zero, also those of the canonical
// NaN.
constexpr int kTf32Dropped = 13;
constexpr uint64_t kTf32Kept = ~uint64_t{(1u << kTf32Dropped) - 1};

uint64_t tf32_code(double value, const ConvertMode& mode) {
  const uint64_t code = convert_to(num::kTf32, value, mode);
  return num::kTf32.is_nan(code) ? num::kF32Nan & kTf32Kept : code << kTf32Dropped;
}

uint64_t float_from_float(Type type, double value, const ConvertMode& mode) {
  if (type == Type::tf32) {
    return tf32_code(value, mode);
  }
  if (mode.integral) {
    value = num::round_to_integral(value, mode.rounding);
  }
  if (mode.ftz && type == Type::f32) {
    value = num::flush_exact(value);
  }
  return finish_float(type, convert_to(*format_of(type), value, mode), mode);
}

double float_value(Type type, uint64_t raw, bool ftz) {
  if (type == Type::f32) {
    const float value = num::float_of(static_cast<uint32_t>(raw));
    return ftz ? num::flush(value) : value;
  }
  return num::decode(*format_of(type), low_bits(raw, 8 * ptx::type_bytes(type)));
}

uint64_t convert(const Instr& i, const ConvertMode& mode, uint64_t raw) {
  const Type to = i.type;
  const Type from = i.type2;
  if (format_of(from) == nullptr) {
    const Integer value = integer_of(from, raw);
    if (format_of(to) != nullptr) {
      return float_from_integer(to, value, mode);
    }
    return mode.sat         ? clamp_integer(to, value)
           : value.negative ? ~value.magnitude + 1
                            : value.magnitude;
  }
  const double value = float_value(from, raw, mode.ftz);
  if (to == Type::tf32 && mode.rounding == Rounding::kNearestAway && std::isnan(value)) {
    return raw & kTf32Kept;  // .rna is an addition and a mask, and a NaN meets the mask alone
  }
  if (format_of(to) != nullptr) {
    return float_from_float(to, value, mode);
  }
  return num::to_integer(value, static_cast<int>(8 * ptx::type_bytes(to)), ptx::is_signed(to),
                         mode.rounding, from != Type::f64);
}

StepResult general(ExecContext& ctx, const Instr& i, uint32_t active) {
  const ConvertMode mode = ConvertMode::unpack(i.mode);
  const unsigned bits = 8 * ptx::type_bytes(i.type);
  const bool extend = ptx::is_signed(i.type);
  for_lanes(active, [&](unsigned lane) {
    uint64_t result = low_bits(convert(i, mode, ctx.lane_value(i.ops[1], lane)), bits);
    if (extend && (result >> (bits - 1) & 1) != 0) {
      result |= ~low_bits(~uint64_t{0}, bits);
    }
    ctx.set_lane_value(i.ops[0], lane, result);
  });
  return StepResult::next;
}

// --- decoding
// ------------------------------------------------------------------------------------------

bool take_mode(DecodeContext& d, ConvertMode& mode) {
  static constexpr Rounding kModes[] = {Rounding::kNearestEven, Rounding::kTowardZero,
                                        Rounding::kDown, Rounding::kUp, Rounding::kNearestAway};
  const std::optional<size_t> number = d.q.take_one_of({"rn", "rz", "rm", "rp", "rna"});
  const std::optional<size_t> integral = d.q.take_one_of({"rni", "rzi", "rmi", "rpi"});
  if (number && integral) {
    d.reject("two rounding modes");
  }
  mode.integral = integral.has_value();
  mode.rounding = kModes[number ? *number : integral.value_or(0)];
  mode.ftz = d.q.take("ftz");
  mode.sat = d.q.take("sat");
  mode.satfinite = d.q.take("satfinite");
  mode.relu = d.q.take("relu");
  return number.has_value();
}

// Which conversions need which rounding qualifier (without one the meaning would be a guess).
void check_rounding(DecodeContext& d, const ConvertMode& mode, bool has_float_rounding) {
  const num::FloatFormat* to = format_of(d.instr.type);
  const num::FloatFormat* from = format_of(d.instr.type2);
  const bool narrows = to != nullptr && (from == nullptr || from->width() > to->width() ||
                                         (from->width() == to->width() && from != to));
  if (to == nullptr && from != nullptr && !mode.integral) {
    d.reject("a conversion to an integer needs .rni, .rzi, .rmi or .rpi");
  }
  if ((narrows || d.instr.type == Type::tf32) && !has_float_rounding) {
    d.reject("the conversion needs a rounding mode");
  }
  if (to == nullptr && from == nullptr && (mode.integral || has_float_rounding)) {
    d.reject("a conversion between integers takes no rounding mode");
  }
  if (mode.rounding == Rounding::kNearestAway && d.instr.type != Type::tf32) {
    d.reject(".rna is for .tf32");
  }
}

void decode_cvt(DecodeContext& d) {
  ConvertMode mode;
  const bool has_float_rounding = take_mode(d, mode);
  if (d.q.take("pack")) {
    d.reject("cvt.pack is not supported");
  }
  if (decode_packed_cvt(d, mode)) {
    return;
  }
  d.instr.type = take_type(d);
  const Type to = d.instr.type;
  const std::optional<Type> source = d.q.take_type();
  if (!source) {
    d.reject("the source's type is missing");
  }
  const Type from = *source;
  d.instr.type2 = from;
  const auto is_number = [](Type type) { return is_integer(type) || format_of(type) != nullptr; };
  if (!is_number(to) || !is_number(from) || from == Type::tf32) {
    d.reject("there is no conversion between these types");
  }
  check_rounding(d, mode, has_float_rounding);
  d.require_count(2, 2);
  d.instr.mode = mode.pack();
  const Operand result = d.dst(d.operand(0), to, Width::may_be_wider);
  const Operand value = d.src(d.operand(1), from, Width::may_be_wider);
  const bool plain = mode.rounding == Rounding::kNearestEven && !mode.ftz && !mode.sat &&
                     !mode.satfinite && !mode.relu && !mode.integral;
  Handler handler = nullptr;
  if (plain && result.width == ptx::type_bytes(to) && value.width == ptx::type_bytes(from)) {
    handler = usual_handler(to, from);
  }
  d.set(handler != nullptr ? handler : general, {result, value});
}

}  // namespace

uint8_t ConvertMode::pack() const {
  return static_cast<uint8_t>(static_cast<unsigned>(rounding) | (ftz ? 8u : 0) | (sat ? 16u : 0) |
                              (satfinite ? 32u : 0) | (relu ? 64u : 0) | (integral ? 128u : 0));
}

ConvertMode ConvertMode::unpack(uint8_t mode) {
  return {static_cast<Rounding>(mode & 7),
          (mode & 8) != 0,
          (mode & 16) != 0,
          (mode & 32) != 0,
          (mode & 64) != 0,
          (mode & 128) != 0};
}

void register_cvt(OpcodeTable& table) {
  table.add("cvt", decode_cvt);
}

}  // namespace emu
