// SPDX-License-Identifier: Apache-2.0
#include "ptx/lexer.hpp"

#include <bit>
#include <charconv>

namespace emu::ptx {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool starts_word(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%';
}
bool continues_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

Lexer::Lexer(std::string_view source) : source_(source.substr(0, source.find('\0'))) {
  current_ = scan();
  next_ = scan();
}

Token Lexer::take() {
  Token token = current_;
  current_ = next_;
  next_ = scan();
  return token;
}

void Lexer::skip_line(uint32_t line) {
  while (current_.kind != Token::Kind::end && current_.line == line) {
    take();
  }
}

void Lexer::skip_blank() {
  while (position_ < source_.size()) {
    const char c = source_[position_];
    if (c == '\n') {
      ++line_;
      ++position_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position_;
    } else if (source_.compare(position_, 2, "//") == 0) {
      while (position_ < source_.size() && source_[position_] != '\n') {
        ++position_;
      }
    } else if (source_.compare(position_, 2, "/*") == 0) {
      const size_t close = source_.find("*/", position_ + 2);
      if (close == std::string_view::npos) {
        throw SyntaxError(line_, "comment without end");
      }
      for (; position_ < close + 2; ++position_) {
        line_ += source_[position_] == '\n' ? 1 : 0;
      }
    } else {
      return;
    }
  }
}

Token Lexer::finish(Token::Kind kind, size_t begin) {
  Token token;
  token.kind = kind;
  token.line = line_;
  token.begin = begin;
  token.end = position_;
  token.text = source_.substr(begin, position_ - begin);
  return token;
}

Token Lexer::scan() {
  skip_blank();
  const size_t begin = position_;
  if (position_ >= source_.size()) {
    return finish(Token::Kind::end, begin);
  }
  const char c = source_[position_];
  const char following = position_ + 1 < source_.size() ? source_[position_ + 1] : '\0';
  if (is_digit(c)) {
    return scan_number();
  }
  if (starts_word(c)) {
    // A lone % is no identifier, but no instruction can begin with one either: the parser says so.
    do {
      ++position_;
    } while (position_ < source_.size() && continues_word(source_[position_]));
    return finish(Token::Kind::word, begin);
  }
  if (c == '.' && (continues_word(following))) {
    ++position_;
    while (position_ < source_.size()) {
      if (continues_word(source_[position_])) {
        ++position_;
      } else if (source_.compare(position_, 2, "::") == 0 && position_ + 2 < source_.size() &&
                 continues_word(source_[position_ + 2])) {
        position_ += 2;
      } else {
        break;
      }
    }
    Token token = finish(Token::Kind::dot_word, begin);
    token.text.remove_prefix(1);
    return token;
  }
  if (c == '"') {
    const size_t close = source_.find('"', begin + 1);
    if (close == std::string_view::npos || source_.find('\n', begin) < close) {
      throw SyntaxError(line_, "string without end");
    }
    position_ = close + 1;
    Token token = finish(Token::Kind::text, begin);
    token.text = source_.substr(begin + 1, close - begin - 1);
    return token;
  }
  if (static_cast<unsigned char>(c) >= 0x80 || static_cast<unsigned char>(c) < 0x20) {
    throw SyntaxError(
        line_, "byte " + std::to_string(static_cast<unsigned char>(c)) + " is not allowed in PTX");
  }
  ++position_;
  return finish(Token::Kind::punct, begin);
}

Token Lexer::scan_number() {
  const size_t begin = position_;
  const auto digits = [&](int base, size_t from, auto&& accepts) {
    position_ = from;
    while (position_ < source_.size() && accepts(source_[position_])) {
      ++position_;
    }
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(source_.data() + from, source_.data() + position_, value, base);
    if (error != std::errc() || end != source_.data() + position_ || position_ == from) {
      throw SyntaxError(line_, "number '" + std::string(source_.substr(begin, position_ - begin)) +
                                   "' is malformed or wider than 64 bits");
    }
    return value;
  };
  const char marker =
      source_[begin] == '0' && begin + 1 < source_.size() ? source_[begin + 1] : '\0';
  if (marker == 'f' || marker == 'F' || marker == 'd' || marker == 'D') {
    const bool single = marker == 'f' || marker == 'F';
    const size_t length = single ? 8 : 16;
    const uint64_t bits = digits(16, begin + 2, is_hex);
    if (position_ - begin - 2 != length) {
      throw SyntaxError(line_, std::string("a float written 0") + marker + " needs " +
                                   std::to_string(length) + " hexadecimal digits");
    }
    Token token = finish(Token::Kind::floating, begin);
    token.bits = bits;
    token.single = single;
    return token;
  }
  uint64_t value = 0;
  if (marker == 'x' || marker == 'X') {
    value = digits(16, begin + 2, is_hex);
  } else if (marker == 'b' || marker == 'B') {
    value = digits(2, begin + 2, [](char c) { return c == '0' || c == '1'; });
  } else {
    size_t end = begin;
    while (end < source_.size() && is_digit(source_[end])) {
      ++end;
    }
    const char stop = end < source_.size() ? source_[end] : '\0';
    const char after = end + 1 < source_.size() ? source_[end + 1] : '\0';
    if ((stop == '.' && (is_digit(after) || !starts_word(after))) || stop == 'e' || stop == 'E') {
      double number = 0;
      const auto [tail, error] =
          std::from_chars(source_.data() + begin, source_.data() + source_.size(), number);
      if (error != std::errc()) {
        throw SyntaxError(line_, "malformed floating-point number");
      }
      position_ = static_cast<size_t>(tail - source_.data());
      Token token = finish(Token::Kind::floating, begin);
      token.bits = std::bit_cast<uint64_t>(number);
      return token;
    }
    value = marker >= '0' && marker <= '7' && source_[begin] == '0' ? digits(8, begin + 1, is_digit)
                                                                    : digits(10, begin, is_digit);
  }
  if (position_ < source_.size() && (source_[position_] == 'U' || source_[position_] == 'u')) {
    ++position_;
  }
  Token token = finish(Token::Kind::integer, begin);
  token.bits = value;
  return token;
}

}  // namespace emu::ptx
