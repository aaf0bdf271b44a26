// SPDX-License-Identifier: Apache-2.0
// Errors about files, and text from files made fit for messages and terminals.
#pragma once

#include <string>
#include <string_view>

#include "base/require.hpp"
#include "base/status.hpp"

namespace mxgemm::cli {

// An IO_ERROR with a printf-style text.
internal::Status file_error(const char* format, ...) __attribute__((format(printf, 1, 2)));

// An IO_ERROR "PATH: WHAT: <the system's message for errno>".
internal::Status system_error(const std::string& path, const char* what, int error_number);

// `status` with "PREFIX: " before its message; a success as it is.
internal::Status with_prefix(const std::string& prefix, const internal::Status& status);

// Text that came out of a file: control characters, and bytes that are not UTF-8, become \xNN (no
// escape sequence reaches the terminal).
std::string printable(std::string_view text);

// As above, in single quotes, and cut in the middle where it is longer than a line: for messages.
std::string quoted_text(std::string_view text);

}  // namespace mxgemm::cli
