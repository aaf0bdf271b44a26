// SPDX-License-Identifier: Apache-2.0
// D[M,N] = epilogue(A[M,K] . B[N,K]^T), operands expanded to bf16 in shared memory, products on the
// bf16 tensor cores (mma.sync m16n8k16), sums in fp32.
//
//        K                    K                      N
//    +-------+            +-------+            +-----------+
//  M | A  T  |          N | B  T  |          M | D         |     T: the CTA's tile of K, 32 wide,
//    | kM x K|            | kN x K|            |  kM x kN  |        one step
//    +-------+            +-------+            +-----------+
//
// Why expand in shared memory: each element is then expanded once per CTA, not once per warp that
// multiplies with it. At 128 x 256 a thread expands 48 elements for 64 mma, some 100 instructions
// beside the 64, and the tensor cores stay the limit. Expanding in registers instead would be 128
// elements for the same 64 mma.
//
// One step of K, between two barriers, in every warp alike (no roles):
//   read the fragments of k 0…15; multiply those of k 16…31 of the step before
//   read the fragments of k 16…31; multiply those of k 0…15
//   meanwhile expand the next step's elements into the other tile, and start the copies of steps to
//   come (tile_operand.cuh)
//
// Which row of B is which column of an mma is free: thread t of a row of lanes gets columns 8t …
// 8t+7 of each 32, so that it can store 16 bytes of D at once.
//
// Shared memory: 64 bytes a row for each of two tiles and two raw stages (scaled operand) or for
// each of four tiles (bf16): 96 KiB at 128 x 256, which fits 8.6, 8.9 and 12.x, too. Any M, N, K,
// pitch and address: copies are masked and fall to 4-byte or byte copies.
#pragma once

#include <type_traits>
#include <utility>

#include "cuda/sm80/tile_index.cuh"
#include "cuda/sm80/tile_operand.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct LargeTile {
  static constexpr int kM = 128;
  static constexpr int kN = 256;
  static constexpr int kWarpsM = 2;  // 64 x 64 per warp: 128 accumulators, 32 fragment words a k16
  static constexpr int kWarpsN = 4;
  static constexpr int kMinCtas = 1;  // the accumulators leave no room for a second CTA
};

// For few rows: all warps share the 64 rows of A, so that every element of B is still expanded
// once.
struct FlatTile {
  static constexpr int kM = 64;
  static constexpr int kN = 128;
  static constexpr int kWarpsM = 1;
  static constexpr int kWarpsN = 4;
  static constexpr int kMinCtas = 3;
};

template <Format kA, Format kB, class Tile, bool kWhole>
struct TileGemm {
  static constexpr int kThreads = Tile::kWarpsM * Tile::kWarpsN * 32;
  // Cheapest for two operands of E4M3; what bf16 and E2M1 come in for all others.
  static constexpr PairOrder kOrder =
      kA == kB && !ElementTraits<kB>::kIsE2m1 ? PairOrder::kStride2 : PairOrder::kNatural;
  using OperandA = std::conditional_t<kA == Format::kBf16, PlainOperand<Tile::kM, kThreads, kWhole>,
                                      ScaledOperand<kA, kOrder, Tile::kM, kThreads, kWhole>>;
  using OperandB = ScaledOperand<kB, kOrder, Tile::kN, kThreads, kWhole>;
  static constexpr int kBarrierOffset = OperandA::kSharedBytes + OperandB::kSharedBytes;
  static constexpr int kSharedBytes = kBarrierOffset + 16;
  static constexpr int kUnits = OperandA::kUnits + OperandB::kUnits;
  static constexpr int kPendingLoads = OperandA::kPendingLoads < OperandB::kPendingLoads
                                           ? OperandA::kPendingLoads
                                           : OperandB::kPendingLoads;
  static constexpr int kWarpM = Tile::kM / Tile::kWarpsM;
  static constexpr int kWarpN = Tile::kN / Tile::kWarpsN;
  static constexpr int kTilesM = kWarpM / 16;  // mma tiles of a warp
  static constexpr int kTilesN = kWarpN / 8;
  static constexpr int kGroupsN = kWarpN / 32;  // of four mma tiles whose columns interleave
  static_assert(kTilesM == 4 && kGroupsN * 32 == kWarpN);
};

// Fragments of 16 k.
template <class Gemm>
struct Fragments {
  uint32_t a[Gemm::kTilesM][4];
  uint32_t b[Gemm::kTilesN / 2][4];  // two neighbouring mma tiles: k low, k high, k low, k high
};

