// SPDX-License-Identifier: Apache-2.0
// Makes a device current and, at the end, what was current before.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// The driver's functions on contexts, asked of the runtime: nothing of ours links the driver.
struct ContextFunctions {
  CUresult (*device_get)(CUdevice* device, int ordinal) = nullptr;
  CUresult (*retain)(CUcontext* context, CUdevice device) = nullptr;
  CUresult (*push)(CUcontext context) = nullptr;
  CUresult (*pop)(CUcontext* context) = nullptr;

  bool are_complete() const { return device_get && retain && push && pop; }

  static const ContextFunctions& get() {
    static const ContextFunctions functions = [] {
      ContextFunctions found;
      look_up("cuDeviceGet", &found.device_get);
      look_up("cuDevicePrimaryCtxRetain", &found.retain);
      look_up("cuCtxPushCurrent", &found.push);
      look_up("cuCtxPopCurrent", &found.pop);
      return found;
    }();
    return functions;
  }

 private:
  template <typename Function>
  static void look_up(const char* name, Function* function) {
    constexpr unsigned kVersion = 12000;  // these functions have not changed since
    void* address = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    if (cudaGetDriverEntryPointByVersion(name, &address, kVersion, cudaEnableDefault, &result) ==
            cudaSuccess &&
        result == cudaDriverEntryPointSuccess) {
      *function = reinterpret_cast<Function>(address);
    }
  }
};

// In a process that has not used device 0 yet the runtime still calls it current: setting it again
// would make a context there, hundreds of MiB for nothing. So another device's context is pushed
// and popped, which leaves the thread as it was, a thread without any context included.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    result_ = cudaGetDevice(&previous_);
    if (result_ == cudaSuccess && previous_ != device) {
      enter(device);
    }
  }
  ~DeviceGuard() {
    if (state_ == State::kPushed) {
      CUcontext popped = nullptr;
      ContextFunctions::get().pop(&popped);
    } else if (state_ == State::kSet) {
      cudaSetDevice(previous_);
    }
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  cudaError_t result() const { return result_; }

 private:
  enum class State { kUntouched, kPushed, kSet };

  void enter(int device) {
    const ContextFunctions& driver = ContextFunctions::get();
    CUdevice handle = 0;
    CUcontext context = nullptr;
    // Retained and not released: the runtime, too, keeps a primary context to the end of the
    // process.
    if (driver.are_complete() && driver.device_get(&handle, device) == CUDA_SUCCESS &&
        driver.retain(&context, handle) == CUDA_SUCCESS && driver.push(context) == CUDA_SUCCESS) {
      state_ = State::kPushed;
      return;
    }
    result_ = cudaSetDevice(device);  // it names what is wrong with the device
    state_ = result_ == cudaSuccess ? State::kSet : State::kUntouched;
  }

  cudaError_t result_ = cudaSuccess;
  int previous_ = 0;
  State state_ = State::kUntouched;
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
