// SPDX-License-Identifier: Apache-2.0
// D[M,N] = epilogue(A[M,K] . B[N,K]^T) for M <= 16: reading B is all the work there is. The roles
// are swapped: 16 rows of B fill the side of mma.sync m16n8k16 that must be filled, the rows of A
// the side of 8 (one or two of them).
//
//   a warp: 32 rows of B (16 in 8 bits)        a CTA: 12 warps, warps_along_n of them side by side
//   x 128 k a step, straight from memory:      along N, the others take the steps in turn;
//   lane (g, t) = (lane / 4, lane % 4)         blockIdx.y takes a part of K
//   reads k 32t … 32t + 31 of rows g, g + 8, …
//
// That is one MX block or two NVFP4 blocks per lane and row, and just what the lane multiplies: the
// order of K in an mma is free, so its elements never pass through another lane or a shared tile.
// They wait in a ring of shared memory that the lane alone reads (cp.async, kStages steps deep:
// 96 KiB in flight per SM at two CTAs, some 25 KiB would cover the latency).
//
// The integer unit, at half the rate of the others, is what expanding needs most, and 24 warps per
// SM are what keeps it busy: hence 80 registers, and loops instead of unrolled steps.
//
// A is expanded to bf16 once per CTA, slab by slab of K, in the order in which lanes read it: the
// 16 bytes that lane (g, t) needs for elements 8w … 8w + 7 of its block lie at
// ((step * 4 + w) * rows + g) * 4 + t. A slab has 12288 elements: 768 k of 16 rows, 12288 k of one.
//
// Sums of the warps that share rows of B meet in shared memory and are added in the order of the
// warps; those of several CTAs in `partial` (kernel_entry.cu), in the order of blockIdx.y.
//
// Shared memory: ring 72 KiB, slab 24 KiB. Any N, K, pitch and address.
#pragma once

#include "cuda/common/expand_bf16.cuh"
#include "cuda/sm80/gemm_params.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

template <Format kA, Format kB>
struct SwappedGemm {
  static constexpr int kMaxM = 16;
  static constexpr int kWarps = 12;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kStages = 3;
  static constexpr int kStepK = 128;
  static constexpr int kLaneK = kStepK / 4;
  static constexpr int kUnits = kLaneK / 8;
  static constexpr int kTilesN = ElementTraits<kB>::kIsE2m1 ? 2 : 1;  // mma tiles of B rows
  static constexpr int kWarpN = kTilesN * 16;
  static constexpr int kRows = kTilesN * 2;  // rows of B per lane
  static constexpr int kPiecesPerRow = kLaneK * ElementTraits<kB>::kBits / 8 / 16;
  static constexpr int kPieces = kRows * kPiecesPerRow;
  static constexpr int kWordsPerRow = kPiecesPerRow * 4;
  static constexpr int kRingBytes = kWarps * kStages * kPieces * 16 * 32;
  static constexpr int kSlabElements = kMaxM * 768;
  static constexpr int kSlabBytes = kSlabElements * 2;
  static constexpr int kSharedBytes = kRingBytes + kSlabBytes;
  static constexpr PairOrder kOrder =
      ElementTraits<kB>::kIsE2m1 ? PairOrder::kStride4 : PairOrder::kStride2;
  // Scales of a row and step, quads of them, and scales of a lane's elements of a row.
  static constexpr int kScalesPerStep = kStepK / ElementTraits<kB>::kBlock;
  static constexpr int kQuadsPerStep = kScalesPerStep / 4;
  static constexpr int kScalesPerLane = kScalesPerStep / 4;
};

// The slab has room for 2^n rows, as few as hold M: few rows make long slabs.
__device__ __forceinline__ int slab_row_bits(int64_t m) {
  return m <= 1 ? 0 : m <= 2 ? 1 : m <= 4 ? 2 : m <= 8 ? 3 : 4;
}

