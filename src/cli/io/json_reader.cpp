// SPDX-License-Identifier: Apache-2.0
#include "cli/io/json_reader.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/io/file_error.hpp"

namespace mxgemm::cli {
namespace {

using Json = nlohmann::json;

// Receives the parser's events and builds the value. The parser itself keeps no stack of calls, so
// depth costs only what open_ holds.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(JsonValue* root) : root_(root) {}

  const Status& status() const { return status_; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override { return add(uint64_t{value}); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return fail("binary data"); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool start_object(size_t) override { return open<JsonValue::Object>(); }
  bool start_array(size_t) override { return open<JsonValue::Array>(); }
  bool end_object() override {
    const std::string* twice = repeated_key(*open_.back()->object());
    if (twice != nullptr) {
      return fail("the key " + quoted_text(*twice) + " appears twice in an object");
    }
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: <what>"
    const std::string text = error.what();
    const size_t colon = text.find(": ");
    const std::string what = colon == std::string::npos ? text : text.substr(colon + 2);
    const size_t token_at = what.find("; last read: ");
    return fail(what.substr(0, token_at) + " at byte " + std::to_string(position) +
                (last_token.empty() ? "" : ", after " + quoted_text(last_token)));
  }

 private:
  bool fail(const std::string& what) {
    status_ = file_error("bad JSON: %s", printable(what).c_str());
    return false;
  }

  template <typename Held>
  bool add(Held value) {
    JsonValue* placed = place();
    if (placed != nullptr) {
      placed->value.emplace<Held>(std::move(value));
    }
    return placed != nullptr;
  }

  template <typename Container>
  bool open() {
    if (open_.size() >= kMaxJsonDepth) {
      return fail("nested more than " + std::to_string(kMaxJsonDepth) + " deep");
    }
    JsonValue* placed = place();
    if (placed != nullptr) {
      placed->value.emplace<Container>();
      open_.push_back(placed);
    }
    return placed != nullptr;
  }

  // Room for a value where the text has it. Pointers in open_ stay valid: only the innermost
  // container grows, and open_ points to it, not into it.
  JsonValue* place() {
    if (++count_ > kMaxJsonValues) {
      fail("more than " + std::to_string(kMaxJsonValues) + " values");
      return nullptr;
    }
    if (open_.empty()) {
      return root_;
    }
    if (auto* array = std::get_if<JsonValue::Array>(&open_.back()->value)) {
      return &array->emplace_back();
    }
    auto& object = std::get<JsonValue::Object>(open_.back()->value);
    return &object.emplace_back(JsonMember{std::move(key_), {}}).value;
  }

  static const std::string* repeated_key(const JsonValue::Object& object) {
    std::vector<const std::string*> keys;
    keys.reserve(object.size());
    for (const JsonMember& member : object) {
      keys.push_back(&member.key);
    }
    const auto less = [](const std::string* a, const std::string* b) { return *a < *b; };
    const auto equal = [](const std::string* a, const std::string* b) { return *a == *b; };
    std::sort(keys.begin(), keys.end(), less);
    const auto twice = std::adjacent_find(keys.begin(), keys.end(), equal);
    return twice == keys.end() ? nullptr : *twice;
  }

  JsonValue* root_;
  std::vector<JsonValue*> open_;
  std::string key_;
  size_t count_ = 0;
  Status status_;
};

}  // namespace

const JsonValue* JsonValue::member(std::string_view key) const {
  if (const Object* members = object()) {
    for (const JsonMember& candidate : *members) {
      if (candidate.key == key) {
        return &candidate.value;
      }
    }
  }
  return nullptr;
}

std::string JsonValue::description() const {
  if (const auto* number = std::get_if<uint64_t>(&value)) {
    return std::to_string(*number);
  }
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return std::to_string(*number);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return "the number " + std::to_string(*number);
  }
  if (const std::string* text = string()) {
    return "the string " + quoted_text(*text);
  }
  return array() != nullptr                     ? "an array"
         : object() != nullptr                  ? "an object"
         : std::get_if<bool>(&value) != nullptr ? "a boolean"
                                                : "null";
}

Status parse_json(std::string_view text, JsonValue* value) {
  Builder builder(value);
  const bool complete = Json::sax_parse(text.begin(), text.end(), &builder);
  return complete || !builder.status().ok() ? builder.status() : file_error("bad JSON");
}

}  // namespace mxgemm::cli
