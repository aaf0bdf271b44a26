// SPDX-License-Identifier: Apache-2.0
// Errors inside of kernels, images that do not fit, functions that nobody registered.
#include "tests/runtime/emulated.hpp"
#include "tests/runtime/kernels.hpp"

extern "C" const void* only_on_90_kernel(void);

// As a wrong template argument leaves it: a function that looks like a kernel's stub.
__attribute__((noinline)) void never_registered(int* out) {
  asm volatile("" ::"r"(out));
}

namespace emu::tests {
namespace {

class KernelFaults : public EmulatedTest {
 protected:
  template <typename... Arguments>
  static cudaError_t launch(void (*kernel)(Arguments...), Arguments... values) {
    void* arguments[] = {static_cast<void*>(&values)..., nullptr};
    return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(32), arguments, 0,
                            nullptr);
  }
  static std::string last_report() { return emu_last_report(); }

  // The launch succeeds, the next wait and every later call say `error`, another device works.
  static void expect_sticky(cudaError_t launched, cudaError_t error) {
    ASSERT_EQ(launched, cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), error);
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, 4), error);
    EXPECT_EQ(cudaGetLastError(), error);
    EXPECT_EQ(cudaGetLastError(), error);
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
    cudaFree(pointer);
    EXPECT_EQ(counters().faults, faults_before_ + 1);
  }
  void SetUp() override {
    EmulatedTest::SetUp();
    faults_before_ = counters().faults;
  }
  static inline uint64_t faults_before_ = 0;
};

TEST_F(KernelFaults, AddressesOutsideOfEveryAllocation) {
  DeviceArray<int> data(4);
  expect_sticky(launch(write_beyond, data.data(), 5), cudaErrorIllegalAddress);
  EXPECT_NE(last_report().find("write_beyond"), std::string::npos) << last_report();
}

TEST_F(KernelFaults, FreedMemory) {
  int* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&pointer), 64), cudaSuccess);
  ASSERT_EQ(cudaFree(pointer), cudaSuccess);
  expect_sticky(launch(write_beyond, pointer, 0), cudaErrorIllegalAddress);
}

TEST_F(KernelFaults, HostMemoryThatIsNotPinned) {
  int local = 0;
  expect_sticky(launch(write_beyond, &local, 0), cudaErrorIllegalAddress);
}

