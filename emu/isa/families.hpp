// SPDX-License-Identifier: Apache-2.0
// The registration function of every family file.
#pragma once

namespace emu {

class OpcodeTable;

void register_families(OpcodeTable& table);

void register_atom(OpcodeTable& table);
void register_barriers(OpcodeTable& table);
void register_control(OpcodeTable& table);
void register_ldst(OpcodeTable& table);
void register_warp_ops(OpcodeTable& table);

}  // namespace emu
