// SPDX-License-Identifier: Apache-2.0
// D[M,N] = epilogue(A[M,K] . B[N,K]^T), operands expanded to bf16, products on the bf16 tensor
// cores (mma.sync m16n8k16), sums in fp32.
//
//        K                    K                      N
//    +-------+            +-------+            +-----------+
//  M | A  T  |          N | B  T  |          M | D         |     T: the CTA's tile of K, one step
//    | kM x K|            | kN x K|            |  kM x kN  |
//    +-------+            +-------+            +-----------+
//
// Every warp has all kM rows of the tile and 32 columns. So each element of B is needed by one
// thread only, which expands it in registers, straight into the fragment that it multiplies with;
// each element of A is needed by all warps, so it is expanded once and goes through shared memory
// (bf16 A comes there as it is). Both at 128 x 256: a thread expands 128 elements of B and 64 of A
// for 256 mma; tensor cores want 6 cycles for one on 9.0, and shared memory 4 for the 512 bytes of
// A that serve 4 of them.
//
// The order of K in an mma is free. Lane t of a row of lanes multiplies chunk t of a step: 32
// neighbouring k in 4 bits (all of an MX block, with one scale) or 16 in 8 bits, unit by unit of 8:
//
//   k of a step:  | chunk of lane 0        | lane 1 | lane 2 | lane 3 |
//                 | unit 0 | 1  | 2  | 3   | …
//
// An mma's 16 rows are rows of B, its 8 columns rows of A: lane (g, t) = (lane / 4, lane % 4) then
// needs 16 bytes in a row of A, which are two columns' worth in registers side by side. (As rows of
// the mma they would have to be moved apart.)
//
// One step of K between two barriers, in all warps alike (no roles): while unit c is multiplied,
// B's unit c + 1 and a part of A's next tile are expanded. Large tiles of MXFP4 x MXFP4 have this
// step in two forms, the first for warps whose scales are all narrow (expand_bf16.cuh): what is
// placed is then multiplied once. B's first unit is always expanded by the second form, since its
// scales come late.
//
// Shared memory at 128 x 256: two tiles of A, 64 KiB, and codes under way, at most 32 KiB; it fits
// 8.6, 8.9 and 12.x, too. Any M, N, K, pitch and address: kernels with kWhole = false mask copies,
// which fall to 4-byte or byte copies.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "cuda/sm80/tile_index.cuh"
#include "cuda/sm80/tile_operand.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

constexpr int kWarpCols = 32;              // columns of D, rows of B
constexpr int kTilesOfB = kWarpCols / 16;  // mma tiles
constexpr int kRowsOfB = kTilesOfB * 2;    // of a lane: g, g + 8, …

struct LargeTile {
  static constexpr int kM = 128;
  static constexpr int kWarps = 8;
  static constexpr int kMinCtas = 1;  // 128 accumulators leave no room for a second CTA
};

// For few rows, when reading and expanding B is most of the work.
template <Format kA>
struct FlatTile {
  static constexpr int kM = 64;
  static constexpr int kWarps = 4;
  static constexpr int kMinCtas = kA == Format::kBf16 ? 3 : 2;  // as many as registers allow
};

// For problems that need masked copies: masks want registers.
struct MaskedTile {
  static constexpr int kM = 64;
  static constexpr int kWarps = 4;
  static constexpr int kMinCtas = 2;
};

// Elements of a step that one lane multiplies: 16 bytes of B.
template <Format kB>
constexpr int lane_k() {
  return 128 / ElementTraits<kB>::kBits;
}

// What both operands are expanded in: what bf16 in memory looks like, or what costs least.
template <Format kA, Format kB>
constexpr PairOrder pair_order() {
  return kA == Format::kBf16           ? PairOrder::kNatural
         : !ElementTraits<kB>::kIsE2m1 ? PairOrder::kStride2
                                       : PairOrder::kStride4;
}

