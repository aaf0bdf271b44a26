// SPDX-License-Identifier: Apache-2.0
// The table of the sm120f library: kernels best first, by which rule one of them is chosen, and the
// devices it accepts.
#include "cuda/host/cutlass_kernel.hpp"
#include "cuda/host/plugin_table.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

extern const CutlassInstance gemm_mxf4_mxf4_bf16_128x128x128_pingpong;
extern const CutlassInstance gemm_mxf4_mxf4_bf16_128x128x128_coop;
extern const CutlassInstance gemm_mxf4_mxf4_f32_128x128x128_coop;
extern const CutlassInstance gemm_nvf4_nvf4_bf16_128x128x128_pingpong;
extern const CutlassInstance gemm_nvf4_nvf4_bf16_128x128x128_coop;
extern const CutlassInstance gemm_nvf4_nvf4_f32_128x128x128_coop;
extern const CutlassInstance gemm_mxf8e4m3_mxf8e4m3_bf16_128x128x128_coop;
extern const CutlassInstance gemm_mxf8e4m3_mxf4_bf16_128x128x128_coop;

extern const mxgemm_data_functions data;

namespace {

// Ranks by the shape of the problem. All tiles are 128 x 128, so one rank holds for every M:
// kernels for few rows will rank above these up to the M where they stop to win.
//
// Ping-pong measured faster on this chip (1,354 against 1,051 TFLOP/s, QuACK's NVFP4 study); it
// refuses C by itself.
int32_t pingpong(const mxgemm_gemm_desc&) {
  return 200;
}
int32_t cooperative(const mxgemm_gemm_desc&) {
  return 100;
}

#if defined(MXGEMM_CUDA_FAMILY)
constexpr mxgemm_capability_range kCapabilities[] = {{120, 121}};
#else  // built by an nvcc without family targets: machine code for 12.0 alone
constexpr mxgemm_capability_range kCapabilities[] = {{120, 120}};
#endif

}  // namespace
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda

extern "C" __attribute__((visibility("default"))) const mxgemm_plugin_table* mxgemm_plugin() {
  using namespace mxgemm::cuda;
  // On first use and not when the library is loaded: it has no constructors of its own.
  static const mxgemm_kernel* const kernels[] = {
      cutlass_entry<gemm_mxf4_mxf4_bf16_128x128x128_pingpong, pingpong>(),
      cutlass_entry<gemm_mxf4_mxf4_bf16_128x128x128_coop, cooperative>(),
      cutlass_entry<gemm_mxf4_mxf4_f32_128x128x128_coop, cooperative>(),
      cutlass_entry<gemm_nvf4_nvf4_bf16_128x128x128_pingpong, pingpong>(),
      cutlass_entry<gemm_nvf4_nvf4_bf16_128x128x128_coop, cooperative>(),
      cutlass_entry<gemm_nvf4_nvf4_f32_128x128x128_coop, cooperative>(),
      cutlass_entry<gemm_mxf8e4m3_mxf8e4m3_bf16_128x128x128_coop, cooperative>(),
      cutlass_entry<gemm_mxf8e4m3_mxf4_bf16_128x128x128_coop, cooperative>(),
  };
  static const mxgemm_plugin_table table =
      plugin_table(kCapabilities, kernels, &data, MXGEMM_BUILD_INFO);
  return &table;
}
