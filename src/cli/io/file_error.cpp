// SPDX-License-Identifier: Apache-2.0
#include "cli/io/file_error.hpp"

#include <cstdarg>
#include <cstdio>
#include <system_error>
#include <vector>

#include "cli/io/utf8.hpp"

namespace mxgemm::cli {

using internal::Status;
using internal::StatusCode;

Status file_error(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::vector<char> text(static_cast<size_t>(length < 0 ? 0 : length) + 1);
  std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  return {StatusCode::kIoError, text.data()};
}

Status system_error(const std::string& path, const char* what, int error_number) {
  return {StatusCode::kIoError,
          path + ": " + what + ": " + std::generic_category().message(error_number)};
}

Status with_prefix(const std::string& prefix, const Status& status) {
  return status.ok() ? status : Status(status.code(), prefix + ": " + status.message());
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text.substr(i));
    // 0xC2 0x80 … 0x9F are the C1 control characters, which terminals obey as well.
    const bool c1 = length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (length == 0 || byte < 0x20 || byte == 0x7F || c1) {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\x%02X", byte);
      result += escape;
      ++i;
    } else {
      result += text.substr(i, length);
      i += length;
    }
  }
  return result;
}

std::string quoted_text(std::string_view text) {
  constexpr size_t kKept = 60;  // of each end: two ends and the rest of a message fill two lines
  std::string result("'");
  if (text.size() <= 2 * kKept) {
    result += printable(text);
  } else {
    result += printable(text.substr(0, kKept));
    result += "…";
    result += printable(text.substr(text.size() - kKept));
  }
  return result += '\'';
}

}  // namespace mxgemm::cli
