// SPDX-License-Identifier: Apache-2.0
// Qualifiers that ordinary memory instructions and atomics share.
#pragma once

#include "exec/context.hpp"
#include "isa/decode.hpp"

namespace emu {

// Memory order as bits of Instr::mode2.
enum OrderBits : uint8_t {
  kOrderStrong = 1,  // volatile, relaxed, mmio, or any atomic
  kOrderAcquire = 2,
  kOrderRelease = 4,
};

struct Ordering {
  uint8_t bits = 0;
};

// .weak .volatile .relaxed .acquire .release .acq_rel .mmio and the scope.
Ordering take_ordering(DecodeContext& d);
// Cache operators, eviction priorities, prefetch sizes, cache hints: no effect here.
void take_cache_hints(DecodeContext& d);
// Notes the order in the instruction, and that clusters may not run in parallel.
void apply_ordering(DecodeContext& d, Ordering ordering, ptx::Space space);
// Tells the race detector; called for accesses with order bits.
void order_access(ExecContext& ctx, const Instr& instr, unsigned lane, const Place& place,
                  Access access);

}  // namespace emu
