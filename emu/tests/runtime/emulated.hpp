// SPDX-License-Identifier: Apache-2.0
// Common ground of the tests that call the emulated runtime.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/emu.h"

namespace emu::tests {

inline void set_option(const char* name, const std::string& value) {
  ASSERT_EQ(emu_set_option(name, value.c_str()), 0) << emu_last_report();
}

// A runtime as a fresh process has it, under the late policy.
class EmulatedTest : public testing::Test {
 protected:
  void SetUp() override { start("12.0*2"); }
  void TearDown() override {
    set_option("EMU_FAULT", "");
    set_option("EMU_STREAMS", "late");
    set_option("EMU_PROTECT", "1");
    emu_reset();
  }

  static void start(const std::string& devices) {
    set_option("EMU_DEVICES", devices);
    ASSERT_EQ(emu_reset(), 0) << emu_last_report();
    set_option("EMU_STREAMS", "late");
    set_option("EMU_SEED", "1");
    cudaGetLastError();
  }

  static emu_counter_values counters() {
    emu_counter_values values;
    emu_counters(&values);
    return values;
  }
};

// A piece of device memory.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), cudaSuccess);
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  void set(const std::vector<T>& values) {
    ASSERT_EQ(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// Pinned host memory.
template <typename T>
class PinnedArray {
 public:
  explicit PinnedArray(size_t count) {
    EXPECT_EQ(cudaMallocHost(reinterpret_cast<void**>(&data_), count * sizeof(T)), cudaSuccess);
  }
  ~PinnedArray() { cudaFreeHost(data_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  T* data() const { return data_; }
  T& operator[](size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
};

}  // namespace emu::tests
