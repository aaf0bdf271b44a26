// SPDX-License-Identifier: Apache-2.0
// Tests over every place where the library computes: each level of the CPU that this machine
// offers, and each CUDA device.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "support/device_buffer.hpp"
#include "support/levels.hpp"

namespace mxgemm::test {

struct Place {
  Device device;
  int32_t level = 0;  // of the CPU

  bool on_cpu() const { return device.kind == MXGEMM_DEVICE_CPU; }
  std::string name() const {
    return on_cpu() ? level_name(level) : "cuda" + std::to_string(device.index);
  }
};

inline std::ostream& operator<<(std::ostream& out, const Place& place) {
  return out << place.name();
}

inline std::vector<Place> places() {
  std::vector<Place> result;
  for (const int32_t level : offered_levels()) {
    result.push_back({Device{}, level});
  }
  int32_t count = 0;
  EXPECT_EQ(mxgemm_device_count(MXGEMM_DEVICE_CUDA, &count), MXGEMM_OK) << mxgemm_last_error();
  for (int32_t index = 0; index < count; ++index) {
    result.push_back({Device{MXGEMM_DEVICE_CUDA, index}, 0});
  }
  return result;
}

// The CUDA kernels that take `desc`, whose device is one.
inline std::vector<std::string> cuda_kernels_for(const mxgemm_gemm_desc& desc) {
  std::vector<std::string> ids;
  for (const mxgemm_kernel_info& info : accepting_kernels(desc)) {
    if (info.device_kind == MXGEMM_DEVICE_CUDA) {
      ids.emplace_back(info.id);
    }
  }
  return ids;
}

// Every kernel of the place that takes `desc`, and on a GPU "", the library's choice with what it
// falls back to. There must be one: "any shape" is promised.
inline std::vector<std::string> kernels_at(const Place& place, const mxgemm_gemm_desc& desc) {
  if (place.on_cpu()) {
    return kernels_of_level(place.level, desc);
  }
  std::vector<std::string> ids = cuda_kernels_for(desc);
  EXPECT_FALSE(ids.empty());
  ids.emplace_back();
  return ids;
}

// A test per place; on the CPU its level is the highest allowed.
class PlaceTest : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    if (GetParam().on_cpu()) {
      ASSERT_EQ(mxgemm_set_max_isa(GetParam().level), MXGEMM_OK) << mxgemm_last_error();
    }
  }
  void TearDown() override { EXPECT_EQ(mxgemm_set_max_isa(-1), MXGEMM_OK) << mxgemm_last_error(); }
};

inline std::string place_test_name(const testing::TestParamInfo<Place>& info) {
  return info.param.name();
}

}  // namespace mxgemm::test
