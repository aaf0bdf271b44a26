// SPDX-License-Identifier: Apache-2.0
// How one operand of gemm_tile.cuh travels from global memory to the shared tile of bf16 that
// ldmatrix reads.
//
//   scaled:  global --cp.async--> this thread's slots of the raw ring --registers: expand--> tile
//   bf16:    global --cp.async--> tile
//
// A tile holds kRows rows of 32 k, 64 bytes each, as four units of 16 bytes (8 k). Unit u of row r
// lies at position u ^ ((r / 2 ^ r / 8) % 4): rows 0…7 (what ldmatrix reads of A, and what eight
// threads write) as well as rows 0, 1, 8, 9, 16, 17, 24, 25 (what it reads of B) then fall into 32
// different banks.
//
// A slot of the raw ring is written and read by the same thread, so it needs no barrier.
//
// kWhole: addresses and pitches are aligned to 16 bytes and K is a multiple of the step, so that a
// piece exists wholly or not at all. What a copy leaves of a row outside the operand, or of a step
// behind the last, is never part of D.
#pragma once

#include "cuda/common/expand_bf16.cuh"
#include "cuda/sm80/gemm_params.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

constexpr int kTileK = 32;
constexpr int kTileRowBytes = kTileK * 2;
constexpr int kUnitElements = 8;

__device__ __forceinline__ uint32_t tile_offset(int row, int unit) {
  const int position = unit ^ ((row >> 1 ^ row >> 3) & 3);
  return static_cast<uint32_t>(row * kTileRowBytes + position * 16);
}

template <Format kFormat, PairOrder kOrder, int kRows, int kThreads, int kStages, bool kWhole>
class ScaledOperand {
  using Traits = ElementTraits<kFormat>;

 public:
  // Elements of a tile that one thread brings in: a row, or half of one.
  static constexpr int kElements = kRows * kTileK / kThreads;
  static_assert(kElements == 32 || kElements == 16);
  static constexpr int kRawBytes = kElements * Traits::kBits / 8;
  static constexpr int kPieceBytes = kRawBytes < 16 ? kRawBytes : 16;
  static constexpr int kPieces = kRawBytes / kPieceBytes;
  static constexpr int kTileBytes = kRows * kTileRowBytes;
  static constexpr int kTiles = 2;  // one is read while the next is written
  static constexpr int kSharedBytes =
      kTiles * kTileBytes + kStages * kPieces * kPieceBytes * kThreads;

  __device__ __forceinline__ ScaledOperand(const OperandRows& operand, int64_t first_row, int64_t k,
                                           int first_step, uint8_t* shared)
      : alignment_(operand.alignment),
        k_left_(static_cast<int>(k) - first_step * kTileK),
        tiles_(shared) {
    constexpr int kThreadsPerRow = kTileK / kElements;
    const int local_row = static_cast<int>(threadIdx.x) / kThreadsPerRow;
    half_ = static_cast<int>(threadIdx.x) % kThreadsPerRow;
    const int64_t row = first_row + local_row;
    is_inside_ = row < operand.scales.rows;
    k_left_ -= half_ * kElements;
    source_ = operand.data + (is_inside_ ? row : 0) * operand.pitch + half_ * kRawBytes +
              static_cast<int64_t>(first_step) * kStepBytes;
    slots_ = shared + kTiles * kTileBytes + threadIdx.x * kPieceBytes;
    first_unit_ = tile_offset(local_row, half_ * kElements / kUnitElements);
    const int quad = first_step / kStepsPerQuad;
    quad_stride_ = quad_stride(operand.scales);
    scales_ =
        scale_row(operand.scales, is_inside_ ? row : 0) + static_cast<int64_t>(quad) * quad_stride_;
    scales_left_ = is_inside_ ? static_cast<int>(operand.scales.view.cols) - quad * 4 : 0;
    has_whole_quads_ = operand.scales.has_whole_quads;
    next_quad_ = take_quad();
  }

