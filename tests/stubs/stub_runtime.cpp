// SPDX-License-Identifier: Apache-2.0
// libmxgemm_cuda.so without CUDA: devices of the environment variable STUB_DEVICES ("12.0,9.0"),
// whose memory is host memory that remembers its device. STUB_PAGEABLE makes them reach host
// memory.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

namespace {

struct Allocation {
  uint64_t bytes;
  int32_t device;
};

std::mutex mutex;
std::map<uintptr_t, Allocation> allocations;
std::atomic<int> clears{0};
std::atomic<int> copies{0};
std::atomic<int> synchronizes{0};
std::atomic<int64_t> ticks{0};

int32_t fail(mxgemm_message error, int32_t status, const char* text) {
  std::snprintf(error.text, error.capacity, "%s", text);
  return status;
}

// "12.0" at index `device` of STUB_DEVICES; 0 if there is none.
int32_t capability_of(int32_t device) {
  const char* text = std::getenv("STUB_DEVICES");
  for (int32_t index = 0; text != nullptr && *text != '\0'; ++index) {
    char* end = nullptr;
    const auto major = static_cast<int32_t>(std::strtol(text, &end, 10));
    const auto minor = static_cast<int32_t>(std::strtol(end + 1, &end, 10));
    if (index == device) {
      return 10 * major + minor;
    }
    text = *end == ',' ? end + 1 : end;
  }
  return 0;
}

int32_t device_count(int32_t* count, mxgemm_message error) {
  *count = 0;
  while (capability_of(*count) != 0) {
    ++*count;
  }
  return *count > 0 ? MXGEMM_OK
                    : fail(error, MXGEMM_DEVICE_UNAVAILABLE,
                           "stub: cudaGetDeviceCount failed: cudaErrorNoDevice (none)");
}

int32_t device_info(int32_t device, mxgemm_cuda_device* info, mxgemm_message) {
  info->capability = capability_of(device);
  info->multiprocessors = 100 + device;
  info->pageable_memory_access = std::getenv("STUB_PAGEABLE") != nullptr ? 1 : 0;
  info->memory_bytes = uint64_t{1} << 34;
  info->shared_memory_bytes = 101376;
  info->l2_bytes = uint64_t{1} << 20;
  std::snprintf(info->name, sizeof(info->name), "stub device %d", device);
  return MXGEMM_OK;
}

int32_t alloc(int32_t device, uint64_t bytes, void** pointer, mxgemm_message error) {
  if (bytes > uint64_t{1} << 34) {
    return fail(error, MXGEMM_OUT_OF_MEMORY, "stub: cudaMalloc failed: cudaErrorMemoryAllocation");
  }
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  const std::lock_guard<std::mutex> lock(mutex);
  allocations[reinterpret_cast<uintptr_t>(*pointer)] = {bytes, device};
  return MXGEMM_OK;
}

int32_t free_memory(int32_t, void* pointer, mxgemm_message error) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (allocations.erase(reinterpret_cast<uintptr_t>(pointer)) == 0) {
    return fail(error, MXGEMM_CUDA_ERROR, "stub: cudaFree failed: cudaErrorInvalidValue");
  }
  std::free(pointer);
  return MXGEMM_OK;
}

int32_t copy(int32_t, void* dst, int32_t, const void* src, uint64_t bytes, void*, mxgemm_message) {
  ++copies;
  std::memcpy(dst, src, bytes);
  return MXGEMM_OK;
}

int32_t synchronize(int32_t, mxgemm_message) {
  ++synchronizes;
  return MXGEMM_OK;
}

int32_t handle_create(int32_t, void** handle, mxgemm_message) {
  *handle = new int64_t(-1);
  return MXGEMM_OK;
}

int32_t handle_destroy(int32_t, void* handle, mxgemm_message) {
  delete static_cast<int64_t*>(handle);
  return MXGEMM_OK;
}

int32_t event_record(int32_t, void* event, void*, mxgemm_message) {
  *static_cast<int64_t*>(event) = ++ticks;
  return MXGEMM_OK;
}

int32_t event_elapsed(int32_t, void* start, void* end, float* milliseconds, mxgemm_message) {
  *milliseconds = static_cast<float>(*static_cast<int64_t*>(end) - *static_cast<int64_t*>(start));
  return MXGEMM_OK;
}

int32_t query_pointers(int32_t, mxgemm_cuda_pointer* pointers, int32_t count, mxgemm_message) {
  const std::lock_guard<std::mutex> lock(mutex);
  for (int32_t index = 0; index < count; ++index) {
    const auto address = reinterpret_cast<uintptr_t>(pointers[index].pointer);
    auto found = allocations.upper_bound(address);
    pointers[index].memory = MXGEMM_CUDA_MEMORY_PAGEABLE;
    if (found != allocations.begin() && address - (--found)->first < found->second.bytes) {
      pointers[index].memory = MXGEMM_CUDA_MEMORY_DEVICE;
      pointers[index].device = found->second.device;
    }
  }
  return MXGEMM_OK;
}

void clear_error() {
  ++clears;
}

const mxgemm_cuda_runtime_table kTable = {MXGEMM_PLUGIN_ABI_VERSION,
                                          sizeof(mxgemm_cuda_runtime_table),
                                          MXGEMM_VERSION_STRING,
                                          "stub runtime",
                                          device_count,
                                          device_info,
                                          alloc,
                                          free_memory,
                                          copy,
                                          synchronize,
                                          handle_create,
                                          handle_destroy,
                                          handle_create,
                                          event_record,
                                          event_elapsed,
                                          handle_destroy,
                                          query_pointers,
                                          clear_error};

}  // namespace

#if defined(STUB_ABSENT)
extern "C" int stub_absent();
#endif

extern "C" {

const mxgemm_cuda_runtime_table* mxgemm_cuda_runtime() {
#if defined(STUB_ABSENT)
  stub_absent();
#endif
  return &kTable;
}

int stub_clears() {
  return clears;
}
int stub_copies() {
  return copies;
}
int stub_synchronizes() {
  return synchronizes;
}
}
