// SPDX-License-Identifier: Apache-2.0
// What stands outside of functions, and declarations (specification 4.2).
#include <charconv>

#include "ptx/parser.hpp"

namespace emu::ptx {

void Parser::parse_module() {
  parse_version();
  parse_target();
  while (lexer_.peek().kind != Token::Kind::end) {
    parse_linkage_item();
  }
}

void Parser::parse_version() {
  if (!lexer_.peek().is_dot("version")) {
    fail("a module begins with .version, not " + found());
  }
  lexer_.take();
  const Token token = lexer_.take();  // "9.0" reads as a number with a fraction
  const std::string_view text = token.text;
  const size_t dot = text.find('.');
  const char* end = text.data() + text.size();
  if (token.kind != Token::Kind::floating || dot == std::string_view::npos ||
      std::from_chars(text.data(), text.data() + dot, module_.version_major).ptr !=
          text.data() + dot ||
      std::from_chars(text.data() + dot + 1, end, module_.version_minor).ptr != end) {
    throw SyntaxError(token.line, "malformed .version '" + std::string(text) + "'");
  }
  if (module_.version_major < 7 || module_.version_major > 9) {
    throw SyntaxError(token.line,
                      ".version " + std::string(text) + " is not supported: 7.0 to 9.x are");
  }
}

void Parser::parse_target() {
  if (!lexer_.peek().is_dot("target")) {
    fail("expected .target, found " + found());
  }
  lexer_.take();
  const uint32_t line = lexer_.peek().line;
  const std::string_view name = expect_word("a target");
  std::string_view rest = name;
  if (rest.starts_with("sm_")) {
    rest.remove_prefix(3);
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), module_.target);
    rest.remove_prefix(static_cast<size_t>(parsed.ptr - rest.data()));
  }
  if (module_.target == 0 || (!rest.empty() && rest != "a" && rest != "f")) {
    throw SyntaxError(line, ".target '" + std::string(name) + "' is not sm_NN, sm_NNa or sm_NNf");
  }
  module_.target_variant = rest.empty() ? ' ' : rest[0];
  while (accept(',')) {  // debug, texmode_...
    expect_word("a target option");
  }
  if (!lexer_.peek().is_dot("address_size")) {
    fail("expected .address_size, found " + found());
  }
  lexer_.take();
  const uint32_t size_line = lexer_.peek().line;
  if (expect_integer("an address size") != 64) {
    throw SyntaxError(size_line, "only .address_size 64 is supported");
  }
}

void Parser::parse_linkage_item() {
  bool is_extern = false;
  while (true) {
    const Token token = lexer_.peek();
    if (token.kind != Token::Kind::dot_word) {
      fail("expected a directive, found " + found());
    }
    const std::string_view name = token.text;
    lexer_.take();
    if (name == "extern") {
      is_extern = true;
    } else if (name == "visible" || name == "weak" || name == "common") {
      continue;
    } else if (name == "entry" || name == "func") {
      parse_function(name == "entry");
      return;
    } else if (name == "global" || name == "const" || name == "shared" || name == "local") {
      parse_module_variables(*space_from_name(name), is_extern);
      return;
    } else if (name == "file") {
      lexer_.skip_line(token.line);
      return;
    } else if (name == "section") {
      skip_section();
      return;
    } else if (name == "pragma" || name == "alias") {
      while (!accept(';')) {
        lexer_.take();
      }
      return;
    } else {
      throw SyntaxError(token.line, "directive ." + std::string(name) + " is not supported");
    }
  }
}

void Parser::skip_section() {
  while (!accept('{')) {
    if (lexer_.take().kind == Token::Kind::end) {
      fail(".section without braces");
    }
  }
  while (!accept('}')) {
    if (lexer_.take().kind == Token::Kind::end) {
      fail(".section without end");
    }
  }
}

void Parser::parse_module_variables(Space space, bool is_extern) {
  const DeclarationHead head = parse_declaration_head();
  do {
    module_.variables.push_back(parse_declarator(head, space, is_extern));
  } while (accept(','));
  expect(';');
}

Parser::DeclarationHead Parser::parse_declaration_head() {
  DeclarationHead head;
  while (lexer_.peek().kind == Token::Kind::dot_word) {
    const Token token = lexer_.take();
    if (token.text == "align") {
      head.align = static_cast<uint32_t>(expect_integer("an alignment"));
      if (head.align == 0 || (head.align & (head.align - 1)) != 0) {
        throw SyntaxError(token.line,
                          "alignment " + std::to_string(head.align) + " is not a power of two");
      }
    } else if (token.text == "attribute") {
      expect('(');
      for (int depth = 1; depth > 0;) {
        const Token inner = lexer_.take();
        if (inner.is_dot("managed")) {
          throw SyntaxError(inner.line, "managed variables are not supported");
        }
        if (inner.kind == Token::Kind::end) {
          fail(".attribute without end");
        }
        depth += inner.is('(') ? 1 : inner.is(')') ? -1 : 0;
      }
    } else if (token.text == "v2" || token.text == "v4") {
      head.lanes = token.text == "v2" ? 2 : 4;
    } else if (token.text == "ptr") {
      // Parameters: .ptr {.space} {.align n} tells of the object pointed to.
      if (lexer_.peek().kind == Token::Kind::dot_word && space_from_name(lexer_.peek().text)) {
        lexer_.take();
      }
      if (lexer_.peek().is_dot("align")) {
        lexer_.take();
        expect_integer("an alignment");
      }
    } else if (const auto type = type_from_name(token.text); type && head.type == Type::none) {
      head.type = *type;
    } else {
      throw SyntaxError(token.line, "." + std::string(token.text) + " is not supported here");
    }
  }
  if (head.type == Type::none || head.type == Type::pred) {
    fail("a declaration needs a type before " + found());
  }
  return head;
}

