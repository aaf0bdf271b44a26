// SPDX-License-Identifier: Apache-2.0
// What a GEMM kernel of this library is launched with.
#pragma once

#include <cstdint>

#include "cuda/common/epilogue.cuh"
#include "cuda/common/scale_rows.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

using internal::Format;

struct OperandRows {
  const uint8_t* data;
  int64_t pitch;      // bytes from row to row
  int32_t alignment;  // the largest of 16, 8, 4, 2, 1 that divides data and pitch
  internal::Format format;
  ScaleRows scales;  // plain operands have none
};

struct GemmParams {
  OperandRows a;
  OperandRows b;
  int64_t k;
  int32_t tiles_m;
  int32_t tiles_n;
  // Parts of K, each with CTAs of its own: steps_per_split steps of the kernel's K tile each. More
  // than one: sums go to `partial`, and sum_splits() finishes them.
  int32_t splits;
  int32_t steps_per_split;
  // The swapped kernel: warps that share a K step, side by side along N.
  int32_t warps_along_n;  // a power of two
  int32_t log2_warps_along_n;
  float* partial;  // splits x m x partial_pitch
  int64_t partial_pitch;
  Epilogue epilogue;
};

__device__ __forceinline__ void store_partial(const GemmParams& params, int64_t row, int64_t col,
                                              const float (&values)[kEpilogueWidth]) {
  if (row >= params.epilogue.m || col >= params.epilogue.n) {
    return;
  }
  float* target =
      params.partial +
      (static_cast<int64_t>(blockIdx.y) * params.epilogue.m + row) * params.partial_pitch + col;
  *reinterpret_cast<float4*>(target) = *reinterpret_cast<const float4*>(values);
  *reinterpret_cast<float4*>(target + 4) = *reinterpret_cast<const float4*>(values + 4);
}

// Copies kBytes (8 or 16) of which `valid` belong to the row, the rest becomes 0. The shared
// address is aligned to kBytes; the source as `alignment` says, which is uniform over the launch.
template <int kBytes>
__device__ __forceinline__ void copy_piece(uint8_t* destination, const uint8_t* source, int valid,
                                           int alignment) {
  valid = max(0, min(valid, kBytes));
  const uint32_t address = shared_address(destination);
  if (alignment >= kBytes) {
    copy_async<kBytes>(address, source, valid);
  } else if (alignment >= 4) {
#pragma unroll
    for (int i = 0; i < kBytes; i += 4) {
      copy_async<4>(address + i, source + i, max(0, min(valid - i, 4)));
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < kBytes; ++i) {
      destination[i] = i < valid ? source[i] : uint8_t{0};
    }
  }
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
