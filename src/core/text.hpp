// SPDX-License-Identifier: Apache-2.0
// Text results: the caller's buffer and the length that it would need.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.hpp"

namespace mxgemm::internal {

// Copies `text`, truncated where it must be, with its terminating zero; *needed (may be null)
// receives the full size.
Status write_text(std::string_view text, char* buffer, size_t capacity, size_t* needed);

// Copies `text` into a fixed array, truncated where it must be, and zeroes the rest.
void fill_text(std::string_view text, char* buffer, size_t capacity);

}  // namespace mxgemm::internal