// Eight elements of A from k, expanded; 0 outside of A.
template <Format kFormat, PairOrder kOrder>
__device__ __forceinline__ uint4 expand_a(const OperandRows& a, int row, int64_t k, int64_t all_k) {
  uint32_t pairs[4] = {};
  if (row < a.scales.rows && k < all_k) {  // K is a multiple of 16
    constexpr int kWords = ElementTraits<kFormat>::kBits / 4;
    const uint8_t* source = a.data + row * a.pitch + k * ElementTraits<kFormat>::kBits / 8;
    uint32_t words[kWords];
    if (a.alignment >= (kWords == 4 ? 16 : 4)) {
      if constexpr (kWords == 4) {
        const uint4 all = __ldg(reinterpret_cast<const uint4*>(source));
        words[0] = all.x;
        words[1] = all.y;
        words[2] = all.z;
        words[3] = all.w;
      } else {
#pragma unroll
        for (int i = 0; i < kWords; ++i) {
          words[i] = __ldg(reinterpret_cast<const unsigned int*>(source) + i);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        words[i] = source[4 * i] | source[4 * i + 1] << 8 | source[4 * i + 2] << 16 |
                   static_cast<uint32_t>(source[4 * i + 3]) << 24;
      }
    }
    if constexpr (kFormat == Format::kBf16) {
      reorder<kOrder>(words, pairs);
    } else {
      const int64_t block = k / ElementTraits<kFormat>::kBlock;
      uint32_t natural[4];
      expand<kFormat, PairOrder::kNatural>(
          words, multiplier<kFormat>(scale_code(a.scales, row, block), words), natural);
      reorder<kOrder>(natural, pairs);
    }
  }
  return make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

// Expands `steps` steps of A from step `first` into the slab.
template <class Gemm, Format kFormat>
__device__ __forceinline__ void fill_slab(const GemmParams& params, uint4* slab, int row_bits,
                                          int first, int steps) {
#pragma unroll 4
  for (int i = threadIdx.x; i < steps << (row_bits + 4); i += Gemm::kThreads) {
    // Neighbouring threads read neighbouring elements.
    const int unit = i % 4;
    const int t = i / 4 % 4;
    const int row = i / 16 & ((1 << row_bits) - 1);
    const int step = i >> (row_bits + 4);
    const int64_t k =
        static_cast<int64_t>(first + step) * Gemm::kStepK + t * Gemm::kLaneK + unit * 8;
    slab[(((step * Gemm::kUnits + unit) << row_bits) + row) * 4 + t] =
        expand_a<kFormat, Gemm::kOrder>(params.a, row, k, params.k);
  }
}

// A warp's rows of B: where the next steps lie. Lane (g, t) streams elements of rows g, g + 8, …,
// and lane r holds the scales of row r.
template <class Gemm, Format kFormat, bool kWhole>
class StreamedRows {
  using Traits = ElementTraits<kFormat>;

 public:
  __device__ __forceinline__ StreamedRows(const OperandRows& b, int64_t first_row, int64_t k,
                                          int first_step, int stride)
      : alignment_(b.alignment), stride_(stride) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int64_t row = first_row + lane / 4;
    const int first = first_step * Gemm::kStepK + lane % 4 * Gemm::kLaneK;
    inside_ = static_cast<int>(max(int64_t{0}, min((b.scales.rows - row + 7) / 8, int64_t{8})));
    k_left_ = static_cast<int>(k) - first;
    source_ = b.data + row * b.pitch + static_cast<int64_t>(first) * Traits::kBits / 8;
    row_step_ = 8 * b.pitch;

    const int64_t scale_row_index = first_row + lane;
    const bool has_scales = lane < Gemm::kWarpN && scale_row_index < b.scales.rows;
    const int quad = first_step * Gemm::kQuadsPerStep;
    has_whole_quads_ = b.scales.has_whole_quads;
    quad_stride_ = quad_stride(b.scales);
    scales_ = scale_row(b.scales, has_scales ? scale_row_index : 0) +
              static_cast<int64_t>(quad) * quad_stride_;
    scales_left_ = has_scales ? static_cast<int>(b.scales.view.cols) - quad * 4 : 0;
    ask_scales();
  }

  // Starts the copies of the next step.
  __device__ __forceinline__ void load(uint8_t* slots) {
    const uint8_t* row_source = source_;
#pragma unroll
    for (int row = 0; row < Gemm::kRows; ++row) {
#pragma unroll
      for (int i = 0; i < Gemm::kPiecesPerRow; ++i) {
        uint8_t* target = slots + (row * Gemm::kPiecesPerRow + i) * 32 * 16;
        if constexpr (kWhole) {
          copy_async_whole<16, true>(shared_address(target), row_source + i * 16,
                                     row < inside_ && k_left_ > 0);
        } else {
          const int valid = min(k_left_, Gemm::kLaneK) * Traits::kBits / 8 - i * 16;
          copy_piece<16>(target, row_source + i * 16, row < inside_ ? valid : 0, alignment_);
        }
      }
      row_source += row_step_;
    }
    source_ += stride_ * (Gemm::kStepK * Traits::kBits / 8);
    k_left_ -= stride_ * Gemm::kStepK;
  }

  // Makes the next step current for scale_codes(), and asks for the scales of the one after it.
  __device__ __forceinline__ void take_scales() {
#pragma unroll
    for (int i = 0; i < Gemm::kQuadsPerStep; ++i) {
      quads_[i] = next_quads_[i];
    }
    ask_scales();
  }

  // The codes of this lane's scales of its row-th row, the first in the lowest byte.
  __device__ __forceinline__ uint32_t scale_codes(int row) const {
    const int g = static_cast<int>(threadIdx.x) % 32 / 4;
    const int first = static_cast<int>(threadIdx.x) % 4 * Gemm::kScalesPerLane;
    uint32_t quad = __shfl_sync(0xFFFFFFFFu, quads_[0], row * 8 + g, 32);
    if constexpr (Gemm::kQuadsPerStep == 2) {
      const uint32_t second = __shfl_sync(0xFFFFFFFFu, quads_[1], row * 8 + g, 32);
      quad = first < 4 ? quad : second;
    }
    return quad >> (first % 4 * 8);
  }

 private:
  __device__ __forceinline__ void ask_scales() {
#pragma unroll
    for (int i = 0; i < Gemm::kQuadsPerStep; ++i) {
      next_quads_[i] =
          load_quad(scales_ + i * quad_stride_, scales_left_ - i * 4, has_whole_quads_);
    }
    const int quads = stride_ * Gemm::kQuadsPerStep;
    scales_ += static_cast<int64_t>(quads) * quad_stride_;
    scales_left_ -= quads * 4;
  }

  const uint8_t* source_;
  const uint8_t* scales_;
  int64_t row_step_;
  int32_t alignment_;
  int32_t stride_;
  int32_t inside_;  // how many of the lane's rows exist
  int32_t k_left_;  // from the lane's elements of the next step
  int32_t scales_left_;
  int32_t quad_stride_;
  bool has_whole_quads_;
  uint32_t quads_[Gemm::kQuadsPerStep];
  uint32_t next_quads_[Gemm::kQuadsPerStep];
};

// Half of a step: two units of every row of a lane.
template <class Gemm>
struct HalfStep {
  static constexpr int kWords = Gemm::kWordsPerRow / 2;
  uint32_t codes[Gemm::kRows][kWords];
  uint32_t scales[Gemm::kRows];
};

template <class Gemm>
__device__ __forceinline__ void load_half(HalfStep<Gemm>& b, const uint8_t* slots, int half) {
#pragma unroll
  for (int row = 0; row < Gemm::kRows; ++row) {
    if constexpr (Gemm::kPiecesPerRow == 1) {
      const uint2 words = *reinterpret_cast<const uint2*>(slots + row * 32 * 16 + half * 8);
      b.codes[row][0] = words.x;
      b.codes[row][1] = words.y;
    } else {
      const uint4 words = *reinterpret_cast<const uint4*>(slots + (row * 2 + half) * 32 * 16);
      b.codes[row][0] = words.x;
      b.codes[row][1] = words.y;
      b.codes[row][2] = words.z;
      b.codes[row][3] = words.w;
    }
  }
}

// Expands unit kUnit (0, 1) of the half step's row. kPlaced: E2M1 under scales that expand_placed()
// can take, which needs least of the integer unit.
template <class Gemm, Format kFormat, bool kPlaced, int kUnit>
__device__ __forceinline__ void expand_b(const HalfStep<Gemm>& b, int row, uint32_t (&out)[4]) {
  const uint32_t* codes = b.codes[row] + kUnit * HalfStep<Gemm>::kWords / 2;
  if constexpr (kPlaced) {
    expand_placed(codes[0], placed_scale_pair<kFormat>(b.scales[row]), out);
  } else if constexpr (ElementTraits<kFormat>::kIsE2m1) {
    uint32_t natural[4];
    expand<kFormat, PairOrder::kNatural>(codes, multiplier<kFormat>(b.scales[row], b.codes[row]),
                                         natural);
    reorder<Gemm::kOrder>(natural, out);
  } else {
    expand<kFormat, Gemm::kOrder>(codes, multiplier<kFormat>(b.scales[row], b.codes[row]), out);
  }
}

template <class Gemm, Format kFormat, bool kPlaced, bool kSecond, int kUnit>
__device__ __forceinline__ void multiply_unit(float (&sums)[Gemm::kTilesN][2][4],
                                              const HalfStep<Gemm>& b, const uint4* units,
                                              int row_bits) {
  const uint4 first = units[kUnit * 4 << row_bits];
  uint4 second;
  if constexpr (kSecond) {
    second = units[(kUnit * 4 << row_bits) + (row_bits == 4 ? 8 * 4 : 0)];
  }
#pragma unroll
  for (int tile = 0; tile < Gemm::kTilesN; ++tile) {
    uint32_t upper[4];
    uint32_t lower[4];
    expand_b<Gemm, kFormat, kPlaced, kUnit>(b, 2 * tile, upper);
    expand_b<Gemm, kFormat, kPlaced, kUnit>(b, 2 * tile + 1, lower);
    multiply_add(sums[tile][0], upper[0], lower[0], upper[1], lower[1], first.x, first.y);
    multiply_add(sums[tile][0], upper[2], lower[2], upper[3], lower[3], first.z, first.w);
    if constexpr (kSecond) {
      multiply_add(sums[tile][1], upper[0], lower[0], upper[1], lower[1], second.x, second.y);
      multiply_add(sums[tile][1], upper[2], lower[2], upper[3], lower[3], second.z, second.w);
    }
  }
}

// kSecond: A has more than eight rows.
template <class Gemm, Format kFormat, bool kPlaced, bool kSecond>
__device__ __forceinline__ void multiply_halves(float (&sums)[Gemm::kTilesN][2][4],
                                                const uint32_t (&scale_codes)[Gemm::kRows],
                                                const uint8_t* slots, const uint4* units,
                                                int row_bits) {
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    HalfStep<Gemm> b;
    load_half<Gemm>(b, slots, half);
#pragma unroll
    for (int row = 0; row < Gemm::kRows; ++row) {
      b.scales[row] = scale_codes[row] >> (Gemm::kScalesPerLane == 2 ? half * 8 : 0) & 0xFFu;
    }
    multiply_unit<Gemm, kFormat, kPlaced, kSecond, 0>(sums, b, units, row_bits);
    multiply_unit<Gemm, kFormat, kPlaced, kSecond, 1>(sums, b, units, row_bits);
    units += 2 * 4 << row_bits;
  }
}

