// SPDX-License-Identifier: Apache-2.0
// Function heads, parameters, directives; the parse() entry point.
#include "ptx/parser.hpp"

namespace emu::ptx {

void Parser::fail(const std::string& message) const {
  throw SyntaxError(lexer_.peek().line, message);
}

std::string Parser::found() const {
  const Token& token = lexer_.peek();
  return token.kind == Token::Kind::end ? "the end of the text"
                                        : "'" + std::string(token.text) + "'";
}

void Parser::expect(char c) {
  if (!accept(c)) {
    fail(std::string("expected '") + c + "', found " + found());
  }
}

bool Parser::accept(char c) {
  if (!lexer_.peek().is(c)) {
    return false;
  }
  lexer_.take();
  return true;
}

std::string_view Parser::expect_word(const char* what) {
  if (lexer_.peek().kind != Token::Kind::word) {
    fail(std::string("expected ") + what + ", found " + found());
  }
  return lexer_.take().text;
}

uint64_t Parser::expect_integer(const char* what) {
  if (lexer_.peek().kind != Token::Kind::integer) {
    fail(std::string("expected ") + what + ", found " + found());
  }
  return lexer_.take().bits;
}

void Parser::parse_function(bool is_entry) {
  Function function;
  function.is_entry = is_entry;
  function.line = lexer_.peek().line;
  if (lexer_.peek().is_dot("attribute")) {
    fail("function attributes are not supported");
  }
  if (!is_entry && lexer_.peek().is('(')) {
    function.returns = parse_params();
  }
  function.name = expect_word("a function name");
  if (lexer_.peek().is('(')) {
    function.params = parse_params();
  }
  parse_entry_directives(function);
  if (!accept(';')) {
    function.has_body = true;
    function.scopes.emplace_back();
    parse_body(function);
  }
  module_.functions.push_back(std::move(function));
}

void Parser::parse_entry_directives(Function& function) {
  while (lexer_.peek().kind == Token::Kind::dot_word) {
    const Token token = lexer_.take();
    const std::string_view name = token.text;
    if (name == "maxntid") {
      parse_dimensions(function.maxntid);
    } else if (name == "reqntid") {
      parse_dimensions(function.reqntid);
    } else if (name == "reqnctapercluster") {
      parse_dimensions(function.reqnctapercluster);
    } else if (name == "minnctapersm") {
      function.minnctapersm = static_cast<uint32_t>(expect_integer("a number"));
    } else if (name == "maxnreg") {
      function.maxnreg = static_cast<uint32_t>(expect_integer("a number"));
    } else if (name == "maxclusterrank") {
      function.maxclusterrank = static_cast<uint32_t>(expect_integer("a number"));
    } else if (name == "explicitcluster") {
      function.explicit_cluster = true;
    } else if (name == "noreturn" || name == "blocksareclusters") {
      if (name == "blocksareclusters") {
        throw SyntaxError(token.line, ".blocksareclusters is not supported");
      }
    } else if (name == "pragma") {
      while (!accept(';')) {
        lexer_.take();
      }
    } else {
      throw SyntaxError(token.line,
                        "directive ." + std::string(name) + " is not supported on a function");
    }
  }
}

void Parser::parse_dimensions(uint32_t (&dims)[3]) {
  dims[1] = dims[2] = 1;
  size_t count = 0;
  do {
    if (count == 3) {
      fail("at most three dimensions");
    }
    dims[count++] = static_cast<uint32_t>(expect_integer("a dimension"));
  } while (accept(','));
}

std::vector<Variable> Parser::parse_params() {
  std::vector<Variable> params;
  expect('(');
  if (accept(')')) {
    return params;
  }
  do {
    params.push_back(parse_param());
  } while (accept(','));
  expect(')');
  return params;
}

Variable Parser::parse_param() {
  if (!lexer_.peek().is_dot("param")) {
    fail("parameters must be .param variables, found " + found());
  }
  lexer_.take();
  const DeclarationHead head = parse_declaration_head();
  return parse_declarator(head, Space::param, false);
}

ParseResult parse(std::string_view text, std::string name) {
  auto module = std::make_shared<Module>();
  module->name = std::move(name);
  module->text = std::make_shared<const std::string>(text.substr(0, text.find('\0')));
  ParseResult result;
  try {
    Parser(*module->text, *module).parse_module();
    result.module = std::move(module);
  } catch (const SyntaxError& error) {
    result.errors.push_back({error.line, error.what()});
  }
  return result;
}

}  // namespace emu::ptx
