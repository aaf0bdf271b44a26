// SPDX-License-Identifier: Apache-2.0
#include "base/env.hpp"

#include <charconv>
#include <cstdlib>

#include "base/require.hpp"

namespace mxgemm::internal {

std::optional<std::string> env_text(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    return std::nullopt;
  }
  return std::string(value);
}

Status env_integer(const char* name, int64_t low, int64_t high, std::optional<int64_t>* value) {
  value->reset();
  const std::optional<std::string> text = env_text(name);
  if (!text) {
    return {};
  }
  int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  MXGEMM_REQUIRE(error == std::errc() && stop == end && number >= low && number <= high,
                 "environment variable %s is \"%s\"; it must be a whole number from %lld to %lld",
                 name, text->c_str(), static_cast<long long>(low), static_cast<long long>(high));
  *value = number;
  return {};
}

}  // namespace mxgemm::internal
