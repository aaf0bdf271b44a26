// SPDX-License-Identifier: Apache-2.0
#include "exec/fault.hpp"

namespace emu {

int cuda_error(FaultKind kind) {
  switch (kind) {
    case FaultKind::none:
      return 0;
    case FaultKind::illegal_address:
      return 700;
    case FaultKind::misaligned_address:
      return 716;
    case FaultKind::illegal_instruction:
      return 715;
    case FaultKind::assertion:
      return 710;
    case FaultKind::launch_failure:
      return 719;
    case FaultKind::deadlock:
    case FaultKind::livelock:
    case FaultKind::step_limit:
      return 702;
  }
  return 719;
}

std::string fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::none:
      return "none";
    case FaultKind::illegal_address:
      return "illegal address";
    case FaultKind::misaligned_address:
      return "misaligned address";
    case FaultKind::illegal_instruction:
      return "illegal instruction";
    case FaultKind::assertion:
      return "assertion";
    case FaultKind::launch_failure:
      return "launch failure";
    case FaultKind::deadlock:
      return "deadlock";
    case FaultKind::livelock:
      return "livelock";
    case FaultKind::step_limit:
      return "step limit";
  }
  return "unknown";
}

}  // namespace emu
