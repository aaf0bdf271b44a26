// SPDX-License-Identifier: Apache-2.0
#include "cuda/sm100f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
namespace {
struct Instance : BlockScaledGemm<Mxf4, Mxf4, F32, Shape::k1Sm128x128> {
  static constexpr const char* kName = "gemm_mxf4_mxf4_f32_128x128x256_1sm";
};
}  // namespace
extern const mxgemm_kernel gemm_mxf4_mxf4_f32_128x128x256_1sm = cutlass_kernel<Instance>();
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
