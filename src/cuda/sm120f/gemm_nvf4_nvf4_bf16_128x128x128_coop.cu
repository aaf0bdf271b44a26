// SPDX-License-Identifier: Apache-2.0
#include "cuda/sm120f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
extern constexpr CutlassInstance gemm_nvf4_nvf4_bf16_128x128x128_coop =
    cutlass_instance<BlockScaledGemm<Nvf4, Nvf4, Bf16, Schedule::kCooperative, true>>(
        "gemm_nvf4_nvf4_bf16_128x128x128_coop");
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