Variable Parser::parse_declarator(const DeclarationHead& head, Space space, bool is_extern) {
  Variable variable;
  variable.space = space;
  variable.type = head.type;
  variable.is_extern = is_extern;
  variable.line = lexer_.peek().line;
  variable.name = expect_word("a name");
  variable.elements = head.lanes;
  variable.align = head.align != 0 ? head.align : type_bytes(head.type) * head.lanes;
  last_dimensions_.clear();
  while (accept('[')) {
    if (accept(']')) {
      variable.unsized = true;
      last_dimensions_.push_back(0);
      continue;
    }
    last_dimensions_.push_back(expect_integer("an array size"));
    expect(']');
  }
  for (const uint64_t size : last_dimensions_) {
    // 2^40 bytes is more than any device has; it also keeps the products below from wrapping.
    constexpr uint64_t kMostElements = uint64_t{1} << 40;
    variable.elements *= size;
    if (size > kMostElements || variable.elements > kMostElements) {
      throw SyntaxError(variable.line, "array '" + std::string(variable.name) + "' is too large");
    }
  }
  if (head.lanes > 1) {
    last_dimensions_.push_back(head.lanes);
  }
  if (accept('=')) {
    parse_initializer(variable);
  }
  if (variable.unsized && !is_extern && variable.elements == 0) {
    throw SyntaxError(variable.line, "array '" + std::string(variable.name) + "' has no size");
  }
  return variable;
}

void Parser::parse_initializer(Variable& variable) {
  if (!lexer_.peek().is('{')) {
    variable.values.push_back(parse_initializer_value());
    return;
  }
  if (variable.unsized && last_dimensions_.size() == 1) {
    last_dimensions_[0] = ~uint64_t{0};  // as many as there are
  }
  if (last_dimensions_.empty()) {
    last_dimensions_.push_back(1);
  }
  parse_initializer_list(variable, 0, last_dimensions_, 0, variable.values);
  if (variable.unsized) {
    variable.elements = variable.values.empty() ? 0 : variable.values.back().index + 1;
  }
}

void Parser::parse_initializer_list(const Variable& variable, size_t dimension,
                                    const std::vector<uint64_t>& dimensions, uint64_t first,
                                    std::vector<Initializer>& out) {
  const Level level(*this);
  expect('{');
  uint64_t stride = 1;
  for (size_t d = dimension + 1; d < dimensions.size(); ++d) {
    stride *= dimensions[d];
  }
  uint64_t count = 0;
  while (!lexer_.peek().is('}')) {
    if (count >= dimensions[dimension]) {
      fail("too many initial values for '" + std::string(variable.name) + "'");
    }
    if (lexer_.peek().is('{')) {
      if (dimension + 1 >= dimensions.size()) {
        fail("braces nest deeper than the dimensions of '" + std::string(variable.name) + "'");
      }
      parse_initializer_list(variable, dimension + 1, dimensions, first + count * stride, out);
    } else {
      Initializer value = parse_initializer_value();
      value.index = static_cast<uint32_t>(first + count * stride);
      out.push_back(std::move(value));
    }
    ++count;
    if (!accept(',')) {
      break;
    }
  }
  expect('}');
}

Initializer Parser::parse_initializer_value() {
  const Level level(*this);
  Initializer initializer;
  // 0xFF00(name): byte 1 of the address.
  if (lexer_.peek().kind == Token::Kind::integer && lexer_.ahead().is('(')) {
    const uint64_t mask = lexer_.take().bits;
    lexer_.take();
    initializer.masked = true;
    initializer.mask_shift = mask == 0 ? 0 : static_cast<uint32_t>(__builtin_ctzll(mask));
    if (mask == 0 || initializer.mask_shift % 8 != 0 || mask >> initializer.mask_shift != 0xFF) {
      fail("an address mask must select one byte");
    }
    const Initializer inner = parse_initializer_value();
    initializer.value = inner.value;
    initializer.generic = inner.generic;
    expect(')');
    return initializer;
  }
  if (lexer_.peek().kind == Token::Kind::word && lexer_.peek().text == "generic" &&
      lexer_.ahead().is('(')) {
    lexer_.take();
    lexer_.take();
    initializer.generic = true;
    initializer.value = parse_operand();
    expect(')');
    parse_offset(initializer.value);
  } else {
    initializer.value = parse_operand();
  }
  const Operand::Kind kind = initializer.value.kind;
  if (kind != Operand::Kind::integer && kind != Operand::Kind::floating &&
      kind != Operand::Kind::name) {
    fail("an initial value must be a number or the address of a variable");
  }
  return initializer;
}

}  // namespace emu::ptx
