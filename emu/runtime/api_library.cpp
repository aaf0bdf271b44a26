// SPDX-License-Identifier: Apache-2.0
// Libraries that a program loads from PTX text in memory.
#include <cstring>

#include "runtime/modules.hpp"

using namespace emu;
using namespace emu::runtime;

namespace {

FatBinary* binary_of(cudaLibrary_t library) {
  return reinterpret_cast<FatBinary*>(library);
}

// Null after an unknown handle has been reported.
FatBinary* find_library(Session& s, cudaLibrary_t library) {
  FatBinary* const binary = binary_of(library);
  if (s.rt.registry.has_binary(binary)) {
    return binary;
  }
  s.fail(cudaErrorInvalidResourceHandle, "no such library is loaded");
  return nullptr;
}

bool starts_with(const void* code, const char* magic) {
  return std::strncmp(static_cast<const char*>(code), magic, std::strlen(magic)) == 0;
}

}  // namespace

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                unsigned jit_options, cudaLibraryOption*, void**,
                                unsigned library_options) {
  return device_api("cudaLibraryLoadData", [&](Session& s) {
    if (library == nullptr || code == nullptr) {
      return s.fail(cudaErrorInvalidValue, "a pointer is null");
    }
    if (jit_options != 0 || library_options != 0) {
      return s.fail(cudaErrorNotSupported, "options are not emulated");
    }
    if (starts_with(code,
                    "\x7F"
                    "ELF") ||
        starts_with(code, "\x50\xED\x55\xBA")) {
      return s.fail(cudaErrorNotSupported, "only PTX text is emulated, not a cubin or fatbin");
    }
    FatBinary* const binary = s.rt.registry.add_text(static_cast<const char*>(code));
    std::shared_ptr<const Program> program;
    const cudaError_t error = load_program_of(s, binary, &program);
    if (error != cudaSuccess) {
      s.rt.registry.remove_binary(binary);
      return error;
    }
    *library = reinterpret_cast<cudaLibrary_t>(binary);
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return device_api("cudaLibraryGetKernel", [&](Session& s) {
    if (kernel == nullptr || name == nullptr) {
      return s.fail(cudaErrorInvalidValue, "a pointer is null");
    }
    FatBinary* const binary = find_library(s, library);
    if (binary == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    std::shared_ptr<const Program> program;
    if (const cudaError_t error = load_program_of(s, binary, &program)) {
      return error;
    }
    if (program->find_kernel(name) == nullptr) {
      return s.fail(cudaErrorSymbolNotFound, std::string("the library has no kernel ") + name);
    }
    *kernel = reinterpret_cast<cudaKernel_t>(s.rt.registry.named_kernel(binary, name));
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return api("cudaLibraryUnload", [&](Session& s) {
    FatBinary* const binary = find_library(s, library);
    if (binary == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    s.rt.registry.remove_binary(binary);
    return cudaSuccess;
  });
}

}  // extern "C"
