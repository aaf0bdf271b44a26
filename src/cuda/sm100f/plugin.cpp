// SPDX-License-Identifier: Apache-2.0
// The table of the sm100f library: kernels best first, and the devices it accepts.
#include "cuda/host/plugin_table.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

extern const mxgemm_kernel gemm_mxf4_mxf4_bf16_64x128x256_1sm_swapped;
extern const mxgemm_kernel gemm_mxf4_mxf4_bf16_256x128x256_2sm;
extern const mxgemm_kernel gemm_mxf4_mxf4_bf16_128x128x256_1sm;
extern const mxgemm_kernel gemm_mxf4_mxf4_f32_128x128x256_1sm;
extern const mxgemm_kernel gemm_nvf4_nvf4_bf16_256x128x256_2sm;
extern const mxgemm_kernel gemm_nvf4_nvf4_bf16_128x128x256_1sm;
extern const mxgemm_kernel gemm_nvf4_nvf4_f32_128x128x256_1sm;
extern const mxgemm_kernel gemm_mxf8e4m3_mxf8e4m3_bf16_256x128x128_2sm;
extern const mxgemm_kernel gemm_mxf8e4m3_mxf8e4m3_bf16_128x128x128_1sm;
extern const mxgemm_kernel gemm_mxf8e4m3_mxf4_bf16_256x128x128_2sm;
extern const mxgemm_kernel gemm_mxf8e4m3_mxf4_bf16_128x128x128_1sm;

extern const mxgemm_data_functions data;

namespace {

const mxgemm_kernel* const kKernels[] = {
    &gemm_mxf4_mxf4_bf16_64x128x256_1sm_swapped,  &gemm_mxf4_mxf4_bf16_256x128x256_2sm,
    &gemm_mxf4_mxf4_bf16_128x128x256_1sm,         &gemm_mxf4_mxf4_f32_128x128x256_1sm,
    &gemm_nvf4_nvf4_bf16_256x128x256_2sm,         &gemm_nvf4_nvf4_bf16_128x128x256_1sm,
    &gemm_nvf4_nvf4_f32_128x128x256_1sm,          &gemm_mxf8e4m3_mxf8e4m3_bf16_256x128x128_2sm,
    &gemm_mxf8e4m3_mxf8e4m3_bf16_128x128x128_1sm, &gemm_mxf8e4m3_mxf4_bf16_256x128x128_2sm,
    &gemm_mxf8e4m3_mxf4_bf16_128x128x128_1sm,
};

#if defined(MXGEMM_CUDA_FAMILY)
const mxgemm_capability_range kCapabilities[] = {{100, 100}, {103, 103}};
#else  // built by an nvcc without family targets: machine code for 10.0 alone
const mxgemm_capability_range kCapabilities[] = {{100, 100}};
#endif

const mxgemm_plugin_table kTable = plugin_table(kCapabilities, kKernels, &data, MXGEMM_BUILD_INFO);

}  // namespace
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda

extern "C" __attribute__((visibility("default"))) const mxgemm_plugin_table* mxgemm_plugin() {
  return &mxgemm::cuda::kTable;
}