template <Format kFormatA, Format kFormatB, class Tile, bool kWhole>
struct TileGemm {
  static constexpr Format kFormatOfA = kFormatA;
  static constexpr Format kFormatOfB = kFormatB;
  static constexpr int kM = Tile::kM;
  static constexpr int kN = Tile::kWarps * kWarpCols;
  static constexpr int kThreads = Tile::kWarps * 32;
  static constexpr int kLaneK = lane_k<kFormatB>();
  static constexpr int kStepK = 4 * kLaneK;
  static constexpr int kUnits = kLaneK / kUnitElements;
  static constexpr int kTilesOfA = kM / 8;
  // A slot: two mma tiles of A, all of B, one unit of K.
  static constexpr int kSlotsPerUnit = kTilesOfA / 2;
  static constexpr int kSlots = kUnits * kSlotsPerUnit;
  static constexpr PairOrder kOrder = pair_order<kFormatA, kFormatB>();
  // Other pairs spill by it (ptxas 13.0).
  static constexpr bool kEvenScales =
      kWhole && kFormatB == Format::kMxf4 && kFormatA != Format::kMxf8E4m3;
  // bf16 x MXFP4 is 6 % faster with the copies of A spread over a step and slots that the compiler
  // keeps apart; the other pairs with bf16 are slower (H200, 2026-12-01).
  static constexpr bool kPaced = kWhole && kFormatA == Format::kBf16 && kFormatB == Format::kMxf4;
  // Where both operands gain by it, and two forms of a step fit: large tiles.
  static constexpr bool kHasNarrowSteps =
      kM == LargeTile::kM && kHasWideScales<kFormatA> && kHasWideScales<kFormatB>;
  static constexpr float kSumFactor = whole_of_products<kFormatA, kFormatB>();
  using Layout = TileLayout<kLaneK>;
  using OperandA =
      std::conditional_t<kFormatA == Format::kBf16, PlainTile<kM, kThreads, kLaneK, kWhole, kPaced>,
                         ScaledTile<kFormatA, kOrder, kM, kThreads, kLaneK, kWhole, kEvenScales>>;
  using ChunkB = Chunk<kFormatB, kLaneK>;
  using StreamB = ChunkStream<kFormatB, kLaneK, kRowsOfB, 1, 1, kThreads, kWhole, kEvenScales>;
  using Sums = float[kTilesOfB][kTilesOfA][4];
  // What the sums go through on their way out (store_tile()) needs more where tiles are small.
  static constexpr int kStoredRows = 32;
  static constexpr int kStorePitch = kWarpCols + 4;
  static constexpr int kSharedBytes = std::max(OperandA::kSharedBytes + StreamB::kSharedBytes,
                                               kStoredRows* kStorePitch * 4 * Tile::kWarps);
};

// Eight k a lane, two mma deep: of 16 rows of A, and of 32 rows of B.
struct FragmentA {
  uint4 tiles[2];  // words 0, 1 for the first mma, 2, 3 for the second
};
struct FragmentB {
  uint32_t tiles[kTilesOfB][2][4];

  // Row `row` of the lane: word 2 i + j is k half j of mma i.
  __device__ __forceinline__ void set(int row, const uint32_t (&words)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      tiles[row / 2][i / 2][row % 2 + i % 2 * 2] = words[i];
    }
  }
};

// The state of one warp's multiplication.
template <class Gemm, class OperandA>
struct TileState {
  OperandA a;
  typename Gemm::StreamB b;
  typename Gemm::ChunkB chunks[kRowsOfB];
  FragmentB fragments[2];
  const uint8_t* tiles;
  uint32_t lane_offset;  // of unit 0 of row g in a tile
  uint32_t tile;         // bytes from the first tile to the current one

  template <int kSlot>
  __device__ __forceinline__ void load_fragment(FragmentA& fragment) const {
    constexpr int kUnit = kSlot / Gemm::kSlotsPerUnit;
    constexpr int kRow = kSlot % Gemm::kSlotsPerUnit * 16;
    using Layout = typename Gemm::Layout;
    const uint8_t* source = tiles + tile + (lane_offset ^ kUnit * Layout::kUnitBytes);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      fragment.tiles[i] =
          *reinterpret_cast<const uint4*>(source + (kRow + i * 8) * Layout::kRowBytes);
    }
  }

  // Makes the next step's codes of a row of B current and asks for those of the step after. Rows
  // come in order.
  template <int kRow>
  __device__ __forceinline__ void take_row() {
    b.template take<kRow>(chunks[kRow]);
    b.template ask_one<kRow>();
    b.template load_one<kRow>();
    if constexpr (kRow == kRowsOfB - 1) {
      copy_async_commit();
    }
  }

  template <int kRow, ScaleRange kRange>
  __device__ __forceinline__ void expand_row(int unit, int fragment) {
    uint32_t words[4];
    chunks[kRow].template expand_unit<Gemm::kOrder, kRange>(unit, words);
    fragments[fragment].set(kRow, words);
  }
  template <int... kRows>
  __device__ __forceinline__ void start(std::integer_sequence<int, kRows...>) {
    (take_row<kRows>(), ...);
    (expand_row<kRows, ScaleRange::kAll>(0, 0), ...);
  }
};

