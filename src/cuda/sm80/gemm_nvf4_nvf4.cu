// SPDX-License-Identifier: Apache-2.0
// NVFP4 x NVFP4.
#include "cuda/sm80/pair_kernels.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
namespace {

constexpr char kSwapped[] = "gemm_nvf4_nvf4_any_16x32x128_s2_swapped";
constexpr char kFlat[] = "gemm_nvf4_nvf4_any_64x128x128_s2";
constexpr char kLarge[] = "gemm_nvf4_nvf4_any_128x256x128_s2";

}  // namespace

extern const mxgemm_kernel gemm_nvf4_nvf4[] = {
    kernel_entry<SwappedKernel<Format::kNvf4, Format::kNvf4, kSwapped>>(),
    kernel_entry<FlatKernel<Format::kNvf4, Format::kNvf4, kFlat>>(),
    kernel_entry<LargeKernel<Format::kNvf4, Format::kNvf4, kLarge>>(),
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
