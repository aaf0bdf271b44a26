// SPDX-License-Identifier: Apache-2.0
#include "cuda/sm100f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
namespace {
struct Instance : BlockScaledGemm<Nvf4, Nvf4, Bf16, Shape::k2Sm256x128> {
  static constexpr const char* kName = "gemm_nvf4_nvf4_bf16_256x128x256_2sm";
};
}  // namespace
extern const mxgemm_kernel gemm_nvf4_nvf4_bf16_256x128x256_2sm = cutlass_kernel<Instance>();
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
