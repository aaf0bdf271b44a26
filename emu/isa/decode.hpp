// SPDX-License-Identifier: Apache-2.0
// From parsed instructions to decoded ones. A family file offers `void register_<family>(
// OpcodeTable&)` and gives for each opcode a function that fills DecodeContext: it takes the
// qualifiers it knows by name (whatever is left over is rejected), resolves operands, and names
// the handler.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/instr.hpp"
#include "ptx/module.hpp"

namespace emu {

class FunctionDecoder;  // exec/program.cpp's side: registers, constant slots, labels

class DecodeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The parts of an opcode after the first; each can be taken once.
class Qualifiers {
 public:
  explicit Qualifiers(const std::vector<std::string_view>& opcode);

  // True if the part is there; it then counts as known. "sync", "shared::cta".
  bool take(std::string_view part);
  // The index in `parts` of the first one that is there.
  std::optional<size_t> take_one_of(std::initializer_list<std::string_view> parts);
  // The first part that starts with `prefix`, without it: take_prefix("kind::") -> "mxf4".
  std::optional<std::string_view> take_prefix(std::string_view prefix);
  // The first untaken part that is a fundamental type.
  std::optional<ptx::Type> take_type();
  std::optional<ptx::Space> take_space();
  bool has(std::string_view part) const;
  // First untaken part, or empty.
  std::string_view left_over() const;

 private:
  std::vector<std::string_view> parts_;
  std::vector<bool> taken_;
};

// Width rules of section 4.5.
enum class Width : uint8_t {
  exact,        // the register has the slot's width
  may_be_wider  // ld, st, cvt, mov of special registers
};

class DecodeContext {
 public:
  DecodeContext(FunctionDecoder& function, const ptx::Instruction& source);

  const ptx::Instruction& source;
  Qualifiers q;
  Instr instr;               // guard, line and index are already set
  std::vector<Operand> ops;  // becomes instr.ops

  [[noreturn]] void reject(const std::string& why) const;

  // Operands as written.
  size_t count() const { return source.operands.size(); }
  void require_count(size_t low, size_t high) const;
  const ptx::Operand& operand(size_t index) const;
  // Elements of a vector operand; of anything else, the operand itself.
  std::vector<ptx::Operand> elements(const ptx::Operand& operand) const;

  // A source: register, immediate (takes the slot's width and kind), special register, address of
  // a variable or function.
  Operand src(const ptx::Operand& operand, ptx::Type slot, Width width = Width::exact);
  // A destination register; `_` gives a sink.
  Operand dst(const ptx::Operand& operand, ptx::Type slot, Width width = Width::exact);
  // A source predicate (`!` allowed, 0 and 1 too) and a destination predicate (`_` allowed).
  Operand pred(const ptx::Operand& operand);
  Operand pred_dst(const ptx::Operand& operand);
  // [reg+imm], [name+imm], [imm]: base and Operand::imm, Operand::space. Coordinates, if any, are
  // operand.parts[1...].
  Operand address(const ptx::Operand& operand, ptx::Space space);
  // A constant slot holding this value.
  Operand constant(uint64_t value, ptx::Type slot);
  // An integer that must be known now.
  int64_t immediate(const ptx::Operand& operand) const;
  // The type with which a register was declared; none if the operand is not a register.
  ptx::Type declared_type(const ptx::Operand& operand) const;
  // Instruction index of a label; of each label of a .branchtargets table.
  uint32_t label(const ptx::Operand& operand) const;
  std::vector<uint32_t> label_table(const ptx::Operand& operand) const;

  void set(Handler handler, std::initializer_list<Operand> operands);
  void add(const Operand& operand) { ops.push_back(operand); }
  // Keeps family data alive as long as the program and makes it Instr::extra.
  template <class T>
  const T* keep(T value) {
    auto owned = std::make_shared<const T>(std::move(value));
    const T* raw = owned.get();
    own(std::move(owned));
    instr.extra = raw;
    return raw;
  }
  FunctionDecoder& function() { return function_; }
  void resolve_guard();  // called before the family's function

 private:
  void own(std::shared_ptr<const void> value);
  FunctionDecoder& function_;
};

using DecodeFunction = void (*)(DecodeContext&);

class OpcodeTable {
 public:
  // "add", or with further leading parts "cp.async.bulk": the longest that fits wins.
  void add(std::string_view opcode, DecodeFunction function);
  DecodeFunction find(const std::vector<std::string_view>& opcode) const;

 private:
  std::unordered_map<std::string, DecodeFunction> functions_;
};

// All families (families.cpp); built once.
const OpcodeTable& opcode_table();

}  // namespace emu
