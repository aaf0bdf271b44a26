// SPDX-License-Identifier: Apache-2.0
#include "exec/function_decoder.hpp"

#include <algorithm>

#include "exec/shared_memory.hpp"
#include "exec/special.hpp"

namespace emu {
namespace {

// A register's lanes start on a cache line.
constexpr uint32_t kRegisterAlign = 64;

uint32_t round_up(uint64_t value, uint32_t align) {
  return static_cast<uint32_t>((value + align - 1) / align * align);
}

}  // namespace

FunctionDecoder::FunctionDecoder(ModuleLayout& layout, const ptx::Function& function, Code& code)
    : layout_(layout), function_(function), code_(code) {}

void FunctionDecoder::lay_out() {
  lay_out_registers();
  lay_out_params();
  lay_out_variables();
}

void FunctionDecoder::lay_out_registers() {
  code_.registers.reserve(function_.registers.size());
  for (const ptx::Register& r : function_.registers) {
    Operand operand;
    if (r.type == ptx::Type::pred) {
      operand.flags = Operand::kPredicate;
      operand.offset = code_.predicate_count++;
    } else {
      operand.width = static_cast<uint8_t>(ptx::type_bytes(r.type));
      operand.offset = code_.register_bytes;
      code_.register_bytes += round_up(uint64_t{operand.width} * kLanes, kRegisterAlign);
    }
    code_.registers.push_back(operand);
  }
}

uint32_t FunctionDecoder::take_local(uint64_t bytes, uint32_t align) {
  const uint32_t offset = round_up(code_.local_bytes, std::max(align, 1u));
  code_.local_bytes = offset + static_cast<uint32_t>(bytes);
  return offset;
}

void FunctionDecoder::lay_out_params() {
  if (function_.is_entry) {
    for (const ptx::Variable& p : function_.params) {
      const uint32_t offset = round_up(code_.param_bytes, std::max(p.align, 1u));
      code_.params.push_back({std::string(p.name), offset, static_cast<uint32_t>(p.bytes())});
      offsets_[&p] = offset;
      code_.param_bytes = offset + static_cast<uint32_t>(p.bytes());
    }
    return;
  }
  for (const auto& [list, out] : {std::pair{&function_.params, &code_.formals},
                                  std::pair{&function_.returns, &code_.results}}) {
    for (const ptx::Variable& p : *list) {
      const uint32_t offset = take_local(p.bytes(), p.align);
      offsets_[&p] = offset;
      out->push_back({std::string(p.name), offset, static_cast<uint32_t>(p.bytes())});
    }
  }
}

bool FunctionDecoder::reaches_module_shared() const {
  if (layout_.shared_end <= kReservedShared) {
    return false;
  }
  for (const ptx::Instruction& instruction : function_.body) {
    if (instruction.opcode[0] == "call") {
      return true;
    }
    for (const auto& [name, variable] : layout_.module_shared) {
      if (instruction.text.find(name) != std::string_view::npos) {
        return true;
      }
    }
  }
  return false;
}

void FunctionDecoder::lay_out_variables() {
  uint32_t shared = kReservedShared;
  if (function_.is_entry && reaches_module_shared()) {
    shared = layout_.shared_end;
  }
  for (const ptx::Variable& v : function_.variables) {
    if (v.space != ptx::Space::shared) {
      offsets_[&v] = take_local(v.bytes(), v.align);
    } else if (function_.is_entry) {
      shared = round_up(shared, v.align);
      offsets_[&v] = shared;
      shared += static_cast<uint32_t>(v.bytes());
    } else {
      offsets_[&v] = layout_.shared.at(&v);
    }
  }
  code_.static_shared_end = shared;
  code_.dynamic_shared_align = layout_.dynamic_align;
}

Operand FunctionDecoder::register_operand(uint32_t register_index) const {
  return code_.registers[register_index];
}

Operand FunctionDecoder::constant(ConstantSlot slot) {
  const auto key =
      std::make_tuple(static_cast<uint8_t>(slot.kind), slot.width, slot.index, slot.value);
  auto [found, inserted] = slots_.try_emplace(key, code_.register_bytes);
  if (inserted) {
    slot.offset = code_.register_bytes;
    code_.register_bytes += round_up(uint64_t{slot.width} * kLanes, kRegisterAlign);
    code_.constants.push_back(slot);
  }
  Operand operand;
  operand.offset = found->second;
  operand.width = slot.width;
  operand.flags = Operand::kConstant;
  return operand;
}

std::optional<FunctionDecoder::Location> FunctionDecoder::locate(uint32_t scope,
                                                                 std::string_view name,
                                                                 unsigned width) {
  Location location{ptx::Space::generic, {}};
  ConstantSlot& slot = location.slot;
  slot.width = static_cast<uint8_t>(width);
  const auto in_function = [&](const ptx::Variable& v) {
    slot.value = offsets_.at(&v);
    const bool kernel_param = function_.is_entry && v.space == ptx::Space::param &&
                              &v >= function_.params.data() &&
                              &v < function_.params.data() + function_.params.size();
    if (kernel_param) {
      slot.kind = ConstantSlot::Kind::param_address;
      location.space = ptx::Space::param;
    } else if (v.space == ptx::Space::shared) {
      slot.kind = ConstantSlot::Kind::shared_address;
      location.space = ptx::Space::shared;
    } else {
      slot.kind = ConstantSlot::Kind::frame_local;
      location.space = ptx::Space::local;
    }
    return location;
  };
  if (const auto found = function_.find_variable(scope, name)) {
    return in_function(function_.variables[*found]);
  }
  for (const auto* list : {&function_.params, &function_.returns}) {
    for (const ptx::Variable& v : *list) {
      if (v.name == name) {
        return in_function(v);
      }
    }
  }
  if (const auto found = layout_.variables.find(name); found != layout_.variables.end()) {
    slot.kind = ConstantSlot::Kind::variable;
    slot.index = found->second;
    location.space = layout_.program->variables[found->second].space;
    return location;
  }
  if (const auto found = layout_.module_shared.find(name); found != layout_.module_shared.end()) {
    location.space = ptx::Space::shared;
    if (found->second->is_extern) {
      slot.kind = ConstantSlot::Kind::dynamic_shared;
    } else {
      slot.kind = ConstantSlot::Kind::shared_address;
      slot.value = layout_.shared.at(found->second);
    }
    return location;
  }
  return std::nullopt;
}

const Code* FunctionDecoder::callee(std::string_view name) const {
  const auto found = layout_.functions.find(name);
  return found == layout_.functions.end() ? nullptr
                                          : layout_.program->functions[found->second].get();
}

void FunctionDecoder::decode() {
  if (!function_.has_body) {
    return;
  }
  code_.instrs.reserve(function_.body.size() + 1);
  for (uint32_t i = 0; i < function_.body.size(); ++i) {
    decode_one(function_.body[i], i);
  }
  add_end();
  for (size_t i = 0; i < code_.instrs.size(); ++i) {
    code_.instrs[i].ops = code_.operand_pool.data() + pool_begin_[i];
  }
  mark_leaders();
}

void FunctionDecoder::decode_one(const ptx::Instruction& source, uint32_t index) {
  DecodeContext context(*this, source);
  context.instr.index = index;
  try {
    context.resolve_guard();
    const DecodeFunction family = opcode_table().find(source.opcode);
    if (family == nullptr) {
      context.reject("opcode " + std::string(source.opcode[0]) + " is not supported");
    }
    family(context);
    if (const std::string_view rest = context.q.left_over(); !rest.empty()) {
      context.reject("qualifier ." + std::string(rest) + " is not supported");
    }
    if (context.instr.handler == nullptr) {
      context.reject("no handler");
    }
    if (context.ops.size() > 0xFF) {
      context.reject("too many operands");
    }
  } catch (const DecodeError& error) {
    layout_.program->warnings.push_back({source.line, error.what()});
    context.instr.handler = unsupported_instruction;
    context.instr.flags = Instr::kUnsupported;
    context.instr.sync = SyncClass::none;
    context.ops.clear();
  }
  context.instr.op_count = static_cast<uint8_t>(context.ops.size());
  pool_begin_.push_back(static_cast<uint32_t>(code_.operand_pool.size()));
  code_.operand_pool.insert(code_.operand_pool.end(), context.ops.begin(), context.ops.end());
  code_.instrs.push_back(context.instr);
}

void FunctionDecoder::add_end() {
  Instr end;
  end.handler = return_from_function;
  end.index = static_cast<uint32_t>(code_.instrs.size());
  end.line = function_.body.empty() ? function_.line : function_.body.back().line;
  pool_begin_.push_back(static_cast<uint32_t>(code_.operand_pool.size()));
  code_.instrs.push_back(end);
}

void FunctionDecoder::mark_leaders() {
  for (const ptx::Scope& scope : function_.scopes) {
    for (const auto& [name, target] : scope.labels) {
      code_.instrs[target].flags |= Instr::kLeader;
    }
  }
  for (size_t i = 0; i + 1 < code_.instrs.size(); ++i) {
    if (code_.instrs[i].has(Instr::kBranch)) {
      code_.instrs[i + 1].flags |= Instr::kLeader;
    }
  }
}

}  // namespace emu
