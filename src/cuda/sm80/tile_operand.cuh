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

template <Format kFormat, PairOrder kOrder, int kRows, int kThreads, int kStages>
class ScaledOperand {
  using Traits = ElementTraits<kFormat>;

 public:
  // Elements of a tile that one thread brings in: a row, or half of one.
  static constexpr int kElements = kRows * kTileK / kThreads;
  static_assert(kElements == 32 || kElements == 16);
  static constexpr int kUnits = kElements / kUnitElements;
  static constexpr int kRawBytes = kElements * Traits::kBits / 8;
  static constexpr int kPieceBytes = kRawBytes < 16 ? kRawBytes : 16;
  static constexpr int kPieces = kRawBytes / kPieceBytes;
  static constexpr int kTileBytes = kRows * kTileRowBytes;
  static constexpr int kTiles = 2;  // one is read while the next is written
  static constexpr int kSharedBytes =
      kTiles * kTileBytes + kStages * kPieces * kPieceBytes * kThreads;

  __device__ __forceinline__ ScaledOperand(const OperandRows& operand, int64_t first_row, int64_t k,
                                           int first_step, uint8_t* shared)
      : alignment_(operand.alignment), k_(static_cast<int>(k)), tiles_(shared) {
    constexpr int kThreadsPerRow = kTileK / kElements;
    row_ = static_cast<int>(threadIdx.x) / kThreadsPerRow;
    first_element_ = static_cast<int>(threadIdx.x) % kThreadsPerRow * kElements;
    const int64_t row = first_row + row_;
    is_inside_ = row < operand.scales.rows;
    source_ = operand.data + (is_inside_ ? row : 0) * operand.pitch;
    slots_ = shared + kTiles * kTileBytes + threadIdx.x * kPieceBytes;
    scales_ = scale_row(operand.scales, row);
    next_quad_ = scales_.quad(first_step / kStepsPerQuad);
  }

  // Starts the copies of K step `step` (kTileK elements); slot = step % kStages.
  __device__ __forceinline__ void load(int step, int slot) {
    const int first = step * kTileK + first_element_;
    const uint8_t* source = source_ + static_cast<int64_t>(first) * Traits::kBits / 8;
    const int valid = is_inside_ ? min(k_ - first, kElements) * Traits::kBits / 8 : 0;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      copy_piece<kPieceBytes>(piece(slot, i), source + i * kPieceBytes, valid - i * kPieceBytes,
                              alignment_);
    }
  }

  // Fetches what load() brought in, and its scales. Steps come in order.
  __device__ __forceinline__ void fetch(int step, int slot) {
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
    const int in_quad = step % kStepsPerQuad;
    if (in_quad == 0) {
      quad_ = next_quad_;
      next_quad_ = scales_.quad(step / kStepsPerQuad + 1);
    }
    const int first_code = in_quad * (4 / kStepsPerQuad) + first_element_ / Traits::kBlock;
#pragma unroll
    for (int i = 0; i < kScales; ++i) {
      factors_[i] = scale_factor<kFormat>(quad_ >> ((first_code + i) * 8) & 0xFFu);
      if constexpr (kFormat == Format::kMxf8E4m3) {
        note_nan<kFormat>(codes_, &factors_[i]);
      }
    }
  }

  // Expands unit `unit` of what was fetched into tile `tile` (0 or 1).
  template <int kUnit>
  __device__ __forceinline__ void expand_unit(int tile) {
    constexpr int kWordsPerUnit = kUnitElements * Traits::kBits / 32;
    uint32_t pairs[4];
    expand<kFormat, kOrder>(codes_ + kUnit * kWordsPerUnit,
                            factors_[kUnit * kUnitElements / kElementsPerScale], pairs);
    const uint32_t offset = tile_offset(row_, first_element_ / kUnitElements + kUnit);
    *reinterpret_cast<uint4*>(tiles_ + tile * kTileBytes + offset) =
        make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }

  // The tile that holds the index-th step of this CTA.
  __device__ __forceinline__ static constexpr int tile_of(int index) {
    return index % kTiles;
  }

 private:
  static constexpr int kScalesPerStep = kTileK / Traits::kBlock;
  static constexpr int kStepsPerQuad = 4 / kScalesPerStep;
  static constexpr int kElementsPerScale = kElements < Traits::kBlock ? kElements : Traits::kBlock;
  static constexpr int kScales = kElements / kElementsPerScale;
  static constexpr int kWords = kRawBytes / 4;

  __device__ __forceinline__ uint8_t* piece(int slot, int index) const {
    return slots_ + (slot * kPieces + index) * kThreads * kPieceBytes;
  }

  const uint8_t* source_;
  int32_t alignment_;
  int32_t k_;
  int row_;
  int first_element_;
  bool is_inside_;
  uint8_t* tiles_;
  uint8_t* slots_;
  ScaleRow scales_;
  uint32_t quad_ = 0;
  uint32_t next_quad_;
  uint32_t codes_[kWords];
  ScaleFactor factors_[kScales];
};

// bf16 as it is: every stage is a tile, and there is nothing to expand.
template <int kRows, int kThreads, int kStages>
class PlainOperand {
 public:
  static constexpr int kUnits = 0;
  static constexpr int kTileBytes = kRows * kTileRowBytes;
  static constexpr int kTiles = kStages;
  static constexpr int kSharedBytes = kTiles * kTileBytes;

  __device__ __forceinline__ PlainOperand(const OperandRows& operand, int64_t first_row, int64_t k,
                                          int, uint8_t* shared)
      : alignment_(operand.alignment), k_(static_cast<int>(k)), tiles_(shared) {
    row_ = static_cast<int>(threadIdx.x) / kUnitsPerRow;
    unit_ = static_cast<int>(threadIdx.x) % kUnitsPerRow;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int64_t row = first_row + row_ + i * kRowsPerCopy;
      is_inside_[i] = row < operand.scales.rows;
      source_[i] = operand.data + (is_inside_[i] ? row : 0) * operand.pitch;
    }
  }

  __device__ __forceinline__ void load(int step, int slot) {
    const int first = step * kTileK + unit_ * kUnitElements;
    const int valid = min(k_ - first, kUnitElements) * 2;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      copy_piece<16, true>(tiles_ + slot * kTileBytes + tile_offset(row_ + i * kRowsPerCopy, unit_),
                           source_[i] + static_cast<int64_t>(first) * 2, is_inside_[i] ? valid : 0,
                           alignment_);
    }
  }

  __device__ __forceinline__ void fetch(int, int) {}
  template <int kUnit>
  __device__ __forceinline__ void expand_unit(int) {}
  // The tile that holds the index-th step of this CTA.
  __device__ __forceinline__ static constexpr int tile_of(int index) {
    return index % kTiles;
  }

 private:
  static constexpr int kUnitsPerRow = kTileK / kUnitElements;
  static constexpr int kRowsPerCopy = kThreads / kUnitsPerRow;
  static constexpr int kCopies = kRows / kRowsPerCopy;
  static_assert(kCopies * kRowsPerCopy == kRows);

  const uint8_t* source_[kCopies];
  bool is_inside_[kCopies];
  int32_t alignment_;
  int32_t k_;
  int row_;
  int unit_;
  uint8_t* tiles_;
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
