// SPDX-License-Identifier: Apache-2.0
// Loads and stores, cache instructions, address conversions (specification 7.7).
#include <cstring>

#include "exec/engine.hpp"
#include "exec/function_decoder.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"
#include "isa/memory_qualifiers.hpp"

namespace emu {
namespace {

using ptx::Space;
using ptx::Type;

// Extends what was loaded to the register's width, by the sign if the type has one.
template <class Value>
void load_lane(const ExecContext& ctx, const Operand& to, unsigned lane, const uint8_t* from) {
  Value value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (sizeof(Value) == 16) {
    std::memcpy(ctx.regs + to.offset + lane * 16, &value, 16);
  } else {
    switch (to.width) {
      case 1:
        ctx.reg<uint8_t>(to)[lane] = static_cast<uint8_t>(value);
        break;
      case 2:
        ctx.reg<uint16_t>(to)[lane] = static_cast<uint16_t>(value);
        break;
      case 4:
        ctx.reg<uint32_t>(to)[lane] = static_cast<uint32_t>(value);
        break;
      default:
        ctx.reg<uint64_t>(to)[lane] = static_cast<uint64_t>(value);
        break;
    }
  }
}

struct Bytes16 {
  uint64_t half[2];
};

// ops: address, destinations
template <class Value>
StepResult load(ExecContext& ctx, const Instr& i, uint32_t active) {
  const Operand& from = i.ops[0];
  constexpr uint32_t kSize = sizeof(Value);
  const uint32_t bytes = kSize * i.vector;
  for (uint32_t left = active; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    const Place place = ctx.place(from.space, lane, ctx.address(from, lane), bytes, Access::read);
    if (!place) {
      return StepResult::fault;
    }
    if (i.mode2 != 0) {
      order_access(ctx, i, lane, place, Access::read);
    }
    // The whole vector first: a destination may be the address register.
    uint8_t copy[64];
    std::memcpy(copy, place.data, bytes);
    for (unsigned e = 0; e < i.vector; ++e) {
      if (!i.ops[1 + e].is_sink()) {
        load_lane<Value>(ctx, i.ops[1 + e], lane, copy + e * kSize);
      }
    }
  }
  return StepResult::next;
}

// ops: address, sources
template <class Value>
StepResult store(ExecContext& ctx, const Instr& i, uint32_t active) {
  const Operand& to = i.ops[0];
  constexpr uint32_t kSize = sizeof(Value);
  const uint32_t bytes = kSize * i.vector;
  const bool done = ctx.each_lane_in_order(active, [&](unsigned lane) {
    const Place place = ctx.place(to.space, lane, ctx.address(to, lane), bytes, Access::write);
    if (!place) {
      return false;
    }
    if (i.mode2 != 0) {
      order_access(ctx, i, lane, place, Access::write);
    }
    for (unsigned e = 0; e < i.vector; ++e) {
      const Operand& from = i.ops[1 + e];
      std::memcpy(place.data + e * kSize, ctx.regs + from.offset + lane * from.width, kSize);
    }
    return true;
  });
  return done ? StepResult::next : StepResult::fault;
}

Handler load_handler(Type type) {
  switch (type) {
    case Type::s8:
      return load<int8_t>;
    case Type::s16:
      return load<int16_t>;
    case Type::s32:
      return load<int32_t>;
    default:
      break;
  }
  switch (ptx::type_bytes(type)) {
    case 1:
      return load<uint8_t>;
    case 2:
      return load<uint16_t>;
    case 4:
      return load<uint32_t>;
    case 8:
      return load<uint64_t>;
    default:
      return load<Bytes16>;
  }
}

Handler store_handler(Type type) {
  switch (ptx::type_bytes(type)) {
    case 1:
      return store<uint8_t>;
    case 2:
      return store<uint16_t>;
    case 4:
      return store<uint32_t>;
    case 8:
      return store<uint64_t>;
    default:
      return store<Bytes16>;
  }
}

unsigned take_vector(DecodeContext& d) {
  const auto vector = d.q.take_one_of({"v2", "v4", "v8"});
  return vector ? 2u << *vector : 1;
}

Type take_memory_type(DecodeContext& d, unsigned vector) {
  const auto type = d.q.take_type();
  if (!type || *type == Type::pred || ptx::type_bytes(*type) == 0) {
    d.reject("a type is needed");
  }
  constexpr unsigned kMostBytes = 32;  // .v8.b32, .v4.b64
  if (ptx::type_bytes(*type) * vector > kMostBytes) {
    d.reject("a vector of more than 32 bytes");
  }
  return *type;
}

void decode_ld(DecodeContext& d) {
  const Ordering ordering = take_ordering(d);
  const Space space = d.q.take_space().value_or(Space::generic);
  take_cache_hints(d);
  d.q.take("nc");
  const unsigned vector = take_vector(d);
  const Type type = take_memory_type(d, vector);
  d.require_count(2, 3);  // the third: a cache policy
  const auto targets = d.elements(d.operand(0));
  if (targets.size() != vector) {
    d.reject("the vector needs " + std::to_string(vector) + " registers");
  }
  d.instr.vector = static_cast<uint8_t>(vector);
  d.instr.flags |= Instr::kMemory;
  d.set(load_handler(type), {d.address(d.operand(1), space)});
  for (const ptx::Operand& target : targets) {
    d.add(d.dst(target, type, Width::may_be_wider));
  }
  apply_ordering(d, ordering, space);
}

void decode_st(DecodeContext& d) {
  const Ordering ordering = take_ordering(d);
  const Space space = d.q.take_space().value_or(Space::generic);
  take_cache_hints(d);
  const unsigned vector = take_vector(d);
  const Type type = take_memory_type(d, vector);
  d.require_count(2, 3);
  if (space == Space::constant) {
    d.reject("a store to constant memory");
  }
  const auto sources = d.elements(d.operand(1));
  if (sources.size() != vector) {
    d.reject("the vector needs " + std::to_string(vector) + " registers");
  }
  d.instr.vector = static_cast<uint8_t>(vector);
  d.instr.flags |= Instr::kMemory;
  d.set(store_handler(type), {d.address(d.operand(0), space)});
  for (const ptx::Operand& from : sources) {
    d.add(d.src(from, type, Width::may_be_wider));
  }
  apply_ordering(d, ordering, space);
}

// prefetch, discard, applypriority: the address must be good, nothing else happens.
StepResult touch(ExecContext& ctx, const Instr& i, uint32_t active) {
  for (uint32_t left = active; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    if (!ctx.place(i.ops[0].space, lane, ctx.address(i.ops[0], lane), 1, Access::read_rows)) {
      return StepResult::fault;
    }
  }
  return StepResult::next;
}

void decode_touch(DecodeContext& d) {
  const Space space = d.q.take_space().value_or(Space::generic);
  take_cache_hints(d);
  for (const char* known : {"L1", "L2", "L2::128B", "L2::evict_last", "L2::evict_normal",
                            "L2::evict_unchanged", "tensormap"}) {
    d.q.take(known);
  }
  d.require_count(1, 2);
  d.set(touch, {d.address(d.operand(0), space)});
}

// createpolicy gives an opaque value that only cache hints use.
StepResult create_policy(ExecContext& ctx, const Instr& i, uint32_t active) {
  for_lanes(active, [&](unsigned lane) { ctx.set_lane_value(i.ops[0], lane, 0); });
  return StepResult::next;
}

void decode_createpolicy(DecodeContext& d) {
  while (!d.q.left_over().empty()) {  // any priorities, fractions and types: hints only
    d.q.take(d.q.left_over());
  }
  d.set(create_policy, {d.dst(d.operand(0), Type::b64)});
}

// ops: destination, source. i.data: window base, added or removed.
StepResult to_generic(ExecContext& ctx, const Instr& i, uint32_t active) {
  for_lanes(active, [&](unsigned lane) {
    const uint64_t value = ctx.lane_value(i.ops[1], lane);
    // A parameter's address is already in its window when it went through a register once.
    ctx.set_lane_value(i.ops[0], lane, (value & kWindowMask) == i.data ? value : value | i.data);
  });
  return StepResult::next;
}

StepResult from_generic(ExecContext& ctx, const Instr& i, uint32_t active) {
  for_lanes(active, [&](unsigned lane) {
    const uint64_t value = ctx.lane_value(i.ops[1], lane);
    ctx.set_lane_value(i.ops[0], lane, value & ~i.data);
  });
  return StepResult::next;
}

uint64_t window_of(Space space) {
  switch (space) {
    case Space::shared:
    case Space::shared_cta:
    case Space::shared_cluster:
      return kSharedWindow;
    case Space::local:
      return kLocalWindow;
    case Space::param:
      return kParamWindow;
    default:
      return 0;
  }
}

void decode_cvta(DecodeContext& d) {
  const bool to = d.q.take("to");
  const auto space = d.q.take_space();
  const auto type = d.q.take_type();
  if (!space || !type || (*type != Type::u64 && *type != Type::u32)) {
    d.reject("cvta needs a space and .u32 or .u64");
  }
  d.require_count(2, 2);
  d.instr.data = window_of(*space);
  const ptx::Operand& from = d.operand(1);
  // cvta of a device function's parameter: it lies in local memory.
  if (*space == Space::param && from.kind == ptx::Operand::Kind::name) {
    const auto location = d.function().locate(d.source.scope, from.name, 8);
    if (location && location->space == Space::local) {
      d.instr.data = kLocalWindow;
    }
  }
  d.set(to ? from_generic : to_generic, {d.dst(d.operand(0), *type), d.src(from, *type)});
}

StepResult isspacep(ExecContext& ctx, const Instr& i, uint32_t active) {
  uint32_t result = 0;
  for_lanes(active, [&](unsigned lane) {
    uint64_t address = ctx.lane_value(i.ops[1], lane);
    const Space space = ExecContext::generic_space(address);
    bool inside = space == i.space || (i.space == Space::global && space == Space::param);
    if (ptx::is_shared(i.space)) {
      inside = ptx::is_shared(space) &&
               (i.space == Space::shared_cluster || address >> kRankShift == ctx.cta->rank);
    }
    result |= inside ? 1u << lane : 0;
  });
  ctx.set_pred(i.ops[0], result, active);
  return StepResult::next;
}

void decode_isspacep(DecodeContext& d) {
  const auto space = d.q.take_space();
  if (!space) {
    d.reject("isspacep needs a space");
  }
  d.require_count(2, 2);
  d.instr.space = *space;
  d.set(isspacep, {d.pred_dst(d.operand(0)), d.src(d.operand(1), Type::u64)});
}

}  // namespace

void register_ldst(OpcodeTable& table) {
  table.add("ld", decode_ld);
  table.add("ldu", decode_ld);
  table.add("st", decode_st);
  table.add("prefetch", decode_touch);
  table.add("prefetchu", decode_touch);
  table.add("discard", decode_touch);
  table.add("applypriority", decode_touch);
  table.add("createpolicy", decode_createpolicy);
  table.add("cvta", decode_cvta);
  table.add("isspacep", decode_isspacep);
}

}  // namespace emu
