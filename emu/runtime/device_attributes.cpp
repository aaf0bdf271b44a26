// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_attributes.hpp"

#include <climits>
#include <cstring>

namespace emu::runtime {
namespace {

constexpr int kMaxGridX = INT_MAX;
constexpr int kMaxGridYz = 65535;
constexpr int kConstantBytes = 65536;
constexpr int kTextureAlignment = 512;
constexpr int kTexturePitchAlignment = 32;

// Attributes whose value differs between devices.
std::optional<int> varying(const DeviceSpec& spec, int index, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      return spec.multiprocessors;
    case cudaDevAttrL2CacheSize:
      return spec.l2_bytes;
    case cudaDevAttrMaxPersistingL2CacheSize:
      return spec.l2_bytes / 2;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return spec.threads_per_multiprocessor;
    case cudaDevAttrComputeCapabilityMajor:
      return spec.major();
    case cudaDevAttrComputeCapabilityMinor:
      return spec.minor();
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return spec.shared_per_multiprocessor;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return spec.shared_per_block_optin;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return spec.blocks_per_multiprocessor;
    case cudaDevAttrClusterLaunch:
      return spec.cluster_launch ? 1 : 0;
    case cudaDevAttrPciBusId:
    case cudaDevAttrMultiGpuBoardGroupID:
      return index;
    default:
      return std::nullopt;
  }
}

std::optional<int> limit(cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      return kMaxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimZ:
      return 64;
    case cudaDevAttrMaxGridDimX:
      return kMaxGridX;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return kMaxGridYz;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return kSharedPerBlock;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return kReservedSharedPerBlock;
    case cudaDevAttrTotalConstantMemory:
      return kConstantBytes;
    case cudaDevAttrWarpSize:
      return kWarpSize;
    case cudaDevAttrMaxPitch:
    case cudaDevAttrMaxAccessPolicyWindowSize:
      return INT_MAX;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return kRegistersPerBlock;
    case cudaDevAttrTextureAlignment:
    case cudaDevAttrSurfaceAlignment:
      return kTextureAlignment;
    case cudaDevAttrTexturePitchAlignment:
      return kTexturePitchAlignment;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      return 1000000;  // kHz: round, so that nobody takes it for a measurement
    case cudaDevAttrGlobalMemoryBusWidth:
      return 512;
    case cudaDevAttrAsyncEngineCount:
      return 2;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      return 2;
    case cudaDevAttrMemSyncDomainCount:
      return 1;
    case cudaDevAttrNumaId:
    case cudaDevAttrHostNumaId:
      return -1;
    default:
      return std::nullopt;
  }
}

bool is_supported(cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
      return true;
    default:
      return false;  // textures, surfaces, managed memory, IPC, NUMA and the like are not emulated
  }
}

