// SPDX-License-Identifier: Apache-2.0
// Fills in the parts of a library's table that do not depend on the architecture.
#pragma once

#include <cstddef>

#include "mxgemm/version.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// `data` may be null: another library that serves the device then quantises.
template <size_t kNumCapabilities, size_t kNumKernels>
constexpr mxgemm_plugin_table plugin_table(
    const mxgemm_capability_range (&capabilities)[kNumCapabilities],
    const mxgemm_kernel* const (&kernels)[kNumKernels], const mxgemm_data_functions* data,
    const char* build_info) {
  return {MXGEMM_PLUGIN_ABI_VERSION,
          sizeof(mxgemm_plugin_table),
          MXGEMM_VERSION_STRING,
          MXGEMM_CUDA_ARCH_NAME,
          build_info,
          capabilities,
          static_cast<int32_t>(kNumCapabilities),
          static_cast<int32_t>(kNumKernels),
          kernels,
          data,
          nullptr};
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
