// SPDX-License-Identifier: Apache-2.0
// A decoded module: shared by all devices and launches, never changed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/global_memory.hpp"
#include "isa/instr.hpp"
#include "ptx/module.hpp"

namespace emu {

// Values that every frame of a function starts with: 32 lanes of `width` bytes each.
struct ConstantSlot {
  enum class Kind : uint8_t {
    value,
    shared_address,  // value + the CTA's rank << 24
    dynamic_shared,  // as above, offset of the launch's dynamic shared memory + value
    param_address,   // offset in the kernel's parameter block
    frame_local,     // value + start of the frame's local memory
    variable,        // address of module variable `index`, + value
    function,        // handle of function `index`
    special,         // special register `index`, constant for a warp or lane
    dynamic_special  // %clock and the like: refreshed before each instruction that reads it
  };
  Kind kind = Kind::value;
  uint8_t width = 4;
  uint32_t offset = 0;  // in the register block
  uint32_t index = 0;
  uint64_t value = 0;
};

struct KernelParam {
  std::string name;
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

// One function, decoded.
struct Code {
  const ptx::Function* function = nullptr;
  std::string name;
  uint32_t index = 0;            // in Program::functions
  uint32_t register_bytes = 0;   // register block of one frame, constant slots included
  uint32_t predicate_count = 2;  // index 0 is always false, 1 always true
  uint32_t local_bytes = 0;  // per lane; a device function's parameters and .param variables too
  uint32_t static_shared_end = 0;  // first free byte after the static variables (>= 1024)
  uint32_t dynamic_shared_align = 16;
  uint32_t param_bytes = 0;  // kernels: size of the parameter block
  std::vector<KernelParam> params;
  std::vector<KernelParam> formals;  // device functions: offsets in the frame's local memory
  std::vector<KernelParam> results;
  std::vector<ConstantSlot> constants;
  std::vector<Operand> registers;  // by register index of the function
  std::vector<Instr> instrs;
  std::vector<Operand> operand_pool;
  std::vector<std::shared_ptr<const void>> owned;
  bool uses_global_atomics = false;  // or acquire/release, launch control: clusters not in parallel
  bool has_body() const { return !instrs.empty(); }
};

struct ModuleVariable {
  std::string name;
  ptx::Space space = ptx::Space::global;
  uint64_t bytes = 0;
  uint32_t align = 1;
  std::vector<uint8_t> initial;
  struct Relocation {
    uint64_t at = 0;  // byte offset in the variable
    uint32_t bytes = 8;
    bool function = false;
    uint32_t index = 0;  // module variable or function
    int64_t addend = 0;
    uint32_t shift = 0;  // 0xFF..(name): which byte
  };
  std::vector<Relocation> relocations;
};

struct Program {
  std::shared_ptr<const ptx::Module> module;
  std::string name;
  std::vector<std::unique_ptr<Code>> functions;  // same order as Module::functions
  std::vector<ModuleVariable> variables;         // .global and .const
  // Unsupported instructions and the like: line and text. Not fatal until executed.
  std::vector<ptx::Diagnostic> warnings;

  const Code* find_kernel(std::string_view kernel) const;  // null if there is no such .entry
  const Code* find_function(std::string_view function) const;
  const ModuleVariable* find_variable(std::string_view variable) const;
};

struct LoadResult {
  std::shared_ptr<const Program> program;  // null when the text does not parse
  std::vector<ptx::Diagnostic> errors;
};

LoadResult load_program(std::string_view ptx_text, std::string name);

// A module's variables on one device.
struct ModuleInstance {
  std::vector<uint64_t> addresses;  // of Program::variables
};

// Allocates and initialises; memory must be open. 0 bytes available = false.
bool instantiate(const Program& program, GlobalMemory& memory, int device, ModuleInstance* out);

// Handles of functions as seen by kernels: index + 1, marked so that stray numbers are refused.
inline constexpr uint64_t kFunctionHandle = 0x0600000000000000u;

}  // namespace emu
