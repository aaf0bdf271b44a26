// SPDX-License-Identifier: Apache-2.0
// cvt to and from pairs of narrow numbers (specification 7.6). Of two sources the first one becomes
// the upper half.
#include <algorithm>
#include <array>

#include "isa/cvt.hpp"
#include "isa/lane_ops.hpp"
#include "num/ieee.hpp"

namespace emu {
namespace {

using ptx::Type;

// Pairs by the names that PTX gives them.
enum class Pair : uint8_t { f16x2, bf16x2, e4m3x2, e5m2x2, e2m3x2, e3m2x2, e2m1x2, ue8m0x2 };
constexpr std::array<std::string_view, 8> kPairNames = {"f16x2",  "bf16x2", "e4m3x2", "e5m2x2",
                                                        "e2m3x2", "e3m2x2", "e2m1x2", "ue8m0x2"};

const num::FloatFormat& format_of(Pair pair) {
  switch (pair) {
    case Pair::f16x2:
      return num::kF16;
    case Pair::bf16x2:
      return num::kBf16;
    case Pair::e4m3x2:
      return num::kE4m3;
    case Pair::e5m2x2:
      return num::kE5m2;
    case Pair::e2m3x2:
      return num::kE2m3;
    case Pair::e3m2x2:
      return num::kE3m2;
    case Pair::e2m1x2:
    case Pair::ue8m0x2:
      break;
  }
  return num::kE2m1;
}

// Bits from the lower element to the upper one, and the register that holds both.
unsigned half_bits(Pair pair) {
  if (pair == Pair::f16x2 || pair == Pair::bf16x2) {
    return 16;
  }
  return pair == Pair::e2m1x2 ? 4 : 8;
}
Type register_type(Pair pair) {
  const unsigned bits = half_bits(pair);
  return bits == 16 ? Type::b32 : bits == 8 ? Type::b16 : Type::b8;
}

uint32_t encode_half(Pair pair, double value, const ConvertMode& mode) {
  if (pair == Pair::ue8m0x2) {
    return num::encode_ue8m0(value, mode.rounding, mode.satfinite);
  }
  return static_cast<uint32_t>(convert_to(format_of(pair), value, mode));
}

double decode_half(Pair pair, uint32_t code) {
  if (pair == Pair::ue8m0x2) {
    return num::decode_ue8m0(static_cast<uint8_t>(code));
  }
  // Codes of six bits lie in the low bits of their byte.
  const num::FloatFormat& format = format_of(pair);
  return num::decode(format, code & (2 * format.sign_bit() - 1));
}

// Instr::vector: source pair, Instr::mode2: destination pair.
StepResult from_two_f32(ExecContext& ctx, const Instr& i, uint32_t active) {
  const ConvertMode mode = ConvertMode::unpack(i.mode);
  const auto pair = static_cast<Pair>(i.mode2);
  const float* upper = ctx.reg<float>(i.ops[1]);
  const float* lower = ctx.reg<float>(i.ops[2]);
  for_lanes(active, [&](unsigned lane) {
    const uint32_t high = encode_half(pair, upper[lane], mode);
    ctx.set_lane_value(i.ops[0], lane,
                       high << half_bits(pair) | encode_half(pair, lower[lane], mode));
  });
  return StepResult::next;
}

// The usual conversions to 16-bit pairs: nearest even, nothing else.
template <bool kBf16>
struct TwoHalves {
  static uint32_t run(float upper, float lower) {
    const auto half = [](float value) -> uint32_t {
      return kBf16 ? num::float_to_bf16(value) : num::round_to_f16(value);
    };
    return half(upper) << 16 | half(lower);
  }
};

StepResult from_pair(ExecContext& ctx, const Instr& i, uint32_t active) {
  const ConvertMode mode = ConvertMode::unpack(i.mode);
  const auto from = static_cast<Pair>(i.vector);
  const auto to = static_cast<Pair>(i.mode2);
  const uint64_t mask = (uint64_t{1} << half_bits(from)) - 1;
  for_lanes(active, [&](unsigned lane) {
    const uint64_t source = ctx.lane_value(i.ops[1], lane);
    const auto half = [&](uint64_t code) {
      return encode_half(to, decode_half(from, static_cast<uint32_t>(code & mask)), mode);
    };
    ctx.set_lane_value(i.ops[0], lane,
                       half(source >> half_bits(from)) << half_bits(to) | half(source));
  });
  return StepResult::next;
}

std::optional<Pair> pair_of(std::string_view part) {
  const auto found = std::find(kPairNames.begin(), kPairNames.end(), part);
  if (found == kPairNames.end()) {
    return std::nullopt;
  }
  return static_cast<Pair>(found - kPairNames.begin());
}

bool is_wide(Pair pair) {
  return pair == Pair::f16x2 || pair == Pair::bf16x2;
}

void check_rounding(DecodeContext& d, Pair to, const ConvertMode& mode) {
  using num::Rounding;
  if (to == Pair::ue8m0x2) {
    if (mode.rounding != Rounding::kTowardZero && mode.rounding != Rounding::kUp) {
      d.reject("ue8m0x2 is rounded by .rz or .rp");
    }
  } else if (!is_wide(to) && (mode.rounding != Rounding::kNearestEven || !mode.satfinite)) {
    d.reject("8-bit and narrower formats take .rn.satfinite");
  }
}

void decode_from_f32(DecodeContext& d, Pair to, const ConvertMode& mode) {
  const bool plain =
      is_wide(to) && mode.rounding == num::Rounding::kNearestEven && !mode.relu && !mode.satfinite;
  Handler handler = from_two_f32;
  if (plain) {
    handler = to == Pair::bf16x2 ? lanes<TwoHalves<true>, uint32_t, float, float>
                                 : lanes<TwoHalves<false>, uint32_t, float, float>;
  }
  set_lanes(d, handler, register_type(to), {Type::f32, Type::f32});
}

}  // namespace

bool decode_packed_cvt(DecodeContext& d, const ConvertMode& mode) {
  // Destination and source are told apart by their order only.
  std::optional<Pair> to;
  std::optional<Pair> from;
  bool from_f32 = false;
  for (size_t index = 1; index < d.source.opcode.size(); ++index) {
    const std::string_view part = d.source.opcode[index];
    const std::optional<Pair> pair = pair_of(part);
    if (pair) {
      (to ? from : to) = pair;
      d.q.take(part);
    } else if (to && part == "f32") {
      from_f32 = d.q.take(part);
    }
  }
  if (!to) {
    return false;
  }
  d.instr.mode = mode.pack();
  d.instr.mode2 = static_cast<uint8_t>(*to);
  check_rounding(d, *to, mode);
  if (from_f32) {
    decode_from_f32(d, *to, mode);
    return true;
  }
  const bool up =
      from && is_wide(*to) && !is_wide(*from) && (*from == Pair::ue8m0x2) == (*to == Pair::bf16x2);
  const bool down =
      from && !is_wide(*to) && is_wide(*from) && (*to == Pair::ue8m0x2) == (*from == Pair::bf16x2);
  if (!up && !down) {
    d.reject("there is no conversion between these pairs");
  }
  d.instr.vector = static_cast<uint8_t>(*from);
  set_lanes(d, from_pair, register_type(*to), {register_type(*from)});
  return true;
}

}  // namespace emu
