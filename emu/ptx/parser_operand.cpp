// SPDX-License-Identifier: Apache-2.0
// Operands (specification 4.4).
#include "ptx/parser.hpp"

namespace emu::ptx {

Operand Parser::parse_operand() {
  Operand first = parse_simple_operand();
  if (!accept('|')) {
    return first;
  }
  Operand pair;
  pair.kind = Operand::Kind::pair;
  pair.parts.push_back(std::move(first));
  pair.parts.push_back(parse_simple_operand());
  return pair;
}

Operand Parser::parse_simple_operand() {
  const Level level(*this);
  const Token& token = lexer_.peek();
  if (token.is('{')) {
    return parse_sequence(Operand::Kind::vector, '}');
  }
  if (token.is('(')) {
    return parse_sequence(Operand::Kind::list, ')');
  }
  if (token.is('[')) {
    return parse_address();
  }
  if (accept('!')) {
    return parse_name(true);
  }
  if (accept('-')) {
    return parse_number(true);
  }
  if (token.kind == Token::Kind::integer || token.kind == Token::Kind::floating) {
    return parse_number(false);
  }
  return parse_name(false);
}

Operand Parser::parse_sequence(Operand::Kind kind, char close) {
  Operand sequence;
  sequence.kind = kind;
  lexer_.take();
  if (accept(close)) {
    return sequence;
  }
  do {
    sequence.parts.push_back(parse_simple_operand());
  } while (accept(','));
  expect(close);
  return sequence;
}

Operand Parser::parse_address() {
  Operand address;
  address.kind = Operand::Kind::address;
  expect('[');
  do {
    address.parts.push_back(parse_simple_operand());
  } while (accept(','));
  expect(']');
  Operand& base = address.parts[0];
  if (base.kind != Operand::Kind::name && base.kind != Operand::Kind::integer) {
    fail("an address needs a register, a variable or a number as its base");
  }
  address.offset = base.offset;
  base.offset = 0;
  return address;
}

Operand Parser::parse_number(bool minus) {
  const Token token = lexer_.take();
  Operand operand;
  operand.minus = minus;
  if (token.kind == Token::Kind::integer) {
    operand.kind = Operand::Kind::integer;
    operand.bits = minus ? 0 - token.bits : token.bits;
  } else if (token.kind == Token::Kind::floating) {
    operand.kind = Operand::Kind::floating;
    operand.single = token.single;
    const uint64_t sign = token.single ? uint64_t{1} << 31 : uint64_t{1} << 63;
    operand.bits = minus ? token.bits ^ sign : token.bits;
  } else {
    throw SyntaxError(token.line,
                      "a number must follow '-', not '" + std::string(token.text) + "'");
  }
  return operand;
}

Operand Parser::parse_name(bool negated) {
  Operand operand;
  const Token word = lexer_.peek();
  if (word.kind != Token::Kind::word) {
    fail("expected an operand, found " + found());
  }
  lexer_.take();
  operand.name = word.text;
  operand.negated = negated;
  operand.kind = Operand::Kind::name;
  if (word.text == "_") {
    operand.kind = Operand::Kind::sink;
    return operand;
  }
  // %tid.x: a part that follows without a blank belongs to the name.
  if (lexer_.peek().kind == Token::Kind::dot_word && lexer_.peek().begin == word.end) {
    const Token part = lexer_.take();
    operand.name = lexer_.source().substr(word.begin, part.end - word.begin);
  }
  parse_offset(operand);
  return operand;
}

void Parser::parse_offset(Operand& operand) {
  while (lexer_.peek().is('+') || lexer_.peek().is('-')) {
    bool minus = lexer_.take().is('-');
    if (accept('-')) {
      minus = !minus;
    }
    const auto value = static_cast<int64_t>(expect_integer("an offset"));
    operand.offset += minus ? -value : value;
  }
}

}  // namespace emu::ptx
