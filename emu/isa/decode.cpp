// SPDX-License-Identifier: Apache-2.0
#include "isa/decode.hpp"

#include <bit>

#include "exec/function_decoder.hpp"
#include "exec/special.hpp"

namespace emu {

Qualifiers::Qualifiers(const std::vector<std::string_view>& opcode)
    : parts_(opcode.begin() + 1, opcode.end()), taken_(parts_.size(), false) {}

bool Qualifiers::take(std::string_view part) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!taken_[i] && parts_[i] == part) {
      taken_[i] = true;
      return true;
    }
  }
  return false;
}

bool Qualifiers::has(std::string_view part) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!taken_[i] && parts_[i] == part) {
      return true;
    }
  }
  return false;
}

std::optional<size_t> Qualifiers::take_one_of(std::initializer_list<std::string_view> parts) {
  size_t index = 0;
  for (const std::string_view part : parts) {
    if (take(part)) {
      return index;
    }
    ++index;
  }
  return std::nullopt;
}

std::optional<std::string_view> Qualifiers::take_prefix(std::string_view prefix) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!taken_[i] && parts_[i].starts_with(prefix)) {
      taken_[i] = true;
      return parts_[i].substr(prefix.size());
    }
  }
  return std::nullopt;
}

std::optional<ptx::Type> Qualifiers::take_type() {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!taken_[i]) {
      if (const auto type = ptx::type_from_name(parts_[i])) {
        taken_[i] = true;
        return type;
      }
    }
  }
  return std::nullopt;
}

std::optional<ptx::Space> Qualifiers::take_space() {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!taken_[i]) {
      if (const auto space = ptx::space_from_name(parts_[i])) {
        taken_[i] = true;
        return space;
      }
    }
  }
  return std::nullopt;
}

std::string_view Qualifiers::left_over() const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!taken_[i]) {
      return parts_[i];
    }
  }
  return {};
}

void OpcodeTable::add(std::string_view opcode, DecodeFunction function) {
  if (!functions_.emplace(opcode, function).second) {
    throw std::logic_error("opcode " + std::string(opcode) + " is registered twice");
  }
}

DecodeFunction OpcodeTable::find(const std::vector<std::string_view>& opcode) const {
  // No family registers more than three leading parts.
  constexpr size_t kMostParts = 4;
  for (size_t parts = std::min(opcode.size(), kMostParts); parts > 0; --parts) {
    std::string key(opcode[0]);
    for (size_t i = 1; i < parts; ++i) {
      key.append(".").append(opcode[i]);
    }
    if (const auto found = functions_.find(key); found != functions_.end()) {
      return found->second;
    }
  }
  return nullptr;
}

DecodeContext::DecodeContext(FunctionDecoder& function, const ptx::Instruction& instruction)
    : source(instruction), q(instruction.opcode), function_(function) {
  instr.line = source.line;
}

void DecodeContext::resolve_guard() {
  if (!source.guard.empty()) {
    ptx::Operand guard;
    guard.kind = ptx::Operand::Kind::name;
    guard.name = source.guard;
    const Operand operand = pred(guard);
    instr.guard = operand.offset;
    instr.guard_negated = source.guard_negated;
  }
}

void DecodeContext::reject(const std::string& why) const {
  throw DecodeError(why + ": " + std::string(source.text));
}

void DecodeContext::require_count(size_t low, size_t high) const {
  if (count() < low || count() > high) {
    reject("has " + std::to_string(count()) + " operands, " + std::to_string(low) + " to " +
           std::to_string(high) + " are allowed");
  }
}

const ptx::Operand& DecodeContext::operand(size_t index) const {
  if (index >= count()) {
    reject("operand " + std::to_string(index + 1) + " is missing");
  }
  return source.operands[index];
}

std::vector<ptx::Operand> DecodeContext::elements(const ptx::Operand& from) const {
  if (from.kind == ptx::Operand::Kind::vector) {
    return from.parts;
  }
  return {from};
}

ptx::Type DecodeContext::declared_type(const ptx::Operand& from) const {
  if (from.kind != ptx::Operand::Kind::name) {
    return ptx::Type::none;
  }
  const ptx::Function& f = function_.function();
  const auto found = f.find_register(source.scope, from.name);
  return found ? f.registers[*found].type : ptx::Type::none;
}

