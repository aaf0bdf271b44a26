// SPDX-License-Identifier: Apache-2.0
// The table of the sm80 library: kernels best first, and the devices it accepts.
#include "cuda/host/plugin_table.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// Three kernels a pair: for M <= 16, for few rows, for many.
extern const mxgemm_kernel gemm_mxf4_mxf4[3];
extern const mxgemm_kernel gemm_nvf4_nvf4[3];
extern const mxgemm_kernel gemm_mxf8e4m3_mxf8e4m3[3];
extern const mxgemm_kernel gemm_mxf8e4m3_mxf4[3];
extern const mxgemm_kernel gemm_bf16_mxf4[3];
extern const mxgemm_kernel gemm_bf16_nvf4[3];
extern const mxgemm_kernel gemm_bf16_mxf8e4m3[3];
extern const mxgemm_kernel gemm_any_any;

extern const mxgemm_data_functions data;

namespace {

const mxgemm_kernel* const kKernels[] = {
    &gemm_mxf4_mxf4[0],         &gemm_mxf4_mxf4[1],
    &gemm_mxf4_mxf4[2],         &gemm_nvf4_nvf4[0],
    &gemm_nvf4_nvf4[1],         &gemm_nvf4_nvf4[2],
    &gemm_mxf8e4m3_mxf8e4m3[0], &gemm_mxf8e4m3_mxf8e4m3[1],
    &gemm_mxf8e4m3_mxf8e4m3[2], &gemm_mxf8e4m3_mxf4[0],
    &gemm_mxf8e4m3_mxf4[1],     &gemm_mxf8e4m3_mxf4[2],
    &gemm_bf16_mxf4[0],         &gemm_bf16_mxf4[1],
    &gemm_bf16_mxf4[2],         &gemm_bf16_nvf4[0],
    &gemm_bf16_nvf4[1],         &gemm_bf16_nvf4[2],
    &gemm_bf16_mxf8e4m3[0],     &gemm_bf16_mxf8e4m3[1],
    &gemm_bf16_mxf8e4m3[2],     &gemm_any_any,
};

// Its PTX serves every later device that has no library of its own.
const mxgemm_capability_range kCapabilities[] = {{80, 999}};

const mxgemm_plugin_table kTable = plugin_table(kCapabilities, kKernels, &data, MXGEMM_BUILD_INFO);

}  // namespace
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda

extern "C" __attribute__((visibility("default"))) const mxgemm_plugin_table* mxgemm_plugin() {
  return &mxgemm::cuda::kTable;
}
