// SPDX-License-Identifier: Apache-2.0
// Quantising on a GPU: numbers -> element codes and block scales, byte for byte what src/quantize
// gives (docs/formats.md).
//
// A thread loads eight numbers of kOctetRows rows, the lanes of a block find its amax by
// shuffles, each of them computes the scale, encodes its eight numbers and stores 4 bytes (E2M1) or
// 8; the first lane of a block stores the scale byte. All is one pass over memory: 2 bytes in and
// about half a byte out per bf16 that becomes MXFP4.
#pragma once

#include <cstdint>

#include "cuda/common/amax.cuh"
#include "cuda/common/block_scale.cuh"
#include "cuda/common/octet_grid.cuh"
#include "formats/scale_layout.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// A given one is read; else the one for an amax, else 1 is taken and, if asked for, written.
struct GlobalScale {
  const float* given;
  const uint32_t* amax_bits;  // of the whole tensor
  float* result;
};

struct ScaleTarget {
  uint8_t* data;
  int64_t ld;    // row-major only
  int64_t cols;  // scales of a row
  bool is_swizzled;
};

// Octets that a thread does side by side: a whole block of NVFP4, whose scale takes the most work,
// a quarter of the others.
template <Format kFormat>
constexpr int kOctetsAlong = kFormat == Format::kNvf4 ? 2 : 1;

constexpr int quantize_rows(int octets, int along) {
  return octets < along ? 1 : octets / along;
}

struct QuantizeTask {
  // Swizzled scales: with the rows and columns of padding, whose scales are written as 0x00.
  // Columns of both are counted in what a thread does of a row.
  OctetGrid grid;
  int64_t rows;
  int64_t cols;
  RowView<const uint8_t> src;
  RowView<uint8_t> qdata;
  bool is_aligned;  // src and qdata
  ScaleTarget scale;
  QuantizeRule rule;  // but for the global scale
  GlobalScale global_scale;
};

__device__ __forceinline__ float settle_global_scale(const GlobalScale& scale) {
  if (scale.given != nullptr) {
    return *scale.given;
  }
  const float value =
      scale.amax_bits != nullptr ? internal::nvf4_global_scale(float_of(*scale.amax_bits)) : 1.0f;
  if (scale.result != nullptr && blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
    *scale.result = value;
  }
  return value;
}

// Each amax becomes the largest of the kLanes neighbouring lanes that hold a block.
template <int kLanes, int kRows>
__device__ __forceinline__ void share_amax(uint32_t (&amax)[kRows]) {
#pragma unroll
  for (int distance = 1; distance < kLanes; distance *= 2) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      amax[i] = larger(amax[i], __shfl_xor_sync(0xFFFFFFFFu, amax[i], distance));
    }
  }
}

__device__ __forceinline__ void store_scale(const ScaleTarget& scale, int64_t row, int64_t col,
                                            uint32_t code) {
  scale.data[scale.is_swizzled ? internal::swizzled_scale_offset(row, col, scale.cols)
                               : row * scale.ld + col] = static_cast<uint8_t>(code);
}

template <Format kSource, Format kFormat, bool kAligned>
__device__ __forceinline__ void quantize_tiles(const QuantizeTask& task, const QuantizeRule& rule) {
  constexpr int kAlong = kOctetsAlong<kFormat>;
  constexpr int kRows = quantize_rows(kOctetRows<kSource, kAligned>, kAlong);
  constexpr int kLanes = kBlockSize<kFormat> / (kOctet * kAlong);
  constexpr int kCodeWords = OctetCodes<Element<kFormat>>::kWords;
  for_each_tile<kRows>(task.grid, [&](const TileThread& thread) {
    Octet<kSource> octets[kRows][kAlong];
    const int rows_left = thread.rows_left(task.rows, task.cols);
    load_octets<kSource, kAligned>(task.src, thread, rows_left, octets);
    // All of them before anything else, so that no load waits for another.
    uint32_t amax[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      amax[i] = amax_bits(octets[i][0]);
      for (int j = 1; j < kAlong; ++j) {
        amax[i] = larger(amax[i], amax_bits(octets[i][j]));
      }
    }
    share_amax<kLanes>(amax);

    const int scale_rows_left =
        thread.col % kLanes == 0 ? thread.rows_left(task.grid.rows, task.grid.cols) : 0;
    uint8_t* qdata = task.qdata.at(thread.row, thread.col * (4 * kCodeWords * kAlong));
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const BlockScale scale = block_scale<kFormat>(rule, amax[i]);
      uint32_t words[kAlong * kCodeWords];
#pragma unroll
      for (int j = 0; j < kAlong; ++j) {
        const auto codes = quantize_octet<kSource, kFormat>(octets[i][j], scale);
        for (int word = 0; word < kCodeWords; ++word) {
          words[j * kCodeWords + word] = codes.words[word];
        }
      }
      const int down = i * thread.row_step;
      if (down < rows_left) {
        store_words<uint8_t, kAligned>(qdata, words);
      }
      if (down < scale_rows_left) {
        store_scale(task.scale, thread.row + down, thread.col / kLanes,
                    down < rows_left ? scale.code : 0);
      }
      qdata += thread.row_step * task.qdata.row_bytes;
    }
  });
}

template <Format kSource, Format kFormat>
__global__ void __launch_bounds__(kGridThreads) quantize_kernel(const QuantizeTask task) {
  QuantizeRule rule = task.rule;
  if constexpr (kFormat == Format::kNvf4) {
    rule.global_scale = settle_global_scale(task.global_scale);
    rule.global_reciprocal = 1.0f / rule.global_scale;
  }
  if (task.is_aligned) {
    quantize_tiles<kSource, kFormat, true>(task, rule);
  } else {
    quantize_tiles<kSource, kFormat, false>(task, rule);
  }
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
