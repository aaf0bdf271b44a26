// SPDX-License-Identifier: Apache-2.0
// Validation of what a GEMM is (desc) and of the memory that it works on (args).
#pragma once

#include <string>

#include "base/status.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

// INVALID_ARGUMENT unless desc makes sense by itself. Whether the device exists is check_device's
// affair.
Status check_desc(const mxgemm_gemm_desc* desc);

// Checks args against a checked desc and writes them to `resolved` with the zero leading dimensions
// filled in.
Status resolve_args(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args* args,
                    uint64_t workspace_size, mxgemm_gemm_args* resolved);

// "m133n528k512:mxf4:mxf4:bf16", for messages.
std::string describe(const mxgemm_gemm_desc& desc);

}  // namespace mxgemm::internal
