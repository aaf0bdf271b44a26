// SPDX-License-Identifier: Apache-2.0
// Module variables, and the two passes over a module's functions.
#include "exec/program.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "exec/function_decoder.hpp"
#include "exec/shared_memory.hpp"

namespace emu {
namespace {

// What stops a module from loading at all.
class LoadError : public std::runtime_error {
 public:
  LoadError(uint32_t error_line, const std::string& message)
      : std::runtime_error(message), line(error_line) {}
  uint32_t line;
};

uint64_t value_bits(const ptx::Variable& variable, const ptx::Operand& value) {
  if (value.kind == ptx::Operand::Kind::integer) {
    return value.bits;
  }
  const unsigned width = ptx::type_bytes(variable.type);
  if (width == 4) {
    return value.single
               ? value.bits
               : std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value.bits)));
  }
  if (width == 8 && !value.single) {
    return value.bits;
  }
  throw LoadError(variable.line, "initial value of '" + std::string(variable.name) +
                                     "' does not have the variable's type");
}

void add_value(const ModuleLayout& layout, const ptx::Variable& variable,
               const ptx::Initializer& value, ModuleVariable& out) {
  const unsigned width = ptx::type_bytes(variable.type);
  const uint64_t at = uint64_t{value.index} * width;
  if (at + width > out.bytes) {
    throw LoadError(variable.line,
                    "too many initial values for '" + std::string(variable.name) + "'");
  }
  if (value.value.kind != ptx::Operand::Kind::name) {
    const uint64_t bits = value_bits(variable, value.value);
    std::memcpy(out.initial.data() + at, &bits, std::min<unsigned>(width, 8));
    return;
  }
  ModuleVariable::Relocation relocation;
  relocation.at = at;
  relocation.bytes = value.masked ? 1 : width;
  relocation.shift = value.masked ? value.mask_shift : 0;
  relocation.addend = value.value.offset;
  if (const auto v = layout.variables.find(value.value.name); v != layout.variables.end()) {
    relocation.index = v->second;
  } else if (const auto f = layout.functions.find(value.value.name); f != layout.functions.end()) {
    relocation.function = true;
    relocation.index = f->second;
  } else {
    throw LoadError(variable.line, "'" + std::string(value.value.name) +
                                       "' in the initial value of '" + std::string(variable.name) +
                                       "' is not declared");
  }
  out.relocations.push_back(relocation);
}

uint32_t place_shared(ModuleLayout& layout, const ptx::Variable& variable) {
  const uint32_t align = std::max(variable.align, 1u);
  const uint32_t offset = (layout.shared_end + align - 1) / align * align;
  layout.shared[&variable] = offset;
  layout.shared_end = offset + static_cast<uint32_t>(variable.bytes());
  return offset;
}

void lay_out_module(ModuleLayout& layout, Program& program) {
  layout.shared_end = kReservedShared;
  for (const ptx::Variable& v : layout.module->variables) {
    if (v.space == ptx::Space::shared) {
      layout.module_shared.emplace(v.name, &v);
      if (v.is_extern) {
        layout.dynamic_align = std::max(layout.dynamic_align, v.align);
      } else {
        place_shared(layout, v);
      }
      continue;
    }
    if (v.space == ptx::Space::local) {
      throw LoadError(v.line, "local variables outside of functions are not supported");
    }
    if (v.is_extern && layout.module->find_variable(v.name)->is_extern) {
      throw LoadError(v.line, "variable '" + std::string(v.name) + "' is declared but not defined");
    }
    if (v.is_extern) {
      continue;
    }
    ModuleVariable variable;
    variable.name = v.name;
    variable.space = v.space;
    variable.bytes = v.bytes();
    variable.align = std::max(v.align, 1u);
    variable.initial.assign(variable.bytes, 0);
    if (!layout.variables.emplace(v.name, program.variables.size()).second) {
      throw LoadError(v.line, "variable '" + std::string(v.name) + "' is defined twice");
    }
    program.variables.push_back(std::move(variable));
  }
}

