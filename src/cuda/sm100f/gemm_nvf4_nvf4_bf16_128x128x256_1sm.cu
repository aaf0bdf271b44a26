// SPDX-License-Identifier: Apache-2.0
#include "cuda/sm100f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
extern constexpr CutlassInstance gemm_nvf4_nvf4_bf16_128x128x256_1sm =
    cutlass_instance<BlockScaledGemm<Nvf4, Nvf4, Bf16, Shape::k1Sm128x128>>(
        "gemm_nvf4_nvf4_bf16_128x128x256_1sm");
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
