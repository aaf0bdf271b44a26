// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace mxgemm::cli {

// Bytes of the UTF-8 character at the beginning of `text`, 0 if there is none: overlong forms,
// surrogates and values above U+10FFFF are none.
size_t utf8_length(std::string_view text);

}  // namespace mxgemm::cli
