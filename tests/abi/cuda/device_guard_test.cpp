// SPDX-License-Identifier: Apache-2.0
// DeviceGuard on a pretended machine with three devices: the runtime and driver functions that it
// calls are defined here, and count which devices have been given a context.
#include "cuda/host/device_guard.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace {

constexpr int kDevices = 3;

struct Machine {
  int chosen = 0;             // what cudaSetDevice said last
  std::vector<int> contexts;  // pushed and not popped, by device
  std::set<int> used;         // devices that have a context

  int current() const { return contexts.empty() ? chosen : contexts.back(); }
};
Machine g_machine;

CUresult device_get(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal < kDevices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult retain(CUcontext* context, CUdevice device) {
  g_machine.used.insert(device);
  *context = reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device + 1));
  return CUDA_SUCCESS;
}
CUresult push(CUcontext context) {
  g_machine.contexts.push_back(static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1);
  return CUDA_SUCCESS;
}
CUresult pop(CUcontext* context) {
  *context = nullptr;
  g_machine.contexts.pop_back();
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  *device = g_machine.current();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) {
    return cudaErrorInvalidDevice;
  }
  g_machine.chosen = device;
  g_machine.used.insert(device);
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const struct {
    const char* name;
    void* function;
  } kFunctions[] = {{"cuDeviceGet", reinterpret_cast<void*>(device_get)},
                    {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(retain)},
                    {"cuCtxPushCurrent", reinterpret_cast<void*>(push)},
                    {"cuCtxPopCurrent", reinterpret_cast<void*>(pop)}};
  *result = cudaDriverEntryPointSymbolNotFound;
  for (const auto& each : kFunctions) {
    if (std::strcmp(each.name, name) == 0) {
      *function = each.function;
      *result = cudaDriverEntryPointSuccess;
    }
  }
  return cudaSuccess;
}

}  // extern "C"

namespace mxgemm::cuda {
namespace {

class DeviceGuardTest : public testing::Test {
 protected:
  void SetUp() override { g_machine = Machine(); }
};

TEST_F(DeviceGuardTest, TheCurrentDeviceNeedsNothing) {
  const DeviceGuard guard(0);
  EXPECT_EQ(guard.result(), cudaSuccess);
  EXPECT_TRUE(g_machine.used.empty());
}

TEST_F(DeviceGuardTest, ADeviceThatWasNeverUsedGetsNoContext) {
  {
    const DeviceGuard guard(2);
    EXPECT_EQ(guard.result(), cudaSuccess);
    EXPECT_EQ(g_machine.current(), 2);
  }
  EXPECT_EQ(g_machine.current(), 0) << "the runtime's own choice is as it was";
  EXPECT_EQ(g_machine.used, (std::set<int>{2})) << "and has no context";
}

TEST_F(DeviceGuardTest, GuardsMayBeNested) {
  cudaSetDevice(1);
  {
    const DeviceGuard outer(2);
    {
      const DeviceGuard inner(1);
      EXPECT_EQ(g_machine.current(), 1);
    }
    EXPECT_EQ(g_machine.current(), 2);
  }
  EXPECT_EQ(g_machine.current(), 1);
  EXPECT_EQ(g_machine.used, (std::set<int>{1, 2}));
}

TEST_F(DeviceGuardTest, ADeviceThatIsNotThereIsTheRuntimesError) {
  {
    const DeviceGuard guard(kDevices);
    EXPECT_EQ(guard.result(), cudaErrorInvalidDevice);
  }
  EXPECT_EQ(g_machine.current(), 0);
  EXPECT_TRUE(g_machine.used.empty());
}

}  // namespace
}  // namespace mxgemm::cuda
