// SPDX-License-Identifier: Apache-2.0
// The last accesses to a piece of memory, and whether a further one is ordered after them.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "check/vector_clock.hpp"
#include "isa/instr.hpp"

namespace emu {

struct AccessRecord {
  uint32_t mask = 0;  // bytes of the piece
  uint32_t slot = 0;  // of the actor
  uint32_t step = 0;  // of it
  bool writes = false;
  bool ordered = false;  // atomic, volatile...: does not race with another ordered access
  const Instr* instr = nullptr;
  uint32_t lanes = 0;  // of a warp
};

// Of one piece: 16 bytes of shared or 32 of global memory. Bytes are told apart, so that neighbours
// in one piece do not look like a conflict.
class AccessHistory {
 public:
  // Notes the access; the earlier one that is not ordered before it, if there is one.
  std::optional<AccessRecord> note(const AccessRecord& now, const VectorClock& clock) {
    if (now.writes && joins_earlier_lanes(now)) {
      return std::nullopt;
    }
    std::optional<AccessRecord> conflict;
    for (AccessRecord& earlier : records_) {
      if ((earlier.mask & now.mask) == 0) {
        continue;
      }
      const bool harmless = (!earlier.writes && !now.writes) || (earlier.ordered && now.ordered) ||
                            earlier.slot == now.slot || earlier.step <= clock.at(earlier.slot);
      if (!harmless && !conflict) {
        conflict = earlier;
      }
      // A write takes the place of what it is ordered after; a read only of the actor's earlier
      // reads.
      if (now.writes || (!earlier.writes && earlier.slot == now.slot)) {
        earlier.mask &= ~now.mask;
      }
    }
    std::erase_if(records_, [](const AccessRecord& record) { return record.mask == 0; });
    records_.push_back(now);
    return conflict;
  }

 private:
  // Lanes of a warp that diverged store the same bytes by one instruction at different times: one
  // store, at the time of the first. Kernels let a whole warp write one value, and signal it by
  // whichever lane comes first.
  bool joins_earlier_lanes(const AccessRecord& now) {
    for (AccessRecord& earlier : records_) {
      if (earlier.writes && earlier.instr == now.instr && earlier.slot == now.slot &&
          earlier.mask == now.mask && (earlier.lanes & now.lanes) == 0) {
        earlier.lanes |= now.lanes;
        return true;
      }
    }
    return false;
  }

  std::vector<AccessRecord> records_;
};

}  // namespace emu
