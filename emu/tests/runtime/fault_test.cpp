// SPDX-License-Identifier: Apache-2.0
// EMU_FAULT through the API; launches are in kernel_test.cpp.
#include "tests/runtime/emulated.hpp"

namespace emu::tests {
namespace {

class Faults : public EmulatedTest {};

TEST_F(Faults, TheNthAllocationFailsAndOnlyThat) {
  set_option("EMU_FAULT", "malloc:2");
  void* first = nullptr;
  void* second = &second;
  EXPECT_EQ(cudaMalloc(&first, 4), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 4), cudaErrorMemoryAllocation);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 4), cudaSuccess);
  EXPECT_EQ(cudaFree(first), cudaSuccess);
  EXPECT_EQ(cudaFree(second), cudaSuccess);
}

TEST_F(Faults, AFailedCopyIsStickyOnItsDeviceAlone) {
  set_option("EMU_FAULT", "memcpy:1@0");
  DeviceArray<int> device(1);
  int host = 0;
  EXPECT_EQ(cudaMemcpy(device.data(), &host, 4, cudaMemcpyHostToDevice), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaMemcpy(device.data(), &host, 4, cudaMemcpyHostToDevice), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(pointer, &host, 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
}

TEST_F(Faults, ALostDeviceStillSaysWhatItIs) {
  set_option("EMU_FAULT", "lost@1");
  int count = 0;
  int value = 0;
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorDevicesUnavailable);
  EXPECT_EQ(cudaGetDevice(&value), cudaSuccess);
  EXPECT_EQ(value, 0);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
  cudaFree(pointer);
}

TEST_F(Faults, EverythingFailsOnALostDeviceFromTheStartOn) {
  set_option("EMU_FAULT", "lost");
  void* pointer = nullptr;
  cudaStream_t stream;
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorDevicesUnavailable);
  EXPECT_EQ(cudaStreamCreate(&stream), cudaErrorDevicesUnavailable);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorDevicesUnavailable);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorDevicesUnavailable);
}

TEST_F(Faults, AResetCountsAnew) {
  set_option("EMU_FAULT", "malloc:1");
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
  ASSERT_EQ(emu_reset(), 0);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorMemoryAllocation);
}

}  // namespace
}  // namespace emu::tests
