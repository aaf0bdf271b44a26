// SPDX-License-Identifier: Apache-2.0
// PTX text to tokens (specification 4.1).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace emu::ptx {

class SyntaxError : public std::runtime_error {
 public:
  SyntaxError(uint32_t error_line, const std::string& message)
      : std::runtime_error(message), line(error_line) {}
  uint32_t line;
};

struct Token {
  enum class Kind : uint8_t {
    end,
    word,      // identifier
    dot_word,  // .part of an opcode or a directive; text without the dot, "::" joined
    integer,   // bits
    floating,  // bits: f64 pattern, or f32 pattern when single
    text,      // "..." without the quotes
    punct,     // one character
  };
  Kind kind = Kind::end;
  bool single = false;
  uint32_t line = 1;
  std::string_view text;
  uint64_t bits = 0;
  size_t begin = 0;  // position in the source
  size_t end = 0;

  bool is(char c) const { return kind == Kind::punct && text[0] == c; }
  bool is_dot(std::string_view part) const { return kind == Kind::dot_word && text == part; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view source);

  const Token& peek() const { return current_; }
  const Token& ahead() const { return next_; }  // the one after peek()
  Token take();
  // Drops everything up to the end of the current token's line (.loc, .file have no terminator).
  void skip_line(uint32_t line);
  std::string_view source() const { return source_; }

 private:
  Token scan();
  void skip_blank();
  Token scan_number();
  Token finish(Token::Kind kind, size_t begin);

  std::string_view source_;
  size_t position_ = 0;
  uint32_t line_ = 1;
  Token current_;
  Token next_;
};

}  // namespace emu::ptx
