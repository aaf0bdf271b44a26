// SPDX-License-Identifier: Apache-2.0
// Log lines of the library. The receiver is the caller's callback, else stderr at the level of
// MXGEMM_VERBOSE.
#pragma once

#include <cstdint>

namespace mxgemm::internal {

enum class LogLevel : int32_t { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

using LogFunction = void (*)(void* context, int32_t level, const char* message);

// nullptr restores the default receiver.
void set_log_function(LogFunction function, void* context);

// printf-style; cheap where nobody listens at that level.
void log_line(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace mxgemm::internal
