// SPDX-License-Identifier: Apache-2.0
// How one operand of gemm_tile.cuh travels from global memory to the shared tile of bf16 that
// ldmatrix reads.
//
//   scaled:  global --cp.async--> raw stage --registers: expand--> tile
//   bf16:    global --cp.async--> tile
//
// A tile holds kRows rows of 32 k, 64 bytes each, as four units of 16 bytes (8 k). Unit u of row r
// lies at position u ^ ((r / 2 ^ r / 8) % 4): rows 0…7 (what ldmatrix reads of A, and what eight
// threads write) as well as rows 0, 1, 8, 9, 16, 17, 24, 25 (what it reads of B) then fall into 32
// different banks.
//
// A raw stage has the same form, 64 bytes of every row as they are: four steps of K in 4 bits, two
// in 8 bits. Reading 16 bytes of 32 rows at a time, as a single step of 4 bits would, costs L1 a
// cycle per row; four lanes side by side read their row's 64 bytes in one.
#pragma once

#include "cuda/common/expand_bf16.cuh"
#include "cuda/sm80/gemm_params.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

constexpr int kTileK = 32;
constexpr int kTileRowBytes = kTileK * 2;
constexpr int kUnitElements = 8;
constexpr int kUnitBytes = 16;
constexpr int kUnitsPerRow = kTileRowBytes / kUnitBytes;

__device__ __forceinline__ uint32_t tile_offset(int row, int unit) {
  const int position = unit ^ ((row >> 1 ^ row >> 3) & 3);
  return static_cast<uint32_t>(row * kTileRowBytes + position * kUnitBytes);
}

// Copies 64 bytes of every row after another.
//
// kWhole: addresses and pitches are aligned to 16 bytes and so is the end of a row, so that a unit
// exists wholly or not at all.
template <int kRows, int kThreads, bool kWhole>
class RowCopies {
 public:
  __device__ __forceinline__ RowCopies(const OperandRows& operand, int64_t first_row,
                                       int64_t first_byte, int64_t row_bytes)
      : alignment_(operand.alignment) {
    const int local_row = static_cast<int>(threadIdx.x) / kUnitsPerRow;
    const int unit = static_cast<int>(threadIdx.x) % kUnitsPerRow;
    const int64_t byte = first_byte + unit * kUnitBytes;
    const int64_t row = first_row + local_row;
    bytes_left_ = static_cast<int>(row_bytes - byte);
    offset_ = tile_offset(local_row, unit);
    rows_left_ = static_cast<int>(min(operand.scales.rows - row, static_cast<int64_t>(kRows)));
    source_ = operand.data + row * operand.pitch + byte;
    step_ = operand.pitch * kRowsPerCopy;
  }

  // Starts the next 64 bytes' copies into `tile`; where they do not exist they become 0.
  __device__ __forceinline__ void load(uint8_t* tile, bool exists) {
    const uint8_t* source = source_;
    const int bytes = exists ? bytes_left_ : 0;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      // Rows a multiple of 32 apart have their units at the same positions.
      static_assert(kRowsPerCopy % 32 == 0);
      uint8_t* target = tile + offset_ + i * kRowsPerCopy * kTileRowBytes;
      const bool is_inside = i * kRowsPerCopy < rows_left_;
      if constexpr (kWhole) {
        copy_async_whole<kUnitBytes, true>(shared_address(target), source, is_inside && bytes > 0);
      } else {
        copy_piece<kUnitBytes>(target, source, is_inside ? bytes : 0, alignment_);
      }
      source += step_;
    }
    source_ += kTileRowBytes;
    bytes_left_ -= kTileRowBytes;
  }

 private:
  static constexpr int kRowsPerCopy = kThreads / kUnitsPerRow;
  static constexpr int kCopies = kRows / kRowsPerCopy;
  static_assert(kCopies * kRowsPerCopy == kRows);

  const uint8_t* source_;  // of the first of this thread's rows
  int64_t step_;           // bytes from one of them to the next
  int32_t rows_left_;      // from the first to the operand's last
  int32_t alignment_;
  int32_t bytes_left_;
  uint32_t offset_;
};

