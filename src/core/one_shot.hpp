// SPDX-License-Identifier: Apache-2.0
// Plan and run in one call.
#pragma once

#include "base/status.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

// desc has been checked and its device exists.
Status run_one_shot(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args* args, void* stream);

}  // namespace mxgemm::internal
