// SPDX-License-Identifier: Apache-2.0
#include "cuda/sm100f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
namespace {
struct Instance : BlockScaledGemm<Mxf8E4m3, Mxf4, Bf16, Shape::k2Sm256x128> {
  static constexpr const char* kName = "gemm_mxf8e4m3_mxf4_bf16_256x128x128_2sm";
};
}  // namespace
extern const mxgemm_kernel gemm_mxf8e4m3_mxf4_bf16_256x128x128_2sm = cutlass_kernel<Instance>();
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
