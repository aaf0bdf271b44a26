// SPDX-License-Identifier: Apache-2.0
// A parsed PTX module: what the text says, names not yet resolved to storage. All string_views
// point into Module::text, which the module owns; a module is never changed once parsed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/types.hpp"

namespace emu::ptx {

struct Operand {
  enum class Kind : uint8_t {
    name,      // register, predicate, special register, variable, label or function; + offset
    integer,   // bits, two's complement; `minus` when it was written negative
    floating,  // bits: f64 pattern, or f32 pattern when single
    address,   // [parts[0] + offset], and for tensor copies [parts[0], parts[1], ...]
    vector,    // {parts...}
    pair,      // parts[0] | parts[1]
    sink,      // _
    list,      // (parts...) of a call
  };
  Kind kind = Kind::sink;
  bool negated = false;  // !p
  bool single = false;   // a float written 0f........
  bool minus = false;
  std::string_view name;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::vector<Operand> parts;
};

struct Instruction {
  uint32_t line = 0;
  uint32_t scope = 0;      // index in Function::scopes
  std::string_view guard;  // "" = always executed
  bool guard_negated = false;
  std::vector<std::string_view> opcode;  // "ld.shared::cta.u32" -> ld, shared::cta, u32
  std::vector<Operand> operands;
  std::string_view text;  // from the guard to before the semicolon
};

struct Register {
  std::string name;
  Type type = Type::none;
};

// One value of an initialiser: a number, or the address of a variable or function.
struct Initializer {
  Operand value;            // integer, floating or name (+ offset)
  bool generic = false;     // generic(name)
  uint32_t index = 0;       // element number in the flattened array
  uint32_t mask_shift = 0;  // 0xFF..(name) picks this byte of the address
  bool masked = false;
};

struct Variable {
  std::string_view name;
  Space space = Space::global;
  Type type = Type::none;
  uint32_t align = 1;
  uint64_t elements = 1;   // product of dimensions times the vector length
  bool is_extern = false;  // an extern shared array has elements == 0
  bool unsized = false;    // name[]
  uint32_t line = 0;
  std::vector<Initializer> values;
  uint64_t bytes() const { return elements * type_bytes(type); }
};

// Registers declared as name<N>: name0 .. name(N-1) have consecutive indexes from `first`.
struct RegisterRange {
  uint32_t first = 0;
  uint32_t count = 0;
};

// Names declared in one pair of braces. Scope 0 is the function's own (its parameters included).
struct Scope {
  uint32_t parent = 0;  // itself for scope 0
  std::unordered_map<std::string_view, uint32_t> registers;
  std::unordered_map<std::string_view, RegisterRange> ranges;
  std::unordered_map<std::string_view, uint32_t> variables;  // index in Function::variables
  std::unordered_map<std::string_view, uint32_t> labels;     // instruction index
  std::unordered_map<std::string_view, std::vector<std::string_view>> targets;  // .branchtargets
  std::unordered_map<std::string_view, uint32_t> prototypes;  // index in Function::prototypes
};

struct Prototype {
  std::vector<Variable> returns;
  std::vector<Variable> params;
};

struct Function {
  std::string_view name;
  bool is_entry = false;
  bool has_body = false;
  uint32_t line = 0;
  std::vector<Variable> returns;  // .func only
  std::vector<Variable> params;
  // Directives; zeros where absent.
  uint32_t maxntid[3] = {0, 0, 0};
  uint32_t reqntid[3] = {0, 0, 0};
  uint32_t reqnctapercluster[3] = {0, 0, 0};
  uint32_t minnctapersm = 0;
  uint32_t maxnreg = 0;
  uint32_t maxclusterrank = 0;
  bool explicit_cluster = false;
  std::vector<Scope> scopes;
  std::vector<Register> registers;
  std::vector<Variable> variables;  // local, shared and param ones declared in the body
  std::vector<Prototype> prototypes;
  std::vector<Instruction> body;

  // Walks the scope chain outwards from `scope`; nullopt where nothing of that kind has the name.
  std::optional<uint32_t> find_register(uint32_t scope, std::string_view name) const;
  std::optional<uint32_t> find_variable(uint32_t scope, std::string_view name) const;
  std::optional<uint32_t> find_label(uint32_t scope, std::string_view name) const;
  const std::vector<std::string_view>* find_targets(uint32_t scope, std::string_view name) const;
};

struct Module {
  std::string name;  // file or library, for messages
  std::shared_ptr<const std::string> text;
  uint32_t version_major = 0;
  uint32_t version_minor = 0;
  uint32_t target = 0;        // 120 for sm_120f
  char target_variant = ' ';  // ' ', 'a' or 'f'
  std::vector<Variable> variables;
  std::vector<Function> functions;  // definitions and declarations

  const Variable* find_variable(std::string_view variable) const;
  // Prefers the definition over declarations of the same name.
  const Function* find_function(std::string_view function) const;
};

struct Diagnostic {
  uint32_t line = 0;
  std::string message;
};

struct ParseResult {
  std::shared_ptr<const Module> module;  // null when there are errors
  std::vector<Diagnostic> errors;
};

// `name` is only used in messages. The text is copied; a NUL ends it.
ParseResult parse(std::string_view text, std::string name);

}  // namespace emu::ptx