Operand DecodeContext::constant(uint64_t value, ptx::Type slot) {
  const unsigned width = ptx::type_bytes(slot);
  ConstantSlot constant;
  constant.width = static_cast<uint8_t>(width);
  constant.value = width >= 8 ? value : value & ((uint64_t{1} << (8 * width)) - 1);
  return function_.constant(constant);
}

namespace {

uint64_t literal_bits(const DecodeContext& context, const ptx::Operand& from, ptx::Type slot) {
  if (from.kind == ptx::Operand::Kind::integer) {
    if (slot == ptx::Type::f32 || slot == ptx::Type::f64) {
      context.reject("an integer literal where a " + std::string(ptx::type_name(slot)) +
                     " is needed");
    }
    return from.bits;
  }
  const unsigned width = ptx::type_bytes(slot);
  if (width == 4 && slot != ptx::Type::f16x2 && slot != ptx::Type::bf16x2) {
    return from.single
               ? from.bits
               : std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(from.bits)));
  }
  if (width == 8) {
    return from.single ? std::bit_cast<uint64_t>(static_cast<double>(
                             std::bit_cast<float>(static_cast<uint32_t>(from.bits))))
                       : from.bits;
  }
  context.reject("a floating-point literal where a " + std::string(ptx::type_name(slot)) +
                 " is needed");
}

void check_width(const DecodeContext& context, const Operand& found, std::string_view name,
                 ptx::Type slot, Width width) {
  const unsigned wanted = ptx::type_bytes(slot);
  if ((found.flags & Operand::kPredicate) != 0) {
    context.reject("predicate " + std::string(name) + " where a register is needed");
  }
  if (found.width == wanted || (width == Width::may_be_wider && found.width > wanted)) {
    return;
  }
  context.reject("register " + std::string(name) + " is " + std::to_string(found.width * 8) +
                 " bits wide, the instruction needs " + std::to_string(wanted * 8));
}

}  // namespace

Operand DecodeContext::src(const ptx::Operand& from, ptx::Type slot, Width width) {
  using Kind = ptx::Operand::Kind;
  if (from.negated) {
    reject("'!' before something that is no predicate");
  }
  if (from.kind == Kind::integer || from.kind == Kind::floating) {
    return constant(literal_bits(*this, from, slot), slot);
  }
  if (from.kind != Kind::name) {
    reject("a register or a number is needed as operand");
  }
  const ptx::Function& f = function_.function();
  if (const auto found = f.find_register(source.scope, from.name)) {
    const Operand operand = function_.register_operand(*found);
    check_width(*this, operand, from.name, slot, width);
    if (from.offset != 0) {
      reject("register plus number outside of an address");
    }
    return operand;
  }
  const auto bytes = static_cast<uint8_t>(ptx::type_bytes(slot));
  if (const auto special = find_special(from.name)) {
    ConstantSlot constant_slot;
    constant_slot.kind =
        special->dynamic ? ConstantSlot::Kind::dynamic_special : ConstantSlot::Kind::special;
    constant_slot.index = special->index;
    constant_slot.width = bytes;
    if (special->dynamic) {
      instr.flags |= Instr::kDynamicSpecial;
    }
    return function_.constant(constant_slot);
  }
  if (auto location = function_.locate(source.scope, from.name, bytes)) {
    if (bytes < 4) {
      reject("an address does not fit into " + std::to_string(bytes * 8) + " bits");
    }
    location->slot.value += static_cast<uint64_t>(from.offset);
    return function_.constant(location->slot);
  }
  if (const Code* callee = function_.callee(from.name)) {
    ConstantSlot constant_slot;
    constant_slot.kind = ConstantSlot::Kind::function;
    constant_slot.width = bytes;
    constant_slot.index = callee->index;
    return function_.constant(constant_slot);
  }
  reject("'" + std::string(from.name) + "' is not declared");
}

Operand DecodeContext::dst(const ptx::Operand& to, ptx::Type slot, Width width) {
  if (to.kind == ptx::Operand::Kind::sink) {
    Operand sink;
    sink.flags = Operand::kSink;
    sink.width = static_cast<uint8_t>(ptx::type_bytes(slot));
    return sink;
  }
  const ptx::Function& f = function_.function();
  const auto found = to.kind == ptx::Operand::Kind::name && !to.negated && to.offset == 0
                         ? f.find_register(source.scope, to.name)
                         : std::nullopt;
  if (!found) {
    reject("the destination '" + std::string(to.name) + "' is no register");
  }
  const Operand operand = function_.register_operand(*found);
  check_width(*this, operand, to.name, slot, width);
  return operand;
}

