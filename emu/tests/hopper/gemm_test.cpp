// SPDX-License-Identifier: Apache-2.0
// The wgmma GEMM with clusters and multicast on an emulated 9.0, under every schedule, bit for bit.
#include "gemm.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "tests/runtime/emulated.hpp"

namespace emu::tests {
namespace {

struct Size {
  int m;
  int n;
  int k;
};

// Small integers: no order of summation rounds.
uint16_t code_of(int value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}

std::vector<int> integers(int count, std::mt19937& random) {
  std::vector<int> values(count);
  for (int& value : values) {
    value = static_cast<int>(random() % 9) - 4;
  }
  return values;
}

std::vector<uint16_t> codes(const std::vector<int>& values) {
  std::vector<uint16_t> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    result[i] = code_of(values[i]);
  }
  return result;
}

void expect_product(const Size& size) {
  std::mt19937 random(5);
  const std::vector<int> a = integers(size.m * size.k, random);
  const std::vector<int> b = integers(size.n * size.k, random);
  std::vector<float> d(static_cast<size_t>(size.m) * size.n, -1e30f);
  const char* error =
      hopper_gemm(size.m, size.n, size.k, codes(a).data(), codes(b).data(), d.data());
  ASSERT_EQ(error, nullptr) << error << "\n" << emu_last_report();
  for (int m = 0; m < size.m; ++m) {
    for (int n = 0; n < size.n; ++n) {
      int sum = 0;
      for (int k = 0; k < size.k; ++k) {
        sum += a[m * size.k + k] * b[n * size.k + k];
      }
      ASSERT_EQ(d[static_cast<size_t>(m) * size.n + n], static_cast<float>(sum))
          << size.m << "x" << size.n << "x" << size.k << " at " << m << ", " << n;
    }
  }
}

class HopperGemm : public EmulatedTest {
 protected:
  void SetUp() override { start("9.0"); }
  void TearDown() override {
    set_option("EMU_SCHED", "plain");
    EmulatedTest::TearDown();
  }
};

TEST_F(HopperGemm, EdgesInEveryDimension) {
  for (const Size size : {Size{128, 64, 64}, Size{1, 8, 8}, Size{64, 64, 512}, Size{133, 72, 136},
                          Size{300, 136, 80}, Size{65, 130, 320}}) {
    expect_product(size);
  }
}

TEST_F(HopperGemm, EverySchedule) {
  const struct {
    const char* policy;
    int seeds;
  } portfolio[] = {{"plain", 1}, {"random", 4},   {"late", 2},
                   {"pct", 4},   {"late+pct", 3}, {"early+pct", 3}};
  for (const auto& row : portfolio) {
    for (int seed = 1; seed <= row.seeds; ++seed) {
      set_option("EMU_SCHED", row.policy);
      set_option("EMU_SEED", std::to_string(seed));
      expect_product({100, 72, 328});  // six steps: the ring wraps
      ASSERT_FALSE(HasFatalFailure()) << row.policy << " " << seed;
    }
  }
}

}  // namespace
}  // namespace emu::tests
