// SPDX-License-Identifier: Apache-2.0
// MXFP4 x MXFP4.
#include "cuda/sm80/pair_kernels.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
namespace {

constexpr char kSwapped[] = "gemm_mxf4_mxf4_any_16x32x128_s2_swapped";
constexpr char kFlat[] = "gemm_mxf4_mxf4_any_64x128x128_s2";
constexpr char kLarge[] = "gemm_mxf4_mxf4_any_128x256x128_s2";

}  // namespace

extern const mxgemm_kernel gemm_mxf4_mxf4[] = {
    kernel_entry<SwappedKernel<Format::kMxf4, Format::kMxf4, kSwapped>>(),
    kernel_entry<FlatKernel<Format::kMxf4, Format::kMxf4, kFlat>>(),
    kernel_entry<LargeKernel<Format::kMxf4, Format::kMxf4, kLarge>>(),
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
