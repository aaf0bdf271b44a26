// SPDX-License-Identifier: Apache-2.0
// Environment variables. docs/environment.md lists every one that the library reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace mxgemm::internal {

// Empty where the variable is unset or "".
std::optional<std::string> env_text(const char* name);

// As above for a whole number; anything else, or one outside [low, high], is INVALID_ARGUMENT and
// names the variable.
Status env_integer(const char* name, int64_t low, int64_t high, std::optional<int64_t>* value);

}  // namespace mxgemm::internal
