// SPDX-License-Identifier: Apache-2.0
// The border between C callers and C++: nothing throws past it, and the thread keeps the message of
// its last failure.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "base/float_environment.hpp"
#include "base/status.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

// Message of the last failed call on this thread, "" after a success.
const char* last_error() noexcept;

// Keeps `status` for last_error() and returns its code.
mxgemm_status report(const Status& status) noexcept;
mxgemm_status report_out_of_memory() noexcept;
mxgemm_status report_exception(const char* what) noexcept;

// Runs the body of a C function, a callable that returns Status, in the default floating-point
// environment: a caller that flushes subnormals or rounds upwards gets the same checks and bytes.
template <typename Function>
mxgemm_status guard(Function&& function) noexcept {
  const DefaultFloatEnvironment environment;
  try {
    return report(std::forward<Function>(function)());
  } catch (const std::bad_alloc&) {
    return report_out_of_memory();
  } catch (const std::exception& error) {
    return report_exception(error.what());
  } catch (...) {
    return report_exception("unknown exception");
  }
}

}  // namespace mxgemm::internal
