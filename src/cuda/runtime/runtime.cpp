// SPDX-License-Identifier: Apache-2.0
// libmxgemm_cuda.so: what the core needs of the CUDA runtime. A library of its own, so that the
// core links nothing of CUDA and a machine without it gets a reason instead of a loader's error.
#include <cstring>

#include "cuda/host/cuda_status.hpp"
#include "mxgemm/version.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
namespace {

// How the core numbers the host.
constexpr int32_t kHost = -1;

// The result of a runtime call as a status. A failure also stays behind as the thread's last error;
// forgotten here, it is not found again by the next launch.
int32_t result_of(cudaError_t result, const char* what, mxgemm_message error) {
  if (result != cudaSuccess) {
    cudaGetLastError();
  }
  return check(result, what, error);
}

// Runs `call` with `device` current.
template <typename Call>
int32_t on_device(int32_t device, const char* what, mxgemm_message error, const Call& call) {
  const DeviceGuard guard(device);
  if (guard.result() != cudaSuccess) {
    return result_of(guard.result(), "cudaSetDevice", error);
  }
  return result_of(call(), what, error);
}

int32_t device_count(int32_t* count, mxgemm_message error) {
  *count = 0;
  const int32_t status = result_of(cudaGetDeviceCount(count), "cudaGetDeviceCount", error);
  return status == MXGEMM_OK ? MXGEMM_OK : MXGEMM_DEVICE_UNAVAILABLE;
}

struct Attribute {
  cudaDeviceAttr attribute;
  int value;
};

// By attributes and not by cudaSetDevice: asking makes no context.
int32_t device_info(int32_t device, mxgemm_cuda_device* info, mxgemm_message error) {
  Attribute attributes[] = {
      {cudaDevAttrComputeCapabilityMajor, 0},       {cudaDevAttrComputeCapabilityMinor, 0},
      {cudaDevAttrMultiProcessorCount, 0},          {cudaDevAttrPageableMemoryAccess, 0},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 0}, {cudaDevAttrL2CacheSize, 0}};
  for (Attribute& each : attributes) {
    const int32_t status = result_of(cudaDeviceGetAttribute(&each.value, each.attribute, device),
                                     "cudaDeviceGetAttribute", error);
    if (status != MXGEMM_OK) {
      return status;
    }
  }
  cudaDeviceProp properties;
  const int32_t status =
      result_of(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties", error);
  if (status != MXGEMM_OK) {
    return status;
  }
  info->capability = 10 * attributes[0].value + attributes[1].value;
  info->multiprocessors = attributes[2].value;
  info->pageable_memory_access = attributes[3].value;
  info->shared_memory_bytes = static_cast<uint64_t>(attributes[4].value);
  info->l2_bytes = static_cast<uint64_t>(attributes[5].value);
  info->memory_bytes = properties.totalGlobalMem;
  std::strncpy(info->name, properties.name, sizeof(info->name) - 1);
  info->name[sizeof(info->name) - 1] = '\0';
  return MXGEMM_OK;
}

int32_t alloc(int32_t device, uint64_t bytes, void** pointer, mxgemm_message error) {
  *pointer = nullptr;
  return on_device(device, "cudaMalloc", error, [&] { return cudaMalloc(pointer, bytes); });
}

int32_t free_memory(int32_t device, void* pointer, mxgemm_message error) {
  return on_device(device, "cudaFree", error, [&] { return cudaFree(pointer); });
}

cudaMemcpyKind copy_kind(int32_t dst_device, int32_t src_device) {
  if (dst_device == kHost) {
    return cudaMemcpyDeviceToHost;
  }
  return src_device == kHost ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
}

int32_t copy(int32_t dst_device, void* dst, int32_t src_device, const void* src, uint64_t bytes,
             void* stream, mxgemm_message error) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const bool is_peer = dst_device != kHost && src_device != kHost && dst_device != src_device;
  return on_device(dst_device == kHost ? src_device : dst_device, "the copy", error, [&] {
    const cudaError_t started =
        is_peer ? cudaMemcpyPeerAsync(dst, dst_device, src, src_device, bytes, cuda_stream)
                : cudaMemcpyAsync(dst, src, bytes, copy_kind(dst_device, src_device), cuda_stream);
    return started != cudaSuccess ? started : cudaStreamSynchronize(cuda_stream);
  });
}

