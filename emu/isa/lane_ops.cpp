// SPDX-License-Identifier: Apache-2.0
#include "isa/lane_ops.hpp"

namespace emu {

using ptx::Type;

Type take_type(DecodeContext& d) {
  const std::optional<Type> type = d.q.take_type();
  if (!type) {
    d.reject("no type");
  }
  d.instr.type = *type;
  return *type;
}

bool is_bits(Type type) {
  return type == Type::b8 || type == Type::b16 || type == Type::b32 || type == Type::b64;
}

bool is_integer(Type type) {
  return ptx::is_signed(type) || ptx::is_unsigned(type);
}

void set_lanes(DecodeContext& d, Handler handler, Type result,
               std::initializer_list<Type> sources) {
  if (handler == nullptr) {
    d.reject("the instruction does not exist for this type");
  }
  d.require_count(sources.size() + 1, sources.size() + 1);
  d.instr.handler = handler;
  d.add(d.dst(d.operand(0), result));
  size_t index = 1;
  for (const Type source : sources) {
    d.add(d.src(d.operand(index++), source));
  }
}

std::optional<num::Rounding> take_rounding(DecodeContext& d) {
  static constexpr num::Rounding kModes[] = {num::Rounding::kNearestEven,
                                             num::Rounding::kTowardZero, num::Rounding::kDown,
                                             num::Rounding::kUp};
  const std::optional<size_t> index = d.q.take_one_of({"rn", "rz", "rm", "rp"});
  return index ? std::optional(kModes[*index]) : std::nullopt;
}

uint8_t FloatMode::pack() const {
  return static_cast<uint8_t>(static_cast<unsigned>(rounding) | (ftz ? 8u : 0) | (sat ? 16u : 0) |
                              (nan ? 32u : 0) | (relu ? 64u : 0));
}

FloatMode FloatMode::unpack(uint8_t mode) {
  return {static_cast<num::Rounding>(mode & 7), (mode & 8) != 0, (mode & 16) != 0, (mode & 32) != 0,
          (mode & 64) != 0};
}

}  // namespace emu
