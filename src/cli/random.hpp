// SPDX-License-Identifier: Apache-2.0
// Random numbers for test data: number i of a stream depends on the seed, the stream and i alone,
// so that data can be made in any order on any number of threads and is the same on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace mxgemm::cli {

class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t stream) : state_(mix(seed + kStep * mix(stream + kStep))) {}

  uint64_t bits(uint64_t i) const { return mix(state_ + i * kStep); }

  // 0 … count - 1; the bias of 2^-32 · count does not matter for test data.
  uint32_t below(uint64_t i, uint32_t count) const {
    return static_cast<uint32_t>(((bits(i) >> 32) * count) >> 32);
  }

  // [0, 1), a multiple of 2^-24: exact in fp32.
  float uniform(uint64_t i) const { return static_cast<float>(bits(i) >> 40) * 0x1p-24f; }

  // Mean 0, variance 1: a sum of eight 16-bit uniform numbers (no libm, whose last bit differs
  // between machines), hence within ±4.9.
  float normal(uint64_t i) const {
    uint32_t sum = 0;
    for (uint64_t word : {bits(2 * i), bits(2 * i + 1)}) {
      for (; word != 0; word >>= 16) {
        sum += word & 0xFFFF;
      }
    }
    // Eight numbers of mean 65535 / 2 and variance (65536^2 - 1) / 12.
    constexpr float kMean = 262140.0f;
    constexpr float kDeviation = 53509.87f;
    return (static_cast<float>(sum) - kMean) / kDeviation;
  }

 private:
  // The golden ratio in 64 bits: an odd step that spreads consecutive numbers.
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15;

  // A permutation of 64-bit words whose every output bit depends on every input bit (splitmix64's
  // finaliser).
  static constexpr uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

  uint64_t state_;
};

}  // namespace mxgemm::cli