int32_t synchronize(int32_t device, mxgemm_message error) {
  return on_device(device, "cudaDeviceSynchronize", error, [] { return cudaDeviceSynchronize(); });
}

int32_t stream_create(int32_t device, void** stream, mxgemm_message error) {
  *stream = nullptr;
  // Not tied to the default stream: no hidden waits, and nothing that breaks a capture.
  return on_device(device, "cudaStreamCreateWithFlags", error, [&] {
    return cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream),
                                     cudaStreamNonBlocking);
  });
}

int32_t stream_destroy(int32_t device, void* stream, mxgemm_message error) {
  return on_device(device, "cudaStreamDestroy", error,
                   [&] { return cudaStreamDestroy(static_cast<cudaStream_t>(stream)); });
}

int32_t event_create(int32_t device, void** event, mxgemm_message error) {
  *event = nullptr;
  return on_device(device, "cudaEventCreate", error,
                   [&] { return cudaEventCreate(reinterpret_cast<cudaEvent_t*>(event)); });
}

int32_t event_record(int32_t device, void* event, void* stream, mxgemm_message error) {
  return on_device(device, "cudaEventRecord", error, [&] {
    return cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream));
  });
}

int32_t event_elapsed(int32_t device, void* start, void* end, float* milliseconds,
                      mxgemm_message error) {
  return on_device(device, "cudaEventElapsedTime", error, [&] {
    const auto last = static_cast<cudaEvent_t>(end);
    const cudaError_t waited = cudaEventSynchronize(last);
    return waited != cudaSuccess
               ? waited
               : cudaEventElapsedTime(milliseconds, static_cast<cudaEvent_t>(start), last);
  });
}

int32_t event_destroy(int32_t device, void* event, mxgemm_message error) {
  return on_device(device, "cudaEventDestroy", error,
                   [&] { return cudaEventDestroy(static_cast<cudaEvent_t>(event)); });
}

mxgemm_cuda_memory memory_of(cudaMemoryType type) {
  switch (type) {
    case cudaMemoryTypeHost:
      return MXGEMM_CUDA_MEMORY_PINNED;
    case cudaMemoryTypeDevice:
      return MXGEMM_CUDA_MEMORY_DEVICE;
    case cudaMemoryTypeManaged:
      return MXGEMM_CUDA_MEMORY_MANAGED;
    case cudaMemoryTypeUnregistered:
      break;
  }
  return MXGEMM_CUDA_MEMORY_PAGEABLE;
}

int32_t query_pointers(int32_t device, mxgemm_cuda_pointer* pointers, int32_t count,
                       mxgemm_message error) {
  return on_device(device, "cudaPointerGetAttributes", error, [&] {
    for (int32_t index = 0; index < count; ++index) {
      cudaPointerAttributes attributes{};
      const cudaError_t result = cudaPointerGetAttributes(&attributes, pointers[index].pointer);
      if (result != cudaSuccess) {
        return result;
      }
      pointers[index].memory = memory_of(attributes.type);
      pointers[index].device = attributes.device;
    }
    return cudaSuccess;
  });
}

void clear_error() {
  cudaGetLastError();
}

constexpr mxgemm_cuda_runtime_table kTable = {MXGEMM_PLUGIN_ABI_VERSION,
                                              sizeof(mxgemm_cuda_runtime_table),
                                              MXGEMM_VERSION_STRING,
                                              MXGEMM_BUILD_INFO,
                                              device_count,
                                              device_info,
                                              alloc,
                                              free_memory,
                                              copy,
                                              synchronize,
                                              stream_create,
                                              stream_destroy,
                                              event_create,
                                              event_record,
                                              event_elapsed,
                                              event_destroy,
                                              query_pointers,
                                              clear_error};

}  // namespace
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda

extern "C" __attribute__((visibility("default"))) const mxgemm_cuda_runtime_table*
mxgemm_cuda_runtime() {
  return &mxgemm::cuda::kTable;
}
