// SPDX-License-Identifier: Apache-2.0
// Named barriers of a CTA (specification 7.10).
#pragma once

#include "exec/machine.hpp"

namespace emu {

// A warp has exited: barriers of default count no longer wait for it.
void named_barriers_warp_exited(Cta& cta);

}  // namespace emu
