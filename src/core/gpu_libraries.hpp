// SPDX-License-Identifier: Apache-2.0
// The GPU libraries as people see them.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

// Every library of this installation, loaded or refused, and files that only look like one.
Status gpu_libraries(std::vector<mxgemm_library_info>* libraries);

}  // namespace mxgemm::internal