  // Starts the copies of the next step; `exists` is false behind the last.
  __device__ __forceinline__ void load(int slot, bool exists) {
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      uint8_t* target = piece(slot, i);
      const uint8_t* source = source_ + i * kPieceBytes;
      if constexpr (kWhole) {
        copy_async_whole<kPieceBytes, false>(shared_address(target), source, exists && is_inside_);
      } else {
        const int valid = exists && is_inside_ ? min(k_left_, kElements) * Traits::kBits / 8 : 0;
        copy_piece<kPieceBytes>(target, source, valid - i * kPieceBytes, alignment_);
      }
    }
    source_ += kStepBytes;
    k_left_ -= kTileK;
  }

  // Fetches what load() brought in, and its scales. Steps come in order, kInFour = step % 4.
  template <int kInFour>
  __device__ __forceinline__ void fetch(int slot) {
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      if constexpr (kPieceBytes == 16) {
        const uint4 words = *reinterpret_cast<const uint4*>(piece(slot, i));
        codes_[4 * i] = words.x;
        codes_[4 * i + 1] = words.y;
        codes_[4 * i + 2] = words.z;
        codes_[4 * i + 3] = words.w;
      } else {
        const uint2 words = *reinterpret_cast<const uint2*>(piece(slot, i));
        codes_[0] = words.x;
        codes_[1] = words.y;
      }
    }
    if constexpr (kInFour % kStepsPerQuad == 0) {
      quad_ = next_quad_;
      next_quad_ = take_quad();
    }
    scale_codes_ = quad_ >> (kInFour % kStepsPerQuad * kScalesPerStep * 8);
    if constexpr (kScales < kScalesPerStep) {
      scale_codes_ >>= half_ * 8;
    }
  }

  // Expands unit kUnit of what was fetched into tile `tile` (0 or 1). Units come in order.
  template <int kUnit>
  __device__ __forceinline__ void expand_unit(int tile) {
    constexpr int kWordsPerUnit = kUnitElements * Traits::kBits / 32;
    constexpr int kUnitsPerScale = kElements / kUnitElements / kScales;
    if constexpr (kUnit % kUnitsPerScale == 0) {
      multiplier_ =
          multiplier<kFormat>(scale_codes_ >> (kUnit / kUnitsPerScale * 8) & 0xFFu, codes_);
    }
    uint32_t pairs[4];
    expand<kFormat, kOrder>(codes_ + kUnit * kWordsPerUnit, multiplier_, pairs);
    *reinterpret_cast<uint4*>(tiles_ + tile * kTileBytes + (first_unit_ ^ (kUnit * 16))) =
        make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }

  // The tile of the step whose copies are in `slot`, the index-th of this CTA.
  __device__ __forceinline__ static constexpr int tile_of(int index, int) {
    return index % kTiles;
  }

 private:
  static constexpr int kStepBytes = kTileK * Traits::kBits / 8;
  static constexpr int kScalesPerStep = kTileK / Traits::kBlock;
  static constexpr int kStepsPerQuad = 4 / kScalesPerStep;
  static constexpr int kScales = kElements < Traits::kBlock ? 1 : kElements / Traits::kBlock;

  __device__ __forceinline__ uint32_t take_quad() {
    const uint32_t quad = load_quad(scales_, scales_left_, has_whole_quads_);
    scales_ += quad_stride_;
    scales_left_ -= 4;
    return quad;
  }

  __device__ __forceinline__ uint8_t* piece(int slot, int index) const {
    return slots_ + (slot * kPieces + index) * kThreads * kPieceBytes;
  }

  const uint8_t* source_;
  int32_t alignment_;
  int32_t k_left_;
  int half_;
  bool is_inside_;
  uint8_t* tiles_;
  uint8_t* slots_;
  uint32_t first_unit_;
  const uint8_t* scales_;  // of the next quad
  int32_t quad_stride_;
  int32_t scales_left_;
  bool has_whole_quads_;
  uint32_t quad_ = 0;
  uint32_t next_quad_;
  uint32_t scale_codes_ = 0;
  uint32_t codes_[kRawBytes / 4];
  Multiplier<kFormat> multiplier_;
};

// bf16 as it is: every stage is a tile, and there is nothing to expand.
template <int kRows, int kThreads, int kStages, bool kWhole>
class PlainOperand {
 public:
  static constexpr int kTileBytes = kRows * kTileRowBytes;
  static constexpr int kSharedBytes = kStages * kTileBytes;

  __device__ __forceinline__ PlainOperand(const OperandRows& operand, int64_t first_row, int64_t k,
                                          int first_step, uint8_t* shared)
      : alignment_(operand.alignment) {
    const int local_row = static_cast<int>(threadIdx.x) / kUnitsPerRow;
    const int unit = static_cast<int>(threadIdx.x) % kUnitsPerRow;
    const int first = first_step * kTileK + unit * kUnitElements;
    k_left_ = static_cast<int>(k) - first;
    target_ = shared + tile_offset(local_row, unit);
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int64_t row = first_row + local_row + i * kRowsPerCopy;
      is_inside_[i] = row < operand.scales.rows;
      source_[i] = operand.data + (is_inside_[i] ? row : 0) * operand.pitch +
                   static_cast<int64_t>(first) * 2;
    }
  }

  __device__ __forceinline__ void load(int slot, bool exists) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      // Rows a multiple of 32 apart have their units at the same positions.
      static_assert(kRowsPerCopy % 32 == 0);
      uint8_t* target = target_ + slot * kTileBytes + i * kRowsPerCopy * kTileRowBytes;
      if constexpr (kWhole) {
        copy_async_whole<16, true>(shared_address(target), source_[i], exists && is_inside_[i]);
      } else {
        copy_piece<16>(target, source_[i],
                       exists && is_inside_[i] ? min(k_left_, kUnitElements) * 2 : 0, alignment_);
      }
      source_[i] += kTileRowBytes;
    }
    k_left_ -= kTileK;
  }

  template <int kInFour>
  __device__ __forceinline__ void fetch(int) {}
  template <int kUnit>
  __device__ __forceinline__ void expand_unit(int) {}
  __device__ __forceinline__ static constexpr int tile_of(int, int slot) {
    return slot;
  }

 private:
  static constexpr int kUnitsPerRow = kTileK / kUnitElements;
  static constexpr int kRowsPerCopy = kThreads / kUnitsPerRow;
  static constexpr int kCopies = kRows / kRowsPerCopy;
  static_assert(kCopies * kRowsPerCopy == kRows);

  const uint8_t* source_[kCopies];
  bool is_inside_[kCopies];
  int32_t alignment_;
  int32_t k_left_;
  uint8_t* target_;
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
