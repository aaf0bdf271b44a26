// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): 128 random
// bits as a pure function of a 64-bit seed and a counter, so that stochastic rounding does not
// depend on the order in which blocks are done.
#pragma once

#include <array>
#include <cstdint>

namespace mxgemm::internal {

// The upper half of the 128-bit counter is zero.
constexpr std::array<uint32_t, 4> philox(uint64_t seed, uint64_t counter) {
  // Multipliers and key increments (golden ratio, sqrt(3) - 1) of the published generator.
  constexpr uint64_t kMultiplier0 = 0xD2511F53;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9;
  constexpr uint32_t kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  uint32_t key0 = static_cast<uint32_t>(seed);
  uint32_t key1 = static_cast<uint32_t>(seed >> 32);
  std::array<uint32_t, 4> words{static_cast<uint32_t>(counter),
                                static_cast<uint32_t>(counter >> 32), 0, 0};
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * words[0];
    const uint64_t product1 = kMultiplier1 * words[2];
    words = {
        static_cast<uint32_t>(product1 >> 32) ^ words[1] ^ key0, static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ words[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return words;
}

}  // namespace mxgemm::internal
