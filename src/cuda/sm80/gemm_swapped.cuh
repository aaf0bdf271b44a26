// SPDX-License-Identifier: Apache-2.0
// D[M,N] = epilogue(A[M,K] . B[N,K]^T) for M <= 16: reading B is all the work there is. The roles
// are swapped: 16 rows of B fill the side of mma.sync m16n8k16 that must be filled, the rows of A
// the side of 8 (one or two of them).
//
//   a warp: 32 rows of B x one step of K,       a CTA: 16 warps, warps_along_n of them side by side
//   straight from memory:                       along N, the others take the steps in turn;
//   lane (g, t) = (lane / 4, lane % 4)          blockIdx.y takes a part of K
//   multiplies chunk t of the step (16 bytes)
//   of rows g, g + 8, g + 16, g + 24
//
// As in gemm_tile.cuh each element of B is expanded by the one lane that multiplies it. A is small
// enough to stay in L2; lanes read their chunk of row g (and g + 8) of it from there, bf16 unit by
// unit, block-scaled formats like B. So warps wait for nobody until their sums meet.
//
// Of FP4 beside more than eight rows of bf16, a lane multiplies other halves of chunks than those
// it copies (spread_stream.cuh).
//
// Sums of the warps that share rows of B meet in shared memory and are added in the order of the
// warps; those of several CTAs in `partial` (kernel_entry.cu), in the order of blockIdx.y.
//
// Issuing the instructions of a step takes as long as memory takes for its bytes, so it has two
// forms: one for what is ordinary, where a placed element of MXFP4 is multiplied once
// (expand_bf16.cuh: scales up to 16) and all chunks exist, and one for everything. A warp takes the
// second where one of its lanes needs it.
//
// B's codes wait in two steps' slots: 64 KiB under way per SM. Problems that need
// masked copies are gemm_tile.cuh's.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "cuda/sm80/gemm_tile.cuh"
#include "cuda/sm80/spread_stream.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

template <Format kFormatA, Format kFormatB>
struct SwappedGemm {
  static constexpr Format kFormatOfA = kFormatA;
  static constexpr Format kFormatOfB = kFormatB;
  static constexpr int kMaxM = 16;
  static constexpr int kWarps = 16;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kLaneK = lane_k<kFormatB>();
  static constexpr int kStepK = 4 * kLaneK;
  static constexpr int kUnits = kLaneK / kUnitElements;
  static constexpr int kTiles = 2;  // mma tiles of 16 rows of B
  static constexpr int kRows = kTiles * 2;
  static constexpr int kWarpN = kTiles * 16;
  // Reordering the few rows of a bf16 A costs less than expanding B by table.
  static constexpr PairOrder kOrder =
      ElementTraits<kFormatB>::kIsE2m1 ? PairOrder::kStride4 : pair_order<kFormatA, kFormatB>();
  static constexpr float kSumFactor = whole_of_products<kFormatA, kFormatB>();
  // A step of A is two lines of 128 bytes wide, and chunks start at two of the eight places that 16
  // bytes have in a line. Up to eight rows, two lanes of a row take the halves of a chunk in the
  // other order. Loads of sixteen rows would queue at L1's tags all the same; there B is spread,
  // which for eight costs more than it brings (H200, 2026-12-01, N = K = 8192: 16 rows take 18.5 us
  // in place of 20.4, one row took 16.9 in place of 16.4).
  static constexpr bool kHasWideA = kFormatA == Format::kBf16 && kUnits == 4;
  // Block-scaled A's rows g and g + 8 wait in slots like B's.
  static constexpr int kBytesOfA =
      kFormatA == Format::kBf16 ? 0 : 2 * kLaneK * ElementTraits<kFormatA>::kBits / 8 * kThreads;
  // Sums of 16 rows of A: of each warp, 32 columns and some padding.
  static constexpr int kSumBytes = kWarps * kMaxM * (kWarpN + 4) * 4;
  static constexpr int kStages = 2;
  // Measured: scales that are asked for later are there as soon beside a bf16 A.
  static constexpr int kScaleStages = kFormatA == Format::kBf16 ? 1 : 2;
  using StreamB =
      ChunkStream<kFormatB, kLaneK, kRows, kStages, kScaleStages, kThreads, true, true, kHasWideA>;
  static constexpr int kSharedBytes = StreamB::kSharedBytes + kBytesOfA;
  static_assert(kSumBytes <= kSharedBytes);
};

