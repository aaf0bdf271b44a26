// SPDX-License-Identifier: Apache-2.0
// Result of an operation inside the library: a code and, where it failed, a message for the user.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace mxgemm::internal {

// Same values as mxgemm_status (asserted in src/core/api.cpp).
enum class StatusCode : int32_t {
  kOk = 0,
  kInvalidArgument = 1,
  kUnsupported = 2,
  kDeviceUnavailable = 3,
  kOutOfMemory = 4,
  kWorkspaceTooSmall = 5,
  kCudaError = 6,
  kPluginError = 7,
  kIoError = 8,
  kInternal = 9,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// printf-style text; the base of every message.
std::string format_text(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace mxgemm::internal
