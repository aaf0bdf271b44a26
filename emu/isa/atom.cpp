// SPDX-License-Identifier: Apache-2.0
// atom and red (specification 7.7). One lane after the other, in an order that the policy shuffles.
#include <algorithm>
#include <cstring>

#include "exec/engine.hpp"
#include "exec/function_decoder.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"
#include "isa/memory_qualifiers.hpp"
#include "num/float_format.hpp"
#include "num/ieee.hpp"

namespace emu {
namespace {

using ptx::Space;
using ptx::Type;

// New value from the old one, b and c (c only for cas).
template <class T>
using Combine = T (*)(T old, T b, T c);

struct Bits128 {
  uint64_t half[2];
  bool operator==(const Bits128&) const = default;
};

template <class T>
T exchange(T, T b, T) {
  return b;
}
template <class T>
T compare_and_swap(T old, T b, T c) {
  return old == b ? c : old;
}
template <class T>
T add(T old, T b, T) {
  return static_cast<T>(old + b);
}
template <class T>
T bit_and(T old, T b, T) {
  return old & b;
}
template <class T>
T bit_or(T old, T b, T) {
  return old | b;
}
template <class T>
T bit_xor(T old, T b, T) {
  return old ^ b;
}
template <class T>
T minimum(T old, T b, T) {
  return std::min(old, b);
}
template <class T>
T maximum(T old, T b, T) {
  return std::max(old, b);
}
uint32_t increment(uint32_t old, uint32_t b, uint32_t) {
  return old >= b ? 0 : old + 1;
}
uint32_t decrement(uint32_t old, uint32_t b, uint32_t) {
  return old == 0 || old > b ? b : old - 1;
}

uint32_t add_f32(uint32_t old, uint32_t b, uint32_t) {
  return num::bits_of(num::canonical(num::float_of(old) + num::float_of(b)));
}
uint64_t add_f64(uint64_t old, uint64_t b, uint64_t) {
  return num::bits_of(num::double_of(old) + num::double_of(b));
}
uint16_t add_f16(uint16_t old, uint16_t b, uint16_t) {
  return num::round_to_f16(static_cast<double>(num::f16_to_float(old)) + num::f16_to_float(b));
}
uint16_t add_bf16(uint16_t old, uint16_t b, uint16_t) {
  // The exact sum of two bf16 values may need more than 53 bits; odd rounding keeps the tie rule.
  return num::round_to_bf16(num::add_to_odd(num::bf16_to_float(old), num::bf16_to_float(b)));
}
template <uint16_t (*add_half)(uint16_t, uint16_t, uint16_t)>
uint32_t add_pair(uint32_t old, uint32_t b, uint32_t) {
  const uint16_t low = add_half(static_cast<uint16_t>(old), static_cast<uint16_t>(b), 0);
  const uint16_t high =
      add_half(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(b >> 16), 0);
  return low | static_cast<uint32_t>(high) << 16;
}

// ops: address, b * vector, c (cas), destinations * vector (atom)
template <class T, Combine<T> combine, bool has_c = false>
StepResult atom(ExecContext& ctx, const Instr& i, uint32_t active) {
  const Operand& to = i.ops[0];
  const Operand* b = i.ops + 1;
  const Operand* results = b + i.vector + (has_c ? 1 : 0);
  const bool gives = i.mode != 0;
  const bool done = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const uint64_t address = ctx.address(to, lane);
    const Place place = ctx.place(to.space, lane, address,
                                  static_cast<uint32_t>(sizeof(T)) * i.vector, Access::atomic);
    if (!place) {
      return false;
    }
    order_access(ctx, i, lane, place, Access::atomic);
    for (unsigned e = 0; e < i.vector; ++e) {
      T old;
      T value;
      T third{};
      std::memcpy(&old, place.data + e * sizeof(T), sizeof(T));
      std::memcpy(&value, ctx.regs + b[e].offset + lane * sizeof(T), sizeof(T));
      if constexpr (has_c) {
        std::memcpy(&third, ctx.regs + b[1].offset + lane * sizeof(T), sizeof(T));
      }
      const T updated = combine(old, value, third);
      std::memcpy(place.data + e * sizeof(T), &updated, sizeof(T));
      if (gives && !results[e].is_sink()) {
        std::memcpy(ctx.regs + results[e].offset + lane * sizeof(T), &old, sizeof(T));
      }
    }
    return true;
  });
  return done ? StepResult::next : StepResult::fault;
}

enum class Operation : size_t { add, min, max, bit_and, bit_or, bit_xor, exch, cas, inc, dec };

