// SPDX-License-Identifier: Apache-2.0
// Inputs of a block-scaled MMA kernel brought into the form that it reads, in one launch before it:
//  - scales: any layout -> swizzle_32_4_4 with 0x00 in the padding. The MMA reads whole groups of
//  four scale columns, and a
//    padding byte that means NaN would make NaN of the zero elements beside it;
//  - a bf16 or f16 bias -> fp32, because the epilogue is compiled for one bias type.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "cuda/common/scale_group.cuh"
#include "formats/block_format.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct ScaleStaging {
  internal::ScaleView source;
  int64_t rows;
  uint8_t* staged;  // swizzled; nullptr = nothing to do
};

struct BiasStaging {
  const void* source;
  internal::Format format;
  int64_t count;
  float* staged;  // nullptr = nothing to do
};

struct Staging {
  ScaleStaging a;
  ScaleStaging b;
  BiasStaging bias;
};

constexpr int kStagingThreads = 256;

// Groups of four scales that make up the staged form.
__host__ __device__ inline int64_t scale_groups(const ScaleStaging& scales) {
  return scales.staged == nullptr
             ? 0
             : internal::swizzled_scale_bytes(scales.rows, scales.source.cols) /
                   internal::kScaleTileCols;
}

__device__ inline void stage_scale_group(const ScaleStaging& scales, int64_t group) {
  const ScaleGroup place = scale_group(scales.rows, scales.source.cols, group);
  uint32_t packed = 0;
  for (int i = 0; i < place.real_cols; ++i) {
    packed |= static_cast<uint32_t>(scales.source.at(place.row, place.first_col + i)) << (8 * i);
  }
  reinterpret_cast<uint32_t*>(scales.staged)[group] = packed;
}

__device__ inline void stage_bias(const BiasStaging& bias, int64_t i) {
  const auto* bits = static_cast<const uint16_t*>(bias.source);
  bias.staged[i] = bias.format == internal::Format::kBf16
                       ? __bfloat162float(__ushort_as_bfloat16(bits[i]))
                       : __half2float(__ushort_as_half(bits[i]));
}

__global__ static void __launch_bounds__(kStagingThreads) stage_inputs(Staging staging) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kStagingThreads;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kStagingThreads + threadIdx.x;
  for (int64_t group = first; group < scale_groups(staging.a); group += step) {
    stage_scale_group(staging.a, group);
  }
  for (int64_t group = first; group < scale_groups(staging.b); group += step) {
    stage_scale_group(staging.b, group);
  }
  if (staging.bias.staged != nullptr) {
    for (int64_t i = first; i < staging.bias.count; i += step) {
      stage_bias(staging.bias, i);
    }
  }
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
