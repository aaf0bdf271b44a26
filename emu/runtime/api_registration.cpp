// SPDX-License-Identifier: Apache-2.0
// What the code that nvcc generates calls.
#include <cstdio>

#include "check/registration.hpp"
#include "runtime/launch.hpp"

using namespace emu;
using namespace emu::runtime;

namespace {

FatBinary* binary_of(void** handle) {
  return reinterpret_cast<FatBinary*>(handle);
}

// Registration happens while libraries load, before anybody could look at an error: a fault is
// printed at once and comes up again when something of the library is used.
template <typename Body>
void on_registry(const Body& body) noexcept {
  try {
    Runtime& rt = process_runtime();
    const std::lock_guard<std::mutex> lock(rt.mutex);
    body(rt);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "emulated CUDA: registration: %s\n", exception.what());
  }
}

void report_container(Runtime& rt, const FatBinary& binary) {
  if (!binary.fault.empty()) {
    rt.report(binary.fault);
  }
  for (const std::string& warning : binary.container.warnings) {
    rt.report(warning);
  }
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  FatBinary* binary = nullptr;
  on_registry([&](Runtime& rt) {
    binary = rt.registry.add_binary(wrapper, check::library_of(wrapper));
    report_container(rt, *binary);
  });
  return reinterpret_cast<void**>(binary);
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  on_registry([&](Runtime& rt) {
    if (rt.registry.has_binary(binary_of(handle))) {
      rt.registry.remove_binary(binary_of(handle));
    }
  });
}

char __cudaInitModule(void**) {
  return 1;
}

void __cudaRegisterFunction(void** handle, const char* stub, char*, const char* device_name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  on_registry([&](Runtime& rt) {
    if (!rt.registry.has_binary(binary_of(handle))) {
      rt.report(std::string("the kernel ") + device_name + " is registered for no fat binary");
      return;
    }
    const std::string& library = binary_of(handle)->library;
    const std::string foreign = check::foreign_stub(stub, device_name, library);
    if (!foreign.empty()) {
      rt.report(foreign);
    }
    const std::string twice = rt.registry.add_kernel(binary_of(handle), stub, device_name);
    if (!twice.empty()) {
      rt.report(twice);
    }
  });
}

void __cudaRegisterVar(void** handle, char* host_address, char*, const char* device_name, int,
                       size_t bytes, int is_constant, int) {
  on_registry([&](Runtime& rt) {
    Variable variable;
    variable.binary = binary_of(handle);
    variable.name = device_name;
    variable.bytes = bytes;
    variable.is_constant = is_constant != 0;
    rt.registry.add_variable(host_address, std::move(variable));
  });
}

void __cudaRegisterManagedVar(void** handle, void**, char*, const char* device_name, int, size_t,
                              int, int) {
  on_registry([&](Runtime& rt) {
    rt.report("managed variables are not emulated: " + std::string(device_name) + " of " +
              (rt.registry.has_binary(binary_of(handle)) ? binary_of(handle)->library : "nobody"));
  });
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 cta, size_t shared, cudaStream_t stream) {
  this_thread().configurations.push_back({grid, cta, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* cta, size_t* shared, void* stream) {
  ThreadState& thread = this_thread();
  if (thread.configurations.empty()) {
    return remember(cudaErrorMissingConfiguration);
  }
  const ThreadState::Configuration top = thread.configurations.back();
  thread.configurations.pop_back();
  *grid = top.grid;
  *cta = top.cta;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* out, const void* stub) {
  const void* const caller = __builtin_return_address(0);
  return api("__cudaGetKernel", [&](Session& s) {
    // The stub keeps what it gets; a null handle makes every later launch fail.
    Kernel* const kernel = find_kernel(s, stub, cudaErrorInvalidDeviceFunction, caller);
    *out = reinterpret_cast<cudaKernel_t>(kernel);
    return kernel != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
  });
}

}  // extern "C"
