// SPDX-License-Identifier: Apache-2.0
#include "cuda/sm120f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
extern constexpr CutlassInstance gemm_mxf4_mxf4_f32_128x128x128_coop =
    cutlass_instance<BlockScaledGemm<Mxf4, Mxf4, F32, Schedule::kCooperative, true>>(
        "gemm_mxf4_mxf4_f32_128x128x128_coop");
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
