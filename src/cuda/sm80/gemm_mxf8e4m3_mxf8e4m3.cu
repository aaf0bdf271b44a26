// SPDX-License-Identifier: Apache-2.0
// MXFP8 (E4M3) x MXFP8 (E4M3).
#include "cuda/sm80/pair_kernels.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
namespace {

constexpr char kSwapped[] = "gemm_mxf8e4m3_mxf8e4m3_any_16x32x64_s2_swapped";
constexpr char kFlat[] = "gemm_mxf8e4m3_mxf8e4m3_any_64x128x64_s2";
constexpr char kLarge[] = "gemm_mxf8e4m3_mxf8e4m3_any_128x256x64_s2";

}  // namespace

extern const mxgemm_kernel gemm_mxf8e4m3_mxf8e4m3[] = {
    kernel_entry<SwappedKernel<Format::kMxf8E4m3, Format::kMxf8E4m3, kSwapped>>(),
    kernel_entry<FlatKernel<Format::kMxf8E4m3, Format::kMxf8E4m3, kFlat>>(),
    kernel_entry<LargeKernel<Format::kMxf8E4m3, Format::kMxf8E4m3, kLarge>>(),
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