TEST_F(KernelFaults, PinnedMemoryIsNoFault) {
  PinnedArray<int> pinned(1);
  ASSERT_EQ(launch(write_beyond, pinned.data(), 0), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(pinned[0], 1);
}

TEST_F(KernelFaults, MemoryOfAnotherDeviceUnlessItIsAPeer) {
  DeviceArray<int> data(4);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
  ASSERT_EQ(launch(write_beyond, data.data(), 1), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(data.get()[1], 1);
  ASSERT_EQ(cudaDeviceDisablePeerAccess(0), cudaSuccess);
  ASSERT_EQ(launch(write_beyond, data.data(), 1), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

TEST_F(KernelFaults, MisalignedAddresses) {
  DeviceArray<char> data(16);
  expect_sticky(launch(write_misaligned, data.data()), cudaErrorMisalignedAddress);
}

TEST_F(KernelFaults, Traps) {
  expect_sticky(launch(trap), cudaErrorLaunchFailure);
}

TEST_F(KernelFaults, Assertions) {
  expect_sticky(launch(fail_assertion, 1), cudaErrorAssert);
  EXPECT_NE(last_report().find("value == 0"), std::string::npos) << last_report();
}

TEST_F(KernelFaults, Deadlocks) {
  DeviceArray<int> out(1);
  expect_sticky(launch(wait_for_nobody, out.data()), cudaErrorLaunchTimeout);
}

TEST_F(KernelFaults, WhatFollowsInTheStreamDoesNotRun) {
  DeviceArray<int> data(4);
  data.set({5, 5, 5, 5});
  PinnedArray<int> back(1);
  back[0] = -1;
  ASSERT_EQ(launch(trap), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(back.data(), data.data(), 4, cudaMemcpyDeviceToHost, nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorLaunchFailure);
  EXPECT_EQ(back[0], -1);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(KernelFaults, InjectedOnesOfLaunches) {
  DeviceArray<int> total(1);
  total.set({0});
  set_option("EMU_FAULT", "launch-once:2");
  EXPECT_EQ(launch(count_up, total.data()), cudaSuccess);
  EXPECT_EQ(launch(count_up, total.data()), cudaErrorLaunchOutOfResources);
  EXPECT_EQ(launch(count_up, total.data()), cudaSuccess);
  EXPECT_EQ(total.get()[0], 64);
  set_option("EMU_FAULT", "launch:1");
  EXPECT_EQ(launch(count_up, total.data()), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(launch(count_up, total.data()), cudaErrorLaunchFailure);
}

TEST_F(KernelFaults, FunctionsThatNobodyRegistered) {
  const auto function = reinterpret_cast<const void*>(never_registered);
  EXPECT_EQ(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, 100),
            cudaErrorInvalidResourceHandle);
  EXPECT_NE(last_report().find("passes the function"), std::string::npos) << last_report();
  EXPECT_NE(last_report().find("symbol never_registered(int*)"), std::string::npos)
      << last_report();
  EXPECT_NE(last_report().find("no library has registered"), std::string::npos);
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, function), cudaErrorInvalidResourceHandle);
  int count = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, function, 32, 0),
            cudaErrorInvalidResourceHandle);
  DeviceArray<int> out(1);
  EXPECT_EQ(launch(never_registered, out.data()), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

struct ImageCase {
  const char* device;
  int image;
};

TEST_F(KernelFaults, EveryDeviceRunsItsImage) {
  // 1000 more: exactly this architecture; 2000: its family.
  for (const ImageCase& each : {ImageCase{"8.0", 80},
                                {"8.6", 80},
                                {"8.9", 80},
                                {"9.0", 1090},
                                {"10.0", 90},
                                {"10.3", 90},
                                {"12.0", 2120},
                                {"12.1", 2120}}) {
    start(each.device);
    DeviceArray<int> out(1);
    ASSERT_EQ(launch(which_image, out.data()), cudaSuccess) << each.device;
    EXPECT_EQ(out.get()[0], each.image) << each.device;
  }
}

TEST_F(KernelFaults, AForcedImageMustRunOnTheDevice) {
  start("9.0");
  set_option("EMU_IMAGE", "sm_80");
  DeviceArray<int> out(1);
  ASSERT_EQ(launch(which_image, out.data()), cudaSuccess);
  EXPECT_EQ(out.get()[0], 80);
  start("10.0");
  set_option("EMU_IMAGE", "sm_90a");
  EXPECT_EQ(launch(which_image, out.data()), cudaErrorNoKernelImageForDevice);
  set_option("EMU_IMAGE", "");
}

TEST_F(KernelFaults, AnExactImageRunsNowhereElse) {
  int* pointer = nullptr;
  void* arguments[] = {&pointer};
  for (const char* device : {"8.6", "10.0", "12.0"}) {
    start(device);
    EXPECT_EQ(cudaLaunchKernel(only_on_90_kernel(), dim3(1), dim3(1), arguments, 0, nullptr),
              cudaErrorNoKernelImageForDevice);
    EXPECT_NE(last_report().find("PTX for sm_90a"), std::string::npos) << last_report();
  }
  start("9.0");
  DeviceArray<int> out(1);
  pointer = out.data();
  ASSERT_EQ(cudaLaunchKernel(only_on_90_kernel(), dim3(1), dim3(1), arguments, 0, nullptr),
            cudaSuccess);
  EXPECT_EQ(out.get()[0], 90);
}

}  // namespace
}  // namespace emu::tests
