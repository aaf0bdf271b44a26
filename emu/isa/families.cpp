// SPDX-License-Identifier: Apache-2.0
#include "isa/families.hpp"

#include "isa/decode.hpp"

namespace emu {

const OpcodeTable& opcode_table() {
  static const OpcodeTable table = [] {
    OpcodeTable built;
    register_approximate(built);
    register_arith(built);
    register_bit_field(built);
    register_carry(built);
    register_compare(built);
    register_cvt(built);
    register_dot(built);
    register_float_arith(built);
    register_logic(built);
    register_mov(built);
    register_matrix_fragment(built);
    register_mma_sync(built);
    register_wgmma(built);
    register_atom(built);
    register_barriers(built);
    register_control(built);
    register_ldst(built);
    register_warp_ops(built);
    register_bulk(built);
    register_cluster(built);
    register_cp_async(built);
    register_cta_control(built);
    register_fences(built);
    register_launch_control(built);
    register_mbarrier(built);
    register_tcgen05_access(built);
    register_tcgen05_allocation(built);
    register_tcgen05_copy(built);
    register_tcgen05_mma(built);
    register_tma(built);
    return built;
  }();
  return table;
}

}  // namespace emu
