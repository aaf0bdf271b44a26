// SPDX-License-Identifier: Apache-2.0
// Dynamic shared memory beyond what a kernel gets unasked.
#pragma once

#include "cuda/host/cuda_status.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// Allows `function` on the current device, `device`, so much. Devices of one architecture differ:
// the limit is the device's own.
inline int32_t allow_shared_memory(const void* function, int bytes, int device,
                                   mxgemm_message error) {
  int limit = 0;
  const int32_t status =
      check(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
            "cudaDeviceGetAttribute", error);
  if (status != MXGEMM_OK) {
    return status;
  }
  if (bytes > limit) {
    return fail(error, MXGEMM_UNSUPPORTED,
                "a CTA needs %d bytes of shared memory; the device has %d", bytes, limit);
  }
  char what[64];
  std::snprintf(what, sizeof(what), "cudaFuncSetAttribute for %d bytes of shared memory", bytes);
  return check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               what, error);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