template <Format kFormat, PairOrder kOrder, int kRows, int kThreads, bool kWhole>
class ScaledOperand {
  using Traits = ElementTraits<kFormat>;

 public:
  // Elements of a tile that one thread expands: a row, or half of one.
  static constexpr int kElements = kRows * kTileK / kThreads;
  static_assert(kElements == 32 || kElements == 16);
  static constexpr int kUnits = kElements / kUnitElements;
  static constexpr int kTileBytes = kRows * kTileRowBytes;
  static constexpr int kStages = 2;  // raw stages as well as tiles: one is read, one written
  static constexpr int kSharedBytes = 2 * kStages * kTileBytes;
  static constexpr int kStepsPerLoad = kTileRowBytes * 8 / Traits::kBits / kTileK;
  // A raw stage is loaded in the last step that does not read it any more, and first read one load
  // later: so many steps' copies may be under way when it must be there.
  static constexpr int kPendingLoads = kStepsPerLoad - 1;

  __device__ __forceinline__ ScaledOperand(const OperandRows& operand, int64_t first_row, int64_t k,
                                           int first_step, uint8_t* shared)
      : copies_(operand, first_row, static_cast<int64_t>(first_step) * kStepBytes,
                k * Traits::kBits / 8),
        tiles_(shared),
        raw_(shared + kStages * kTileBytes) {
    constexpr int kThreadsPerRow = kTileK / kElements;
    row_ = static_cast<int>(threadIdx.x) / kThreadsPerRow;
    half_ = static_cast<int>(threadIdx.x) % kThreadsPerRow;
    first_unit_ = tile_offset(row_, half_ * kElements / kUnitElements);
    const int64_t row = first_row + row_;
    const bool is_inside = row < operand.scales.rows;
    const int quad = first_step / kStepsPerQuad;
    quad_stride_ = quad_stride(operand.scales);
    scales_ =
        scale_row(operand.scales, is_inside ? row : 0) + static_cast<int64_t>(quad) * quad_stride_;
    scales_left_ = is_inside ? static_cast<int>(operand.scales.view.cols) - quad * 4 : 0;
    has_whole_quads_ = operand.scales.has_whole_quads;
    next_quad_ = take_quad();
  }

  // Starts what must be under way before the first step: two raw stages.
  __device__ __forceinline__ void load_first(int steps) { load_stage(0, steps > 0); }
  __device__ __forceinline__ void load_second(int steps) { load_stage(1, steps > kStepsPerLoad); }

  // Starts the copies of step i, kInFour = i % 4: those of the raw stage after the next one.
  template <int kInFour>
  __device__ __forceinline__ void load(int i, int steps) {
    if constexpr (kInFour % kStepsPerLoad == kStepsPerLoad - 1) {
      const int stage = kStepsPerLoad == 4 ? ((i + 1) / 4 + 1) % kStages : kInFour / 2;
      load_stage(stage, i + 1 + kStepsPerLoad < steps);
    }
  }