// A slot's part of the next units' expansion. What is known of scales is known of this step's in B
// and of the next one's in A: B's next chunks are still on their way when a step starts.
template <class Gemm, ScaleRange kRange, int kSlot, class State>
__device__ __forceinline__ void expand_in_slot(State& state) {
  constexpr int kUnit = kSlot / Gemm::kSlotsPerUnit;
  constexpr int kInUnit = kSlot % Gemm::kSlotsPerUnit;
  constexpr int kNextUnit = (kUnit + 1) % Gemm::kUnits;
  constexpr int kSlotsPerRow = Gemm::kSlotsPerUnit / kRowsOfB;
  state.a.template work<kSlot, Gemm::kSlots, kRange>(state.tile ^ Gemm::OperandA::kTileBytes);
  if constexpr (kInUnit == 0 && kNextUnit == 0) {
    copy_async_wait<1>();  // all but A's, which is younger
  }
  if constexpr (kInUnit % kSlotsPerRow == 0) {
    if constexpr (kNextUnit == 0) {
      state.template take_row<kInUnit / kSlotsPerRow>();
    }
    constexpr ScaleRange kRangeOfB = kNextUnit == 0 ? ScaleRange::kAll : kRange;
    state.template expand_row<kInUnit / kSlotsPerRow, kRangeOfB>(kNextUnit, (kUnit + 1) % 2);
  }
}

// A slot's eight mma.
template <class Gemm, int kSlot>
__device__ __forceinline__ void multiply_in_slot(const FragmentA& a, const FragmentB& b,
                                                 typename Gemm::Sums& sums) {
  constexpr int kFirstTile = kSlot % Gemm::kSlotsPerUnit * 2;
#pragma unroll
  for (int k = 0; k < 2; ++k) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < kTilesOfB; ++j) {
        multiply_add(sums[j][kFirstTile + i], b.tiles[j][k][0], b.tiles[j][k][1], b.tiles[j][k][2],
                     b.tiles[j][k][3], k == 0 ? a.tiles[i].x : a.tiles[i].z,
                     k == 0 ? a.tiles[i].y : a.tiles[i].w);
      }
    }
  }
}

template <class Gemm, ScaleRange kRange, int kSlot, class State>
__device__ __forceinline__ void do_slot(State& state, FragmentA (&fragments_a)[2],
                                        typename Gemm::Sums& sums) {
  if constexpr (kSlot + 1 < Gemm::kSlots) {
    state.template load_fragment<kSlot + 1>(fragments_a[(kSlot + 1) % 2]);
  }
  if constexpr (kSlot == 0) {
    // Long before they are asked for: what then waits for fragments of A, which share the
    // hardware's few counters with them, would wait for L2.
    state.b.prefetch_scales();
    state.a.prefetch_scales();
  }
  if constexpr (Gemm::kPaced) {
    __syncwarp();
  }
  expand_in_slot<Gemm, kRange, kSlot>(state);
  multiply_in_slot<Gemm, kSlot>(fragments_a[kSlot % 2],
                                state.fragments[kSlot / Gemm::kSlotsPerUnit % 2], sums);
}

template <class Gemm, ScaleRange kRange, class State, int... kSlots>
__device__ __forceinline__ void do_step(State& state, typename Gemm::Sums& sums,
                                        std::integer_sequence<int, kSlots...>) {
  FragmentA fragments_a[2];
  state.template load_fragment<0>(fragments_a[0]);
  (do_slot<Gemm, kRange, kSlots>(state, fragments_a, sums), ...);
}

// A step in the form that its scales allow this warp.
template <class Gemm, class State>
__device__ __forceinline__ void do_step(State& state, typename Gemm::Sums& sums) {
  constexpr auto kAllSlots = std::make_integer_sequence<int, Gemm::kSlots>();
  if constexpr (Gemm::kHasNarrowSteps) {
    if (__all_sync(~0u, !are_wide(state.chunks) && !state.a.is_wide())) {
#pragma unroll
      for (auto& chunk : state.chunks) {
        chunk.template set_range<Gemm::kOrder, ScaleRange::kNarrow>();
      }
      do_step<Gemm, ScaleRange::kNarrow>(state, sums, kAllSlots);
      return;
    }
  }
  do_step<Gemm, ScaleRange::kAll>(state, sums, kAllSlots);
}

// Steps `begin` to `end` of K.
template <class Gemm>
__device__ __forceinline__ void multiply_tile(const GemmParams& params, int64_t first_row,
                                              int64_t first_col, int begin, int end,
                                              uint8_t* shared, typename Gemm::Sums& sums) {
  using OperandA = typename Gemm::OperandA;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int g = lane / 4;
  const int t = lane % 4;
  const int64_t end_k = min(params.k, static_cast<int64_t>(end) * Gemm::kStepK);
  const int64_t row_of_b = first_col + threadIdx.x / 32 * kWarpCols + g;
  TileState<Gemm, OperandA> state = {OperandA(params.a, first_row, begin, end_k, shared),
                                     typename Gemm::StreamB(params.b, row_of_b, 8, t, begin, 1,
                                                            end_k, shared + OperandA::kSharedBytes),
                                     {},
                                     {},
                                     shared,
                                     Gemm::Layout::offset(g, t * Gemm::kUnits),
                                     0};

  state.a.load_first();
  state.b.load();
  copy_async_commit();
  copy_async_wait<0>();
  state.a.expand_first();
  copy_async_commit();  // of the copies of a step, A's are the older ones
  state.start(std::make_integer_sequence<int, kRowsOfB>());
  copy_async_wait<1>();
  __syncthreads();

#pragma unroll 1
  for (int step = begin; step < end; ++step) {
    do_step<Gemm>(state, sums);
    copy_async_wait<1>();  // all but B's, which is younger
    __syncthreads();
    state.tile ^= OperandA::kTileBytes;
  }
  copy_async_wait<0>();
  __syncthreads();
}

