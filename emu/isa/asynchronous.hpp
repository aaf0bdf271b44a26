// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace emu {

class OpcodeTable;

// mbarriers, copies, clusters, launch control, fences, tensor memory.
void register_asynchronous(OpcodeTable& table);

}  // namespace emu