// `offset_a`, `offset_b`: tile_offset() of this lane's row of the first matrices at kHalf 0. The
// row of another matrix differs by a multiple of 4, which moves the unit's position by 2 or not at
// all; so does the other half of the step.
template <class Gemm, int kHalf>
__device__ __forceinline__ void load_fragments(Fragments<Gemm>& fragments, uint32_t tile_a,
                                               uint32_t tile_b, uint32_t offset_a,
                                               uint32_t offset_b) {
#pragma unroll
  for (int i = 0; i < Gemm::kTilesM; ++i) {
    load_matrices(fragments.a[i],
                  tile_a + (offset_a ^ ((kHalf ^ (i & 1)) * 32)) + i * 16 * kTileRowBytes);
  }
#pragma unroll
  for (int i = 0; i < Gemm::kTilesN / 2; ++i) {
    load_matrices(fragments.b[i], tile_b + (offset_b ^ ((kHalf ^ (i & 1)) * 32)) +
                                      (i / 2 * 32 + i % 2 * 4) * kTileRowBytes);
  }
}

template <class Gemm>
__device__ __forceinline__ void multiply_row(float (&sums)[Gemm::kTilesN][4],
                                             const uint32_t (&a)[4],
                                             const uint32_t (&b)[Gemm::kTilesN / 2][4]) {
#pragma unroll
  for (int j = 0; j < Gemm::kTilesN; ++j) {
    multiply_add(sums[j], a[0], a[1], a[2], a[3], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}

// The accumulators leave through this thread's own slots of shared memory, kGroupsAtOnce groups of
// eight at a time, only so that the epilogue's code exists a few times and not once per group.
template <class Gemm>
__device__ __forceinline__ void store_tile(const GemmParams& params,
                                           float (&sums)[Gemm::kTilesM][Gemm::kTilesN][4],
                                           uint8_t* shared, int64_t first_row, int64_t first_col) {
  constexpr int kRowsAtOnce = 2;  // mma tiles
  constexpr int kGroups = kRowsAtOnce * 2 * Gemm::kGroupsN;
  static_assert(kGroups * 32 * Gemm::kThreads <= Gemm::kSharedBytes);
  const int lane = threadIdx.x % 32;
  float4* slots = reinterpret_cast<float4*>(shared) + threadIdx.x;
  const bool is_partial = params.splits > 1;
  const float alpha = is_partial ? 0.0f : alpha_of(params.epilogue);
  const int64_t row_of_lane = first_row + lane / 4;
  const int64_t col_of_lane = first_col + lane % 4 * kEpilogueWidth;

#pragma unroll
  for (int start = 0; start < Gemm::kTilesM; start += kRowsAtOnce) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int half = group / Gemm::kGroupsN % 2;
      auto& row = sums[start + group / Gemm::kGroupsN / 2];
      const int col = group % Gemm::kGroupsN * 4;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        slots[(group * 2 + i) * Gemm::kThreads] =
            make_float4(row[col + 2 * i][2 * half], row[col + 2 * i][2 * half + 1],
                        row[col + 2 * i + 1][2 * half], row[col + 2 * i + 1][2 * half + 1]);
      }
    }
#pragma unroll 1
    for (int group = 0; group < kGroups; ++group) {
      alignas(16) float values[kEpilogueWidth];
      *reinterpret_cast<float4*>(values) = slots[group * 2 * Gemm::kThreads];
      *reinterpret_cast<float4*>(values + 4) = slots[(group * 2 + 1) * Gemm::kThreads];
      const int64_t row =
          row_of_lane + (start + group / Gemm::kGroupsN / 2) * 16 + group / Gemm::kGroupsN % 2 * 8;
      const int64_t col = col_of_lane + group % Gemm::kGroupsN * 32;
      if (is_partial) {
        store_partial(params, row, col, values);
      } else {
        finish_row(params.epilogue, alpha, row, col, values);
      }
    }
  }
}

// Where this lane's rows lie in the tiles, and where the tiles lie.
struct LaneOffsets {
  uint32_t tiles_a;
  uint32_t tiles_b;
  uint32_t a;
  uint32_t b;
  uint32_t zero;  // for expand_before_row()
  uint32_t barrier;
  bool is_first;  // of its warp
};

template <class Gemm>
__device__ __forceinline__ LaneOffsets lane_offsets(const uint8_t* shared, int warp_m, int warp_n) {
  const int lane = threadIdx.x % 32;
  const int matrix = lane / 8;
  const int row_a = warp_m * Gemm::kWarpM + lane % 16;
  const int row_b = warp_n * Gemm::kWarpN + lane % 8 / 2 * 8 + matrix / 2 * 2 + lane % 2;
  return {shared_address(shared),
          shared_address(shared + Gemm::OperandA::kSharedBytes),
          tile_offset(row_a, lane / 16),
          tile_offset(row_b, matrix % 2),
          blockDim.z - 1,
          shared_address(shared + Gemm::kBarrierOffset),
          lane == 0};
}

