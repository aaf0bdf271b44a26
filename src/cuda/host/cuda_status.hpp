// SPDX-License-Identifier: Apache-2.0
// CUDA failures as an mxgemm_status and a message that keeps the error's name and the failing call.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdarg>
#include <cstdio>

#include "cuda/host/device_guard.hpp"
#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::cuda {

// printf-style text into the caller's buffer; returns `status`.
__attribute__((format(printf, 3, 4))) inline int32_t fail(mxgemm_message error,
                                                          mxgemm_status status, const char* format,
                                                          ...) {
  if (error.text != nullptr && error.capacity > 0) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(error.text, error.capacity, format, arguments);
    va_end(arguments);
  }
  return status;
}

// `what` is the failing call. The kernel at work is named by the core.
inline int32_t check(cudaError_t result, const char* what, mxgemm_message error) {
  if (result == cudaSuccess) {
    return MXGEMM_OK;
  }
  const mxgemm_status status =
      result == cudaErrorMemoryAllocation ? MXGEMM_OUT_OF_MEMORY : MXGEMM_CUDA_ERROR;
  return fail(error, status, "%s failed: %s (%s)", what, cudaGetErrorName(result),
              cudaGetErrorString(result));
}

}  // namespace mxgemm::cuda
