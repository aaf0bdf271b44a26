// SPDX-License-Identifier: Apache-2.0
// Tests over every level of the CPU backend that this machine offers, and over every kernel of a
// level.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mxgemm/mxgemm.h"

namespace mxgemm::test {

inline std::vector<int32_t> offered_levels() {
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  EXPECT_EQ(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &info), MXGEMM_OK) << mxgemm_last_error();
  std::vector<int32_t> levels;
  for (int32_t level = MXGEMM_ISA_SCALAR; level <= info.isa_offered; ++level) {
    levels.push_back(level);
  }
  return levels;
}

inline const char* level_name(int32_t level) {
  constexpr const char* kNames[] = {"scalar", "avx2", "avx512", "amx"};
  return kNames[level];
}

// Every kernel, of the CPU and of GPUs, that takes `desc`.
inline std::vector<mxgemm_kernel_info> accepting_kernels(const mxgemm_gemm_desc& desc) {
  std::vector<mxgemm_kernel_info> infos;
  int32_t count = 0;
  EXPECT_EQ(mxgemm_kernel_count(&count), MXGEMM_OK) << mxgemm_last_error();
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_kernel_info info = MXGEMM_KERNEL_INFO_INIT;
    EXPECT_EQ(mxgemm_kernel_info_get(index, &info), MXGEMM_OK) << mxgemm_last_error();
    int32_t accepts = 0;
    EXPECT_EQ(mxgemm_kernel_accepts(index, &desc, &accepts, nullptr, 0, nullptr), MXGEMM_OK)
        << mxgemm_last_error();
    if (accepts != 0) {
      infos.push_back(info);
    }
  }
  return infos;
}

// The CPU kernels of `level` that take `desc`; "" (the library chooses) where the level has none of
// its own.
inline std::vector<std::string> kernels_of_level(int32_t level, const mxgemm_gemm_desc& desc) {
  std::vector<std::string> ids;
  for (const mxgemm_kernel_info& info : accepting_kernels(desc)) {
    if (info.device_kind == MXGEMM_DEVICE_CPU && info.available != 0 && info.isa == level) {
      ids.emplace_back(info.id);
    }
  }
  if (ids.empty()) {
    ids.emplace_back();
  }
  return ids;
}

// A test per level, with that level the highest allowed.
class LevelTest : public testing::TestWithParam<int32_t> {
 protected:
  void SetUp() override {
    ASSERT_EQ(mxgemm_set_max_isa(GetParam()), MXGEMM_OK) << mxgemm_last_error();
  }
  void TearDown() override { EXPECT_EQ(mxgemm_set_max_isa(-1), MXGEMM_OK) << mxgemm_last_error(); }
};

inline std::string level_test_name(const testing::TestParamInfo<int32_t>& info) {
  return level_name(info.param);
}

}  // namespace mxgemm::test
