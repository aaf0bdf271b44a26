// SPDX-License-Identifier: Apache-2.0
// One tcgen05.mma whose operands are known: the data path.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/machine.hpp"
#include "isa/matrix_descriptor.hpp"

namespace emu {

struct MmaForm {
  BlockScaledKind kind = BlockScaledKind::kMxf4;
  uint32_t scales_per_row = 2;  // along K of one instruction
  uint32_t cta_group = 1;
};

struct TensorMma {
  MmaForm form;
  InstructionDescriptor instruction;
  SharedMatrix a;
  SharedMatrix b;
  uint32_t d_column = 0;
  uint32_t a_scale_column = 0;
  uint32_t b_scale_column = 0;
  bool accumulates = false;
  std::vector<Cta*> ctas;  // one, or the pair with the even rank first
  Origin origin;
};

inline constexpr uint32_t kTensorRowsPerCta = 128;
// Columns that the scales of that many rows take: 32 to a column.
constexpr uint32_t tensor_scale_columns(uint32_t rows) {
  return (rows + 31) / 32;
}

// Reads the operands as they are now, multiplies, writes D; records a fault at its origin.
// `operation`: of the race detector.
void run_tensor_mma(Engine& engine, uint64_t operation, const TensorMma& mma);

}  // namespace emu
