// SPDX-License-Identifier: Apache-2.0
// CUTLASS 4.2.0's mainloop for mixed pairs uses this header without including it.
#include <cute/algorithm/tensor_algorithms.hpp>

#include "cuda/sm120f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
extern constexpr CutlassInstance gemm_mxf8e4m3_mxf4_bf16_128x128x128_coop =
    cutlass_instance<BlockScaledGemm<Mxf8E4m3, Mxf4, Bf16, Schedule::kCooperative, true>>(
        "gemm_mxf8e4m3_mxf4_bf16_128x128x128_coop");
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
