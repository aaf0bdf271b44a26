// SPDX-License-Identifier: Apache-2.0
#include "base/math.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace mxgemm::internal {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(Math, CeilDiv) {
  EXPECT_EQ(ceil_div(0, 4), 0);
  EXPECT_EQ(ceil_div(1, 4), 1);
  EXPECT_EQ(ceil_div(4, 4), 1);
  EXPECT_EQ(ceil_div(5, 4), 2);
  EXPECT_EQ(ceil_div(7, 1), 7);
  // value + step - 1 would overflow here.
  EXPECT_EQ(ceil_div(kMax, int64_t{2}), kMax / 2 + 1);
  EXPECT_EQ(ceil_div(kMax, kMax), 1);
  EXPECT_EQ(ceil_div(uint64_t{UINT64_MAX}, uint64_t{32}), uint64_t{1} << 59);
}

TEST(Math, RoundUp) {
  EXPECT_EQ(round_up(0, 128), 0);
  EXPECT_EQ(round_up(1, 128), 128);
  EXPECT_EQ(round_up(128, 128), 128);
  EXPECT_EQ(round_up(129, 128), 256);
  EXPECT_EQ(round_up(int64_t{1} << 40, int64_t{3}), (int64_t{1} << 40) + 2);
}

TEST(Math, CheckedMul) {
  EXPECT_EQ(checked_mul(int64_t{3}, int64_t{5}), int64_t{15});
  EXPECT_EQ(checked_mul(int64_t{0}, kMax), int64_t{0});
  EXPECT_EQ(checked_mul(kMax, int64_t{1}), kMax);
  EXPECT_EQ(checked_mul(int64_t{1} << 32, int64_t{1} << 30), int64_t{1} << 62);
  EXPECT_FALSE(checked_mul(int64_t{1} << 32, int64_t{1} << 31));
  EXPECT_FALSE(checked_mul(kMax, int64_t{2}));
  EXPECT_FALSE(checked_mul(kMin, int64_t{-1}));
  EXPECT_FALSE(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32));
  EXPECT_EQ(checked_mul((uint64_t{1} << 32) - 1, (uint64_t{1} << 32) + 1), UINT64_MAX);
}

TEST(Math, CheckedAdd) {
  EXPECT_EQ(checked_add(int64_t{3}, int64_t{5}), int64_t{8});
  EXPECT_EQ(checked_add(kMax, int64_t{0}), kMax);
  EXPECT_FALSE(checked_add(kMax, int64_t{1}));
  EXPECT_FALSE(checked_add(kMin, int64_t{-1}));
  EXPECT_FALSE(checked_add(uint64_t{UINT64_MAX}, uint64_t{1}));
}

static_assert(ceil_div(33, 32) == 2 && round_up(33, 32) == 64 && !checked_add(INT32_MAX, 1),
              "usable at compile time");

}  // namespace
}  // namespace mxgemm::internal
