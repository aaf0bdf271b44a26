// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <pthread.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "base/env.hpp"

namespace mxgemm::internal {
namespace {

struct Receiver {
  std::mutex mutex;
  LogFunction function = nullptr;
  void* context = nullptr;
};

Receiver& receiver() {
  static Receiver* const instance = [] {
    // Held across a fork, so that no other thread holds it in the child.
    pthread_atfork([] { receiver().mutex.lock(); }, [] { receiver().mutex.unlock(); },
                   [] { receiver().mutex.unlock(); });
    return new Receiver;  // never destroyed: threads may outlive main
  }();
  return *instance;
}

// Errors and warnings are always shown; MXGEMM_VERBOSE=1 adds information, 2 debug lines. A bad
// value counts as 1: the log is no place to refuse work.
int32_t default_level() {
  static const int32_t level = [] {
    std::optional<int64_t> value;
    const Status status = env_integer("MXGEMM_VERBOSE", 0, 2, &value);
    return static_cast<int32_t>(status.ok() ? 1 + value.value_or(0) : 2);
  }();
  return level;
}

}  // namespace

void set_log_function(LogFunction function, void* context) {
  const std::lock_guard<std::mutex> lock(receiver().mutex);
  receiver().function = function;
  receiver().context = context;
}

void log_line(LogLevel level, const char* format, ...) {
  LogFunction function = nullptr;
  void* context = nullptr;
  {
    const std::lock_guard<std::mutex> lock(receiver().mutex);
    function = receiver().function;
    context = receiver().context;
  }
  const auto number = static_cast<int32_t>(level);
  if (function == nullptr && number > default_level()) {
    return;
  }
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (function != nullptr) {
    function(context, number, text);
  } else {
    std::fprintf(stderr, "mxgemm: %s\n", text);
  }
}

}  // namespace mxgemm::internal
