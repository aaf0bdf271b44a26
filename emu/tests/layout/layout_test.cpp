// SPDX-License-Identifier: Apache-2.0
// The formulas of the handlers against layouts derived a second time, for every lane, register and
// element; and the worked positions of the specification.
#include <gtest/gtest.h>

#include <set>

#include "isa/mma_fragment.hpp"
#include "isa/wgmma.hpp"
#include "tests/layout/strided_layout.hpp"

namespace emu::test {
namespace {

TEST(Layout, OperandsOfEveryElementWidth) {
  for (const unsigned bits : {4u, 8u, 16u, 32u}) {
    const unsigned elements = 32 / bits;
    for (const unsigned k_blocks : {1u, 2u}) {
      const StridedLayout a = a_layout(bits, k_blocks);
      const StridedLayout b = b_layout(bits, k_blocks);
      const MmaShape shape{4 * elements * k_blocks, bits};
      ASSERT_EQ(shape.a_registers(), 2 * k_blocks);
      ASSERT_EQ(shape.b_registers(), k_blocks);
      std::set<unsigned> seen_a;
      std::set<unsigned> seen_b;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        for (unsigned index = 0; index < shape.a_registers(); ++index) {
          for (unsigned j = 0; j < elements; ++j) {
            const MatrixPosition at = a_position(bits, lane, index, j);
            const unsigned linear = at.row + kMmaRows * at.k;
            EXPECT_EQ(linear, a(lane, index * elements + j));
            EXPECT_TRUE(seen_a.insert(linear).second);
          }
        }
        for (unsigned index = 0; index < shape.b_registers(); ++index) {
          for (unsigned j = 0; j < elements; ++j) {
            const MatrixPosition at = b_position(bits, lane, index, j);
            const unsigned linear = at.row + kMmaColumns * at.k;
            EXPECT_EQ(linear, b(lane, index * elements + j));
            EXPECT_TRUE(seen_b.insert(linear).second);
          }
        }
      }
      EXPECT_EQ(seen_a.size(), kMmaRows * shape.k);
      EXPECT_EQ(seen_b.size(), kMmaColumns * shape.k);
    }
  }
}

TEST(Layout, Accumulators) {
  const StridedLayout d = d_layout();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned index = 0; index < 4; ++index) {
      const MatrixPosition at = d_position(lane, index);
      EXPECT_EQ(at.row + kMmaRows * at.k, d(lane, index));
    }
  }
}

TEST(Layout, AccumulatorsOfWgmma) {
  for (const unsigned columns : {8u, 64u, 136u, 256u}) {
    const StridedLayout d = wgmma_d_layout(columns);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned value = 0; value < columns / 2; ++value) {
        const MatrixPosition at = wgmma_d_position(lane, value);
        EXPECT_EQ(at.row + kWgmmaRows * at.k, d(lane, value));
      }
    }
  }
}

// Specification, appendix D: m16n8k64.
TEST(Layout, WorkedPositions) {
  const auto is = [](MatrixPosition at, unsigned row, unsigned k) {
    return at.row == row && at.k == k;
  };
  EXPECT_TRUE(is(a_position(4, 0, 0, 0), 0, 0));
  EXPECT_TRUE(is(a_position(4, 0, 0, 7), 0, 7));
  EXPECT_TRUE(is(a_position(4, 0, 1, 0), 8, 0));
  EXPECT_TRUE(is(a_position(4, 0, 2, 0), 0, 32));
  EXPECT_TRUE(is(a_position(4, 0, 3, 0), 8, 32));
  EXPECT_TRUE(is(a_position(4, 5, 0, 0), 1, 8));
  EXPECT_TRUE(is(a_position(4, 5, 3, 7), 9, 47));
  EXPECT_TRUE(is(b_position(4, 5, 0, 0), 1, 8));
  EXPECT_TRUE(is(b_position(4, 5, 1, 7), 1, 47));
  EXPECT_TRUE(is(d_position(5, 0), 1, 2));
  EXPECT_TRUE(is(d_position(5, 1), 1, 3));
  EXPECT_TRUE(is(d_position(5, 2), 9, 2));
  EXPECT_TRUE(is(d_position(5, 3), 9, 3));
}

}  // namespace
}  // namespace emu::test
