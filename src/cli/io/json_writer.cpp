// SPDX-License-Identifier: Apache-2.0
#include "cli/io/json_writer.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace mxgemm::cli {
namespace {

// Bytes of the UTF-8 character at the beginning of `text`, 0 if there is none: overlong forms,
// surrogates and values above U+10FFFF are none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto follows = [&](size_t i, int low = 0x80, int high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const int first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return follows(1) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    const int low = first == 0xE0 ? 0xA0 : 0x80;
    const int high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const int low = first == 0xF0 ? 0x90 : 0x80;
    const int high = first == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

void append_escaped(std::string_view text, std::string* out) {
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      *out += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      char escape[7];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      *out += escape;
    } else {
      *out += text.substr(i, length);
    }
    i += length;
  }
}

}  // namespace

void JsonWriter::separate() {
  if (!text_.empty() && text_.back() != '{' && text_.back() != '[' && text_.back() != ':') {
    text_ += ',';
  }
}

JsonWriter& JsonWriter::open(char begin, char end) {
  separate();
  text_ += begin;
  ends_.push_back(end);
  return *this;
}

JsonWriter& JsonWriter::end() {
  text_ += ends_.back();
  ends_.pop_back();
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  string(name);
  text_ += ':';
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
  separate();
  text_ += '"';
  append_escaped(text, &text_);
  text_ += '"';
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  if (!std::isfinite(value)) {
    return null();
  }
  char digits[32];
  const auto result = std::to_chars(digits, digits + sizeof digits, value);
  return raw(std::string_view(digits, static_cast<size_t>(result.ptr - digits)));
}

JsonWriter& JsonWriter::raw(std::string_view value) {
  separate();
  text_ += value;
  return *this;
}

}  // namespace mxgemm::cli
