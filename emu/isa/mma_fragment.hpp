// SPDX-License-Identifier: Apache-2.0
// How the fragments of mma.sync lie in the registers of a warp (specification 7.21), and the
// gathering of a warp's registers into the arrays that the matrix arithmetic takes.
#pragma once

#include <array>
#include <cstdint>

#include "exec/context.hpp"
#include "num/matrix.hpp"

namespace emu {

inline constexpr unsigned kMmaRows = 16;
inline constexpr unsigned kMmaColumns = 8;
inline constexpr unsigned kMmaMaxK = 64;

struct MatrixPosition {
  unsigned row;  // of A and D; the column of B
  unsigned k;    // of A and B; the column of D
};

// Element j of register `index` of a lane. With g = lane / 4 and t = lane % 4: each register holds
// 32 / bits neighbouring elements along K, four lanes side by side, eight rows below each other;
// of A every second register is eight rows down.
constexpr MatrixPosition a_position(unsigned bits, unsigned lane, unsigned index, unsigned j) {
  const unsigned elements = 32 / bits;
  return {lane / 4 + 8 * (index % 2), elements * (lane % 4) + 4 * elements * (index / 2) + j};
}
constexpr MatrixPosition b_position(unsigned bits, unsigned lane, unsigned index, unsigned j) {
  const unsigned elements = 32 / bits;
  return {lane / 4, elements * (lane % 4) + 4 * elements * index + j};
}
// Value `index` (0...3) of C and D.
constexpr MatrixPosition d_position(unsigned lane, unsigned index) {
  return {lane / 4 + 8 * (index / 2), 2 * (lane % 4) + index % 2};
}

// What a decoded mma instruction is.
struct MmaShape {
  unsigned k = 0;
  unsigned bits = 0;  // of an element in its register
  unsigned a_registers() const { return kMmaRows * k * bits / (32 * 32); }
  unsigned b_registers() const { return kMmaColumns * k * bits / (32 * 32); }
};

// Codes of both operands: A as [row][k], B as [k][column].
struct MmaCodes {
  alignas(32) std::array<uint32_t, kMmaRows * kMmaMaxK> a;
  alignas(32) std::array<uint32_t, kMmaColumns * kMmaMaxK> b;
};
// `a` and `b` are the first operands of the registers. For elements of 8, 16 and 32 bits.
void gather_codes(const ExecContext& ctx, const MmaShape& shape, const Operand* a, const Operand* b,
                  MmaCodes& codes);

// C and D as [row][column].
using MmaAccumulators = std::array<uint32_t, kMmaRows * kMmaColumns>;
// Four 32-bit registers, or (f16) two registers of two values.
void gather_accumulators(const ExecContext& ctx, const Operand* c, bool f16,
                         MmaAccumulators& accumulators);
void scatter_accumulators(const ExecContext& ctx, const Operand* d, bool f16,
                          const MmaAccumulators& accumulators);

}  // namespace emu