template <class Gemm>
__device__ __forceinline__ void scale_sums(float (&sums)[Gemm::kTilesN][2][4], float factor) {
#pragma unroll
  for (int i = 0; i < Gemm::kTilesN * 8; ++i) {
    sums[i / 8][i / 4 % 2][i % 4] *= factor;
  }
}

// Multiplies one step: this lane's elements of B in `slots`, A's in `units` (of this step).
template <class Gemm, Format kFormat, bool kSecond, bool kWhole>
__device__ __forceinline__ void multiply_step(float (&sums)[Gemm::kTilesN][2][4],
                                              const StreamedRows<Gemm, kFormat, kWhole>& b,
                                              const uint8_t* slots, const uint4* units,
                                              int row_bits) {
  uint32_t scale_codes[Gemm::kRows];
  bool is_placed = true;
#pragma unroll
  for (int row = 0; row < Gemm::kRows; ++row) {
    scale_codes[row] = b.scale_codes(row);
    is_placed = is_placed && (scale_codes[row] & 0xFFu) - kLeastPlacedScale <=
                                 kLargestPlacedScale - kLeastPlacedScale;
  }
  // Lanes without a row of A take another's: their columns of the product are not stored.
  const int own_row = static_cast<int>(threadIdx.x) % 32 / 4 & ((1 << row_bits) - 1);
  units += own_row * 4 + static_cast<int>(threadIdx.x) % 4;
  constexpr bool kPlaced = ElementTraits<kFormat>::kIsE2m1;
  if constexpr (kFormat == Format::kMxf4) {
    if (!__all_sync(0xFFFFFFFFu, is_placed)) {
      // These are expanded as they are; a power of two either way costs the sums nothing.
      scale_sums<Gemm>(sums, static_cast<float>(1 << kPlacedExponent));
      multiply_halves<Gemm, kFormat, false, kSecond>(sums, scale_codes, slots, units, row_bits);
      scale_sums<Gemm>(sums, 1.0f / static_cast<float>(1 << kPlacedExponent));
      return;
    }
  }
  multiply_halves<Gemm, kFormat, kPlaced, kSecond>(sums, scale_codes, slots, units, row_bits);
}

