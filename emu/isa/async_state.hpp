// SPDX-License-Identifier: Apache-2.0
// What warps keep of the asynchronous operations that their lanes started.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/machine.hpp"
#include "isa/bulk_groups.hpp"

namespace emu {

// Shared with the events of the operations: a store may reach global memory after its warp has
// exited.
struct AsyncState {
  std::array<AsyncGroups, kLanes> bulk;
  std::array<AsyncGroups, kLanes> copy;  // cp.async
  uint64_t changes = 0;                  // WaitState::counter of those who wait for groups

  // cp.async instructions under way, and mbarrier arrivals that wait for the earlier ones of a
  // lane.
  struct Copy {
    uint64_t number;
    uint32_t lanes;
  };
  struct Arrival {
    uint64_t after;  // copies up to this number
    unsigned lane;
    Cta* cta;
    uint32_t offset;
    Origin origin;
    uint64_t operation;
  };
  uint64_t copies_issued = 0;
  std::vector<Copy> copies;
  std::vector<Arrival> arrivals;
};

struct WarpAsync : Extension {
  std::shared_ptr<AsyncState> state = std::make_shared<AsyncState>();
};

inline const std::shared_ptr<AsyncState>& async_state(Warp& warp) {
  if (warp.async == nullptr) {
    warp.async = std::make_unique<WarpAsync>();
  }
  return static_cast<WarpAsync*>(warp.async.get())->state;
}
// Null where the warp has never started anything.
inline const AsyncState* async_state_if_any(const Warp& warp) {
  return warp.async == nullptr ? nullptr : static_cast<WarpAsync*>(warp.async.get())->state.get();
}

}  // namespace emu
