// SPDX-License-Identifier: Apache-2.0
// Quantising, decoding and scale layouts.
#include "cuda/host/data_functions.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
extern const mxgemm_data_functions data = data_functions();
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
