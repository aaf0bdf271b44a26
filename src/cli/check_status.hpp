// SPDX-License-Identifier: Apache-2.0
// Failures of file functions as ends of a command.
#pragma once

#include "base/status.hpp"
#include "cli/program.hpp"

namespace mxgemm::cli {

// INVALID_ARGUMENT (an output path that may not be written) is exit code 2, all else 4.
inline void check(const internal::Status& status) {
  if (!status.ok()) {
    throw CommandError(status.code() == internal::StatusCode::kInvalidArgument
                           ? kExitBadCommandLine
                           : kExitRunTimeFailure,
                       status.message());
  }
}

}  // namespace mxgemm::cli
