// SPDX-License-Identifier: Apache-2.0
// The registration function of every family file.
#pragma once

namespace emu {

class OpcodeTable;

void register_families(OpcodeTable& table);

}  // namespace emu