void initialise_variables(const ModuleLayout& layout, Program& program) {
  for (const ptx::Variable& v : layout.module->variables) {
    if (v.space == ptx::Space::shared || v.is_extern) {
      if (!v.values.empty()) {
        throw LoadError(v.line, "'" + std::string(v.name) + "' cannot have an initial value");
      }
      continue;
    }
    ModuleVariable& variable = program.variables[layout.variables.at(v.name)];
    for (const ptx::Initializer& value : v.values) {
      add_value(layout, v, value, variable);
    }
  }
}

void decode_functions(ModuleLayout& layout, Program& program) {
  const auto& functions = layout.module->functions;
  for (const ptx::Function& f : functions) {
    auto code = std::make_unique<Code>();
    code->function = &f;
    code->name = f.name;
    code->index = static_cast<uint32_t>(program.functions.size());
    if (layout.module->find_function(f.name) == &f) {
      layout.functions[f.name] = code->index;
    }
    for (const ptx::Variable& v : f.variables) {
      if (!f.is_entry && v.space == ptx::Space::shared) {
        place_shared(layout, v);
      }
    }
    program.functions.push_back(std::move(code));
  }
  initialise_variables(layout, program);
  std::vector<std::unique_ptr<FunctionDecoder>> decoders;
  for (size_t i = 0; i < functions.size(); ++i) {
    decoders.push_back(
        std::make_unique<FunctionDecoder>(layout, functions[i], *program.functions[i]));
    decoders.back()->lay_out();
  }
  for (const auto& decoder : decoders) {
    decoder->decode();
  }
}

}  // namespace

LoadResult load_program(std::string_view ptx_text, std::string name) {
  LoadResult result;
  ptx::ParseResult parsed = ptx::parse(ptx_text, name);
  result.errors = std::move(parsed.errors);
  if (parsed.module == nullptr) {
    return result;
  }
  auto program = std::make_shared<Program>();
  program->module = parsed.module;
  program->name = std::move(name);
  ModuleLayout layout;
  layout.module = program->module.get();
  layout.program = program.get();
  try {
    lay_out_module(layout, *program);
    decode_functions(layout, *program);
    result.program = std::move(program);
  } catch (const LoadError& error) {
    result.errors.push_back({error.line, error.what()});
  }
  return result;
}

const Code* Program::find_function(std::string_view function) const {
  const Code* found = nullptr;
  for (const auto& code : functions) {
    if (code->name == function && (found == nullptr || !found->has_body())) {
      found = code.get();
    }
  }
  return found;
}

const Code* Program::find_kernel(std::string_view kernel) const {
  const Code* found = find_function(kernel);
  return found != nullptr && found->function->is_entry && found->has_body() ? found : nullptr;
}

const ModuleVariable* Program::find_variable(std::string_view variable) const {
  for (const ModuleVariable& v : variables) {
    if (v.name == variable) {
      return &v;
    }
  }
  return nullptr;
}

bool instantiate(const Program& program, GlobalMemory& memory, int device, ModuleInstance* out) {
  out->addresses.clear();
  for (const ModuleVariable& v : program.variables) {
    const MemoryKind kind =
        v.space == ptx::Space::constant ? MemoryKind::constant : MemoryKind::variable;
    const uint64_t address = memory.allocate(std::max<uint64_t>(v.bytes, 1), device, kind, v.name);
    if (address == 0) {
      return false;
    }
    out->addresses.push_back(address);
  }
  for (size_t i = 0; i < program.variables.size(); ++i) {
    const ModuleVariable& v = program.variables[i];
    auto* bytes = reinterpret_cast<uint8_t*>(out->addresses[i]);
    std::memcpy(bytes, v.initial.data(), v.initial.size());
    for (const ModuleVariable::Relocation& r : v.relocations) {
      const uint64_t base = r.function ? kFunctionHandle + r.index + 1 : out->addresses[r.index];
      const uint64_t value = (base + static_cast<uint64_t>(r.addend)) >> r.shift;
      std::memcpy(bytes + r.at, &value, r.bytes);
    }
  }
  return true;
}

}  // namespace emu
