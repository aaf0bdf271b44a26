// SPDX-License-Identifier: Apache-2.0
// From a host function's address to the kernel's code on a device.
#pragma once

#include "runtime/session.hpp"

namespace emu::runtime {

struct LoadedKernel {
  cudaError_t error = cudaSuccess;
  Kernel* kernel = nullptr;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const ModuleInstance> instance;
  const Code* code = nullptr;
};

// What the first use of a kernel does on a device: chooses the image, parses, makes the variables.
// `unregistered` is the error for an address that no library has registered; `caller` lies in the
// library that makes the call.
LoadedKernel load_kernel(Session& s, const void* stub_or_handle, cudaError_t unregistered,
                         const void* caller);

// Null after an unregistered address has been reported.
Kernel* find_kernel(Session& s, const void* stub_or_handle, cudaError_t error, const void* caller);

// The program that a library is on the session's device.
cudaError_t load_program_of(Session& s, FatBinary* binary, std::shared_ptr<const Program>* program);

struct LoadedVariable {
  cudaError_t error = cudaSuccess;
  uint64_t address = 0;
  uint64_t bytes = 0;
};
LoadedVariable load_variable(Session& s, const void* host_address);

}  // namespace emu::runtime