// What a warp multiplies: 32 rows of B from first_row on, steps first_step, first_step + stride, …
// up to `end`; of the last one, elements up to end_k.
struct WarpShare {
  int64_t first_row;
  int first_step;
  int stride;
  int end;
  int64_t end_k;
};

// One lane's units of bf16 A: rows g and, if kSecond, g + 8. A lane without a row of A takes
// another's: its columns of the product are not stored.
template <class Gemm, bool kSecond>
class RowsOfA {
 public:
  static constexpr bool kNeedsCare = true;

  __device__ __forceinline__ RowsOfA(const GemmParams& params, int first_step, int step_stride,
                                     int64_t end, uint8_t*)
      : step_(step_stride * Gemm::kStepK) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int64_t last = params.epilogue.m - 1;
    const int64_t row = min(static_cast<int64_t>(lane / 4), last);
    const int64_t first =
        static_cast<int64_t>(first_step) * Gemm::kStepK + lane % 4 * kUnitsPerPart * kUnitElements;
    const int turn = kTurned ? turn_of(lane) * Gemm::kUnits / 2 * kUnitElements * 2 : 0;
    source_[0] = params.a.data + row * params.a.pitch + first * 2 + turn;
    if constexpr (kSecond) {
      source_[1] = source_[0] + (min(row + 8, last) - row) * params.a.pitch;
    }
    second_half_ = kTurned ? -2 * turn : 0;
    left_ = static_cast<int>(end - first);
#pragma unroll
    for (int unit = 0; unit < Gemm::kUnits; ++unit) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        next_[i][unit] = make_uint4(0, 0, 0, 0);
      }
      ask(unit);
    }
    advance();
  }

  __device__ __forceinline__ void load() {}
  __device__ __forceinline__ void take() {}

  // Of the current step, before its first unit: whether this lane has a part that does not exist.
  // Then what it has there is of a step before, and take_care() makes it 0.
  __device__ __forceinline__ bool needs_care() const {
    return left_ + step_ <= (kParts - 1) * kPartK;
  }
  __device__ __forceinline__ void take_care() {
#pragma unroll
    for (int unit = 0; unit < Gemm::kUnits; ++unit) {
      if (left_ + step_ <= part_of(unit)) {
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          next_[i][unit] = make_uint4(0, 0, 0, 0);
        }
      }
    }
  }

  // Unit kUnit of the current step. Units and steps come in order; asks for that of the next step.
  template <int kUnit, ScaleRange>
  __device__ __forceinline__ void get(uint4& first, uint4& second) {
    first = reorder<Gemm::kOrder>(next_[0][kUnit]);
    if constexpr (kSecond) {
      second = reorder<Gemm::kOrder>(next_[1][kUnit]);
    }
    ask(kUnit);
    if constexpr (kUnit + 1 == Gemm::kUnits) {
      advance();
    }
  }

 private:
  static constexpr int kRows = kSecond ? 2 : 1;
  // What a lane multiplies of a step lies in parts.
  static constexpr bool kSpread = Gemm::kHasWideA && kSecond;
  static constexpr bool kTurned = Gemm::kHasWideA && !kSecond;
  static constexpr int kParts = kSpread ? 2 : 1;
  static constexpr int kUnitsPerPart = Gemm::kUnits / kParts;
  static constexpr int kPartK = Gemm::kStepK / kParts;

  // Elements from a lane's first part to that of a unit.
  static constexpr int part_of(int unit) {
    return unit / kUnitsPerPart * kPartK;
  }

  // A unit exists wholly or not at all: kLaneK divides K.
  __device__ __forceinline__ void ask(int unit) {
    if (left_ > part_of(unit)) {
      const int element = part_of(unit) + unit % kUnitsPerPart * kUnitElements;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const uint8_t* source = source_[i];
        if (kTurned && unit >= Gemm::kUnits / 2) {
          source += second_half_;
        }
        next_[i][unit] = __ldg(reinterpret_cast<const uint4*>(source + element * 2));
      }
    }
  }

  __device__ __forceinline__ void advance() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      source_[i] += step_ * 2;
    }
    left_ -= step_;
  }

  const uint8_t* source_[kRows];
  int32_t second_half_;  // what the second half of the units lies off, where it is turned
  int32_t left_;         // elements from this lane's next first part to `end`
  const int32_t step_;
  uint4 next_[kRows][Gemm::kUnits];
};

