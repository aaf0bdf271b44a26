// SPDX-License-Identifier: Apache-2.0
// Block-scaled rows on their way from memory to the registers of the one thread that expands them.
//
//   global --cp.async--> slots that this thread alone reads --> codes     scales: global --> codes
//
// Step s of K has 4 * kLaneK elements, four chunks; a thread has one chunk of some rows, evenly
// spaced. A chunk (16 or 32 bytes of elements) lies in one block, or makes up one or two whole
// ones. Nobody else sees the slots, so a thread waits for its own copies and for no barrier, and
// asks for the next step as soon as it has read this one.
#pragma once

#include <type_traits>
#include <utility>

#include "cuda/common/expand_bf16.cuh"
#include "cuda/sm80/gemm_params.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

constexpr int kUnitElements = 8;  // expanded at a time: 16 bytes of bf16, two k16 of an mma's lane

// One chunk in registers.
template <Format kFormat, int kLaneK>
struct Chunk {
  using Traits = ElementTraits<kFormat>;
  static constexpr int kWords = kLaneK * Traits::kBits / 32;
  static constexpr int kWordsPerUnit = kUnitElements * Traits::kBits / 32;
  static constexpr int kScales = kLaneK <= Traits::kBlock ? 1 : kLaneK / Traits::kBlock;
  static constexpr int kUnitsPerScale = kLaneK / kUnitElements / kScales;

  uint32_t codes[kWords];
  uint32_t scale_codes;  // the first in the lowest byte
  uint32_t pair;

  // Units come in order.
  template <PairOrder kOrder, ScaleRange kRange = ScaleRange::kAll>
  __device__ __forceinline__ void expand_unit(int unit, uint32_t (&out)[4]) {
    if (unit % kUnitsPerScale == 0) {
      const uint32_t code =
          kScales == 1 ? scale_codes : scale_codes >> (unit / kUnitsPerScale * 8) & 0xFFu;
      pair = multiplier<kFormat, kOrder, kRange>(code, codes);
    }
    expand<kFormat, kOrder, kRange>(codes + unit * kWordsPerUnit, pair, out);
  }

  // From here on units are expanded with another range (formats with one scale a chunk).
  template <PairOrder kOrder, ScaleRange kRange>
  __device__ __forceinline__ void set_range() {
    static_assert(kScales == 1);
    pair = multiplier<kFormat, kOrder, kRange>(scale_codes, codes);
  }
};

// Lane t = 0…3 of a row of lanes: the upper two are turned.
__device__ __forceinline__ int turn_of(int lane) {
  return lane / 2 % 2;
}

// Whether one of some MXFP4 chunks has a scale that is not narrow.
template <class ChunkType, int kCount>
__device__ __forceinline__ bool are_wide(const ChunkType (&chunks)[kCount]) {
  uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    largest = max(largest, chunks[i].scale_codes);
  }
  return largest > kLargestNarrowScale;
}

// So that offsets to a thread's last row, up to 112 rows on (PlainTile), are less than 2^31 bytes.
constexpr int64_t kMaxWholePitch = 1 << 24;

template <Format kFormat, int kLaneK>
__host__ __device__ inline bool is_whole_stream(const OperandRows& operand, int64_t k) {
  constexpr bool kNeedsPairs = Chunk<kFormat, kLaneK>::kScales == 2;
  return operand.alignment == 16 && k % kLaneK == 0 && operand.pitch <= kMaxWholePitch &&
         operand.scales.view.ld <= kMaxWholePitch && (!kNeedsPairs || operand.scales.has_pairs);
}

// kWhole (is_whole_stream()): a chunk exists wholly or not at all, at an address that 16 divides,
// and so does the word that its scales lie in.
//
// kStages steps of codes and kScaleStages of scales are under way.
//
// kEvenScales: offsets of scales go on from step to step where they can; fewer instructions, other
// registers.
//
// kTurned: lanes of which turn_of() is 1 have the halves of a chunk (16 bytes) in the other order.
template <Format kFormat, int kLaneK, int kRows, int kStages, int kScaleStages, int kThreads,
          bool kWhole, bool kEvenScales, bool kTurned = false>
class ChunkStream {
  using Traits = ElementTraits<kFormat>;
  using ChunkType = Chunk<kFormat, kLaneK>;
  using RowStep = std::conditional_t<kWhole, int32_t, int64_t>;  // registers are scarce
  // Scales of a step: whole fours, which lie as far apart as the steps in both layouts, or not.
  static constexpr int kScaleCols = 4 * kLaneK / Traits::kBlock;
  static constexpr bool kHasEvenSteps = kEvenScales && kScaleCols % internal::kScaleTileCols == 0;

