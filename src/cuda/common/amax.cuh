// SPDX-License-Identifier: Apache-2.0
// The largest finite magnitude of a matrix, for NVFP4's global scale. A maximum has no order and
// the bits of magnitudes are ordered like integers, so the atomic gives the same word in every run.
#pragma once

#include <cstdint>

#include "cuda/common/octet.cuh"
#include "cuda/common/octet_grid.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct AmaxTask {
  OctetGrid grid;
  RowView<const uint8_t> src;
  bool is_aligned;      // src
  uint32_t* amax_bits;  // 0 before
};

// Rows of octets that a thread has under way; two octets of fp32 are as many bytes as four of the
// others. What is not aligned goes one by one.
template <Format kSource, bool kAligned>
constexpr int kOctetRows = !kAligned                 ? 1
                           : kSource == Format::kF32 ? 2
                                                     : 4;

template <Format kSource, bool kAligned>
__device__ __forceinline__ uint32_t thread_amax(const AmaxTask& task) {
  constexpr int kRows = kOctetRows<kSource, kAligned>;
  uint32_t bits = 0;
  for_each_tile<kRows>(task.grid, [&](const TileThread& thread) {
    Octet<kSource> octets[kRows][1];
    const int rows_left = thread.rows_left(task.grid.rows, task.grid.cols);
    load_octets<kSource, kAligned>(task.src, thread, rows_left, octets);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      bits = larger(bits, finite_amax_bits(octets[i][0]));
    }
  });
  return bits;
}

template <Format kSource>
__global__ void __launch_bounds__(kGridThreads) amax_kernel(const AmaxTask task) {
  const uint32_t bits =
      __reduce_max_sync(0xFFFFFFFFu, task.is_aligned ? thread_amax<kSource, true>(task)
                                                     : thread_amax<kSource, false>(task));
  if (threadIdx.x % 32 == 0 && bits != 0) {
    atomicMax(task.amax_bits, bits);
  }
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