// The same of block-scaled A.
template <class Gemm, Format kFormat, bool kSecond>
class ScaledRowsOfA {
  static constexpr int kRows = kSecond ? 2 : 1;

 public:
  static constexpr bool kNeedsCare = kHasWideScales<kFormat>;

  __device__ __forceinline__ ScaledRowsOfA(const GemmParams& params, int first_step,
                                           int step_stride, int64_t end, uint8_t* shared)
      : stream_(params.a, threadIdx.x % 32 / 4, 8, threadIdx.x % 4, first_step, step_stride, end,
                shared) {}

  __device__ __forceinline__ void load() { stream_.load(); }

  // Makes the step that came next current, and asks for the one after.
  __device__ __forceinline__ void take() {
    stream_.template take<0>(chunks_[0]);
    if constexpr (kSecond) {
      stream_.template take<1>(chunks_[1]);
    }
    stream_.ask_scales();
    stream_.load();
  }

  __device__ __forceinline__ bool needs_care() const {
    return kHasWideScales<kFormat> && are_wide(chunks_);
  }
  __device__ __forceinline__ void take_care() {}

  template <int kUnit, ScaleRange kRange>
  __device__ __forceinline__ void get(uint4& first, uint4& second) {
    expand_row<kUnit, kRange>(chunks_[0], first);
    if constexpr (kSecond) {
      expand_row<kUnit, kRange>(chunks_[1], second);
    }
  }

 private:
  using ChunkA = Chunk<kFormat, Gemm::kLaneK>;

  template <int kUnit, ScaleRange kRange>
  __device__ __forceinline__ void expand_row(ChunkA& chunk, uint4& out) {
    uint32_t pairs[4];
    chunk.template expand_unit<Gemm::kOrder, kRange>(kUnit, pairs);
    out = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }

  ChunkStream<kFormat, Gemm::kLaneK, kRows, 1, 1, Gemm::kThreads, true, true> stream_;
  ChunkA chunks_[kRows];
};

template <class Gemm>
using SwappedSums = float[Gemm::kTiles][2][4];

template <class Gemm, bool kSecond, ScaleRange kRange, int kUnit, class RowsA, class ChunkB>
__device__ __forceinline__ void multiply_swapped_unit(SwappedSums<Gemm>& sums, RowsA& a,
                                                      ChunkB (&b)[Gemm::kRows]) {
  uint4 first;
  uint4 second;
  a.template get<kUnit, kRange>(first, second);
#pragma unroll
  for (int tile = 0; tile < Gemm::kTiles; ++tile) {
    uint32_t upper[4];
    uint32_t lower[4];
    b[2 * tile].template expand_unit<Gemm::kOrder, kRange>(kUnit, upper);
    b[2 * tile + 1].template expand_unit<Gemm::kOrder, kRange>(kUnit, lower);
    multiply_add(sums[tile][0], upper[0], lower[0], upper[1], lower[1], first.x, first.y);
    if constexpr (kSecond) {
      multiply_add(sums[tile][1], upper[0], lower[0], upper[1], lower[1], second.x, second.y);
    }
    multiply_add(sums[tile][0], upper[2], lower[2], upper[3], lower[3], first.z, first.w);
    if constexpr (kSecond) {
      multiply_add(sums[tile][1], upper[2], lower[2], upper[3], lower[3], second.z, second.w);
    }
  }
}

