// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <algorithm>
#include <cstring>

#include "base/require.hpp"

namespace mxgemm::internal {

Status write_text(std::string_view text, char* buffer, size_t capacity, size_t* needed) {
  MXGEMM_REQUIRE(buffer != nullptr || capacity == 0,
                 "buffer is NULL; it may be only if capacity is 0, which is %zu", capacity);
  if (needed != nullptr) {
    *needed = text.size() + 1;
  }
  if (capacity > 0) {
    const size_t length = std::min(text.size(), capacity - 1);
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  }
  return {};
}

void fill_text(std::string_view text, char* buffer, size_t capacity) {
  const size_t length = std::min(text.size(), capacity - 1);
  std::memcpy(buffer, text.data(), length);
  std::memset(buffer + length, 0, capacity - length);
}

}  // namespace mxgemm::internal
