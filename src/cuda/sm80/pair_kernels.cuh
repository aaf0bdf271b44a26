// SPDX-License-Identifier: Apache-2.0
// The three kernels of a pair of formats, and which of them a problem gets.
#pragma once

#include "cuda/sm80/gemm_swapped.cuh"
#include "cuda/sm80/gemm_tile.cuh"
#include "cuda/sm80/kernel_entry.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// Kernels of a pair by M: the first row whose limit M does not exceed ranks highest. Beyond its
// limit a tile kernel still ranks above the generic one (0), the swapped kernel cannot take the
// problem.
//   swapped   reads every byte of B once and is bound by that
//   flat      64 rows: B is still expanded once only
//   large     bound by the tensor cores
constexpr int64_t kSwappedMaxM = 16;
constexpr int64_t kFlatBestUpToM = 64;

template <Format kA, Format kB>
struct PairOf {
  static constexpr uint64_t kFormatsA = format_bit(static_cast<int32_t>(kA));
  static constexpr uint64_t kFormatsB = format_bit(static_cast<int32_t>(kB));
  static constexpr uint32_t kAllowances = MXGEMM_ALLOW_LIMITED_SCALES;  // it expands to bf16

  static bool refuses(const mxgemm_gemm_desc& desc, mxgemm_message why) {
    if (desc.k != 0) {
      return false;
    }
    fail(why, MXGEMM_UNSUPPORTED, "K is 0; there is nothing to multiply");
    return true;
  }
};

template <Format kA, Format kB, class Tile, bool kWhole, const char* kName>
struct TileLaunch : PairOf<kA, kB> {
  using Gemm = TileGemm<kA, kB, Tile, kWhole>;
  // A CTA's start and end cost about as much as 512 k: the pipeline fills, and a tile of D is
  // written. The second pass is a launch and 8 bytes a sum.
  static constexpr KernelShape kShape = {.name = kName,
                                         .tile_m = Gemm::kM,
                                         .tile_n = Gemm::kN,
                                         .step_k = Gemm::kStepK,
                                         .threads = Gemm::kThreads,
                                         .shared_bytes = Gemm::kSharedBytes,
                                         .ctas_per_multiprocessor = Tile::kMinCtas,
                                         .cta_overhead = 512 / Gemm::kStepK,
                                         .split_overhead = 512 / Gemm::kStepK};

  static const void* function() {
    return reinterpret_cast<const void*>(tile_kernel<kA, kB, Tile, kWhole>);
  }
  static LaunchPlan plan(const mxgemm_gemm_desc& desc) {
    LaunchPlan plan = {ceil_div(desc.m, Gemm::kM), ceil_div(desc.n, Gemm::kN), 1, 0, 0};
    choose_splits(kShape, desc.device_index, ceil_div(desc.k, Gemm::kStepK), 1, &plan);
    return plan;
  }
};

template <Format kA, Format kB, class Tile, const char* kName, int kRankUpToLimit, int kRankBeyond>
struct TileKernel : TileLaunch<kA, kB, Tile, true, kName> {
  using Gemm = TileGemm<kA, kB, Tile, true>;
  // What a run is launched as whose operands need masked copies.
  using Fallback = TileLaunch<kA, kB, MaskedTile, false, kName>;

  static bool takes(const GemmParams& params) { return is_whole<Gemm>(params); }
  static int32_t rank(const mxgemm_gemm_desc& desc) {
    return desc.m <= kFlatBestUpToM ? kRankUpToLimit : kRankBeyond;
  }
};

template <Format kA, Format kB, const char* kName>
struct SwappedKernel : PairOf<kA, kB> {
  using Gemm = SwappedGemm<kA, kB>;
  static_assert(Gemm::kMaxM == kSwappedMaxM);
  // Here a step of 16 warps takes a microsecond or less; the second pass takes some three.
  static constexpr KernelShape kShape = {.name = kName,
                                         .tile_m = Gemm::kMaxM,
                                         .tile_n = Gemm::kWarpN,
                                         .step_k = Gemm::kStepK,
                                         .threads = Gemm::kThreads,
                                         .shared_bytes = Gemm::kSharedBytes,
                                         .ctas_per_multiprocessor = 1,
                                         .cta_overhead = 2,
                                         .split_overhead = 3};

  using Fallback = TileLaunch<kA, kB, MaskedTile, false, kName>;

  static bool takes(const GemmParams& params) { return is_whole<Gemm>(params); }
  static const void* function() { return reinterpret_cast<const void*>(swapped_kernel<kA, kB>); }
  static bool refuses(const mxgemm_gemm_desc& desc, mxgemm_message why) {
    if (desc.m <= kSwappedMaxM) {
      return PairOf<kA, kB>::refuses(desc, why);
    }
    fail(why, MXGEMM_UNSUPPORTED, "M is %lld; it must be at most %lld",
         static_cast<long long>(desc.m), static_cast<long long>(kSwappedMaxM));
    return true;
  }
  static int32_t rank(const mxgemm_gemm_desc&) { return 300; }
  static LaunchPlan plan(const mxgemm_gemm_desc& desc) {
    constexpr int kWarpsAlongN[] = {1, 2, 4, 8, 16};
    LaunchPlan plan = {};
    int64_t cost = INT64_MAX;
    for (const int warps_along_n : kWarpsAlongN) {
      LaunchPlan other = {1, ceil_div(desc.n, int64_t{Gemm::kWarpN} * warps_along_n), 1, 0,
                          warps_along_n};
      const int64_t other_cost =
          choose_splits(kShape, desc.device_index, ceil_div(desc.k, Gemm::kStepK),
                        Gemm::kWarps / warps_along_n, &other);
      if (other_cost < cost) {
        cost = other_cost;
        plan = other;
      }
    }
    return plan;
  }
};

template <Format kA, Format kB, const char* kName>
using FlatKernel = TileKernel<kA, kB, FlatTile<kA>, kName, 200, 50>;
template <Format kA, Format kB, const char* kName>
using LargeKernel = TileKernel<kA, kB, LargeTile, kName, 100, 100>;

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
