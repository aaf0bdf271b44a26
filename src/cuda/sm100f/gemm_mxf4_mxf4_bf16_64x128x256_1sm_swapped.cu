// SPDX-License-Identifier: Apache-2.0
#include "cuda/sm100f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
extern constexpr CutlassInstance gemm_mxf4_mxf4_bf16_64x128x256_1sm_swapped =
    cutlass_instance<BlockScaledGemm<Mxf4, Mxf4, Bf16, Shape::kSwapped128x64>>(
        "gemm_mxf4_mxf4_bf16_64x128x256_1sm_swapped");
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
