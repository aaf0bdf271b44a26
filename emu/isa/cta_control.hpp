// SPDX-License-Identifier: Apache-2.0
// What CTAs keep of launch control and register hand-over.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/machine.hpp"

namespace emu {

class OpcodeTable;

struct CtaControl : Extension {
  bool saw_failed_cancel = false;
  struct Registers {
    uint32_t count = 0;  // per thread; 0 until the first setmaxnreg
    uint32_t changes = 0;
  };
  std::vector<Registers> registers;  // per warp
};

CtaControl& cta_control(Cta& cta);
const CtaControl* cta_control_if_any(const Cta& cta);

// clusterlaunchcontrol.
void register_launch_control(OpcodeTable& table);
// setmaxnreg and griddepcontrol.
void register_cta_control(OpcodeTable& table);

}  // namespace emu
