// SPDX-License-Identifier: Apache-2.0
// Rows of FP4 beside a bf16 A (gemm_swapped.cuh), spread over the lanes that multiply them.
//
// A lane's load of 16 bytes of A costs the lines of 128 bytes that its warp meets. So the lanes of
// a row take neighbouring k, and 64 k of A, one line, have the same unit of all four:
//
//   k of a step:    0…15 | 16…31 | 32…47 | 48…63 | 64…79 | … | 112…127
//   multiplied by  lane 0| lane 1| lane 2| lane 3| lane 0| … | lane 3      halves: 8 bytes, one
//   scale copied by         lane 0     |    lane 1     |     lane 2 | …          chunks: 16 bytes
//
// Lanes copy chunks, 64 bytes of a row side by side, and their scales, and take their halves out of
// the slots of the row, and scales by shuffles. So all lanes of a warp wait for each other's
// copies.
#pragma once

#include "cuda/common/expand_bf16.cuh"
#include "cuda/sm80/gemm_params.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// A lane's two halves of a row and step.
template <Format kFormat>
struct SpreadChunk {
  static_assert(ElementTraits<kFormat>::kIsE2m1);
  static constexpr int kUnitsPerHalf = 2;

  uint32_t codes[4];
  uint32_t scale_codes[2];
  uint32_t pair;

  // Units come in order.
  template <PairOrder kOrder, ScaleRange kRange>
  __device__ __forceinline__ void expand_unit(int unit, uint32_t (&out)[4]) {
    if (unit % kUnitsPerHalf == 0) {
      pair = multiplier<kFormat, kOrder, kRange>(scale_codes[unit / kUnitsPerHalf], codes);
    }
    expand<kFormat, kOrder, kRange>(codes + unit, pair, out);
  }
};

// A lane's rows g, g + 8, g + 16, g + 24 of a warp's 32. Operands are whole (is_whole_stream() of
// 32 k a lane).
template <Format kFormat, int kThreads>
class SpreadStream {
  using Traits = ElementTraits<kFormat>;
  static constexpr int kLaneK = 32;
  static constexpr int kStepK = 4 * kLaneK;
  static constexpr int kScaleCols = kStepK / Traits::kBlock;
  static_assert(kScaleCols % internal::kScaleTileCols == 0, "steps lie evenly apart");

 public:
  static constexpr int kRows = 4;
  static constexpr int kStages = 2;
  static constexpr int kSharedBytes = kStages * kRows * 16 * kThreads;

