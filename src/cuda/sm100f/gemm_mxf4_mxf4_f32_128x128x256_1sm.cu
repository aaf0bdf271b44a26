// SPDX-License-Identifier: Apache-2.0
#include "cuda/sm100f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
extern constexpr CutlassInstance gemm_mxf4_mxf4_f32_128x128x256_1sm =
    cutlass_instance<BlockScaledGemm<Mxf4, Mxf4, F32, Shape::k1Sm128x128>>(
        "gemm_mxf4_mxf4_f32_128x128x256_1sm");
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
