// SPDX-License-Identifier: Apache-2.0
// The one source of choices, so that a seed replays a run on every machine (the standard library's
// distributions differ between implementations).
#pragma once

#include <cstdint>

namespace emu {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // SplitMix64's constants.
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0. The bias of the multiplication is below 2^-32.
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((next() >> 32) * bound) >> 32); }
  bool one_in(uint32_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace emu
