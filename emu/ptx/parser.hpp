// SPDX-License-Identifier: Apache-2.0
// Recursive descent over the tokens; parser_module.cpp has what stands outside of functions,
// parser_body.cpp the statements, parser_operand.cpp the operands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/lexer.hpp"
#include "ptx/module.hpp"

namespace emu::ptx {

class Parser {
 public:
  Parser(std::string_view text, Module& module) : lexer_(text), module_(module) {}
  void parse_module();  // throws SyntaxError

 private:
  // parser_module.cpp
  void parse_version();
  void parse_target();
  void parse_linkage_item();
  void parse_module_variables(Space space, bool is_extern);
  void parse_function(bool is_entry);
  void parse_entry_directives(Function& function);
  void parse_dimensions(uint32_t (&dims)[3]);
  std::vector<Variable> parse_params();
  Variable parse_param();
  void skip_section();

  // Shared by module and body.
  struct DeclarationHead {
    Type type = Type::none;
    uint32_t align = 0;
    uint32_t lanes = 1;  // .v2, .v4
  };
  DeclarationHead parse_declaration_head();
  Variable parse_declarator(const DeclarationHead& head, Space space, bool is_extern);
  void parse_initializer(Variable& variable);
  void parse_initializer_list(const Variable& variable, size_t dimension,
                              const std::vector<uint64_t>& dimensions, uint64_t first,
                              std::vector<Initializer>& out);
  Initializer parse_initializer_value();
  std::vector<uint64_t> last_dimensions_;

  // parser_body.cpp
  void parse_body(Function& function);
  void parse_statement(Function& function);
  void parse_block(Function& function);
  void parse_body_directive(Function& function);
  void parse_registers(Function& function);
  void parse_body_variables(Function& function, Space space);
  void parse_label(Function& function);
  void parse_instruction(Function& function);
  void declare(Function& function, std::string_view name, uint32_t line);

  // parser_operand.cpp
  Operand parse_operand();
  Operand parse_simple_operand();
  Operand parse_name(bool negated);
  Operand parse_number(bool minus);
  Operand parse_address();
  Operand parse_sequence(Operand::Kind kind, char close);
  void parse_offset(Operand& operand);

  // One level of what may nest without end: beyond what any compiler writes it would only exhaust
  // the stack.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      constexpr uint32_t kDeepest = 1000;
      if (parser_.level_ >= kDeepest) {
        parser_.fail("more than " + std::to_string(kDeepest) + " levels are nested");
      }
      ++parser_.level_;
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  // Tokens.
  [[noreturn]] void fail(const std::string& message) const;
  void expect(char c);
  bool accept(char c);
  std::string_view expect_word(const char* what);
  uint64_t expect_integer(const char* what);
  std::string found() const;

  Lexer lexer_;
  Module& module_;
  uint32_t scope_ = 0;
  uint32_t level_ = 0;
};

}  // namespace emu::ptx
