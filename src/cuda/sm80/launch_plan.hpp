// SPDX-License-Identifier: Apache-2.0
// How a problem is cut into CTAs. Depends on the problem and the device alone: workspace_size() and
// run() come to the same answer.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "cuda/host/cuda_status.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// A kernel's name and what its launches have in common.
struct KernelShape {
  const char* name;
  int tile_m;
  int tile_n;
  int step_k;
  int threads;
  int shared_bytes;
  int ctas_per_multiprocessor;
  // Costs in steps of K, for weighing splits: what a CTA spends before and after its steps, and
  // what the second pass of a split GEMM takes. Estimates from the sizes of a tile; they decide
  // only between splits that are close.
  int cta_overhead;
  int split_overhead;
};

struct LaunchPlan {
  int64_t tiles_m;
  int64_t tiles_n;
  int splits;
  int steps_per_split;
  int warps_along_n;  // swapped kernels
};

constexpr int kMaxSplits = 32;

inline int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// The device's multiprocessors. Where it cannot be asked (plans can be made for a device that this
// machine only pretends to have) that of an A100.
inline int multiprocessors(int device) {
  constexpr int kMultiprocessorsOfA100 = 108;
  int count = 0;
  if (cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    cudaGetLastError();  // or the next check would report it
    return kMultiprocessorsOfA100;
  }
  return count;
}

// Chooses the parts of K so that the waves of CTAs take the least time: `steps` steps of which a
// CTA does `steps_at_once` at the same time.
inline int64_t choose_splits(const KernelShape& shape, int device, int64_t steps, int steps_at_once,
                             LaunchPlan* plan) {
  const int64_t tiles = plan->tiles_m * plan->tiles_n;
  const int64_t slots =
      static_cast<int64_t>(multiprocessors(device)) * shape.ctas_per_multiprocessor;
  int64_t best_cost = INT64_MAX;
  for (int splits = 1; splits <= kMaxSplits; ++splits) {
    const int64_t steps_per_split = ceil_div(steps, splits);
    const int64_t used = ceil_div(steps, steps_per_split);
    if (used < splits) {
      continue;  // the same as a smaller number
    }
    const int64_t cost = ceil_div(tiles * splits, slots) *
                             (ceil_div(steps_per_split, steps_at_once) + shape.cta_overhead) +
                         (splits > 1 ? shape.split_overhead : 0);
    if (cost < best_cost) {
      best_cost = cost;
      plan->splits = splits;
      plan->steps_per_split = static_cast<int>(steps_per_split);
    }
  }
  return best_cost;
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