template <class T>
Handler bits_handler(Operation operation) {
  switch (operation) {
    case Operation::bit_and:
      return atom<T, bit_and<T>>;
    case Operation::bit_or:
      return atom<T, bit_or<T>>;
    case Operation::bit_xor:
      return atom<T, bit_xor<T>>;
    case Operation::exch:
      return atom<T, exchange<T>>;
    case Operation::cas:
      return atom<T, compare_and_swap<T>, true>;
    default:
      return nullptr;
  }
}

template <class T>
Handler integer_handler(Operation operation) {
  switch (operation) {
    case Operation::add:
      return atom<T, add<T>>;
    case Operation::min:
      return atom<T, minimum<T>>;
    case Operation::max:
      return atom<T, maximum<T>>;
    default:
      return nullptr;
  }
}

Handler float_handler(Operation operation, Type type) {
  if (operation != Operation::add) {
    return nullptr;
  }
  switch (type) {
    case Type::f32:
      return atom<uint32_t, add_f32>;
    case Type::f64:
      return atom<uint64_t, add_f64>;
    case Type::f16:
      return atom<uint16_t, add_f16>;
    case Type::bf16:
      return atom<uint16_t, add_bf16>;
    case Type::f16x2:
      return atom<uint32_t, add_pair<add_f16>>;
    case Type::bf16x2:
      return atom<uint32_t, add_pair<add_bf16>>;
    default:
      return nullptr;
  }
}

Handler atom_handler(Operation operation, Type type) {
  if (operation == Operation::inc || operation == Operation::dec) {
    if (type != Type::u32) {
      return nullptr;
    }
    return operation == Operation::inc ? atom<uint32_t, increment> : atom<uint32_t, decrement>;
  }
  switch (type) {
    case Type::u32:
      return integer_handler<uint32_t>(operation);
    case Type::s32:
      return integer_handler<int32_t>(operation);
    case Type::u64:
      return integer_handler<uint64_t>(operation);
    case Type::s64:
      return integer_handler<int64_t>(operation);
    case Type::b16:
      return operation == Operation::cas || operation == Operation::exch
                 ? bits_handler<uint16_t>(operation)
                 : nullptr;
    case Type::b32:
      return bits_handler<uint32_t>(operation);
    case Type::b64:
      return bits_handler<uint64_t>(operation);
    case Type::b128:
      return operation == Operation::cas    ? atom<Bits128, compare_and_swap<Bits128>, true>
             : operation == Operation::exch ? atom<Bits128, exchange<Bits128>>
                                            : nullptr;
    default:
      return ptx::is_float(type) ? float_handler(operation, type) : nullptr;
  }
}

void decode_atom(DecodeContext& d) {
  const bool gives = d.source.opcode[0] == "atom";
  Ordering ordering = take_ordering(d);
  // Without .sem the operation is relaxed.
  ordering.bits |= kOrderStrong;
  const Space space = d.q.take_space().value_or(Space::generic);
  take_cache_hints(d);
  const auto operation =
      d.q.take_one_of({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  d.q.take("noftz");
  const auto vector_index = d.q.take_one_of({"v2", "v4", "v8"});
  const unsigned vector = vector_index ? 2u << *vector_index : 1;
  const auto type = d.q.take_type();
  Handler handler =
      operation && type ? atom_handler(static_cast<Operation>(*operation), *type) : nullptr;
  if (handler == nullptr || (vector > 1 && !ptx::is_float(*type))) {
    d.reject("this operation and type are not supported");
  }
  const bool cas = *operation == static_cast<size_t>(Operation::cas);
  size_t at = gives ? 1 : 0;
  const size_t needed = at + 2 + (cas ? 1 : 0);
  d.require_count(needed, needed + 1);
  d.set(handler, {d.address(d.operand(at++), space)});
  const auto values = d.elements(d.operand(at++));
  const auto targets = gives ? d.elements(d.operand(0)) : std::vector<ptx::Operand>(vector);
  if (values.size() != vector || targets.size() != vector) {
    d.reject("the vector needs " + std::to_string(vector) + " registers");
  }
  for (const ptx::Operand& value : values) {
    d.add(d.src(value, *type));
  }
  if (cas) {
    d.add(d.src(d.operand(at++), *type));
  }
  for (const ptx::Operand& target : targets) {
    if (gives) {
      d.add(d.dst(target, *type));
    }
  }
  d.instr.vector = static_cast<uint8_t>(vector);
  d.instr.mode = gives ? 1 : 0;
  d.instr.flags |= Instr::kMemory;
  apply_ordering(d, ordering, space);
}

}  // namespace

void register_atom(OpcodeTable& table) {
  table.add("atom", decode_atom);
  table.add("red", decode_atom);
}

}  // namespace emu
