// SPDX-License-Identifier: Apache-2.0
// The table of the sm100f library: kernels best first, by which rule one of them is chosen, and the
// devices it accepts.
#include "cuda/host/cutlass_kernel.hpp"
#include "cuda/host/plugin_table.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

extern const CutlassInstance gemm_mxf4_mxf4_bf16_64x128x256_1sm_swapped;
extern const CutlassInstance gemm_mxf4_mxf4_bf16_256x128x256_2sm;
extern const CutlassInstance gemm_mxf4_mxf4_bf16_128x128x256_1sm;
extern const CutlassInstance gemm_mxf4_mxf4_f32_128x128x256_1sm;
extern const CutlassInstance gemm_nvf4_nvf4_bf16_256x128x256_2sm;
extern const CutlassInstance gemm_nvf4_nvf4_bf16_128x128x256_1sm;
extern const CutlassInstance gemm_nvf4_nvf4_f32_128x128x256_1sm;
extern const CutlassInstance gemm_mxf8e4m3_mxf8e4m3_bf16_256x128x128_2sm;
extern const CutlassInstance gemm_mxf8e4m3_mxf8e4m3_bf16_128x128x128_1sm;
extern const CutlassInstance gemm_mxf8e4m3_mxf4_bf16_256x128x128_2sm;
extern const CutlassInstance gemm_mxf8e4m3_mxf4_bf16_128x128x128_1sm;

extern const mxgemm_data_functions data;

namespace {

// Ranks by the shape of the problem: a tile whose rows are mostly missing wastes the tensor cores,
// so the smallest that covers M wins.
constexpr int64_t kSwappedMaxM = 64;  // rows of its tile
// A 2-SM tile halves the traffic of B; with fewer tiles than two waves of a B200's 74 pairs of
// multiprocessors it leaves too many of them idle.
constexpr int64_t kPairMinTiles = 2 * 74;

int32_t swapped(const mxgemm_gemm_desc& desc) {
  return desc.m <= kSwappedMaxM ? 300 : 0;
}
int32_t two_sm(const mxgemm_gemm_desc& desc) {
  const int64_t tiles = (desc.m + 255) / 256 * ((desc.n + 127) / 128);
  return desc.m > 128 && tiles >= kPairMinTiles ? 200 : 50;
}
int32_t one_sm(const mxgemm_gemm_desc&) {
  return 100;
}

#if defined(MXGEMM_CUDA_FAMILY)
constexpr mxgemm_capability_range kCapabilities[] = {{100, 100}, {103, 103}};
#else  // built by an nvcc without family targets: machine code for 10.0 alone
constexpr mxgemm_capability_range kCapabilities[] = {{100, 100}};
#endif

}  // namespace
}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda

extern "C" __attribute__((visibility("default"))) const mxgemm_plugin_table* mxgemm_plugin() {
  using namespace mxgemm::cuda;
  // On first use and not when the library is loaded: it has no constructors of its own.
  static const mxgemm_kernel* const kernels[] = {
      cutlass_entry<gemm_mxf4_mxf4_bf16_64x128x256_1sm_swapped, swapped>(),
      cutlass_entry<gemm_mxf4_mxf4_bf16_256x128x256_2sm, two_sm>(),
      cutlass_entry<gemm_mxf4_mxf4_bf16_128x128x256_1sm, one_sm>(),
      cutlass_entry<gemm_mxf4_mxf4_f32_128x128x256_1sm, one_sm>(),
      cutlass_entry<gemm_nvf4_nvf4_bf16_256x128x256_2sm, two_sm>(),
      cutlass_entry<gemm_nvf4_nvf4_bf16_128x128x256_1sm, one_sm>(),
      cutlass_entry<gemm_nvf4_nvf4_f32_128x128x256_1sm, one_sm>(),
      cutlass_entry<gemm_mxf8e4m3_mxf8e4m3_bf16_256x128x128_2sm, two_sm>(),
      cutlass_entry<gemm_mxf8e4m3_mxf8e4m3_bf16_128x128x128_1sm, one_sm>(),
      cutlass_entry<gemm_mxf8e4m3_mxf4_bf16_256x128x128_2sm, two_sm>(),
      cutlass_entry<gemm_mxf8e4m3_mxf4_bf16_128x128x128_1sm, one_sm>(),
  };
  static const mxgemm_plugin_table table =
      plugin_table(kCapabilities, kernels, &data, MXGEMM_BUILD_INFO);
  return &table;
}