 public:
  static constexpr int kPieces = ChunkType::kWords / 4;  // of 16 bytes, per chunk
  static constexpr int kSharedBytes = kStages * kRows * kPieces * 16 * kThreads;

  // Rows `row`, row + row_step, … and chunk `chunk` of steps first_step, first_step + step_stride,
  // …; nothing from element `end` on is read.
  __device__ __forceinline__ ChunkStream(const OperandRows& operand, int64_t row, int row_step,
                                         int chunk, int first_step, int step_stride, int64_t end,
                                         uint8_t* shared)
      : slots_(shared + slot_of_thread() * 16),
        alignment_(operand.alignment),
        is_swizzled_(is_swizzled(operand.scales)),
        elements_per_step_(step_stride * 4 * kLaneK) {
    const int first = (first_step * 4 + chunk) * kLaneK;
    left_ = static_cast<int>(end) - first;
    source_ = operand.data + row * operand.pitch + static_cast<int64_t>(first) * Traits::kBits / 8;
    source_row_step_ = static_cast<RowStep>(row_step * operand.pitch);
    const int64_t rows_left = operand.scales.rows - row;
    rows_ = static_cast<int>(
        max(int64_t{0}, min((rows_left + row_step - 1) / row_step, static_cast<int64_t>(kRows))));

    // Rows of one stream lie in the same 32 rows of a swizzled tile, or are a multiple of 32 apart
    // in one tile.
    const int64_t swizzled_step = row_step % 32 == 0 ? row_step / 32 * 4 : row_step * 16;
    scale_row_step_ =
        static_cast<RowStep>(is_swizzled_ ? swizzled_step : row_step * operand.scales.view.ld);
    scales_ = scale_row(operand.scales, rows_ > 0 ? row : 0);
    scale_col_ = first / Traits::kBlock;
    if constexpr (kHasEvenSteps) {
      scales_ += scale_offset(is_swizzled_, scale_col_);
      scale_offset_ = 0;  // the same in all lanes, so that it needs no register of theirs
      scale_step_ = static_cast<int32_t>(scale_offset(is_swizzled_, step_stride * kScaleCols));
    }
    ask_all<0>(left_);
    if constexpr (kScaleStages == 2) {
      ask_all<1>(left_ - elements_per_step_);
    }
  }

  // Brings the scales that are asked for next to L1, each row's by one of the lanes that share it.
  __device__ __forceinline__ void prefetch_scales() const {
    if constexpr (kHasEvenSteps) {
      static_assert(kRows <= 4);
      const int row = static_cast<int>(threadIdx.x) % 4;
      if (row < rows_ && left_of_scales() > 0) {
        prefetch_to_l1(scales_ + scale_offset_ + row * scale_row_step_);
      }
    }
  }

