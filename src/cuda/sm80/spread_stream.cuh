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
// Lanes copy chunks, 64 bytes of a row side by side, and take their halves out of the slots of the
// row. Of scales, lane t has all of the t-th of the lanes' four rows, four or eight, and shuffles
// hand them out. So all lanes of a warp wait for each other's copies.
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

 public:
  static constexpr int kStepK = 4 * kLaneK;

 private:
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
    const ScaleRows& scales = operand.scales;
    const bool is_swizzled = cuda::is_swizzled(scales);
    const int64_t scale_row_index = first_row + g + 8 * t;
    has_scales_ = scale_row_index < scales.rows;
    scales_ = scale_row(scales, has_scales_ ? scale_row_index : 0) +
              scale_offset(is_swizzled, static_cast<int64_t>(first_step) * kScaleCols);
    second_word_ = static_cast<int32_t>(scale_offset(is_swizzled, 4));
    // Scales may lie anywhere; where they are swizzled, ld is 0.
    const uint64_t bits =
        reinterpret_cast<uintptr_t>(scales.view.data) | static_cast<uint64_t>(scales.view.ld);
    has_words_ = scales.view.cols % 4 == 0 && bits % 4 == 0;
    scale_step_ = static_cast<int32_t>(scale_offset(is_swizzled, step_stride * kScaleCols));
    scales_left_ =
        static_cast<int>((end - static_cast<int64_t>(first_step) * kStepK) / Traits::kBlock);
    ask();
    load(0);
    load(1);
  }

  // The halves of the step that waits in `stage`; then asks for what comes next in its place. By
  // all lanes of a warp together, each of which has waited for its own copies. Whether one of the
  // scales that this lane asked for is wide.
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
    ask();
    load(stage);
    return is_wide;
  }

 private:
  static constexpr int kStageBytes = kRows * 16 * kThreads;
  static constexpr int kScaleWords = kScaleCols / 4;  // of a row and step

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

  // Asks for the scales of the next step, all of one row: lane t of a row of lanes has those of its
  // t-th row.
  __device__ __forceinline__ void ask() {
#pragma unroll
    for (int word = 0; word < kScaleWords; ++word) {
      const uint8_t* source = scales_ + word * second_word_;
      const int left = has_scales_ ? scales_left_ - 4 * word : 0;
      scale_words_[word] = 0;
      if (has_words_) {
        if (left > 0) {
          scale_words_[word] = __ldg(reinterpret_cast<const uint32_t*>(source));
        }
      } else {
#pragma unroll 1
        for (int i = 0; i < min(left, 4); ++i) {
          scale_words_[word] |= static_cast<uint32_t>(__ldg(source + i)) << (8 * i);
        }
      }
    }
    scales_ += scale_step_;
    scales_left_ -= elements_per_step_ / Traits::kBlock;
  }

  __device__ __forceinline__ bool take_scales(SpreadChunk<kFormat> (&chunks)[kRows]) const {
    const int t = static_cast<int>(threadIdx.x) % 4;
    // Where the scales of the lane's halves are among the row's: of chunks t / 2 and 2 + t / 2, or
    // of the halves themselves.
    const uint32_t first = 0x4440u + static_cast<uint32_t>(kScaleWords == 1 ? t / 2 : t);
    const uint32_t second = kScaleWords == 1 ? first + 2 : first;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const uint32_t low = __shfl_sync(~0u, scale_words_[0], row, 4);
      const uint32_t high =
          kScaleWords == 1 ? low : __shfl_sync(~0u, scale_words_[kScaleWords - 1], row, 4);
      chunks[row].scale_codes[0] = permute_bytes(low, 0, first);
      chunks[row].scale_codes[1] = permute_bytes(high, 0, second);
    }
    return kHasWideScales<kFormat> && has_wide_scale(scale_words_[0]);
  }

  uint8_t* slots_;         // where this thread copies to
  const uint8_t* halves_;  // where it takes first halves from; the second are second_half_ away
  int32_t second_half_;
  const uint8_t* source_;
  int32_t row_step_;
  int32_t rows_;  // how many of the lane's rows exist
  int32_t left_;  // elements from this lane's chunk of the step that is copied next to `end`
  const int32_t elements_per_step_;
  const uint8_t* scales_;  // of this lane's scale row and the next step
  int32_t scale_step_;     // bytes from step to step
  int32_t second_word_;    // and from four scales to the next four
  int32_t scales_left_;    // from the next step on
  bool has_scales_;        // the row exists
  bool has_words_;         // four scales at a time can be read
  uint32_t scale_words_[kScaleWords];
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
