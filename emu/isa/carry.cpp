// SPDX-License-Identifier: Apache-2.0
// Extended-precision integer arithmetic: add.cc, addc, sub.cc, subc, mad.cc, madc. Each lane has
// one carry flag. Subtraction adds the complement, so that the flag is the carry of that addition:
// set where nothing is borrowed. It can be seen where sub.cc is followed by addc (measured on 9.0).
#include "isa/families.hpp"
#include "isa/lane_ops.hpp"

namespace emu {
namespace {

using ptx::Type;

enum class Carry : uint8_t { add, sub, mad_low, mad_high };
enum Flag : uint8_t { kReads = 1, kWrites = 2 };

bool carry_of(const ExecContext& ctx, unsigned lane) {
  return (ctx.warp->carry >> lane & 1) != 0;
}

void set_carry(const ExecContext& ctx, unsigned lane, bool value) {
  const uint64_t bit = uint64_t{1} << lane;
  ctx.warp->carry = value ? ctx.warp->carry | bit : ctx.warp->carry & ~bit;
}

// The product's half that the instruction adds to. T is signed where the instruction is.
template <class T, Carry kKind>
std::make_unsigned_t<T> addend(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  using Wide =
      std::conditional_t<sizeof(T) == 8,
                         std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                         std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  if constexpr (kKind == Carry::mad_high) {
    return static_cast<Unsigned>((Wide{a} * Wide{b}) >> (8 * sizeof(T)));
  } else {
    return static_cast<Unsigned>(a) * static_cast<Unsigned>(b);
  }
}

template <class T, Carry kKind>
StepResult with_carry(ExecContext& ctx, const Instr& i, uint32_t active) {
  using Unsigned = std::make_unsigned_t<T>;
  auto* d = ctx.reg<Unsigned>(i.ops[0]);
  const T* a = ctx.reg<T>(i.ops[1]);
  const T* b = ctx.reg<T>(i.ops[2]);
  constexpr bool kProduct = kKind == Carry::mad_low || kKind == Carry::mad_high;
  const T* c = kProduct ? ctx.reg<T>(i.ops[3]) : nullptr;
  for_lanes(active, [&](unsigned lane) {
    // What goes in without a flag: nothing; the one of two's complement where something is
    // subtracted.
    const bool in = (i.mode & kReads) != 0 ? carry_of(ctx, lane) : kKind == Carry::sub;
    unsigned __int128 exact = 0;
    if constexpr (kKind == Carry::sub) {
      exact = static_cast<unsigned __int128>(static_cast<Unsigned>(a[lane])) +
              static_cast<Unsigned>(~static_cast<Unsigned>(b[lane])) + in;
    } else if constexpr (kKind == Carry::add) {
      exact = static_cast<unsigned __int128>(static_cast<Unsigned>(a[lane])) +
              static_cast<Unsigned>(b[lane]) + in;
    } else {
      exact = static_cast<unsigned __int128>(addend<T, kKind>(a[lane], b[lane])) +
              static_cast<Unsigned>(c[lane]) + in;
    }
    d[lane] = static_cast<Unsigned>(exact);
    if ((i.mode & kWrites) != 0) {
      set_carry(ctx, lane, (exact >> (8 * sizeof(T)) & 1) != 0);
    }
  });
  return StepResult::next;
}

template <Carry kKind>
void set_handler(DecodeContext& d, Type type) {
  Handler handler = nullptr;
  switch (type) {
    case Type::s32:
      handler = with_carry<int32_t, kKind>;
      break;
    case Type::u32:
      handler = with_carry<uint32_t, kKind>;
      break;
    case Type::s64:
      handler = with_carry<int64_t, kKind>;
      break;
    case Type::u64:
      handler = with_carry<uint64_t, kKind>;
      break;
    default:
      break;
  }
  if constexpr (kKind == Carry::add || kKind == Carry::sub) {
    set_lanes(d, handler, type, {type, type});
  } else {
    set_lanes(d, handler, type, {type, type, type});
  }
}

template <Carry kKind, uint8_t kAlways>
void decode_sum(DecodeContext& d) {
  d.instr.mode = static_cast<uint8_t>(kAlways | (d.q.take("cc") ? kWrites : 0));
  set_handler<kKind>(d, take_type(d));
}

template <uint8_t kAlways>
void decode_mad(DecodeContext& d) {
  d.instr.mode = static_cast<uint8_t>(kAlways | (d.q.take("cc") ? kWrites : 0));
  const Type type = take_type(d);
  const std::optional<size_t> part = d.q.take_one_of({"lo", "hi"});
  if (!part) {
    d.reject(".lo or .hi is missing");
  }
  if (*part == 0) {
    set_handler<Carry::mad_low>(d, type);
  } else {
    set_handler<Carry::mad_high>(d, type);
  }
}

}  // namespace

void register_carry(OpcodeTable& table) {
  table.add("add.cc", decode_sum<Carry::add, kWrites>);
  table.add("addc", decode_sum<Carry::add, kReads>);
  table.add("sub.cc", decode_sum<Carry::sub, kWrites>);
  table.add("subc", decode_sum<Carry::sub, kReads>);
  table.add("mad.lo.cc", decode_mad<kWrites>);
  table.add("mad.hi.cc", decode_mad<kWrites>);
  table.add("madc", decode_mad<kReads>);
}

}  // namespace emu
