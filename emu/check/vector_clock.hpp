// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace emu {

// What an actor knows of every other one: the number of the last step of it that happened before.
class VectorClock {
 public:
  uint32_t at(uint32_t slot) const { return slot < steps_.size() ? steps_[slot] : 0; }
  void set(uint32_t slot, uint32_t step) {
    if (slot >= steps_.size()) {
      steps_.resize(slot + 1, 0);
    }
    steps_[slot] = step;
  }
  void join(const VectorClock& other) {
    if (other.steps_.size() > steps_.size()) {
      steps_.resize(other.steps_.size(), 0);
    }
    for (size_t slot = 0; slot < other.steps_.size(); ++slot) {
      steps_[slot] = std::max(steps_[slot], other.steps_[slot]);
    }
  }

 private:
  std::vector<uint32_t> steps_;
};

}  // namespace emu
