// SPDX-License-Identifier: Apache-2.0
// What the environment variables and their API twins allow. The environment is read once, at the
// first call that needs it.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace mxgemm::internal {

enum class IsaSource { kMachine, kEnvironment, kApi };

// Highest ISA level that the CPU backend may use, and who says so.
struct IsaLimit {
  int32_t isa = 0;
  IsaSource source = IsaSource::kMachine;
};

// Level of a name as MXGEMM_MAX_ISA has it: INVALID_ARGUMENT if there is none, UNSUPPORTED if this
// machine lacks it.
Status parse_isa(const std::string& text, int32_t* isa);
// UNSUPPORTED unless this machine offers the level; `what` says who asked for it.
Status check_isa_offered(const std::string& what, int32_t isa);

// The limit now. Fails where MXGEMM_MAX_ISA is wrong and mxgemm_set_max_isa has not replaced it.
Status isa_limit(IsaLimit* limit);
// -1 = back to the environment.
Status set_max_isa(int32_t isa);
// Why `isa` may not be used under `limit`, "" if it may.
std::string isa_reason(int32_t isa, const IsaLimit& limit);

// MXGEMM_FORCE: a kernel id or an arch; "" if unset.
const std::string& forced_kernel();

// INVALID_ARGUMENT where MXGEMM_NUM_THREADS is wrong, which the CPU backend itself overlooks.
Status check_threads();

}  // namespace mxgemm::internal
