// SPDX-License-Identifier: Apache-2.0
// How the arithmetic families are written: an operation is a type with a static `run` on one
// lane's values, `lanes` makes a handler of it, and a decode function picks the handler by type.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <utility>

#include "exec/context.hpp"
#include "isa/decode.hpp"
#include "num/float_format.hpp"

namespace emu {

// d = Op::run(sources...) in every active lane.
template <class Op, class D, class... S>
StepResult lanes(ExecContext& ctx, const Instr& i, uint32_t active) {
  D* d = ctx.reg<D>(i.ops[0]);
  [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    const std::tuple<const S*...> s{ctx.reg<const S>(i.ops[kIndex + 1])...};
    for_lanes(active, [&](unsigned lane) { d[lane] = Op::run(std::get<kIndex>(s)[lane]...); });
  }
  (std::index_sequence_for<S...>{});
  return StepResult::next;
}

// The same for operations that look at the instruction's fields.
template <class Op, class D, class... S>
StepResult lanes_with_fields(ExecContext& ctx, const Instr& i, uint32_t active) {
  D* d = ctx.reg<D>(i.ops[0]);
  [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    const std::tuple<const S*...> s{ctx.reg<const S>(i.ops[kIndex + 1])...};
    for_lanes(active, [&](unsigned lane) { d[lane] = Op::run(i, std::get<kIndex>(s)[lane]...); });
  }
  (std::index_sequence_for<S...>{});
  return StepResult::next;
}

// The handler of Op<T> for an integer type; null for the types it does not have.
template <template <class> class Op, size_t kSources, class T>
constexpr Handler lanes_of_one_type() {
  if constexpr (kSources == 1) {
    return lanes<Op<T>, T, T>;
  } else if constexpr (kSources == 2) {
    return lanes<Op<T>, T, T, T>;
  } else {
    return lanes<Op<T>, T, T, T, T>;
  }
}

template <template <class> class Op, size_t kSources>
Handler integer_handler(ptx::Type type) {
  switch (type) {
    case ptx::Type::s16:
      return lanes_of_one_type<Op, kSources, int16_t>();
    case ptx::Type::u16:
    case ptx::Type::b16:
      return lanes_of_one_type<Op, kSources, uint16_t>();
    case ptx::Type::s32:
      return lanes_of_one_type<Op, kSources, int32_t>();
    case ptx::Type::u32:
    case ptx::Type::b32:
      return lanes_of_one_type<Op, kSources, uint32_t>();
    case ptx::Type::s64:
      return lanes_of_one_type<Op, kSources, int64_t>();
    case ptx::Type::u64:
    case ptx::Type::b64:
      return lanes_of_one_type<Op, kSources, uint64_t>();
    default:
      return nullptr;
  }
}

// Integers as unsigned numbers wide enough that nothing overflows into undefined behaviour.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// The instruction's type, or a rejection.
ptx::Type take_type(DecodeContext& d);
bool is_bits(ptx::Type type);  // b8...b64
bool is_integer(ptx::Type type);

// Sets a handler that reads `sources` and writes one register; rejects a null handler as a type
// that the instruction does not have.
void set_lanes(DecodeContext& d, Handler handler, ptx::Type result,
               std::initializer_list<ptx::Type> sources);

// The rounding qualifier .rn .rz .rm .rp, if there is one.
std::optional<num::Rounding> take_rounding(DecodeContext& d);

// Instr::mode of floating-point instructions.
struct FloatMode {
  num::Rounding rounding = num::Rounding::kNearestEven;
  bool ftz = false;
  bool sat = false;
  bool nan = false;   // .NaN of min and max
  bool relu = false;  // of fma

  uint8_t pack() const;
  static FloatMode unpack(uint8_t mode);
};

}  // namespace emu
