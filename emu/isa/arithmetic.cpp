// SPDX-License-Identifier: Apache-2.0
#include "isa/arithmetic.hpp"

namespace emu {

void register_arithmetic(OpcodeTable& table) {
  register_arith(table);
  register_carry(table);
  register_dot(table);
  register_float_arith(table);
  register_approximate(table);
  register_logic(table);
  register_bit_field(table);
  register_compare(table);
  register_mov(table);
  register_cvt(table);
  register_matrix_fragment(table);
  register_mma_sync(table);
  register_wgmma(table);
}

}  // namespace emu
