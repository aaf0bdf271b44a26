// SPDX-License-Identifier: Apache-2.0
// Which tile of D a CTA computes.
#pragma once

#include "cuda/sm80/gemm_params.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// CTAs that run at the same time should share rows and columns: they walk a strip of kStrip tiles
// of M along N.
constexpr int kStrip = 8;

struct TileIndex {
  int m;
  int n;
};

__device__ __forceinline__ TileIndex tile_index(const GemmParams& params) {
  const int64_t linear = blockIdx.x;
  const int64_t per_strip = static_cast<int64_t>(kStrip) * params.tiles_n;
  const int first_m = static_cast<int>(linear / per_strip) * kStrip;
  const int height = min(kStrip, params.tiles_m - first_m);
  const int in_strip = static_cast<int>(linear % per_strip);
  return {first_m + in_strip % height, in_strip / height};
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
