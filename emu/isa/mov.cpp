// SPDX-License-Identifier: Apache-2.0
// Moves between registers: copies, addresses, special registers, packing and unpacking
// (specification 7.5).
#include <cstring>

#include "isa/families.hpp"
#include "isa/lane_ops.hpp"

namespace emu {
namespace {

using ptx::Type;
using Kind = ptx::Operand::Kind;

template <class T>
StepResult copy(ExecContext& ctx, const Instr& i, uint32_t active) {
  T* d = ctx.reg<T>(i.ops[0]);
  const T* s = ctx.reg<T>(i.ops[1]);
  for_lanes(active, [&](unsigned lane) { d[lane] = s[lane]; });
  return StepResult::next;
}

// A register wider than the instruction's type gets the value zero-extended, whatever it held.
StepResult copy_and_widen(ExecContext& ctx, const Instr& i, uint32_t active) {
  for_lanes(active, [&](unsigned lane) {
    ctx.set_lane_value(i.ops[0], lane, ctx.lane_value(i.ops[1], lane));
  });
  return StepResult::next;
}

StepResult copy_predicate(ExecContext& ctx, const Instr& i, uint32_t active) {
  ctx.set_pred(i.ops[0], ctx.pred(i.ops[1]), active);
  return StepResult::next;
}

struct Wide {
  uint64_t words[2];
};

// ops[0] the whole, ops[1...] the parts from low to high. The whole is gathered before any part is
// written, and the other way round: the registers may be the same ones.
StepResult pack(ExecContext& ctx, const Instr& i, uint32_t active) {
  const unsigned bytes = i.ops[0].width;
  const unsigned part = bytes / (i.op_count - 1u);
  for_lanes(active, [&](unsigned lane) {
    uint8_t whole[16];
    for (unsigned index = 1; index < i.op_count; ++index) {
      std::memcpy(whole + (index - 1) * part, ctx.regs + i.ops[index].offset + lane * part, part);
    }
    std::memcpy(ctx.regs + i.ops[0].offset + lane * bytes, whole, bytes);
  });
  return StepResult::next;
}

StepResult unpack(ExecContext& ctx, const Instr& i, uint32_t active) {
  const unsigned bytes = i.ops[0].width;
  const unsigned part = bytes / (i.op_count - 1u);
  for_lanes(active, [&](unsigned lane) {
    uint8_t whole[16];
    std::memcpy(whole, ctx.regs + i.ops[0].offset + lane * bytes, bytes);
    for (unsigned index = 1; index < i.op_count; ++index) {
      if (!i.ops[index].is_sink()) {
        std::memcpy(ctx.regs + i.ops[index].offset + lane * part, whole + (index - 1) * part, part);
      }
    }
  });
  return StepResult::next;
}

// The usual sizes of both: `kParts` registers of type Part make up one of type Whole.
template <class Whole, class Part, unsigned kParts>
StepResult pack_usual(ExecContext& ctx, const Instr& i, uint32_t active) {
  const Part* parts[kParts];
  for (unsigned index = 0; index < kParts; ++index) {
    parts[index] = ctx.reg<Part>(i.ops[index + 1]);
  }
  Whole* d = ctx.reg<Whole>(i.ops[0]);
  for_lanes(active, [&](unsigned lane) {
    Whole whole = 0;
    for (unsigned index = 0; index < kParts; ++index) {
      whole |= static_cast<Whole>(Whole{parts[index][lane]} << 8 * sizeof(Part) * index);
    }
    d[lane] = whole;
  });
  return StepResult::next;
}

template <class Whole, class Part, unsigned kParts>
StepResult unpack_usual(ExecContext& ctx, const Instr& i, uint32_t active) {
  Part* parts[kParts];
  for (unsigned index = 0; index < kParts; ++index) {
    const Operand& part = i.ops[index + 1];
    parts[index] = part.is_sink() ? nullptr : ctx.reg<Part>(part);
  }
  const Whole* s = ctx.reg<Whole>(i.ops[0]);
  for_lanes(active, [&](unsigned lane) {
    const Whole whole = s[lane];
    for (unsigned index = 0; index < kParts; ++index) {
      if (parts[index] != nullptr) {
        parts[index][lane] = static_cast<Part>(whole >> 8 * sizeof(Part) * index);
      }
    }
  });
  return StepResult::next;
}

Handler vector_handler(unsigned bytes, unsigned parts, bool packing) {
  if (bytes == 4 && parts == 2) {
    return packing ? pack_usual<uint32_t, uint16_t, 2> : unpack_usual<uint32_t, uint16_t, 2>;
  }
  if (bytes == 8 && parts == 2) {
    return packing ? pack_usual<uint64_t, uint32_t, 2> : unpack_usual<uint64_t, uint32_t, 2>;
  }
  if (bytes == 8 && parts == 4) {
    return packing ? pack_usual<uint64_t, uint16_t, 4> : unpack_usual<uint64_t, uint16_t, 4>;
  }
  return packing ? pack : unpack;
}

Type bits_type(DecodeContext& d, unsigned bytes) {
  switch (bytes) {
    case 1:
      return Type::b8;
    case 2:
      return Type::b16;
    case 4:
      return Type::b32;
    case 8:
      return Type::b64;
    default:
      d.reject("a vector of this many elements does not make up the type");
  }
}

void decode_vector(DecodeContext& d, Type type, bool packing) {
  const ptx::Operand& vector = d.operand(packing ? 1 : 0);
  const ptx::Operand& whole = d.operand(packing ? 0 : 1);
  const auto parts = static_cast<unsigned>(vector.parts.size());
  const unsigned bytes = ptx::type_bytes(type);
  if ((parts != 2 && parts != 4) || bytes < parts) {
    d.reject("a vector of " + std::to_string(parts) + " does not make up the type");
  }
  const Type part = bits_type(d, bytes / parts);
  d.instr.handler = vector_handler(bytes, parts, packing);
  d.add(packing ? d.dst(whole, type) : d.src(whole, type));
  for (const ptx::Operand& element : vector.parts) {
    d.add(packing ? d.src(element, part) : d.dst(element, part));
  }
}

Handler copy_handler(DecodeContext& d, unsigned bytes) {
  switch (bytes) {
    case 1:
      return copy<uint8_t>;
    case 2:
      return copy<uint16_t>;
    case 4:
      return copy<uint32_t>;
    case 8:
      return copy<uint64_t>;
    case 16:
      return copy<Wide>;
    default:
      d.reject("the instruction does not exist for this type");
  }
}

void decode_mov(DecodeContext& d) {
  d.require_count(2, 2);
  const Type type = take_type(d);
  if (type == Type::pred) {
    d.set(copy_predicate, {d.pred_dst(d.operand(0)), d.pred(d.operand(1))});
    return;
  }
  if (d.operand(0).kind == Kind::vector) {
    decode_vector(d, type, false);
    return;
  }
  if (d.operand(1).kind == Kind::vector) {
    decode_vector(d, type, true);
    return;
  }
  const Operand result = d.dst(d.operand(0), type, Width::may_be_wider);
  const Operand source = d.src(d.operand(1), type, Width::may_be_wider);
  if (result.is_sink() || result.width == source.width) {
    d.set(copy_handler(d, source.width), {result, source});
  } else {
    d.set(copy_and_widen, {result, source});
  }
}

}  // namespace

void register_mov(OpcodeTable& table) {
  table.add("mov", decode_mov);
}

}  // namespace emu
