// SPDX-License-Identifier: Apache-2.0
// The families that compute: arithmetic, logic, comparison, moves, conversions, matrices.
#pragma once

namespace emu {

class OpcodeTable;

void register_arithmetic(OpcodeTable& table);  // all of those below

void register_arith(OpcodeTable& table);
void register_carry(OpcodeTable& table);
void register_dot(OpcodeTable& table);
void register_float_arith(OpcodeTable& table);
void register_approximate(OpcodeTable& table);
void register_logic(OpcodeTable& table);
void register_bit_field(OpcodeTable& table);
void register_compare(OpcodeTable& table);
void register_mov(OpcodeTable& table);
void register_cvt(OpcodeTable& table);
void register_matrix_fragment(OpcodeTable& table);
void register_mma_sync(OpcodeTable& table);
void register_wgmma(OpcodeTable& table);

}  // namespace emu
