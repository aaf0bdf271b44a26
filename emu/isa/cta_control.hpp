// SPDX-License-Identifier: Apache-2.0
// What CTAs keep of launch control and register hand-over.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/machine.hpp"

namespace emu {

class ExecContext;

struct CtaControl : Extension {
  bool saw_failed_cancel = false;
  struct Registers {
    uint32_t count = 0;  // per thread; 0 while it is not known
    uint32_t changes = 0;
  };
  std::vector<Registers> registers;  // per warp
  // What setmaxnreg.dec has given back and .inc has not taken. Nobody waits for it where the
  // kernel's number of registers is not known.
  bool knows_pool = false;
  uint64_t free_registers = 0;
  uint64_t releases = 0;  // WaitState::counter of setmaxnreg.inc
};

CtaControl& cta_control(ExecContext& ctx);
const CtaControl* cta_control_if_any(const Cta& cta);

}  // namespace emu
