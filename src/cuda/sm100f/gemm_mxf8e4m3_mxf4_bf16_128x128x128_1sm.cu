// SPDX-License-Identifier: Apache-2.0
#include "cuda/sm100f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
extern constexpr CutlassInstance gemm_mxf8e4m3_mxf4_bf16_128x128x128_1sm =
    cutlass_instance<BlockScaledGemm<Mxf8E4m3, Mxf4, Bf16, Shape::k1Sm128x128>>(
        "gemm_mxf8e4m3_mxf4_bf16_128x128x128_1sm");
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
