// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace emu {

class OpcodeTable;

// fence, membar and the proxy fences.
void register_fences(OpcodeTable& table);

}  // namespace emu
