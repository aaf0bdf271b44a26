// SPDX-License-Identifier: Apache-2.0
#include "abi/cuda/recorder.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Stub {
  std::string kernel;
  std::string registered_by;  // file of the library whose fat binary it belongs to
  int times = 0;
};

struct FatBinary {
  std::string library;
};

struct Recorder {
  std::mutex mutex;
  std::map<const void*, Stub> stubs;
  std::vector<FatBinary*> fat_binaries;
  std::string expected_library;
  std::string faults;
  std::string report;
  std::string failing_call;
  int shared_memory_limit = 0;
  cudaError_t last_error = cudaSuccess;
  int launches = 0;
};

Recorder& recorder() {
  static auto* const instance = new Recorder;  // outlives the libraries' unregistering at exit
  return *instance;
}

std::string library_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "nowhere";
}

// `caller` lies in the library that makes the call.
void note_use(const void* address, const char* call, const void* caller) {
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  const std::string& expected = recorder().expected_library;
  const std::string calling_library = expected.empty() ? library_of(caller) : expected;
  const auto found = recorder().stubs.find(address);
  if (found == recorder().stubs.end()) {
    recorder().faults +=
        std::string(call) + ": " + calling_library +
        " passes a function that was never registered (a real runtime: invalid resource handle)\n";
  } else if (found->second.registered_by != calling_library) {
    recorder().faults += std::string(call) + ": " + calling_library + " passes " +
                         found->second.kernel + ", which " + found->second.registered_by +
                         " registered\n";
  }
}

// What `call` returns: success, or what mxgemm_recorder_fail() asked for.
cudaError_t outcome(const char* call) {
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  if (recorder().failing_call != call) {
    return cudaSuccess;
  }
  recorder().last_error = cudaErrorInvalidResourceHandle;
  return cudaErrorInvalidResourceHandle;
}

cudaError_t launch() {
  const cudaError_t result = outcome("launch");
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  recorder().launches += result == cudaSuccess ? 1 : 0;
  return result;
}

thread_local struct {
  dim3 grid;
  dim3 cta;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
} g_configuration;

CUresult encode_nothing() {
  return CUDA_SUCCESS;
}

}  // namespace

void mxgemm_recorder_expect(const char* library) {
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  recorder().expected_library = library;
}

void mxgemm_recorder_fail(const char* call) {
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  recorder().failing_call = call;
}

void mxgemm_recorder_limit_shared_memory(int bytes) {
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  recorder().shared_memory_limit = bytes;
}

int mxgemm_recorder_launches(void) {
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  return recorder().launches;
}

const char* mxgemm_recorder_faults(void) {
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  recorder().report = recorder().faults;
  return recorder().report.c_str();
}

extern "C" {

// ---- What nvcc's generated code calls
// ---------------------------------------------------------------------------------

void** __cudaRegisterFatBinary(void* fat_cubin) {
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  recorder().fat_binaries.push_back(new FatBinary{library_of(fat_cubin)});
  return reinterpret_cast<void**>(recorder().fat_binaries.back());
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) {
  return 1;
}

void __cudaRegisterFunction(void** handle, const char* host_stub, char*, const char* device_name,
                            int, uint3*, uint3*, dim3*, dim3*, int*) {
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  const std::string& library = reinterpret_cast<FatBinary*>(handle)->library;
  Stub& stub = recorder().stubs[host_stub];
  ++stub.times;
  if (stub.times > 1) {
    recorder().faults += std::string(device_name) + ": " + library + " and " + stub.registered_by +
                         " register the same stub\n";
    return;
  }
  stub.kernel = device_name;
  stub.registered_by = library;
  if (library_of(host_stub) != library) {
    recorder().faults += std::string(device_name) + ": " + library +
                         " registers a stub that lies in " + library_of(host_stub) + "\n";
  }
}

void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* entry) {
  note_use(entry, "__cudaGetKernel", __builtin_return_address(0));
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(entry));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void**, size_t, cudaStream_t) {
  note_use(kernel, "__cudaLaunchKernel", __builtin_return_address(0));
  return launch();
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 cta, size_t shared, cudaStream_t stream) {
  g_configuration = {grid, cta, shared, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* cta, size_t* shared, void* stream) {
  *grid = g_configuration.grid;
  *cta = g_configuration.cta;
  *shared = g_configuration.shared;
  *static_cast<cudaStream_t*>(stream) = g_configuration.stream;
  return cudaSuccess;
}

// ---- The runtime API that our libraries call
// ----------------------------------------------------------------------------

cudaError_t cudaLaunchKernel(const void* function, dim3, dim3, void**, size_t, cudaStream_t) {
  note_use(function, "cudaLaunchKernel", __builtin_return_address(0));
  return launch();
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void* function, void**) {
  note_use(function, "cudaLaunchKernelExC", __builtin_return_address(0));
  return launch();
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute, int) {
  note_use(function, "cudaFuncSetAttribute", __builtin_return_address(0));
  return outcome("cudaFuncSetAttribute");
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  note_use(function, "cudaFuncGetAttributes", __builtin_return_address(0));
  std::memset(attributes, 0, sizeof(*attributes));
  return outcome("cudaFuncGetAttributes");
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* count, const void* function,
                                                                   int, size_t, unsigned) {
  note_use(function, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
           __builtin_return_address(0));
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count, const void* function, int,
                                                          size_t) {
  note_use(function, "cudaOccupancyMaxActiveBlocksPerMultiprocessor", __builtin_return_address(0));
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveClusters(int* count, const void* function,
                                           const cudaLaunchConfig_t*) {
  note_use(function, "cudaOccupancyMaxActiveClusters", __builtin_return_address(0));
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *function = reinterpret_cast<void*>(encode_nothing);
  if (result != nullptr) {
    *result = cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return outcome("cudaGetDevice");
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  // Enough of a device that host code which sizes a grid by it goes on.
  constexpr int kMultiprocessors = 148;
  constexpr int kSharedMemory = 232448;
  const int limit = recorder().shared_memory_limit;
  *value = 1;
  if (attribute == cudaDevAttrMultiProcessorCount) {
    *value = kMultiprocessors;
  } else if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin) {
    *value = limit == 0 ? kSharedMemory : limit;
  }
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
cudaError_t cudaPeekAtLastError(void) {
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  return recorder().last_error;
}
cudaError_t cudaGetLastError(void) {
  const cudaError_t last = cudaPeekAtLastError();
  const std::lock_guard<std::mutex> lock(recorder().mutex);
  recorder().last_error = cudaSuccess;
  return last;
}
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorInvalidResourceHandle ? "cudaErrorInvalidResourceHandle" : "cudaSuccess";
}
const char* cudaGetErrorString(cudaError_t) {
  return "as the test asked for";
}

}  // extern "C"
