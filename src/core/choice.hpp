// SPDX-License-Identifier: Apache-2.0
// Which kernel a problem gets, and why the others do not.
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
  std::string force;       // MXGEMM_FORCE: a kernel id or an arch; "" = none
  std::string kernel_id;   // the caller's; wins over `force`; "" = none
  int32_t capability = 0;  // compute capability of the problem's device; 0 on the CPU
};

// The limits in force now, for a device that exists.
Status current_selection(const mxgemm_gemm_desc& desc, const char* kernel_id, Selection* selection);

// INVALID_ARGUMENT if it names what does not exist.
Status check_selection(const Registry& registry, const Selection& selection);

// Why `entry` does not compute `desc` under `selection`, "" if it does.
std::string refusal(const RegisteredKernel& entry, const mxgemm_gemm_desc& desc,
                    const Selection& selection);
// Why a kernel cannot run on this machine under `isa`, "" if it can.
Status unavailable_reason(const RegisteredKernel& entry, const IsaLimit& isa, std::string* reason);

// Whether it has a data_alignment.
bool needs_alignment(const mxgemm_kernel& kernel);

struct Choice {
  const RegisteredKernel* first = nullptr;  // null if no kernel accepts the problem
  // Where `first` has a data_alignment: the kernel of runs whose arguments do not have it; null if
  // there is none.
  const RegisteredKernel* fallback = nullptr;
};

// The best kernels of the best library that has any.
Choice choose(const KernelGroups& groups, const Selection& selection, const mxgemm_gemm_desc& desc);

// One line per kernel: id, then "chosen", "accepts" or why it refuses; then one per library that
// does not serve the device.
std::string explain(const KernelGroups& groups, const Selection& selection,
                    const mxgemm_gemm_desc& desc);
Status explain(const Registry& registry, const Selection& selection, const mxgemm_gemm_desc& desc,
               std::string* text);

// The problem as kernels are asked about it: they are promised M, N > 0, so an empty one is shown
// as one row or column. It is never run.
mxgemm_gemm_desc non_empty(const mxgemm_gemm_desc& desc);

}  // namespace mxgemm::internal