template <class Gemm, bool kSecond, ScaleRange kRange, class RowsA, class ChunkB, int... kUnits>
__device__ __forceinline__ void multiply_units(SwappedSums<Gemm>& sums, RowsA& a,
                                               ChunkB (&b)[Gemm::kRows],
                                               std::integer_sequence<int, kUnits...>) {
  (multiply_swapped_unit<Gemm, kSecond, kRange, kUnits>(sums, a, b), ...);
}

template <int kScaleStage, class Stream, class ChunkB, int kCount, int... kRows>
__device__ __forceinline__ void take_rows(const Stream& stream, ChunkB (&chunks)[kCount], int stage,
                                          std::integer_sequence<int, kRows...>) {
  (stream.template take<kRows, kScaleStage>(chunks[kRows], stage), ...);
}

// A step of a warp, once its operands are taken.
template <class Gemm, bool kSecond, class RowsA, class ChunkB>
__device__ __forceinline__ void multiply_swapped_step(SwappedSums<Gemm>& sums, RowsA& a,
                                                      ChunkB (&chunks)[Gemm::kRows], bool is_wide) {
  constexpr auto kAllUnits = std::make_integer_sequence<int, Gemm::kUnits>();
  if constexpr (RowsA::kNeedsCare || kHasWideScales<Gemm::kFormatOfB>) {
    // All lanes of a warp take part in an mma, so they go the same way.
    if (!__all_sync(~0u, !is_wide && !a.needs_care())) {
      a.take_care();
      multiply_units<Gemm, kSecond, ScaleRange::kAll>(sums, a, chunks, kAllUnits);
      return;
    }
  }
  multiply_units<Gemm, kSecond, ScaleRange::kNarrow>(sums, a, chunks, kAllUnits);
}

// Takes a step whose codes wait in `stage`, asks for what comes next in its place, and multiplies.
template <class Gemm, bool kSecond, int kScaleStage, class StreamB, class RowsA>
__device__ __forceinline__ void do_swapped_step(SwappedSums<Gemm>& sums, RowsA& a, StreamB& b,
                                                int stage) {
  copy_async_wait<1>();  // what is younger belongs to the next step
  Chunk<Gemm::kFormatOfB, Gemm::kLaneK> chunks[Gemm::kRows];
  take_rows<kScaleStage>(b, chunks, stage, std::make_integer_sequence<int, Gemm::kRows>());
  a.take();
  copy_async_commit();
  b.template ask_scales<kScaleStage>();
  b.load(stage);
  copy_async_commit();
  const bool is_wide = kHasWideScales<Gemm::kFormatOfB> && are_wide(chunks);
  multiply_swapped_step<Gemm, kSecond>(sums, a, chunks, is_wide);
}

