// SPDX-License-Identifier: Apache-2.0
// The two statement macros of functions that return Status.
#pragma once

#include "base/status.hpp"

// Returns INVALID_ARGUMENT unless `condition` holds. The text names the argument, its value and
// what is allowed.
#define MXGEMM_REQUIRE(condition, ...)                                                    \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      return ::mxgemm::internal::Status(::mxgemm::internal::StatusCode::kInvalidArgument, \
                                        ::mxgemm::internal::format_text(__VA_ARGS__));    \
    }                                                                                     \
  } while (false)

// Passes a failure on to the caller.
#define MXGEMM_TRY(expression)                                   \
  do {                                                           \
    ::mxgemm::internal::Status mxgemm_try_status = (expression); \
    if (!mxgemm_try_status.ok()) {                               \
      return mxgemm_try_status;                                  \
    }                                                            \
  } while (false)