// The mma of a step are eight rows, of the second half of the step before and of the first half of
// this one. Before which of them unit `unit` of the next step is expanded; the operands' units are
// counted through, B's first.
template <class Gemm>
constexpr int row_of_unit(int unit) {
  return 1 + unit * 5 / Gemm::kUnits;
}

// The assembler would issue all mma first and leave most of the expansion to the end of a step,
// where the tensor cores idle. So a row of mma waits for the unit that was begun so many rows
// earlier.
constexpr int kPaceLag = 9;

template <class Gemm, int kUnit>
__device__ __forceinline__ uint32_t expand_unit(typename Gemm::OperandA& a,
                                                typename Gemm::OperandB& b, int tile) {
  if constexpr (kUnit < Gemm::OperandB::kUnits) {
    return b.template expand_unit<kUnit>(tile);
  } else {
    return a.template expand_unit<kUnit - Gemm::OperandB::kUnits>(tile);
  }
}

// `zero` is 0, which the compiler cannot know.
template <class Gemm, int kRow, int kUnit>
__device__ __forceinline__ void expand_before_row(typename Gemm::OperandA& a,
                                                  typename Gemm::OperandB& b, int tile,
                                                  uint32_t (&fragment)[4],
                                                  uint32_t (&done)[Gemm::kUnits], uint32_t zero) {
  if constexpr (row_of_unit<Gemm>(kUnit) == kRow) {
    done[kUnit] = expand_unit<Gemm, kUnit>(a, b, tile);
  }
  if constexpr (row_of_unit<Gemm>(kUnit) + kPaceLag == kRow) {
    fragment[0] |= done[kUnit] & zero;
  }
}

template <class Gemm, int kRow, int... kUnits>
__device__ __forceinline__ void do_row(typename Gemm::OperandA& a, typename Gemm::OperandB& b,
                                       int tile, uint32_t (&fragment)[4],
                                       const uint32_t (&fragments_b)[Gemm::kTilesN / 2][4],
                                       float (&sums)[Gemm::kTilesN][4],
                                       uint32_t (&done)[Gemm::kUnits], uint32_t zero,
                                       std::integer_sequence<int, kUnits...>) {
  (expand_before_row<Gemm, kRow, kUnits>(a, b, tile, fragment, done, zero), ...);
  multiply_row<Gemm>(sums, fragment, fragments_b);
}

// Step i of K, kInFour = i % 4, of `steps`.
template <class Gemm, int kInFour>
__device__ __forceinline__ void do_step(int i, int steps, const LaneOffsets& lane,
                                        typename Gemm::OperandA& a, typename Gemm::OperandB& b,
                                        Fragments<Gemm>& low, Fragments<Gemm>& high,
                                        float (&sums)[4][Gemm::kTilesN][4]) {
  constexpr int kOther = (kInFour + 1) % 2;
  constexpr uint32_t kTileA = Gemm::OperandA::tile_of(kInFour) * Gemm::OperandA::kTileBytes;
  constexpr uint32_t kTileB = Gemm::OperandB::tile_of(kInFour) * Gemm::OperandB::kTileBytes;
  constexpr std::make_integer_sequence<int, Gemm::kUnits> kUnits;
  uint32_t done[Gemm::kUnits];

  do_row<Gemm, 0>(a, b, kOther, high.a[0], high.b, sums[0], done, lane.zero, kUnits);
  wait_for_barrier(lane.barrier, kInFour % 2);
  load_fragments<Gemm, 0>(low, lane.tiles_a + kTileA, lane.tiles_b + kTileB, lane.a, lane.b);
  // After the last step: bytes that nobody will read.
  b.template fetch<(kInFour + 1) % 4>(i + 1);
  a.template fetch<(kInFour + 1) % 4>(i + 1);
  a.template load<kInFour>(i, steps);
  b.template load<kInFour>(i, steps);
  copy_async_commit();
  do_row<Gemm, 1>(a, b, kOther, high.a[1], high.b, sums[1], done, lane.zero, kUnits);
  do_row<Gemm, 2>(a, b, kOther, high.a[2], high.b, sums[2], done, lane.zero, kUnits);
  do_row<Gemm, 3>(a, b, kOther, high.a[3], high.b, sums[3], done, lane.zero, kUnits);

  load_fragments<Gemm, 1>(high, lane.tiles_a + kTileA, lane.tiles_b + kTileB, lane.a, lane.b);
  do_row<Gemm, 4>(a, b, kOther, low.a[0], low.b, sums[0], done, lane.zero, kUnits);
  do_row<Gemm, 5>(a, b, kOther, low.a[1], low.b, sums[1], done, lane.zero, kUnits);
  // Everything of this step is read and the next one's tile written; two more rows of mma, and one
  // of the next step, hide how far the warps are apart.
  copy_async_wait<Gemm::kPendingLoads>();
  __syncwarp();
  if (lane.is_first) {
    arrive_at_barrier(lane.barrier);
  }
  do_row<Gemm, 6>(a, b, kOther, low.a[2], low.b, sums[2], done, lane.zero, kUnits);
  do_row<Gemm, 7>(a, b, kOther, low.a[3], low.b, sums[3], done, lane.zero, kUnits);
}