// Asks L2 for the scales of a CTA's rows and steps; the warps with its first step do, for all.
// Memory gives scales in sectors that serve some steps at a time, so that all warps would wait for
// a new one at once.
template <class Gemm>
__device__ __forceinline__ void prefetch_scales(const GemmParams& params, const WarpShare& share) {
  const int begin = static_cast<int>(blockIdx.y) * params.steps_per_split;
  if (share.first_step != begin) {
    return;
  }
  const ScaleRows& scales = params.b.scales;
  const int64_t first_row = share.first_row;
  constexpr int kLine = 128;
  constexpr int kBlock = ElementTraits<Gemm::kFormatOfB>::kBlock;
  const int lane = threadIdx.x % 32;
  const int64_t first_col = static_cast<int64_t>(begin) * Gemm::kStepK / kBlock;
  const int64_t end_col = (share.end_k + kBlock - 1) / kBlock;
  if (!is_swizzled(scales)) {
    if (first_row + lane < scales.rows) {
      const uint8_t* row = scale_row(scales, first_row + lane);
      for (int64_t col = first_col; col < end_col; col += kLine) {
        prefetch_to_l2(row + col);
      }
    }
  } else if (first_row < scales.rows) {
    // 32 rows that start at a multiple of 32 have a part of every 16 bytes.
    constexpr int kTileRows = static_cast<int>(internal::kScaleTileRows);
    const uint8_t* tiles = scale_row(scales, first_row / kTileRows * kTileRows);
    const int64_t end_byte =
        scale_offset(true, end_col - 1) / internal::kScaleTileBytes * internal::kScaleTileBytes +
        internal::kScaleTileBytes;
    for (int64_t byte = scale_offset(true, first_col) + lane * kLine; byte < end_byte;
         byte += 32 * kLine) {
      prefetch_to_l2(tiles + byte);
    }
  }
}

// kSecond: A has more than eight rows.
template <class Gemm, bool kSecond>
__device__ __forceinline__ void multiply_swapped(const GemmParams& params, const WarpShare& share,
                                                 uint8_t* shared, SwappedSums<Gemm>& sums) {
  constexpr Format kA = Gemm::kFormatOfA;
  using RowsA =
      std::conditional_t<kA == Format::kBf16, RowsOfA<Gemm, kSecond>,
                         ScaledRowsOfA<Gemm, kA == Format::kBf16 ? Gemm::kFormatOfB : kA, kSecond>>;
  using StreamB = typename Gemm::StreamB;
  const int lane = threadIdx.x % 32;
  StreamB b(params.b, share.first_row + lane / 4, 8, lane % 4, share.first_step, share.stride,
            share.end_k, shared);
  b.load(0);
  copy_async_commit();
  RowsA a(params, share.first_step, share.stride, share.end_k, shared + StreamB::kSharedBytes);
  a.load();
  copy_async_commit();
  b.load(1);
  copy_async_commit();
  prefetch_scales<Gemm>(params, share);

  int stage = 0;
#pragma unroll 1
  for (int step = share.first_step; step < share.end; step += Gemm::kScaleStages * share.stride) {
    do_swapped_step<Gemm, kSecond, 0>(sums, a, b, stage);
    stage ^= 1;
    if constexpr (Gemm::kScaleStages == 2) {
      if (step + share.stride >= share.end) {
        break;
      }
      do_swapped_step<Gemm, kSecond, 1>(sums, a, b, stage);
      stage ^= 1;
    }
  }
  copy_async_wait<0>();
}

// The same with B spread over the lanes.
template <class Gemm>
__device__ __forceinline__ void multiply_spread(const GemmParams& params, const WarpShare& share,
                                                uint8_t* shared, SwappedSums<Gemm>& sums) {
  using StreamB = SpreadStream<Gemm::kFormatOfB, Gemm::kThreads>;
  static_assert(StreamB::kSharedBytes == Gemm::StreamB::kSharedBytes &&
                StreamB::kStepK == Gemm::kStepK);
  StreamB b(params.b, share.first_row, share.first_step, share.stride, share.end_k, shared);
  RowsOfA<Gemm, true> a(params, share.first_step, share.stride, share.end_k, nullptr);
  prefetch_scales<Gemm>(params, share);

  int stage = 0;
#pragma unroll 1
  for (int step = share.first_step; step < share.end; step += share.stride) {
    copy_async_wait<1>();
    SpreadChunk<Gemm::kFormatOfB> chunks[Gemm::kRows];
    const bool is_wide = b.take(chunks, stage);
    multiply_swapped_step<Gemm, true>(sums, a, chunks, is_wide);
    stage ^= 1;
  }
  copy_async_wait<0>();
}

