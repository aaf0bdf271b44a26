// SPDX-License-Identifier: Apache-2.0
#include "formats/packing.hpp"

#include <gtest/gtest.h>

#include <array>

namespace mxgemm::internal {
namespace {

TEST(Packing, PutsTheEvenElementInTheLowNibble) {
  EXPECT_EQ(pack_nibbles(0x1, 0x2), 0x21);
  EXPECT_EQ(pack_nibbles(0xF, 0x0), 0x0F);
  const std::array<uint8_t, 2> row{0x21, 0x43};
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(nibble_at(row.data(), k), k + 1);
  }
}

TEST(Packing, RoundTripsEveryPair) {
  for (int even = 0; even < 16; ++even) {
    for (int odd = 0; odd < 16; ++odd) {
      const uint8_t byte = pack_nibbles(static_cast<uint8_t>(even), static_cast<uint8_t>(odd));
      EXPECT_EQ(nibble_at(&byte, 0), even);
      EXPECT_EQ(nibble_at(&byte, 1), odd);
    }
  }
}

TEST(Packing, IgnoresHighBitsOfTheEvenCode) {
  EXPECT_EQ(pack_nibbles(0xF3, 0x4), 0x43);
}

}  // namespace
}  // namespace mxgemm::internal