void fill_memory(const DeviceSpec& spec, int index, cudaDeviceProp* p) {
  const auto get = [&](cudaDeviceAttr attribute) {
    return device_attribute(spec, index, attribute).value_or(0);
  };
  const auto size = [&](cudaDeviceAttr attribute) { return static_cast<size_t>(get(attribute)); };
  p->totalGlobalMem = spec.memory_bytes;
  p->sharedMemPerBlock = size(cudaDevAttrMaxSharedMemoryPerBlock);
  p->memPitch = size(cudaDevAttrMaxPitch);
  p->totalConstMem = size(cudaDevAttrTotalConstantMemory);
  p->textureAlignment = size(cudaDevAttrTextureAlignment);
  p->texturePitchAlignment = size(cudaDevAttrTexturePitchAlignment);
  p->surfaceAlignment = size(cudaDevAttrSurfaceAlignment);
  p->memoryBusWidth = get(cudaDevAttrGlobalMemoryBusWidth);
  p->l2CacheSize = get(cudaDevAttrL2CacheSize);
  p->persistingL2CacheMaxSize = get(cudaDevAttrMaxPersistingL2CacheSize);
  p->sharedMemPerMultiprocessor = size(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  p->sharedMemPerBlockOptin = size(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  p->reservedSharedMemPerBlock = size(cudaDevAttrReservedSharedMemoryPerBlock);
  p->accessPolicyMaxWindowSize = get(cudaDevAttrMaxAccessPolicyWindowSize);
  p->canMapHostMemory = get(cudaDevAttrCanMapHostMemory);
  p->canUseHostPointerForRegisteredMem = get(cudaDevAttrCanUseHostPointerForRegisteredMem);
  p->hostRegisterSupported = get(cudaDevAttrHostRegisterSupported);
  p->memoryPoolsSupported = get(cudaDevAttrMemoryPoolsSupported);
  p->unifiedAddressing = get(cudaDevAttrUnifiedAddressing);
}

void fill_execution(const DeviceSpec& spec, int index, cudaDeviceProp* p) {
  const auto get = [&](cudaDeviceAttr attribute) {
    return device_attribute(spec, index, attribute).value_or(0);
  };
  p->regsPerBlock = get(cudaDevAttrMaxRegistersPerBlock);
  p->regsPerMultiprocessor = get(cudaDevAttrMaxRegistersPerMultiprocessor);
  p->warpSize = get(cudaDevAttrWarpSize);
  p->maxThreadsPerBlock = get(cudaDevAttrMaxThreadsPerBlock);
  p->maxThreadsDim[0] = get(cudaDevAttrMaxBlockDimX);
  p->maxThreadsDim[1] = get(cudaDevAttrMaxBlockDimY);
  p->maxThreadsDim[2] = get(cudaDevAttrMaxBlockDimZ);
  p->maxGridSize[0] = get(cudaDevAttrMaxGridDimX);
  p->maxGridSize[1] = get(cudaDevAttrMaxGridDimY);
  p->maxGridSize[2] = get(cudaDevAttrMaxGridDimZ);
  p->major = get(cudaDevAttrComputeCapabilityMajor);
  p->minor = get(cudaDevAttrComputeCapabilityMinor);
  p->multiProcessorCount = get(cudaDevAttrMultiProcessorCount);
  p->maxThreadsPerMultiProcessor = get(cudaDevAttrMaxThreadsPerMultiProcessor);
  p->maxBlocksPerMultiProcessor = get(cudaDevAttrMaxBlocksPerMultiprocessor);
  p->concurrentKernels = get(cudaDevAttrConcurrentKernels);
  p->asyncEngineCount = get(cudaDevAttrAsyncEngineCount);
  p->streamPrioritiesSupported = get(cudaDevAttrStreamPrioritiesSupported);
  p->globalL1CacheSupported = get(cudaDevAttrGlobalL1CacheSupported);
  p->localL1CacheSupported = get(cudaDevAttrLocalL1CacheSupported);
  p->computePreemptionSupported = get(cudaDevAttrComputePreemptionSupported);
  p->cooperativeLaunch = get(cudaDevAttrCooperativeLaunch);
  p->clusterLaunch = get(cudaDevAttrClusterLaunch);
  p->pciBusID = get(cudaDevAttrPciBusId);
  p->multiGpuBoardGroupID = get(cudaDevAttrMultiGpuBoardGroupID);
  p->deviceNumaId = get(cudaDevAttrNumaId);
  p->hostNumaId = get(cudaDevAttrHostNumaId);
}

}  // namespace

std::optional<int> device_attribute(const DeviceSpec& spec, int index, cudaDeviceAttr attribute) {
  const int number = static_cast<int>(attribute);
  if (number < cudaDevAttrMaxThreadsPerBlock || number >= cudaDevAttrMax) {
    return std::nullopt;
  }
  if (const std::optional<int> value = varying(spec, index, attribute)) {
    return value;
  }
  if (const std::optional<int> value = limit(attribute)) {
    return value;
  }
  return is_supported(attribute) ? 1 : 0;
}

cudaDeviceProp device_properties(const DeviceSpec& spec, int index) {
  cudaDeviceProp properties;
  std::memset(&properties, 0, sizeof(properties));
  const std::string name = spec.name(index);
  std::memcpy(properties.name, name.c_str(), name.size() + 1);
  // Any sixteen bytes that differ between the devices.
  std::memcpy(properties.uuid.bytes, "emulated device", 15);
  properties.uuid.bytes[15] = static_cast<char>(index);
  fill_memory(spec, index, &properties);
  fill_execution(spec, index, &properties);
  return properties;
}

}  // namespace emu::runtime
