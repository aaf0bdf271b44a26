// SPDX-License-Identifier: Apache-2.0
#include "isa/families.hpp"

#include "isa/arithmetic.hpp"
#include "isa/asynchronous.hpp"
#include "isa/decode.hpp"

namespace emu {

const OpcodeTable& opcode_table() {
  static const OpcodeTable table = [] {
    OpcodeTable built;
    register_families(built);
    return built;
  }();
  return table;
}

void register_families(OpcodeTable& table) {
  // One line per family file.
  register_arithmetic(table);
  register_asynchronous(table);
  register_atom(table);
  register_barriers(table);
  register_control(table);
  register_ldst(table);
  register_warp_ops(table);
}

}  // namespace emu
