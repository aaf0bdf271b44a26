// SPDX-License-Identifier: Apache-2.0
// Layouts as tensor libraries write them: nested shapes with strides. Here flat lists, one for the
// lane and one for the value, that map to a linear index of a column-major matrix.
#pragma once

#include <vector>

namespace emu::test {

struct Mode {
  unsigned extent;
  unsigned stride;
};

struct StridedLayout {
  std::vector<Mode> lane;
  std::vector<Mode> value;

  unsigned operator()(unsigned lane_index, unsigned value_index) const {
    return walk(lane, lane_index) + walk(value, value_index);
  }

 private:
  static unsigned walk(const std::vector<Mode>& modes, unsigned index) {
    unsigned result = 0;
    for (const Mode& mode : modes) {
      result += index % mode.extent * mode.stride;
      index /= mode.extent;
    }
    return result;
  }
};

// Fragments of mma.sync, elements of `bits` bits; A is 16 x K, B is 8 x K, C and D are 16 x 8, all
// column-major. K covers `k_blocks` (1 or 2) blocks of four lanes.
inline StridedLayout a_layout(unsigned bits, unsigned k_blocks) {
  const unsigned elements = 32 / bits;
  return {{{4, 16 * elements}, {8, 1}}, {{elements, 16}, {2, 8}, {k_blocks, 16 * 4 * elements}}};
}
inline StridedLayout b_layout(unsigned bits, unsigned k_blocks) {
  const unsigned elements = 32 / bits;
  return {{{4, 8 * elements}, {8, 1}}, {{elements, 8}, {k_blocks, 8 * 4 * elements}}};
}
inline StridedLayout d_layout() {
  return {{{4, 32}, {8, 1}}, {{2, 16}, {2, 8}}};
}

// D of one warp of wgmma: 16 x N.
inline StridedLayout wgmma_d_layout(unsigned columns) {
  return {{{4, 32}, {8, 1}}, {{2, 16}, {2, 8}, {columns / 8, 128}}};
}

}  // namespace emu::test
