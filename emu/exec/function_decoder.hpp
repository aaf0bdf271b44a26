// SPDX-License-Identifier: Apache-2.0
// Gives the names of one function storage, and decodes its instructions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "exec/program.hpp"
#include "isa/decode.hpp"

namespace emu {

// What the functions of a module share while it is decoded.
struct ModuleLayout {
  const ptx::Module* module = nullptr;
  Program* program = nullptr;
  std::unordered_map<std::string_view, uint32_t> variables;  // index in Program::variables
  std::unordered_map<std::string_view, uint32_t> functions;  // index in Program::functions
  // Shared variables outside of kernels (module scope, device functions) lie before the kernels'
  // own, at the same place for every kernel that can reach them.
  std::unordered_map<const ptx::Variable*, uint32_t> shared;
  std::unordered_map<std::string_view, const ptx::Variable*> module_shared;
  uint32_t shared_end = 0;
  uint32_t dynamic_align = 16;
};

class FunctionDecoder {
 public:
  FunctionDecoder(ModuleLayout& layout, const ptx::Function& function, Code& code);

  // First pass: registers, variables, parameters.
  void lay_out();
  // Second pass, when every function is laid out.
  void decode();

  // --- for DecodeContext
  const ptx::Function& function() const { return function_; }
  Code& code() { return code_; }
  ModuleLayout& layout() { return layout_; }
  Operand register_operand(uint32_t register_index) const;
  Operand constant(ConstantSlot slot);
  // Where a variable lives: the space of its address, and a slot that holds it.
  struct Location {
    ptx::Space space;
    ConstantSlot slot;
  };
  std::optional<Location> locate(uint32_t scope, std::string_view name, unsigned width);
  const Code* callee(std::string_view name) const;

 private:
  void lay_out_registers();
  void lay_out_params();
  void lay_out_variables();
  bool reaches_module_shared() const;
  void decode_one(const ptx::Instruction& source, uint32_t index);
  void mark_leaders();
  void add_end();
  uint32_t take_local(uint64_t bytes, uint32_t align);

  ModuleLayout& layout_;
  const ptx::Function& function_;
  Code& code_;
  std::unordered_map<const ptx::Variable*, uint32_t> offsets_;
  std::map<std::tuple<uint8_t, uint8_t, uint32_t, uint64_t>, uint32_t> slots_;
  std::vector<uint32_t> pool_begin_;
};

// The statement that ends every function: falling off the end is `ret`. Defined with the control
// family.
StepResult return_from_function(ExecContext& ctx, const Instr& instr, uint32_t active);
// Executing an instruction that could not be decoded.
StepResult unsupported_instruction(ExecContext& ctx, const Instr& instr, uint32_t active);

}  // namespace emu
