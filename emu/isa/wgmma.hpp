// SPDX-License-Identifier: Apache-2.0
// wgmma: what a decoded instruction is, and the product of one warp's 16 rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/context.hpp"
#include "isa/mma_sync.hpp"

namespace emu {

inline constexpr unsigned kWgmmaRows = 16;      // of one warp
inline constexpr unsigned kWgmmaRowBytes = 32;  // of one row along K, whatever the element

struct WgmmaPlan {
  unsigned columns = 8;
  MmaElement a;
  MmaElement b;
  bool a_in_registers = false;
  bool f16_accumulators = false;
  bool satfinite = false;
  bool negate_a = false;
  bool negate_b = false;

  unsigned k() const { return 8 * kWgmmaRowBytes / a.bits; }
  unsigned d_registers() const { return columns / (f16_accumulators ? 4 : 2); }
};

// Where value e (0...3) of column block `column / 8` lies: register 4 (column / 8) + e.
constexpr MatrixPosition wgmma_d_position(unsigned lane, unsigned value) {
  const unsigned e = value % 4;
  return {lane / 4 + 8 * (e / 2), 8 * (value / 4) + 2 * (lane % 4) + e % 2};
}

// One instruction's operands when it is carried out.
struct WgmmaInputs {
  uint64_t a_descriptor = 0;
  uint64_t b_descriptor = 0;
  const Operand* a_registers = nullptr;  // instead of a_descriptor
  bool accumulate = true;                // C counts; else D = A * B
  Origin origin;
  uint64_t observed = 0;  // number of the operation for the race detector
};

// `accumulators` [d_registers][32 lanes]: C on entry, D on return. The complaint, or "".
std::string wgmma_multiply(const ExecContext& ctx, const WgmmaPlan& plan, const WgmmaInputs& inputs,
                           uint32_t* accumulators);

// What is wrong with a warp that exits now, or "".
std::string wgmma_exit_complaint(const Warp& warp);

}  // namespace emu
