// SPDX-License-Identifier: Apache-2.0
// Bodies of functions: blocks, labels, declarations, instructions (specification 4.3).
#include "ptx/parser.hpp"

namespace emu::ptx {

void Parser::parse_body(Function& function) {
  scope_ = 0;
  parse_block(function);
}

// From '{' to '}'; the caller has set scope_.
void Parser::parse_block(Function& function) {
  const Level level(*this);
  expect('{');
  while (!lexer_.peek().is('}')) {
    parse_statement(function);
  }
  lexer_.take();
}

void Parser::parse_statement(Function& function) {
  const Token& token = lexer_.peek();
  if (token.kind == Token::Kind::end) {
    fail("the text ends within a function");
  }
  if (token.is('{')) {
    const uint32_t outer = scope_;
    scope_ = static_cast<uint32_t>(function.scopes.size());
    function.scopes.emplace_back().parent = outer;
    parse_block(function);
    scope_ = outer;
  } else if (token.is(';')) {
    lexer_.take();
  } else if (token.kind == Token::Kind::dot_word) {
    parse_body_directive(function);
  } else if (token.kind == Token::Kind::word && lexer_.ahead().is(':')) {
    parse_label(function);
  } else {
    parse_instruction(function);
  }
}

void Parser::declare(Function& function, std::string_view name, uint32_t line) {
  const Scope& scope = function.scopes[scope_];
  if (scope.registers.contains(name) || scope.variables.contains(name)) {
    throw SyntaxError(line, "'" + std::string(name) + "' is declared twice in one block");
  }
}

void Parser::parse_body_directive(Function& function) {
  const Token token = lexer_.peek();
  const std::string_view name = token.text;
  if (name == "reg") {
    parse_registers(function);
  } else if (name == "local" || name == "shared" || name == "param") {
    parse_body_variables(function, *space_from_name(name));
  } else if (name == "loc") {
    lexer_.skip_line(token.line);
  } else if (name == "pragma") {
    while (!accept(';')) {
      lexer_.take();
    }
  } else {
    fail("directive ." + std::string(name) + " is not supported in a function");
  }
}

void Parser::parse_registers(Function& function) {
  lexer_.take();
  const Token type_token = lexer_.take();
  const auto type = type_from_name(type_token.text);
  if (type_token.kind != Token::Kind::dot_word || !type) {
    throw SyntaxError(type_token.line,
                      ".reg needs a type, not '" + std::string(type_token.text) + "'");
  }
  do {
    const uint32_t line = lexer_.peek().line;
    const std::string_view name = expect_word("a register name");
    declare(function, name, line);
    const auto first = static_cast<uint32_t>(function.registers.size());
    if (!accept('<')) {
      function.scopes[scope_].registers[name] = first;
      function.registers.push_back({std::string(name), *type});
      continue;
    }
    const uint64_t count = expect_integer("a number of registers");
    expect('>');
    // More registers than instructions could name would only exhaust memory.
    constexpr uint64_t kMostRegisters = 1u << 20;
    if (count > kMostRegisters) {
      fail("register range " + std::string(name) + "<" + std::to_string(count) +
           "> has more than " + std::to_string(kMostRegisters) + " registers");
    }
    if (!function.scopes[scope_]
             .ranges.emplace(name, RegisterRange{first, static_cast<uint32_t>(count)})
             .second) {
      throw SyntaxError(line, "register range '" + std::string(name) + "' is declared twice");
    }
    for (uint64_t i = 0; i < count; ++i) {
      function.registers.push_back({std::string(name) + std::to_string(i), *type});
    }
  } while (accept(','));
  expect(';');
}

void Parser::parse_body_variables(Function& function, Space space) {
  lexer_.take();
  const DeclarationHead head = parse_declaration_head();
  do {
    Variable variable = parse_declarator(head, space, false);
    declare(function, variable.name, variable.line);
    function.scopes[scope_].variables[variable.name] =
        static_cast<uint32_t>(function.variables.size());
    function.variables.push_back(std::move(variable));
  } while (accept(','));
  expect(';');
}

void Parser::parse_label(Function& function) {
  const Token name = lexer_.take();
  expect(':');
  const auto duplicate = [&] {
    throw SyntaxError(name.line,
                      "label '" + std::string(name.text) + "' is declared twice in one block");
  };
  if (lexer_.peek().is_dot("branchtargets")) {
    lexer_.take();
    std::vector<std::string_view> labels;
    do {
      labels.push_back(expect_word("a label"));
    } while (accept(','));
    expect(';');
    if (!function.scopes[scope_].targets.emplace(name.text, std::move(labels)).second) {
      duplicate();
    }
    return;
  }
  if (lexer_.peek().is_dot("callprototype")) {
    lexer_.take();
    Prototype prototype;
    if (lexer_.peek().is('(')) {
      prototype.returns = parse_params();
    }
    expect_word("the prototype's name or _");
    prototype.params = parse_params();
    if (lexer_.peek().is_dot("noreturn")) {
      lexer_.take();
    }
    expect(';');
    const auto index = static_cast<uint32_t>(function.prototypes.size());
    if (!function.scopes[scope_].prototypes.emplace(name.text, index).second) {
      duplicate();
    }
    function.prototypes.push_back(std::move(prototype));
    return;
  }
  if (lexer_.peek().is_dot("calltargets")) {
    while (!accept(';')) {
      lexer_.take();
    }
    return;
  }
  const auto next = static_cast<uint32_t>(function.body.size());
  if (!function.scopes[scope_].labels.emplace(name.text, next).second) {
    duplicate();
  }
}

void Parser::parse_instruction(Function& function) {
  Instruction instruction;
  instruction.scope = scope_;
  const size_t begin = lexer_.peek().begin;
  if (accept('@')) {
    instruction.guard_negated = accept('!');
    instruction.guard = expect_word("a predicate after @");
  }
  instruction.line = lexer_.peek().line;
  if (lexer_.peek().kind != Token::Kind::word) {
    fail("expected an instruction, found " + found());
  }
  instruction.opcode.push_back(lexer_.take().text);
  while (lexer_.peek().kind == Token::Kind::dot_word) {
    instruction.opcode.push_back(lexer_.take().text);
  }
  if (!lexer_.peek().is(';')) {
    do {
      instruction.operands.push_back(parse_operand());
    } while (accept(','));
  }
  const size_t end = lexer_.peek().begin;
  expect(';');
  std::string_view text = lexer_.source().substr(begin, end - begin);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  instruction.text = text;
  function.body.push_back(std::move(instruction));
}

}  // namespace emu::ptx