Operand DecodeContext::pred(const ptx::Operand& from) {
  Operand operand;
  operand.flags = Operand::kPredicate;
  if (from.kind == ptx::Operand::Kind::integer) {
    operand.offset = from.bits != 0 ? 1 : 0;
    return operand;
  }
  const ptx::Function& f = function_.function();
  const auto found = from.kind == ptx::Operand::Kind::name
                         ? f.find_register(source.scope, from.name)
                         : std::nullopt;
  if (!found || f.registers[*found].type != ptx::Type::pred) {
    reject("'" + std::string(from.name) + "' is no predicate");
  }
  operand.offset = function_.register_operand(*found).offset;
  if (from.negated) {
    operand.flags |= Operand::kNegated;
  }
  return operand;
}

Operand DecodeContext::pred_dst(const ptx::Operand& to) {
  if (to.kind == ptx::Operand::Kind::sink) {
    Operand sink;
    sink.flags = Operand::kSink | Operand::kPredicate;
    return sink;
  }
  if (to.negated) {
    reject("a destination predicate cannot be negated");
  }
  if (to.kind == ptx::Operand::Kind::integer) {
    reject("a number cannot be a destination");
  }
  return pred(to);
}

Operand DecodeContext::address(const ptx::Operand& from, ptx::Space space) {
  if (from.kind != ptx::Operand::Kind::address || from.parts.empty()) {
    reject("an address in brackets is needed");
  }
  const ptx::Operand& base = from.parts[0];
  Operand operand;
  if (base.kind == ptx::Operand::Kind::integer) {
    operand = constant(base.bits, ptx::Type::b64);
  } else if (const auto found = function_.function().find_register(source.scope, base.name)) {
    operand = function_.register_operand(*found);
    if (operand.width != 4 && operand.width != 8) {
      reject("register " + std::string(base.name) + " cannot hold an address");
    }
  } else if (const auto location = function_.locate(source.scope, base.name, 8)) {
    operand = function_.constant(location->slot);
    const bool fits = space == location->space || space == ptx::Space::generic ||
                      (ptx::is_shared(space) && ptx::is_shared(location->space)) ||
                      (space == ptx::Space::param && location->space == ptx::Space::local);
    if (!fits) {
      reject("'" + std::string(base.name) + "' lies in ." +
             std::string(ptx::space_name(location->space)) + " memory");
    }
    space =
        location->space == ptx::Space::shared && ptx::is_shared(space) ? space : location->space;
  } else {
    reject("'" + std::string(base.name) + "' is not declared");
  }
  operand.imm = from.offset;
  operand.space = space;
  return operand;
}

int64_t DecodeContext::immediate(const ptx::Operand& from) const {
  if (from.kind != ptx::Operand::Kind::integer) {
    reject("a constant number is needed");
  }
  return static_cast<int64_t>(from.bits);
}

uint32_t DecodeContext::label(const ptx::Operand& from) const {
  const auto found = from.kind == ptx::Operand::Kind::name
                         ? function_.function().find_label(source.scope, from.name)
                         : std::nullopt;
  if (!found) {
    reject("label '" + std::string(from.name) + "' is not declared");
  }
  return *found;
}

std::vector<uint32_t> DecodeContext::label_table(const ptx::Operand& from) const {
  const auto* targets = function_.function().find_targets(source.scope, from.name);
  if (targets == nullptr) {
    reject("'" + std::string(from.name) + "' is no .branchtargets table");
  }
  std::vector<uint32_t> out;
  for (const std::string_view name : *targets) {
    ptx::Operand target;
    target.kind = ptx::Operand::Kind::name;
    target.name = name;
    out.push_back(label(target));
  }
  return out;
}

void DecodeContext::set(Handler handler, std::initializer_list<Operand> operands) {
  instr.handler = handler;
  ops.insert(ops.end(), operands.begin(), operands.end());
}

void DecodeContext::own(std::shared_ptr<const void> value) {
  function_.code().owned.push_back(std::move(value));
}

}  // namespace emu
