// SPDX-License-Identifier: Apache-2.0
#include "cuda/sm120f/block_scaled_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
namespace {
struct Instance : BlockScaledGemm<Nvf4, Nvf4, Bf16, Schedule::kPingpong, false> {
  static constexpr const char* kName = "gemm_nvf4_nvf4_bf16_128x128x128_pingpong";
};
}  // namespace
extern const mxgemm_kernel gemm_nvf4_nvf4_bf16_128x128x128_pingpong = cutlass_kernel<Instance>();
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
