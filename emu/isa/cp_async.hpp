// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace emu {

class OpcodeTable;

// Non-bulk cp.async, its groups and its mbarrier arrivals.
void register_cp_async(OpcodeTable& table);

}  // namespace emu
