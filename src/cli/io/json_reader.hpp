// SPDX-License-Identifier: Apache-2.0
// Strict JSON from files that may be hostile: UTF-8 only, no repeated key, bounded depth and size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.hpp"

namespace mxgemm::cli {

using internal::Status;

// The files we read nest 4 deep; unknown members may nest deeper, but nothing sane nests like this.
constexpr int kMaxJsonDepth = 32;
// A value takes about 40 bytes here and 2 in the text: without a limit the longest header of
// safetensors (100 MB) would take gigabytes. Half a million tensors fit; the largest checkpoints
// have a fifth of that.
constexpr size_t kMaxJsonValues = 4'000'000;

struct JsonMember;

struct JsonValue {
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;  // in the order of the text
  std::variant<std::nullptr_t, bool, uint64_t, int64_t, double, std::string, Array, Object> value;

  const std::string* string() const { return std::get_if<std::string>(&value); }
  const Array* array() const { return std::get_if<Array>(&value); }
  const Object* object() const { return std::get_if<Object>(&value); }
  // Only integers without sign, fraction and exponent: "1.0" and "1e3" are none.
  const uint64_t* unsigned_integer() const { return std::get_if<uint64_t>(&value); }
  // nullptr where this is no object or has no such member.
  const JsonValue* member(std::string_view key) const;
  // "a string", "the number -3", …: for messages.
  std::string description() const;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

// IO_ERROR says what is wrong and at which byte.
Status parse_json(std::string_view text, JsonValue* value);

}  // namespace mxgemm::cli
