// SPDX-License-Identifier: Apache-2.0
// Errors and versions, and the one function that returns a structure.
#include "runtime/session.hpp"

using namespace emu::runtime;

namespace {

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

// Written by generate_api.py from the toolkit's header.
constexpr ErrorText kErrors[] = {
#include "error_texts.inc"
};

const ErrorText* find_error(cudaError_t error) {
  for (const ErrorText& each : kErrors) {
    if (each.error == error) {
      return &each;
    }
  }
  return nullptr;
}

cudaError_t last_error(bool forget) {
  ThreadState& thread = this_thread();
  cudaError_t error = thread.last_error;
  if (forget) {
    thread.last_error = cudaSuccess;
  }
  Runtime& rt = process_runtime();
  const std::lock_guard<std::mutex> lock(rt.mutex);
  if (error == cudaSuccess && rt.configuration_error.empty()) {
    error = rt.devices[static_cast<size_t>(thread.device)].sticky;
  }
  return error;
}

cudaError_t version(int* out, int value) {
  if (out == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  *out = value;
  return cudaSuccess;
}

}  // namespace

extern "C" {

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* const found = find_error(error);
  return found != nullptr ? found->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* const found = find_error(error);
  return found != nullptr ? found->text : "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  return last_error(true);
}

cudaError_t cudaPeekAtLastError() {
  return last_error(false);
}

// Not lower: below 13011 a widely used template library changes tensor maps after their making.
cudaError_t cudaDriverGetVersion(int* out) {
  return version(out, 13020);
}

cudaError_t cudaRuntimeGetVersion(int* out) {
  return version(out, 13000);
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

}  // extern "C"
