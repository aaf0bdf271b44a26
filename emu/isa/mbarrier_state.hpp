// SPDX-License-Identifier: Apache-2.0
// The mbarrier object as a value: its 64 bits in shared memory and what each operation makes of
// them.
#pragma once

#include <cstdint>

namespace emu {

inline constexpr uint32_t kMbarrierMaxCount = (1u << 20) - 1;
inline constexpr int64_t kMbarrierMaxTx = (int64_t{1} << 20) - 1;

struct MbarrierState {
  uint32_t phase = 0;     // parity of the current phase
  uint32_t pending = 0;   // arrivals still missing in it
  uint32_t expected = 0;  // arrivals of the next one
  int32_t tx = 0;  // bytes still missing; negative where completion came before the expectation

  friend bool operator==(const MbarrierState&, const MbarrierState&) = default;
};

// Bits: 0 phase, 20:1 pending, 40:21 expected, 61:41 tx.
constexpr uint64_t pack_mbarrier(const MbarrierState& s) {
  return uint64_t{s.phase & 1} | uint64_t{s.pending} << 1 | uint64_t{s.expected} << 21 |
         (static_cast<uint64_t>(int64_t{s.tx}) & 0x1FFFFF) << 41;
}

constexpr MbarrierState unpack_mbarrier(uint64_t bits) {
  MbarrierState s;
  s.phase = bits & 1;
  s.pending = (bits >> 1) & 0xFFFFF;
  s.expected = (bits >> 21) & 0xFFFFF;
  s.tx = static_cast<int32_t>(static_cast<int64_t>(bits << 2) >> 43);
  return s;
}

// Null when the operation is legal; else what is wrong. A faulty operation leaves the state as it
// was.
using MbarrierFault = const char*;

// The phase is complete when nothing is missing: it flips and the next one begins.
constexpr bool settle_mbarrier(MbarrierState& s) {
  if (s.pending != 0 || s.tx != 0) {
    return false;
  }
  s.phase ^= 1;
  s.pending = s.expected;
  return true;
}

constexpr MbarrierFault init_mbarrier(MbarrierState& s, uint32_t count) {
  if (count == 0 || count > kMbarrierMaxCount) {
    return "mbarrier.init with a count outside 1 to 2^20-1";
  }
  s = {0, count, count, 0};
  return nullptr;
}

constexpr MbarrierFault mbarrier_add_tx(MbarrierState& s, int64_t bytes) {
  const int64_t tx = s.tx + bytes;
  if (tx > kMbarrierMaxTx || tx < -kMbarrierMaxTx) {
    return "mbarrier transaction count outside +-(2^20-1)";
  }
  s.tx = static_cast<int32_t>(tx);
  return nullptr;
}

constexpr MbarrierFault mbarrier_expect_tx(MbarrierState& s, uint32_t bytes) {
  if (MbarrierFault fault = mbarrier_add_tx(s, bytes)) {
    return fault;
  }
  settle_mbarrier(s);
  return nullptr;
}

constexpr MbarrierFault mbarrier_complete_tx(MbarrierState& s, uint32_t bytes) {
  if (MbarrierFault fault = mbarrier_add_tx(s, -int64_t{bytes})) {
    return fault;
  }
  settle_mbarrier(s);
  return nullptr;
}

// `drop` also lowers the count of the phases to come; `tx` is expected first, in the same step.
constexpr MbarrierFault mbarrier_arrive(MbarrierState& s, uint32_t count, uint32_t tx = 0,
                                        bool drop = false) {
  if (count == 0 || count > kMbarrierMaxCount) {
    return "mbarrier arrive with a count outside 1 to 2^20-1";
  }
  if (count > s.pending) {
    return "more arrivals at an mbarrier than it expects in this phase";
  }
  if (drop && count > s.expected) {
    return "mbarrier.arrive_drop of more arrivals than the mbarrier expects";
  }
  if (MbarrierFault fault = mbarrier_add_tx(s, tx)) {
    return fault;
  }
  s.pending -= count;
  s.expected -= drop ? count : 0;
  settle_mbarrier(s);
  return nullptr;
}

// True iff the phase of that parity is already over.
constexpr bool mbarrier_phase_over(const MbarrierState& s, uint32_t parity) {
  return s.phase != (parity & 1);
}

}  // namespace emu
