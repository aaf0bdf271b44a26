// SPDX-License-Identifier: Apache-2.0
// Operands that hold the ends of every format. Each row is of one kind, so that a NaN reaches its
// own row of D and leaves most others to be checked.
#pragma once

#include <cstdint>

#include "cli/random.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::cli {

enum class EdgeRow {
  kOrdinary,  // any finite code under scales near 1, a quarter of the elements ±0
  kTiny,      // scale bytes 0 and 1; subnormal numbers in plain formats
  kHuge,  // scale bytes 253 and 254 over zeros and a few smallest codes; largest numbers in plain
          // formats
  kNanScale,     // one block's scale is NaN, in odd rows over elements that are all zero
  kNanElement,   // one NaN element; E2M1 has none and takes another NaN scale
  kInfinity,     // one element ±Inf; formats without take -0 everywhere
  kZeros,        // ±0 under the largest scale
  kMixedScales,  // scale bytes 0, 1, 127, 253, 254 from block to block
};
constexpr uint32_t kNumEdgeRows = 8;

class EdgeData {
 public:
  EdgeData(internal::Format format, int64_t cols, uint64_t seed, uint64_t stream);

  EdgeRow row(int64_t row) const;
  uint8_t scale_code(EdgeRow edge, int64_t row, int64_t col) const;
  uint32_t element(EdgeRow edge, int64_t row, int64_t k) const;

 private:
  int64_t special_k(int64_t row) const;  // where the one special element or block of a row lies

  internal::Format format_;
  int64_t cols_;
  int64_t scale_cols_;
  RandomStream rows_;
  RandomStream elements_;
  RandomStream scales_;
};

// A value of C or bias: one in 32 each is NaN, +Inf, -Inf, -0, the smallest, the largest; the
// others lie within ±8.
uint32_t edge_addend(internal::Format format, uint64_t bits);

}  // namespace mxgemm::cli