// Every warp turns its sums round in shared memory of its own, some rows of D at a time, so that a
// thread has eight neighbouring columns. Which rows is a run-time value, so that the epilogue's
// code exists once.
template <class Gemm>
__device__ __forceinline__ void store_tile(const GemmParams& params,
                                           const typename Gemm::Sums& sums, uint8_t* shared,
                                           int64_t first_row, int64_t first_col) {
  constexpr int kRowsAtOnce = Gemm::kStoredRows;
  constexpr int kTilesAtOnce = kRowsAtOnce / 8;
  constexpr int kPitch = Gemm::kStorePitch;  // rows that are written together: other banks
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  float* own = reinterpret_cast<float*>(shared) + warp * kRowsAtOnce * kPitch;
  float* target = own + lane % 4 * 2 * kPitch + lane / 4;
  const float* source = own + lane / 4 * kPitch + lane % 4 * kEpilogueWidth;
  const bool is_partial = params.splits > 1;
  const float alpha = is_partial ? 0.0f : alpha_of(params.epilogue);
  const int64_t col = first_col + warp * kWarpCols + lane % 4 * kEpilogueWidth;

#pragma unroll 1
  for (int start = 0; start < Gemm::kTilesOfA; start += kTilesAtOnce) {
#pragma unroll
    for (int tile = 0; tile < Gemm::kTilesOfA; ++tile) {
      if (tile / kTilesAtOnce * kTilesAtOnce == start) {
#pragma unroll
        for (int i = 0; i < kTilesOfB * 4; ++i) {
          target[(tile % kTilesAtOnce * 8 + i % 2) * kPitch + i / 2 * 8] =
              sums[i / 4][tile][i % 4] * Gemm::kSumFactor;
        }
      }
    }
    __syncwarp();
#pragma unroll 1
    for (int row = 0; row < kRowsAtOnce; row += 8) {
      alignas(16) float values[kEpilogueWidth];
      *reinterpret_cast<float4*>(values) = *reinterpret_cast<const float4*>(source + row * kPitch);
      *reinterpret_cast<float4*>(values + 4) =
          *reinterpret_cast<const float4*>(source + row * kPitch + 4);
      const int64_t row_of_d = first_row + start * 8 + row + lane / 4;
      if (is_partial) {
        store_partial(params, row_of_d, col, values);
      } else {
        finish_row(params.epilogue, alpha, row_of_d, col, values);
      }
    }
    __syncwarp();
  }
}

// Whether the kernels without masks can take the problem.
template <class Gemm>
bool is_whole(const GemmParams& params) {
  const bool is_whole_a = Gemm::kFormatOfA == Format::kBf16
                              ? is_whole_plain(params.a)
                              : is_whole_stream<Gemm::kFormatOfA, Gemm::kLaneK>(params.a, params.k);
  return is_whole_a && is_whole_stream<Gemm::kFormatOfB, Gemm::kLaneK>(params.b, params.k);
}

template <Format kA, Format kB, class Tile, bool kWhole>
__global__ void __launch_bounds__(Tile::kWarps * 32, Tile::kMinCtas)
    tile_kernel(const __grid_constant__ GemmParams params) {
  using Gemm = TileGemm<kA, kB, Tile, kWhole>;
  extern __shared__ __align__(128) uint8_t shared[];

  const TileIndex tile = tile_index(params);
  const int64_t first_row = static_cast<int64_t>(tile.m) * Gemm::kM;
  const int64_t first_col = static_cast<int64_t>(tile.n) * Gemm::kN;
  const int all_steps = static_cast<int>((params.k + Gemm::kStepK - 1) / Gemm::kStepK);
  const int begin = static_cast<int>(blockIdx.y) * params.steps_per_split;
  const int end = min(begin + params.steps_per_split, all_steps);

  typename Gemm::Sums sums = {};
  multiply_tile<Gemm>(params, first_row, first_col, begin, end, shared, sums);
  store_tile<Gemm>(params, sums, shared, first_row, first_col);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
