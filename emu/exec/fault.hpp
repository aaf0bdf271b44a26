// SPDX-License-Identifier: Apache-2.0
// What went wrong in a kernel, and the CUDA error the host sees for it.
#pragma once

#include <cstdint>
#include <string>

namespace emu {

enum class FaultKind : uint8_t {
  none,
  illegal_address,
  misaligned_address,
  illegal_instruction,
  assertion,
  launch_failure,  // misuse of barriers, mbarriers, descriptors, races...
  deadlock,
  livelock,
  step_limit,
};

// cudaErrorIllegalAddress (700) and so on.
int cuda_error(FaultKind kind);
std::string fault_name(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::none;
  std::string text;    // one sentence
  std::string report;  // the whole block of specification 9.5
};

}  // namespace emu
