// SPDX-License-Identifier: Apache-2.0
// Runs a GEMM with the functions of one level: cuts it into work tiles, decodes operands,
// multiplies, finishes D.
#pragma once

#include <cstdint>

#include "cpu/level.h"
#include "mxgemm/mxgemm.h"

namespace mxgemm::cpu {

// One slot of scratch memory per thread of the CPU backend, as many as there are now.
uint64_t gemm_workspace_size(const Strategy& strategy, const mxgemm_gemm_desc& desc);

// `args` has been validated and its leading dimensions filled in. Uses as many threads as there are
// slots in its workspace; false if there is none, and nothing is done.
bool run_gemm(const Level& level, const Strategy& strategy, const mxgemm_gemm_desc& desc,
              const mxgemm_gemm_args& args);

}  // namespace mxgemm::cpu