// Adds the sums of the warps that share rows of B, in the order of the warps, and finishes D.
template <class Gemm, Format kFormatB>
__device__ __forceinline__ void store_swapped(const GemmParams& params,
                                              const float (&sums)[Gemm::kTilesN][2][4],
                                              float* shared, int warp_k, int warp_n,
                                              int64_t first_col) {
  const int cols = params.warps_along_n * Gemm::kWarpN;
  const int pitch = cols + 4;  // 4: the two rows of a lane's sums fall into different banks
  const int sharers = Gemm::kWarps / params.warps_along_n;
  const int lane = threadIdx.x % 32;
  const float unit =
      ElementTraits<kFormatB>::kIsE2m1 ? static_cast<float>(1 << kPlacedExponent) : 1.0f;
#pragma unroll
  for (int tile = 0; tile < Gemm::kTilesN; ++tile) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int row = i / 4 * 8 + lane % 4 * 2 + i % 2;
      const int col = warp_n * Gemm::kWarpN + tile * 16 + i % 4 / 2 * 8 + lane / 4;
      shared[(warp_k * Gemm::kMaxM + row) * pitch + col] = sums[tile][i / 4][i % 4] * unit;
    }
  }
  __syncthreads();
  const bool is_partial = params.splits > 1;
  const float alpha = is_partial ? 0.0f : alpha_of(params.epilogue);
  const int groups = cols / kEpilogueWidth;
  const int rows = static_cast<int>(params.epilogue.m);
