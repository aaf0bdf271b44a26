// SPDX-License-Identifier: Apache-2.0
// Writes JSON text piece by piece, on one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mxgemm::cli {

// The caller opens and closes objects and arrays in order; commas and quotes are put in here.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{', '}'); }
  JsonWriter& begin_array() { return open('[', ']'); }
  JsonWriter& end();  // of what was opened last
  JsonWriter& key(std::string_view name);
  // Bytes that are not UTF-8 (a path on the command line may hold any) become U+FFFD.
  JsonWriter& string(std::string_view text);
  JsonWriter& integer(int64_t value) { return raw(std::to_string(value)); }
  JsonWriter& size(uint64_t value) { return raw(std::to_string(value)); }
  // The shortest text that reads back as the same double; null for NaN and infinities, which JSON
  // does not have.
  JsonWriter& number(double value);
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }

  const std::string& text() const { return text_; }

 private:
  JsonWriter& open(char begin, char end);
  JsonWriter& raw(std::string_view value);
  void separate();

  std::string text_;
  std::vector<char> ends_;
};

}  // namespace mxgemm::cli
