// SPDX-License-Identifier: Apache-2.0
// The wgmma GEMM with clusters and multicast on an emulated 9.0, under every schedule, bit for bit.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "gemm_cases.hpp"
#include "tests/runtime/emulated.hpp"

namespace emu::tests {
namespace {

class HopperGemm : public EmulatedTest {
 protected:
  void SetUp() override { start("9.0"); }
  void TearDown() override {
    set_option("EMU_SCHED", "plain");
    EmulatedTest::TearDown();
  }
};

TEST_F(HopperGemm, EdgesInEveryDimension) {
  for (const GemmSize& size : kGemmSizes) {
    EXPECT_EQ(check_exact_product(size), "") << emu_last_report();
  }
}

TEST_F(HopperGemm, EverySchedule) {
  const struct {
    const char* policy;
    int seeds;
  } portfolio[] = {{"plain", 1}, {"random", 4},   {"late", 2},
                   {"pct", 4},   {"late+pct", 3}, {"early+pct", 3}};
  constexpr GemmSize kSixSteps = {100, 72, 328};  // the ring wraps
  for (const auto& row : portfolio) {
    for (int seed = 1; seed <= row.seeds; ++seed) {
      set_option("EMU_SCHED", row.policy);
      set_option("EMU_SEED", std::to_string(seed));
      ASSERT_EQ(check_exact_product(kSixSteps), "") << row.policy << " " << seed << "\n"
                                                    << emu_last_report();
    }
  }
}

// The lines of a file that are not comments.
std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') {
      lines.push_back(line);
    }
  }
  return lines;
}

TEST_F(HopperGemm, WideDataGiveTheBitsOfTheGpu) {
  const std::vector<std::string> golden = lines_of(EMU_GOLDEN "/hopper_gemm.txt");
  ASSERT_FALSE(golden.empty()) << "no GPU's answers in " EMU_GOLDEN "/hopper_gemm.txt";
  std::vector<std::string> ours;
  for (const GemmSize& size : kGemmSizes) {
    ours.push_back(wide_hash(size));
  }
  EXPECT_EQ(ours, golden);
}

}  // namespace
}  // namespace emu::tests
