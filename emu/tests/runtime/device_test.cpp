// SPDX-License-Identifier: Apache-2.0
#include <climits>
#include <cstring>
#include <map>
#include <thread>

#include "tests/runtime/emulated.hpp"

namespace emu::tests {
namespace {

class Devices : public EmulatedTest {};

int attribute(cudaDeviceAttr which, int device) {
  int value = -1;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, which, device), cudaSuccess);
  return value;
}

TEST_F(Devices, AreCountedNamedAndChosenPerThread) {
  start("12.0,9.0");
  int count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_STREQ(properties.name, "Emulated 9.0 device 1");
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  int device = -1;
  std::thread([&] { cudaGetDevice(&device); }).join();
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 1);
}

TEST_F(Devices, RefuseWhatIsNotThere) {
  int value;
  cudaDeviceProp properties;
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  EXPECT_NE(std::string(emu_last_report()).find("device 2; there are 2"), std::string::npos);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 7), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 2), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(0), 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMax, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
}

TEST_F(Devices, PropertiesAgreeWithAttributes) {
  start("8.0,8.6,10.0:sms=6,12.1");
  for (int device = 0; device < 4; ++device) {
    cudaDeviceProp p;
    std::memset(&p, 0xAA, sizeof(p));  // every field is written
    ASSERT_EQ(cudaGetDeviceProperties(&p, device), cudaSuccess);
    EXPECT_EQ(p.major, attribute(cudaDevAttrComputeCapabilityMajor, device));
    EXPECT_EQ(p.minor, attribute(cudaDevAttrComputeCapabilityMinor, device));
    EXPECT_EQ(p.multiProcessorCount, attribute(cudaDevAttrMultiProcessorCount, device));
    EXPECT_EQ(p.sharedMemPerBlock, size_t(attribute(cudaDevAttrMaxSharedMemoryPerBlock, device)));
    EXPECT_EQ(p.sharedMemPerBlockOptin,
              size_t(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device)));
    EXPECT_EQ(p.sharedMemPerMultiprocessor,
              size_t(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device)));
    EXPECT_EQ(p.reservedSharedMemPerBlock, 1024u);
    EXPECT_EQ(p.maxThreadsPerMultiProcessor,
              attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device));
    EXPECT_EQ(p.maxBlocksPerMultiProcessor,
              attribute(cudaDevAttrMaxBlocksPerMultiprocessor, device));
    EXPECT_EQ(p.l2CacheSize, attribute(cudaDevAttrL2CacheSize, device));
    EXPECT_EQ(p.clusterLaunch, attribute(cudaDevAttrClusterLaunch, device));
    EXPECT_EQ(p.cooperativeLaunch, 1);
    EXPECT_EQ(p.unifiedAddressing, 1);
    EXPECT_EQ(p.memoryPoolsSupported, 1);
    EXPECT_EQ(p.warpSize, 32);
    EXPECT_EQ(p.maxThreadsPerBlock, 1024);
    EXPECT_EQ(p.maxGridSize[0], INT_MAX);
    EXPECT_EQ(p.maxGridSize[1], 65535);
    EXPECT_EQ(p.totalGlobalMem, size_t{8} << 30);
    EXPECT_EQ(p.managedMemory, attribute(cudaDevAttrManagedMemory, device));
    EXPECT_EQ(p.maxTexture1D, attribute(cudaDevAttrMaxTexture1DWidth, device));
    for (const int reserved : p.reserved) {
      EXPECT_EQ(reserved, 0);
    }
  }
  EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount, 2), 6);
}

TEST_F(Devices, VersionsKeepTemplateLibrariesFromPatchingTensorMaps) {
  int version = 0;
  EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, 13020);
  EXPECT_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, 13000);
}

TEST_F(Devices, PeersAreEnabledOnceAndDisabledOnce) {
  int can = -1;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 0), cudaSuccess);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

TEST_F(Devices, ErrorsHaveNamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaSuccess), "cudaSuccess");
  EXPECT_STREQ(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorIllegalAddress), "illegal address");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  cudaSetDevice(99);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(Devices, FunctionsThatAreNotEmulatedSaySo) {
  cudaArray_t array;
  const cudaChannelFormatDesc channel = {32, 0, 0, 0, cudaChannelFormatKindFloat};
  EXPECT_EQ(cudaMallocArray(&array, &channel, 8, 8, 0), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  EXPECT_NE(std::string(emu_last_report()).find("cudaMallocArray is not emulated"),
            std::string::npos);
}

TEST_F(Devices, WrongSettingsAreRefusedWithWhatIsAllowed) {
  EXPECT_EQ(emu_set_option("EMU_STREAMS", "lazy"), 1);
  EXPECT_NE(std::string(emu_last_report()).find("late, eager, random"), std::string::npos);
  EXPECT_EQ(emu_set_option("EMU_DEVICES", "13.0"), 1);
  EXPECT_EQ(emu_set_option("EMU_FAULT", "malloc:1@5"), 1);
  EXPECT_EQ(emu_set_option("EMU_PROTECT", "yes"), 1);
  EXPECT_EQ(emu_set_option("EMU_NOTHING", "1"), 1);
  EXPECT_EQ(emu_set_option(nullptr, "1"), 1);
}

}  // namespace
}  // namespace emu::tests