#pragma unroll 1
  for (int i = threadIdx.x; i < rows * groups; i += Gemm::kThreads) {
    const int row = i / groups;
    const int col = i % groups * kEpilogueWidth;
    alignas(16) float values[kEpilogueWidth] = {};
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

// All of this warp's steps: begin + warp_k, then every stride-th up to `end`.
template <class Gemm, Format kA, Format kB, bool kSecond, bool kWhole>
__device__ __forceinline__ void multiply_swapped(const GemmParams& params, uint8_t* shared,
                                                 int64_t first_row, int begin, int end, int warp_k,
                                                 float (&sums)[Gemm::kTilesN][2][4]) {
  const int stride = Gemm::kWarps / params.warps_along_n;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  uint4* const slab = reinterpret_cast<uint4*>(shared + Gemm::kRingBytes);
  uint8_t* const ring = shared + (warp * Gemm::kStages * Gemm::kPieces * 32 + lane) * 16;
  const auto slots = [&](int stage) { return ring + stage * Gemm::kPieces * 32 * 16; };
  StreamedRows<Gemm, kB, kWhole> b(params.b, first_row, params.k, begin + warp_k, stride);

  // Copies behind `end` are empty groups, so that waiting counts right.
  int load_step = begin + warp_k;
  int load_stage = 0;
  const auto load = [&] {
    if (load_step < end) {
      b.load(slots(load_stage));
    }
    copy_async_commit();
    load_step += stride;
    load_stage = load_stage + 1 == Gemm::kStages ? 0 : load_stage + 1;
  };
#pragma unroll
  for (int i = 0; i < Gemm::kStages - 1; ++i) {
    load();
  }

  const int row_bits = slab_row_bits(params.epilogue.m);
  const int slab_steps = Gemm::kSlabElements / Gemm::kStepK >> row_bits;
  int step = begin + warp_k;
  int stage = 0;
#pragma unroll 1
  for (int slab_begin = begin; slab_begin < end; slab_begin += slab_steps) {
    const int slab_end = min(slab_begin + slab_steps, end);
    __syncthreads();
    fill_slab<Gemm, kA>(params, slab, row_bits, slab_begin, slab_end - slab_begin);
    __syncthreads();
#pragma unroll 1
    for (; step < slab_end; step += stride) {
      copy_async_wait<Gemm::kStages - 2>();
      load();
      b.take_scales();
      multiply_step<Gemm, kB, kSecond>(sums, b, slots(stage),
                                       slab + ((step - slab_begin) * Gemm::kUnits * 4 << row_bits),
                                       row_bits);
      stage = stage + 1 == Gemm::kStages ? 0 : stage + 1;
    }
  }
  copy_async_wait<0>();
}

template <Format kA, Format kB>
__global__ void __launch_bounds__(SwappedGemm<kA, kB>::kThreads, 2)
    swapped_kernel(const __grid_constant__ GemmParams params) {
  using Gemm = SwappedGemm<kA, kB>;
  extern __shared__ __align__(128) uint8_t shared[];
  const int warp = threadIdx.x / 32;
  const int warp_n = warp % params.warps_along_n;
  const int warp_k = warp / params.warps_along_n;
  const int64_t first_col = static_cast<int64_t>(blockIdx.x) * params.warps_along_n * Gemm::kWarpN;
  const int64_t first_row = first_col + warp_n * Gemm::kWarpN;
  const int all_steps = static_cast<int>((params.k + Gemm::kStepK - 1) / Gemm::kStepK);
  const int begin = static_cast<int>(blockIdx.y) * params.steps_per_split;
  const int end = min(begin + params.steps_per_split, all_steps);

  float sums[Gemm::kTilesN][2][4] = {};
  const bool is_whole = params.b.alignment == 16 && params.k % Gemm::kLaneK == 0;
  const bool has_second = params.epilogue.m > 8;
  if (is_whole && !has_second) {
    multiply_swapped<Gemm, kA, kB, false, true>(params, shared, first_row, begin, end, warp_k,
                                                sums);
  } else if (is_whole) {
    multiply_swapped<Gemm, kA, kB, true, true>(params, shared, first_row, begin, end, warp_k, sums);
  } else {
    multiply_swapped<Gemm, kA, kB, true, false>(params, shared, first_row, begin, end, warp_k,
                                                sums);
  }
  __syncthreads();
  store_swapped<Gemm, kB>(params, sums, reinterpret_cast<float*>(shared), warp_k, warp_n,
                          first_col);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
