// SPDX-License-Identifier: Apache-2.0
#include "runtime/driver_context.hpp"

#include "runtime/session.hpp"

namespace emu::runtime {
namespace {

// A primary context is its device's number, marked.
constexpr uint64_t kMark = uint64_t{0x5C} << 56;

CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(kMark | static_cast<uint64_t>(device) << 4);
}

bool is_device(const Runtime& rt, int device) {
  return rt.configuration_error.empty() && device >= 0 &&
         static_cast<size_t>(device) < rt.devices.size();
}

// The device of a context; -1 for anything else.
int device_of(const Runtime& rt, CUcontext context) {
  for (size_t device = 0; device < rt.devices.size(); ++device) {
    if (context == context_of(static_cast<int>(device))) {
      return static_cast<int>(device);
    }
  }
  return -1;
}

}  // namespace

CUresult device_get(CUdevice* device, int ordinal) {
  Runtime& rt = process_runtime();
  const std::lock_guard<std::mutex> lock(rt.mutex);
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *device = ordinal;
  return is_device(rt, ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult primary_context_retain(CUcontext* context, CUdevice device) {
  Runtime& rt = process_runtime();
  const std::lock_guard<std::mutex> lock(rt.mutex);
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!is_device(rt, device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (rt.faults.is_lost(device)) {
    return CUDA_ERROR_DEVICE_UNAVAILABLE;
  }
  *context = context_of(device);
  return CUDA_SUCCESS;
}

CUresult primary_context_release(CUdevice device) {
  Runtime& rt = process_runtime();
  const std::lock_guard<std::mutex> lock(rt.mutex);
  return is_device(rt, device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult context_push(CUcontext context) {
  Runtime& rt = process_runtime();
  const std::lock_guard<std::mutex> lock(rt.mutex);
  const int device = device_of(rt, context);
  if (device < 0) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  ThreadState& thread = this_thread();
  thread.pushed_over.push_back(thread.device);
  thread.device = device;
  return CUDA_SUCCESS;
}

CUresult context_pop(CUcontext* context) {
  ThreadState& thread = this_thread();
  if (thread.pushed_over.empty()) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (context != nullptr) {
    *context = context_of(thread.device);
  }
  thread.device = thread.pushed_over.back();
  thread.pushed_over.pop_back();
  return CUDA_SUCCESS;
}

CUresult context_current(CUcontext* context) {
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *context = context_of(this_thread().device);
  return CUDA_SUCCESS;
}

}  // namespace emu::runtime
