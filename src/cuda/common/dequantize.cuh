// SPDX-License-Identifier: Apache-2.0
// Decoding on a GPU: element codes and block scales, in either layout, -> bf16, f16 or f32, byte
// for byte what src/quantize gives. A thread decodes eight elements of each of four rows.
#pragma once

#include <cstdint>

#include "cuda/common/decode.cuh"
#include "cuda/common/octet_grid.cuh"
#include "formats/scale_layout.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct DequantizeTask {
  OctetGrid grid;
  RowView<const uint8_t> qdata;
  internal::ScaleView scale;
  const float* global_scale_pointer;  // nullptr: global_scale
  float global_scale;
  RowView<uint8_t> dst;
  bool is_aligned;  // qdata and dst
};

constexpr int kDequantizeRows = 4;

template <Format kFormat, Format kTarget, bool kAligned>
__device__ __forceinline__ void dequantize_tiles(const DequantizeTask& task, float global_scale) {
  constexpr int kRows = kAligned ? kDequantizeRows : 1;
  constexpr int kLanes = kBlockSize<kFormat> / kOctet;
  constexpr int kCodeBytes = 4 * OctetCodes<Element<kFormat>>::kWords;
  for_each_tile<kRows>(task.grid, [&](const TileThread& thread) {
    OctetCodes<Element<kFormat>> codes[kRows] = {};
    uint32_t scales[kRows] = {};
    const int rows_left = thread.rows_left(task.grid.rows, task.grid.cols);
    const uint8_t* qdata = task.qdata.at(thread.row, thread.col * kCodeBytes);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int down = i * thread.row_step;
      if (down < rows_left) {
        load_words<uint8_t, kAligned>(qdata, codes[i].words);
        scales[i] = task.scale.at(thread.row + down, thread.col / kLanes);
      }
      qdata += thread.row_step * task.qdata.row_bytes;
    }
    uint8_t* dst = task.dst.at(thread.row, thread.col * kOctetBytes<kTarget>);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const Octet<kTarget> octet =
          dequantize_octet<kFormat, kTarget>(codes[i], scales[i], global_scale);
      store_octet<kTarget, kAligned>(dst, i * thread.row_step < rows_left, octet);
      dst += thread.row_step * task.dst.row_bytes;
    }
  });
}

template <Format kFormat, Format kTarget>
__global__ void __launch_bounds__(kGridThreads) dequantize_kernel(const DequantizeTask task) {
  const float global_scale =
      task.global_scale_pointer != nullptr ? *task.global_scale_pointer : task.global_scale;
  if (task.is_aligned) {
    dequantize_tiles<kFormat, kTarget, true>(task, global_scale);
  } else {
    dequantize_tiles<kFormat, kTarget, false>(task, global_scale);
  }
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
