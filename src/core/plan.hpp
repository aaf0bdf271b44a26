// SPDX-License-Identifier: Apache-2.0
// From a problem to the kernel that solves it.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "core/environment.hpp"
#include "core/registry.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

// What narrows the choice of a kernel.
struct Selection {
  IsaLimit isa;
  std::string force;      // MXGEMM_FORCE: a kernel id or an arch; "" = none
  std::string kernel_id;  // the caller's; wins over `force`; "" = none
};

// The limits in force now.
Status current_selection(const char* kernel_id, Selection* selection);

struct Plan {
  mxgemm_gemm_desc desc = {};
  const RegisteredKernel* entry = nullptr;
  uint64_t workspace_size = 0;
  Selection selection;
};

// INVALID_ARGUMENT if it names what does not exist.
Status check_selection(const Registry& registry, const Selection& selection);

// Why `entry` does not compute `desc` under `selection`, "" if it does.
std::string refusal(const RegisteredKernel& entry, const mxgemm_gemm_desc& desc,
                    const Selection& selection);
// Why a kernel cannot run on this machine under `isa`, "" if it can.
std::string unavailable_reason(const RegisteredKernel& entry, const IsaLimit& isa);

// desc has been checked and its device exists.
Status make_plan(const Registry& registry, const Selection& selection, const mxgemm_gemm_desc& desc,
                 Plan* plan);
// One line per kernel: id, then "chosen", "accepts" or why it refuses.
std::string explain(const Registry& registry, const Selection& selection,
                    const mxgemm_gemm_desc& desc);

// Checks args and runs.
Status run_plan(const Plan& plan, const mxgemm_gemm_args* args, void* stream);

}  // namespace mxgemm::internal

// The handle of the C API.
struct mxgemm_plan {
  mxgemm::internal::Plan plan;
};
