// SPDX-License-Identifier: Apache-2.0
// Scales from one layout to the other (formats/scale_layout.hpp), a thread a group of four columns
// of a row: the four lie side by side in both layouts.
#pragma once

#include <cstdint>

#include "cuda/common/octet_grid.cuh"
#include "cuda/common/scale_group.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct SwizzleTask {
  int64_t rows;
  int64_t cols;
  int64_t groups;  // of the swizzled side, its padding included
  RowView<const uint8_t> src;
  RowView<uint8_t> dst;  // row_bytes only of the row-major side
  bool is_aligned;       // every group of both
};

__device__ __forceinline__ uint32_t load_group(const uint8_t* src, bool is_aligned, int count) {
  uint32_t words[1] = {0};
  if (count == internal::kScaleTileCols) {
    is_aligned ? load_words<uint8_t, true>(src, words) : load_words<uint8_t, false>(src, words);
  } else {
    for (int i = 0; i < count; ++i) {
      words[0] |= static_cast<uint32_t>(src[i]) << (8 * i);
    }
  }
  return words[0];
}

__device__ __forceinline__ void store_group(uint8_t* dst, bool is_aligned, int count,
                                            uint32_t scales) {
  if (count == internal::kScaleTileCols) {
    const uint32_t words[1] = {scales};
    is_aligned ? store_words<uint8_t, true>(dst, words) : store_words<uint8_t, false>(dst, words);
  } else {
    for (int i = 0; i < count; ++i) {
      dst[i] = static_cast<uint8_t>(scales >> (8 * i));
    }
  }
}

constexpr int kSwizzleThreads = 256;

template <typename Body>
__device__ __forceinline__ void for_each_group(const SwizzleTask& task, const Body& body) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kSwizzleThreads;
  for (int64_t index = static_cast<int64_t>(blockIdx.x) * kSwizzleThreads + threadIdx.x;
       index < task.groups; index += step) {
    body(index, scale_group(task.rows, task.cols, index));
  }
}

// Writes all of dst, padding as 0x00.
__global__ static void __launch_bounds__(kSwizzleThreads) swizzle_kernel(const SwizzleTask task) {
  for_each_group(task, [&](int64_t index, const ScaleGroup& group) {
    const uint32_t scales =
        load_group(task.src.at(group.row, group.first_col), task.is_aligned, group.real_cols);
    store_group(task.dst.data + index * internal::kScaleTileCols, task.is_aligned,
                internal::kScaleTileCols, scales);
  });
}

// Padding of src is not looked at; what lies between the rows of dst stays.
__global__ static void __launch_bounds__(kSwizzleThreads) unswizzle_kernel(const SwizzleTask task) {
  for_each_group(task, [&](int64_t index, const ScaleGroup& group) {
    const uint32_t scales = load_group(task.src.data + index * internal::kScaleTileCols,
                                       task.is_aligned, group.real_cols);
    store_group(task.dst.at(group.row, group.first_col), task.is_aligned, group.real_cols, scales);
  });
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
