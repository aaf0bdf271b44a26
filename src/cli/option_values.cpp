// SPDX-License-Identifier: Apache-2.0
#include "cli/option_values.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace mxgemm::cli {
namespace {

// Whether all of `text` is a number in C's notation that `value` can hold.
template <typename T>
bool parse(const std::string& text, T* value) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

std::string take_uint64(std::string& text) {
  uint64_t value = 0;
  if (!parse(text, &value)) {
    return text + " is not an integer from 0 to 2^64 - 1";
  }
  text = std::to_string(value);
  return "";
}

std::string take_finite_float(std::string& text) {
  float value = 0.0f;
  if (!parse(text, &value) || !std::isfinite(value)) {
    return text + " is not a finite fp32 number, such as 0.5";
  }
  return "";
}

std::string not_empty(std::string& text) {
  return text.empty() ? "must not be empty" : "";
}

}  // namespace mxgemm::cli
