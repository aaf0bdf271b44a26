// SPDX-License-Identifier: Apache-2.0
// The registration function of every family file.
#pragma once

namespace emu {

class OpcodeTable;

// Integers, floating point, logic, comparison, moves, conversions.
void register_approximate(OpcodeTable& table);
void register_arith(OpcodeTable& table);
void register_bit_field(OpcodeTable& table);
void register_carry(OpcodeTable& table);
void register_compare(OpcodeTable& table);
void register_cvt(OpcodeTable& table);
void register_dot(OpcodeTable& table);
void register_float_arith(OpcodeTable& table);
void register_logic(OpcodeTable& table);
void register_mov(OpcodeTable& table);

// Matrices.
void register_matrix_fragment(OpcodeTable& table);
void register_mma_sync(OpcodeTable& table);
void register_wgmma(OpcodeTable& table);

// Memory, control, warps, barriers of a CTA.
void register_atom(OpcodeTable& table);
void register_barriers(OpcodeTable& table);
void register_control(OpcodeTable& table);
void register_ldst(OpcodeTable& table);
void register_warp_ops(OpcodeTable& table);

// mbarriers, asynchronous copies, clusters, launch control, fences, tensor memory.
void register_bulk(OpcodeTable& table);
void register_cluster(OpcodeTable& table);
void register_cp_async(OpcodeTable& table);
void register_cta_control(OpcodeTable& table);
void register_fences(OpcodeTable& table);
void register_launch_control(OpcodeTable& table);
void register_mbarrier(OpcodeTable& table);
void register_tcgen05_access(OpcodeTable& table);
void register_tcgen05_allocation(OpcodeTable& table);
void register_tcgen05_copy(OpcodeTable& table);
void register_tcgen05_mma(OpcodeTable& table);
void register_tma(OpcodeTable& table);

}  // namespace emu
