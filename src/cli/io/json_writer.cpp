// SPDX-License-Identifier: Apache-2.0
#include "cli/io/json_writer.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "cli/io/utf8.hpp"

namespace mxgemm::cli {
namespace {

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