  // Fetches the elements and scales of step `i` of this CTA, kInFour = i % 4. Steps come in order.
  template <int kInFour>
  __device__ __forceinline__ void fetch(int i) {
    // A step's 16 or 32 bytes of a row, or this thread's half of them.
    constexpr int kInLoad = kInFour % kStepsPerLoad;
    constexpr int kUnitsPerStep = kUnitsPerRow / kStepsPerLoad;
    const int index = kStepsPerLoad == 4 ? i / 4 % kStages : kInFour / 2;
    const uint8_t* stage = raw_ + index * kTileBytes;
    if constexpr (kRawBytes < kUnitBytes) {
      const uint2 words =
          *reinterpret_cast<const uint2*>(stage + tile_offset(row_, kInLoad) + half_ * kRawBytes);
      codes_[0] = words.x;
      codes_[1] = words.y;
    } else {
#pragma unroll
      for (int unit = 0; unit < kRawBytes / kUnitBytes; ++unit) {
        const uint4 words = *reinterpret_cast<const uint4*>(
            stage +
            tile_offset(row_, kInLoad * kUnitsPerStep + half_ * kRawBytes / kUnitBytes + unit));
        codes_[4 * unit] = words.x;
        codes_[4 * unit + 1] = words.y;
        codes_[4 * unit + 2] = words.z;
        codes_[4 * unit + 3] = words.w;
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

  // Expands unit kUnit of what was fetched into tile `tile` (0 or 1). Units come in order. Returns
  // something that is known only then.
  template <int kUnit>
  __device__ __forceinline__ uint32_t expand_unit(int tile) {
    constexpr int kWordsPerUnit = kUnitElements * Traits::kBits / 32;
    constexpr int kUnitsPerScale = kElements / kUnitElements / kScales;
    if constexpr (kUnit % kUnitsPerScale == 0) {
      multiplier_ =
          multiplier<kFormat>(scale_codes_ >> (kUnit / kUnitsPerScale * 8) & 0xFFu, codes_);
    }
    uint32_t pairs[4];
    expand<kFormat, kOrder>(codes_ + kUnit * kWordsPerUnit, multiplier_, pairs);
    *reinterpret_cast<uint4*>(tiles_ + tile * kTileBytes + (first_unit_ ^ (kUnit * kUnitBytes))) =
        make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    return pairs[3];
  }

  // The tile of the step that is i % 4 = kInFour.
  __device__ __forceinline__ static constexpr int tile_of(int in_four) {
    return in_four % kStages;
  }

 private:
  static constexpr int kStepBytes = kTileK * Traits::kBits / 8;
  static constexpr int kRawBytes = kElements * Traits::kBits / 8;
  static constexpr int kScalesPerStep = kTileK / Traits::kBlock;
  static constexpr int kStepsPerQuad = 4 / kScalesPerStep;
  static constexpr int kScales = kElements < Traits::kBlock ? 1 : kElements / Traits::kBlock;

  __device__ __forceinline__ void load_stage(int stage, bool exists) {
    copies_.load(raw_ + stage * kTileBytes, exists);
  }

  __device__ __forceinline__ uint32_t take_quad() {
    const uint32_t quad = load_quad(scales_, scales_left_, has_whole_quads_);
    scales_ += quad_stride_;
    scales_left_ -= 4;
    return quad;
  }

  RowCopies<kRows, kThreads, kWhole> copies_;
  uint8_t* tiles_;
  uint8_t* raw_;
  int row_;
  int half_;
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

// bf16 as it is: there is a tile per step under way, and nothing to expand.
template <int kRows, int kThreads, bool kWhole>
class PlainOperand {
 public:
  static constexpr int kUnits = 0;
  static constexpr int kTileBytes = kRows * kTileRowBytes;
  static constexpr int kStages = 4;
  static constexpr int kSharedBytes = kStages * kTileBytes;
  // Loaded kStages - 1 steps ahead.
  static constexpr int kPendingLoads = kStages - 2;

  __device__ __forceinline__ PlainOperand(const OperandRows& operand, int64_t first_row, int64_t k,
                                          int first_step, uint8_t* shared)
      : copies_(operand, first_row, static_cast<int64_t>(first_step) * kTileRowBytes, k * 2),
        tiles_(shared) {}

  __device__ __forceinline__ void load_first(int steps) { copies_.load(tiles_, steps > 0); }
  __device__ __forceinline__ void load_second(int steps) {
    copies_.load(tiles_ + kTileBytes, steps > 1);
    copies_.load(tiles_ + 2 * kTileBytes, steps > 2);
  }
  template <int kInFour>
  __device__ __forceinline__ void load(int i, int steps) {
    constexpr int kTile = (kInFour + kStages - 1) % kStages;
    copies_.load(tiles_ + kTile * kTileBytes, i + kStages - 1 < steps);
  }

  template <int kInFour>
  __device__ __forceinline__ void fetch(int) {}
  __device__ __forceinline__ static constexpr int tile_of(int in_four) { return in_four; }

 private:
  RowCopies<kRows, kThreads, kWhole> copies_;
  uint8_t* tiles_;
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
