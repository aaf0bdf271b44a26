// SPDX-License-Identifier: Apache-2.0
// How A travels from global memory to the shared tile of bf16 that all warps of gemm_tile.cuh read.
//
//   bf16:    global --cp.async--> tile
//   scaled:  global --cp.async--> slots of one thread --registers: expand--> tile
//
// A tile holds kRows rows of one step of K, as units of 16 bytes (8 k). Unit u = kUnits * t + c of
// a row is what lane t of a row of lanes multiplies with in round c. Four units side by side are
// permuted so that the eight lanes that are served at a time, two rows of lanes, meet 32 different
// banks: unit u of row r lies at u with its lowest bits exchanged by t and r. Threads that write,
// 16 bytes each, do so as well.
#pragma once

#include <utility>

#include "cuda/sm80/chunk_stream.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

template <int kLaneK>
struct TileLayout {
  static constexpr int kUnits = kLaneK / kUnitElements;  // of a chunk
  static constexpr int kRowUnits = 4 * kUnits;
  static constexpr int kUnitBytes = kUnitElements * 2;
  static constexpr int kRowBytes = kRowUnits * kUnitBytes;
  static_assert(kUnits == 2 || kUnits == 4);

  // Rows a multiple of 4 apart have their units at the same positions, and unit c of a chunk is its
  // first one's offset ^ c * kUnitBytes.
  __device__ __forceinline__ static uint32_t offset(int row, int unit) {
    const int key = kUnits == 4 ? (unit / 4 ^ row) & 3 : row & 1;
    return static_cast<uint32_t>(row * kRowBytes + (unit ^ key) * kUnitBytes);
  }
};

__host__ __device__ inline bool is_whole_plain(const OperandRows& operand) {
  return operand.alignment == 16 && operand.pitch <= kMaxWholePitch;
}

// kPaced (kWhole only): the copies of a step are spread over it.
template <int kRows, int kThreads, int kLaneK, bool kWhole, bool kPaced>
class PlainTile {
  static_assert(kWhole || !kPaced);
  using Layout = TileLayout<kLaneK>;
  using RowStep = std::conditional_t<kWhole, int32_t, int64_t>;

 public:
  static constexpr int kTileBytes = kRows * Layout::kRowBytes;
  static constexpr int kSharedBytes = 2 * kTileBytes;
  static constexpr int kExpansions = 0;

  __device__ __forceinline__ PlainTile(const OperandRows& operand, int64_t first_row,
                                       int first_step, int64_t end, uint8_t* shared)
      : tiles_(shared), alignment_(operand.alignment) {
    const int local_row = static_cast<int>(threadIdx.x) / Layout::kRowUnits;
    const int unit = static_cast<int>(threadIdx.x) % Layout::kRowUnits;
    const int64_t row = first_row + local_row;
    const int first = first_step * 4 * kLaneK + unit * kUnitElements;
    left_ = static_cast<int>(end) - first;
    offset_ = Layout::offset(local_row, unit);
    rows_left_ = static_cast<int>(min(operand.scales.rows - row, static_cast<int64_t>(kRows)));
    source_ = operand.data + row * operand.pitch + static_cast<int64_t>(first) * 2;
    row_step_ = static_cast<RowStep>(operand.pitch * kRowsPerCopy);
  }

  __device__ __forceinline__ void load_first() { load(0); }
  __device__ __forceinline__ void expand_first() {}

  // Slot kSlot of the kSlots of a step, in which tile `other` comes to hold the next step.
  template <int kSlot, int kSlots, ScaleRange>
  __device__ __forceinline__ void work(uint32_t other) {
    if constexpr (kPaced) {
      // All at once would keep the warps waiting that load fragments. The last unit's slots, here a
      // quarter, are too late: there B's copies, which are older, are waited for
      // (expand_in_slot()).
      static_assert(Layout::kUnits == 4);
      constexpr int kApart = kSlots * 3 / 4 / kCopies;
      static_assert(kApart > 0);
      if constexpr (kSlot % kApart == 0 && kSlot / kApart < kCopies) {
        load_piece(other, kSlot / kApart);
        if constexpr (kSlot / kApart == kCopies - 1) {
          advance();
          copy_async_commit();
        }
      }
    } else if constexpr (kSlot == 0) {
      load(other);
      copy_async_commit();
    }
  }
  __device__ __forceinline__ void prefetch_scales() const {}

 private:
  static constexpr int kRowsPerCopy = kThreads / Layout::kRowUnits;
  static constexpr int kCopies = kRows / kRowsPerCopy;
  static_assert(kCopies * kRowsPerCopy == kRows && kRowsPerCopy % 4 == 0);