template <class Gemm, int... kUnits>
__device__ __forceinline__ void expand_all(typename Gemm::OperandA& a, typename Gemm::OperandB& b,
                                           std::integer_sequence<int, kUnits...>) {
  (expand_unit<Gemm, kUnits>(a, b, 0), ...);
}

template <class Gemm>
__device__ __forceinline__ void multiply_tile(const GemmParams& params, int64_t first_row,
                                              int64_t first_col, int begin, int steps,
                                              uint8_t* shared, const LaneOffsets& lane,
                                              float (&sums)[4][Gemm::kTilesN][4]) {
  typename Gemm::OperandA a(params.a, first_row, params.k, begin, shared);
  typename Gemm::OperandB b(params.b, first_col, params.k, begin,
                            shared + Gemm::OperandA::kSharedBytes);
  Fragments<Gemm> low;
  Fragments<Gemm> high = {};  // the first step multiplies zeros in place of a step before

  if (threadIdx.x == 0) {
    init_barrier(lane.barrier, Gemm::kThreads / 32);
  }
  a.load_first(steps);
  b.load_first(steps);
  copy_async_commit();
  a.load_second(steps);
  b.load_second(steps);
  copy_async_commit();
  copy_async_wait<1>();
  __syncthreads();
  a.template fetch<0>(0);
  b.template fetch<0>(0);
  expand_all<Gemm>(a, b, std::make_integer_sequence<int, Gemm::kUnits>());
  copy_async_wait<0>();
  __syncwarp();
  if (lane.is_first) {
    arrive_at_barrier(lane.barrier);
  }

  // Four steps a turn: a quad of scales, and what depends on the parity of a step is constant.
#pragma unroll 1
  for (int i = 0; i < steps; i += 4) {
    do_step<Gemm, 0>(i, steps, lane, a, b, low, high, sums);
    if (i + 1 == steps) {
      break;
    }
    do_step<Gemm, 1>(i + 1, steps, lane, a, b, low, high, sums);
    if (i + 2 == steps) {
      break;
    }
    do_step<Gemm, 2>(i + 2, steps, lane, a, b, low, high, sums);
    if (i + 3 == steps) {
      break;
    }
    do_step<Gemm, 3>(i + 3, steps, lane, a, b, low, high, sums);
  }
#pragma unroll
  for (int i = 0; i < Gemm::kTilesM; ++i) {
    multiply_row<Gemm>(sums[i], high.a[i], high.b);
  }
  copy_async_wait<0>();
  __syncthreads();
}

template <Format kA, Format kB, class Tile>
__global__ void __launch_bounds__(Tile::kWarpsM* Tile::kWarpsN * 32, Tile::kMinCtas)
    tile_kernel(const __grid_constant__ GemmParams params) {
  using Gemm = TileGemm<kA, kB, Tile, true>;
  using MaskedGemm = TileGemm<kA, kB, Tile, false>;
  extern __shared__ __align__(128) uint8_t shared[];

  const int warp = threadIdx.x / 32;
  const int warp_m = warp % Tile::kWarpsM;
  const int warp_n = warp / Tile::kWarpsM;
  const TileIndex tile = tile_index(params);
  const int64_t first_row = static_cast<int64_t>(tile.m) * Tile::kM;
  const int64_t first_col = static_cast<int64_t>(tile.n) * Tile::kN;
  const int all_steps = static_cast<int>((params.k + kTileK - 1) / kTileK);
  const int begin = static_cast<int>(blockIdx.y) * params.steps_per_split;
  const int steps = min(params.steps_per_split, all_steps - begin);
  const LaneOffsets lane = lane_offsets<Gemm>(shared, warp_m, warp_n);

  float sums[Gemm::kTilesM][Gemm::kTilesN][4] = {};
  if (params.a.alignment == 16 && params.b.alignment == 16 && params.k % kTileK == 0) {
    multiply_tile<Gemm>(params, first_row, first_col, begin, steps, shared, lane, sums);
  } else {
    multiply_tile<MaskedGemm>(params, first_row, first_col, begin, steps, shared, lane, sums);
  }
  store_tile<Gemm>(params, sums, shared, first_row + warp_m * Gemm::kWarpM,
                   first_col + warp_n * Gemm::kWarpN);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