// Adds the sums of the warps that share rows of B, in the order of the warps, and finishes D.
template <class Gemm>
__device__ __forceinline__ void store_swapped(const GemmParams& params,
                                              const SwappedSums<Gemm>& sums, float* shared,
                                              int warp_k, int warp_n, int64_t first_col) {
  const int cols = params.warps_along_n * Gemm::kWarpN;
  const int pitch = cols + 4;  // 4: the two rows of a lane's sums fall into different banks
  const int sharers = Gemm::kWarps >> params.log2_warps_along_n;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int tile = 0; tile < Gemm::kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int row = i / 4 * 8 + lane % 4 * 2 + i % 2;
      const int col = warp_n * Gemm::kWarpN + tile * 16 + i % 4 / 2 * 8 + lane / 4;
      shared[(warp_k * Gemm::kMaxM + row) * pitch + col] =
          sums[tile][i / 4][i % 4] * Gemm::kSumFactor;
    }
  }
  __syncthreads();
  const bool is_partial = params.splits > 1;
  const float alpha = is_partial ? 0.0f : alpha_of(params.epilogue);
  static_assert(Gemm::kWarpN == 4 * kEpilogueWidth);
  const int log2_groups = params.log2_warps_along_n + 2;  // of kEpilogueWidth columns
  const int rows = static_cast<int>(params.epilogue.m);
#pragma unroll 1
  for (int i = threadIdx.x; i < rows << log2_groups; i += Gemm::kThreads) {
    const int row = i >> log2_groups;
    const int col = (i & ((1 << log2_groups) - 1)) * kEpilogueWidth;
    alignas(16) float values[kEpilogueWidth] = {};
#pragma unroll 4
    for (int sharer = 0; sharer < sharers; ++sharer) {
      const float* source = shared + (sharer * Gemm::kMaxM + row) * pitch + col;
      const float4 low = *reinterpret_cast<const float4*>(source);
      const float4 high = *reinterpret_cast<const float4*>(source + 4);
      values[0] += low.x;
      values[1] += low.y;
      values[2] += low.z;
      values[3] += low.w;
      values[4] += high.x;
      values[5] += high.y;
      values[6] += high.z;
      values[7] += high.w;
    }
    if (is_partial) {
      store_partial(params, row, first_col + col, values);
    } else {
      finish_row(params.epilogue, alpha, row, first_col + col, values);
    }
  }
}

template <Format kA, Format kB>
__global__ void __launch_bounds__(SwappedGemm<kA, kB>::kThreads, 1)
    swapped_kernel(const __grid_constant__ GemmParams params) {
  using Gemm = SwappedGemm<kA, kB>;
  extern __shared__ __align__(128) uint8_t shared[];
  const int warp = threadIdx.x / 32;
  const int warp_n = warp & (params.warps_along_n - 1);
  const int warp_k = warp >> params.log2_warps_along_n;
  const int64_t first_col = static_cast<int64_t>(blockIdx.x) * params.warps_along_n * Gemm::kWarpN;
  const int all_steps = static_cast<int>((params.k + Gemm::kStepK - 1) / Gemm::kStepK);
  const int begin = static_cast<int>(blockIdx.y) * params.steps_per_split;
  const int end = min(begin + params.steps_per_split, all_steps);
  const WarpShare share = {
      .first_row = first_col + warp_n * Gemm::kWarpN,
      .first_step = begin + warp_k,
      .stride = Gemm::kWarps >> params.log2_warps_along_n,
      .end = end,
      .end_k = min(params.k, static_cast<int64_t>(end) * Gemm::kStepK),
  };

  SwappedSums<Gemm> sums = {};
  if (params.epilogue.m <= 8) {
    multiply_swapped<Gemm, false>(params, share, shared, sums);
  } else if constexpr (Gemm::kHasWideA) {
    multiply_spread<Gemm>(params, share, shared, sums);
  } else {
    multiply_swapped<Gemm, true>(params, share, shared, sums);
  }
  __syncthreads();
  store_swapped<Gemm>(params, sums, reinterpret_cast<float*>(shared), warp_k, warp_n, first_col);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