  // Starts the copies of the next step.
  __device__ __forceinline__ void load(int stage = 0) {
    uint8_t* slots = slots_ + stage * kRows * kPieces * 16 * kThreads;
    if constexpr (kWhole) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        load_row(slots, row);
      }
    } else {
#pragma unroll 1
      for (int row = 0; row < kRows; ++row) {
        load_row(slots, row);
      }
    }
    advance();
  }

  // The same row by row, in order; without kWhole all rows with the last, since masked copies are
  // much code.
  template <int kRow>
  __device__ __forceinline__ void load_one() {
    constexpr bool kIsLast = kRow == kRows - 1;
    if constexpr (kWhole) {
      load_row(slots_, kRow);
      if constexpr (kIsLast) {
        advance();
      }
    } else if constexpr (kIsLast) {
      load();
    }
  }

  // The chunk of row kRow of the step that came next; kScaleStage is that step modulo kScaleStages.
  template <int kRow, int kScaleStage = 0>
  __device__ __forceinline__ void take(ChunkType& chunk, int stage = 0) const {
    const uint8_t* source = slots_ + (stage * kRows + kRow) * kPieces * 16 * kThreads;
    if constexpr (kTurned) {
      static_assert(kPieces == 1);
      const int turn = turn_of(threadIdx.x) * 8;
      const uint2 first = *reinterpret_cast<const uint2*>(source + turn);
      const uint2 second = *reinterpret_cast<const uint2*>(source + (8 - turn));
      chunk.codes[0] = first.x;
      chunk.codes[1] = first.y;
      chunk.codes[2] = second.x;
      chunk.codes[3] = second.y;
    } else {
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        const uint4 words = *reinterpret_cast<const uint4*>(source + i * 16 * kThreads);
        chunk.codes[4 * i] = words.x;
        chunk.codes[4 * i + 1] = words.y;
        chunk.codes[4 * i + 2] = words.z;
        chunk.codes[4 * i + 3] = words.w;
      }
    }
    chunk.scale_codes = scale_codes_[kScaleStage % kScaleStages][kRow];
    if constexpr (kTurned && ChunkType::kScales == 2) {
      const uint32_t order = turn_of(threadIdx.x) == 0 ? 0x4410u : 0x4401u;
      chunk.scale_codes = permute_bytes(chunk.scale_codes, 0, order);
    }
  }

  // Whether a scale of the step that comes next is not narrow.
  __device__ __forceinline__ bool is_wide() const {
    uint32_t largest = 0;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      largest = max(largest, scale_codes_[0][row]);
    }
    return kHasWideScales<kFormat> && largest > kLargestNarrowScale;
  }

  // Once the chunks of all rows are taken, and before the next load: asks for the scales of the
  // step kScaleStages later.
  template <int kScaleStage = 0>
  __device__ __forceinline__ void ask_scales() {
    ask_all<kScaleStage % kScaleStages>(left_of_scales());
  }

  // The same row by row, in order, once the row's chunk is taken.
  template <int kRow>
  __device__ __forceinline__ void ask_one() {
    ask_row<kRow, 0>(left_of_scales());
  }

 private:
  // Half a warp takes 8 bytes a lane at a time: lanes that share a bank must take other halves.
  __device__ __forceinline__ static uint32_t slot_of_thread() {
    return kTurned ? threadIdx.x ^ (threadIdx.x >> 2 & 2) : threadIdx.x;
  }

  __device__ __forceinline__ int left_of_scales() const {
    return left_ + (kStages - kScaleStages) * elements_per_step_;
  }

  __device__ __forceinline__ void advance_scales() {
    if constexpr (kHasEvenSteps) {
      scale_offset_ += scale_step_;
    } else {
      scale_col_ += elements_per_step_ / Traits::kBlock;
    }
  }

  template <int kScaleStage>
  __device__ __forceinline__ void ask_all(int left) {
    const uint8_t* source = scales_;
    if constexpr (kHasEvenSteps) {
      source += scale_offset_;
    } else {
      source += scale_offset(is_swizzled_, scale_col_);
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      scale_codes_[kScaleStage][row] = row < rows_ ? load_scales(source, left) : 0;
      source += scale_row_step_;
    }
    advance_scales();
  }

  // `left`: elements from the chunk that the scales belong to.
  template <int kRow, int kScaleStage>
  __device__ __forceinline__ void ask_row(int left) {
    const uint8_t* source = scales_;
    if constexpr (kHasEvenSteps) {
      source += scale_offset_ + kRow * scale_row_step_;
    } else {
      source += scale_offset(is_swizzled_, scale_col_) + kRow * scale_row_step_;
    }
    scale_codes_[kScaleStage][kRow] = kRow < rows_ ? load_scales(source, left) : 0;
    if constexpr (kRow == kRows - 1) {
      advance_scales();
    }
  }

  __device__ __forceinline__ void load_row(uint8_t* slots, int row) {
    const uint8_t* source = source_ + row * source_row_step_;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      uint8_t* slot = slots + (row * kPieces + i) * 16 * kThreads;
      if constexpr (kWhole) {
        copy_async_whole<16, true>(shared_address(slot), source + i * 16, row < rows_ && left_ > 0);
      } else {
        const int valid = min(left_, kLaneK) * Traits::kBits / 8 - i * 16;
        copy_piece<16>(slot, source + i * 16, row < rows_ ? valid : 0, alignment_);
      }
    }
  }

  // A chunk's scales; `left` elements exist from its first one on.
  __device__ __forceinline__ uint32_t load_scales(const uint8_t* source, int left) const {
    if constexpr (ChunkType::kScales == 1) {
      return left > 0 ? __ldg(source) : 0u;
    } else if constexpr (kWhole) {
      return left > 0 ? __ldg(reinterpret_cast<const unsigned short*>(source)) : 0u;
    } else {
      return (left > 0 ? __ldg(source) : 0u) |
             (left > Traits::kBlock ? __ldg(source + 1) << 8 : 0u);
    }
  }

  __device__ __forceinline__ void advance() {
    source_ += elements_per_step_ * Traits::kBits / 8;
    left_ -= elements_per_step_;
  }

  uint8_t* slots_;
  const uint8_t* source_;
  RowStep source_row_step_;
  const uint8_t* scales_;
  RowStep scale_row_step_;
  int32_t alignment_;
  bool is_swizzled_;
  int32_t elements_per_step_;
  int32_t rows_;          // how many of the rows exist
  int32_t left_;          // elements from this thread's next chunk to `end`
  int32_t scale_col_;     // where steps are not even
  RowStep scale_offset_;  // where they are: bytes from scales_,
  int32_t scale_step_;    // and from step to step
  uint32_t scale_codes_[kScaleStages][kRows];
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