  // Rows from `first_row` on, a multiple of 32; steps first_step, first_step + step_stride, …;
  // nothing from element `end` on is read. Starts the copies of two steps.
  __device__ __forceinline__ SpreadStream(const OperandRows& operand, int64_t first_row,
                                          int first_step, int step_stride, int64_t end,
                                          uint8_t* shared)
      : elements_per_step_(step_stride * kStepK) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int g = lane / 4;
    const int t = lane % 4;
    const int64_t row = first_row + g;
    const int first = first_step * kStepK + t * kLaneK;
    left_ = static_cast<int>(end) - first;
    source_ = operand.data + row * operand.pitch + static_cast<int64_t>(first) * Traits::kBits / 8;
    row_step_ = static_cast<int32_t>(8 * operand.pitch);
    rows_ = static_cast<int>(
        max(int64_t{0}, min((operand.scales.rows - row + 7) / 8, static_cast<int64_t>(kRows))));
    // Half a warp takes 8 bytes a lane at a time: rows g and g + 2 would share banks.
    const int turn = g & 2;
    slots_ = shared + (static_cast<int>(threadIdx.x) ^ turn) * 16;
    halves_ = shared + ((static_cast<int>(threadIdx.x) & ~3) + (t / 2 ^ turn)) * 16 + t % 2 * 8;
    second_half_ = turn == 0 ? 32 : -32;
    load(0);
    load(1);
    // Asked for after the codes, of which there are more.
    const bool is_swizzled = cuda::is_swizzled(operand.scales);
    scales_ = scale_row(operand.scales, rows_ > 0 ? row : 0) +
              scale_offset(is_swizzled, first / Traits::kBlock);
    scale_row_step_ = static_cast<int32_t>(is_swizzled ? 8 * 16 : 8 * operand.scales.view.ld);
    scale_offset_ = 0;  // the same in all lanes, so that it needs no register of theirs
    scale_step_ = static_cast<int32_t>(scale_offset(is_swizzled, step_stride * kScaleCols));
    ask(left_ + 2 * elements_per_step_);
  }

  // The halves of the step that waits in `stage`; then asks for what comes next in its place. By
  // all lanes of a warp together, each of which has waited for its own copies. Whether one of the
  // scales that this lane asked for is not narrow.
  __device__ __forceinline__ bool take(SpreadChunk<kFormat> (&chunks)[kRows], int stage) {
    __syncwarp();
    const uint8_t* source = halves_ + stage * kStageBytes;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const uint2 low = *reinterpret_cast<const uint2*>(source + row * 16 * kThreads);
      const uint2 high =
          *reinterpret_cast<const uint2*>(source + second_half_ + row * 16 * kThreads);
      chunks[row].codes[0] = low.x;
      chunks[row].codes[1] = low.y;
      chunks[row].codes[2] = high.x;
      chunks[row].codes[3] = high.y;
    }
    const bool is_wide = take_scales(chunks);
    __syncwarp();  // the slots are read
    ask(left_ + elements_per_step_);
    load(stage);
    return is_wide;
  }

 private:
  static constexpr int kStageBytes = kRows * 16 * kThreads;

  // Starts the copies of the step that comes next.
  __device__ __forceinline__ void load(int stage) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      copy_async_whole<16, true>(shared_address(slots_ + stage * kStageBytes + row * 16 * kThreads),
                                 source_ + row * row_step_, row < rows_ && left_ > 0);
    }
    copy_async_commit();
    source_ += elements_per_step_ * Traits::kBits / 8;
    left_ -= elements_per_step_;
  }

  // Asks for the scales of this lane's chunks of the next step; `left` elements from there on.
  __device__ __forceinline__ void ask(int left) {
    const uint8_t* source = scales_ + scale_offset_;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      scale_codes_[row] = 0;
      if (row < rows_ && left > 0) {
        if constexpr (Traits::kBlock == kLaneK) {
          scale_codes_[row] = __ldg(source);
        } else {
          scale_codes_[row] = __ldg(reinterpret_cast<const unsigned short*>(source));
        }
      }
      source += scale_row_step_;
    }
    scale_offset_ += scale_step_;
  }

  __device__ __forceinline__ bool take_scales(SpreadChunk<kFormat> (&chunks)[kRows]) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int from = (lane & ~3) | lane % 4 / 2;  // who copied the first half, and + 2 the second
    if constexpr (Traits::kBlock == kLaneK) {
      const uint32_t packed =
          permute_bytes(permute_bytes(scale_codes_[0], scale_codes_[1], 0x0040),
                        permute_bytes(scale_codes_[2], scale_codes_[3], 0x0040), 0x5410);
      const uint32_t low = __shfl_sync(~0u, packed, from);
      const uint32_t high = __shfl_sync(~0u, packed, from + 2);
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        chunks[row].scale_codes[0] = permute_bytes(low, 0, 0x4440u + row);
        chunks[row].scale_codes[1] = permute_bytes(high, 0, 0x4440u + row);
      }
      return kHasWideScales<kFormat> && (packed & kWideScaleBit * 0x01010101u) != 0;
    } else {
#pragma unroll
      for (int row = 0; row < kRows; row += 2) {
        const uint32_t packed = permute_bytes(scale_codes_[row], scale_codes_[row + 1], 0x5410);
        const uint32_t low = __shfl_sync(~0u, packed, from);
        const uint32_t high = __shfl_sync(~0u, packed, from + 2);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const uint32_t selector = 0x4440u + static_cast<uint32_t>(i * 2 + lane % 2);
          chunks[row + i].scale_codes[0] = permute_bytes(low, 0, selector);
          chunks[row + i].scale_codes[1] = permute_bytes(high, 0, selector);
        }
      }
      return false;
    }
  }

  uint8_t* slots_;         // where this thread copies to
  const uint8_t* halves_;  // where it takes first halves from; the second are second_half_ away
  int32_t second_half_;
  const uint8_t* source_;
  int32_t row_step_;
  int32_t rows_;  // how many of the lane's rows exist
  int32_t left_;  // elements from this lane's chunk of the step that is copied next to `end`
  const int32_t elements_per_step_;
  const uint8_t* scales_;
  int32_t scale_row_step_;
  int32_t scale_offset_;
  int32_t scale_step_;
  uint32_t scale_codes_[kRows];
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
