// SPDX-License-Identifier: Apache-2.0
// From a problem to the kernels that solve it, prepared.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "core/choice.hpp"
#include "core/registry.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

struct Plan {
  mxgemm_gemm_desc desc = {};
  const RegisteredKernel* entry = nullptr;
  // The kernel of runs whose arguments lack the alignment that `entry` wants; null if there is
  // none, and then why.
  const RegisteredKernel* fallback = nullptr;
  std::string no_fallback;
  uint64_t workspace_size = 0;  // enough for either
  Selection selection;
};

// desc has been checked and its device exists. A plan on a fake device can be looked at and not
// run.
Status make_plan(const Registry& registry, const Selection& selection, const mxgemm_gemm_desc& desc,
                 Plan* plan);

// What the plan's kernels need now: on the CPU it follows the number of threads.
uint64_t current_workspace_size(const Plan& plan);

// Checks args and runs. Neither allocates nor synchronises unless it fails.
Status run_plan(const Plan& plan, const mxgemm_gemm_args* args, void* stream);

}  // namespace mxgemm::internal

// The handle of the C API.
struct mxgemm_plan {
  mxgemm::internal::Plan plan;
};