  // Starts the copies of the next step; what does not exist becomes 0.
  __device__ __forceinline__ void load(uint32_t tile) {
    uint8_t* target = tiles_ + tile + offset_;
    if constexpr (kPaced) {
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        load_piece(tile, i);
      }
    } else if constexpr (kWhole) {
      const uint8_t* source = source_;
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        copy_async_whole<16, true>(shared_address(target) + i * kRowsPerCopy * Layout::kRowBytes,
                                   source, i * kRowsPerCopy < rows_left_ && left_ > 0);
        source += row_step_;
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < kCopies; ++i) {
        copy_piece<16>(target + i * kRowsPerCopy * Layout::kRowBytes, source_ + i * row_step_,
                       i * kRowsPerCopy < rows_left_ ? left_ * 2 : 0, alignment_);
      }
    }
    advance();
  }

  __device__ __forceinline__ void load_piece(uint32_t tile, int i) {
    copy_async_whole<16, true>(
        shared_address(tiles_ + tile + offset_) + i * kRowsPerCopy * Layout::kRowBytes,
        source_ + i * row_step_, i * kRowsPerCopy < rows_left_ && left_ > 0);
  }

  __device__ __forceinline__ void advance() {
    source_ += Layout::kRowBytes;
    left_ -= 4 * kLaneK;
  }

  uint8_t* tiles_;
  const uint8_t* source_;  // of the first of this thread's rows
  RowStep row_step_;       // bytes from one of them to the next
  int32_t alignment_;
  int32_t rows_left_;
  int32_t left_;  // elements from this thread's next unit to `end`
  uint32_t offset_;
};

template <Format kFormat, PairOrder kOrder, int kRows, int kThreads, int kLaneK, bool kWhole,
          bool kEvenScales>
class ScaledTile {
  using Layout = TileLayout<kLaneK>;
  static constexpr int kRowsOfThread = kRows * 4 / kThreads;
  static constexpr int kRowStep = kThreads / 4;
  using Stream = ChunkStream<kFormat, kLaneK, kRowsOfThread, 1, 1, kThreads, kWhole, kEvenScales>;

 public:
  static constexpr int kTileBytes = kRows * Layout::kRowBytes;
  static constexpr int kSharedBytes = 2 * kTileBytes + Stream::kSharedBytes;
  static constexpr int kExpansions = kRowsOfThread * Layout::kUnits;  // units of a thread and step

  __device__ __forceinline__ ScaledTile(const OperandRows& operand, int64_t first_row,
                                        int first_step, int64_t end, uint8_t* shared)
      : stream_(operand, first_row + threadIdx.x / 4, kRowStep, threadIdx.x % 4, first_step, 1, end,
                shared + 2 * kTileBytes),
        tiles_(shared),
        offset_(Layout::offset(threadIdx.x / 4, threadIdx.x % 4 * Layout::kUnits)) {}

  __device__ __forceinline__ void load_first() { stream_.load(); }
  __device__ __forceinline__ void expand_first() {
    expand_range<0>(0u, std::make_integer_sequence<int, kExpansions>());
  }

  __device__ __forceinline__ void prefetch_scales() const { stream_.prefetch_scales(); }

  // Whether the next step has a scale that is not narrow.
  __device__ __forceinline__ bool is_wide() const { return stream_.is_wide(); }

  template <int kSlot, int kSlots, ScaleRange kRange>
  __device__ __forceinline__ void work(uint32_t other) {
    static_assert(kSlots % kExpansions == 0);
    constexpr int kSlotsPerUnit = kSlots / kExpansions;
    if constexpr (kSlot % kSlotsPerUnit == 0) {
      expand_one<kSlot / kSlotsPerUnit, kRange>(other);
      if constexpr (kSlot / kSlotsPerUnit == (kRowsOfThread - 1) * Layout::kUnits) {
        copy_async_commit();  // the last row has just been asked for
      }
    }
  }

 private:
  template <int kFirst, int... kIndex>
  __device__ __forceinline__ void expand_range(uint32_t tile,
                                               std::integer_sequence<int, kIndex...>) {
    (expand_one<kFirst + kIndex, ScaleRange::kAll>(tile), ...);
  }

  // Expands the kIndex-th unit of the step that came next into `tile`; the first unit of a row
  // takes it from its slot and asks for that of the step after.
  template <int kIndex, ScaleRange kRange>
  __device__ __forceinline__ void expand_one(uint32_t tile) {
    constexpr int kRow = kIndex / Layout::kUnits;
    constexpr int kUnit = kIndex % Layout::kUnits;
    if constexpr (kUnit == 0) {
      stream_.template take<kRow>(chunk_);
      if constexpr (kRow == kRowsOfThread - 1) {
        stream_.ask_scales();
      }
      stream_.template load_one<kRow>();
    }
    uint32_t pairs[4];
    chunk_.template expand_unit<kOrder, kRange>(kUnit, pairs);
    uint8_t* target = tiles_ + tile + (offset_ ^ kUnit * Layout::kUnitBytes);
    *reinterpret_cast<uint4*>(target + kRow * kRowStep * Layout::kRowBytes) =
        make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }

  Stream stream_;
  Chunk<kFormat, kLaneK> chunk_;
  uint8_t* tiles_;
  uint32_t offset_;
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
