// SPDX-License-Identifier: Apache-2.0
// The kernels on block-scaled data by format, and the grids that they are launched with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cuda/common/amax.cuh"
#include "cuda/common/dequantize.cuh"
#include "cuda/common/quantize.cuh"
#include "cuda/common/scale_swizzle.cuh"
#include "cuda/host/cuda_status.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

using QuantizeKernel = void (*)(QuantizeTask);
using DequantizeKernel = void (*)(DequantizeTask);
using AmaxKernel = void (*)(AmaxTask);

// In the order of these indices. The core has checked that a format is one of them.
inline int plain_index(Format format) {
  return format == Format::kBf16 ? 0 : format == Format::kF16 ? 1 : 2;
}
inline int block_index(Format format) {
  return static_cast<int>(format) - static_cast<int>(Format::kMxf4);
}

const AmaxKernel kAmaxKernels[] = {amax_kernel<Format::kBf16>, amax_kernel<Format::kF16>,
                                   amax_kernel<Format::kF32>};

// By source and format.
const QuantizeKernel kQuantizeKernels[][4] = {
    {quantize_kernel<Format::kBf16, Format::kMxf4>, quantize_kernel<Format::kBf16, Format::kNvf4>,
     quantize_kernel<Format::kBf16, Format::kMxf8E4m3>,
     quantize_kernel<Format::kBf16, Format::kMxf8E5m2>},
    {quantize_kernel<Format::kF16, Format::kMxf4>, quantize_kernel<Format::kF16, Format::kNvf4>,
     quantize_kernel<Format::kF16, Format::kMxf8E4m3>,
     quantize_kernel<Format::kF16, Format::kMxf8E5m2>},
    {quantize_kernel<Format::kF32, Format::kMxf4>, quantize_kernel<Format::kF32, Format::kNvf4>,
     quantize_kernel<Format::kF32, Format::kMxf8E4m3>,
     quantize_kernel<Format::kF32, Format::kMxf8E5m2>}};

// By format and target.
const DequantizeKernel kDequantizeKernels[][3] = {
    {dequantize_kernel<Format::kMxf4, Format::kBf16>,
     dequantize_kernel<Format::kMxf4, Format::kF16>,
     dequantize_kernel<Format::kMxf4, Format::kF32>},
    {dequantize_kernel<Format::kNvf4, Format::kBf16>,
     dequantize_kernel<Format::kNvf4, Format::kF16>,
     dequantize_kernel<Format::kNvf4, Format::kF32>},
    {dequantize_kernel<Format::kMxf8E4m3, Format::kBf16>,
     dequantize_kernel<Format::kMxf8E4m3, Format::kF16>,
     dequantize_kernel<Format::kMxf8E4m3, Format::kF32>},
    {dequantize_kernel<Format::kMxf8E5m2, Format::kBf16>,
     dequantize_kernel<Format::kMxf8E5m2, Format::kF16>,
     dequantize_kernel<Format::kMxf8E5m2, Format::kF32>}};

inline int64_t tiles_of(int64_t extent, int64_t tile) {
  return internal::scale_tiles_along(extent, tile);
}

// The widest tile that wastes the fewest lanes at the end of a row. Not below 32 octets (512 bytes
// of bf16), where memory would see short pieces, unless rows are shorter.
inline OctetGrid octet_grid(int64_t rows, int64_t cols) {
  constexpr int kLog2Least = 5;
  constexpr int kLog2Most = 8;  // kGridThreads
  static_assert(kGridThreads == 1 << kLog2Most);
  int log2_width = 1;  // a block of NVFP4
  while (log2_width < kLog2Least && (int64_t{1} << log2_width) < cols) {
    ++log2_width;
  }
  const auto lanes = [cols](int log2) { return tiles_of(cols, int64_t{1} << log2) << log2; };
  for (int wider = log2_width + 1; wider <= kLog2Most; ++wider) {
    if (lanes(wider) <= lanes(log2_width)) {
      log2_width = wider;
    }
  }
  return {rows, cols, log2_width};
}

// `most_ctas`: what a launch may have at most.
inline dim3 launch_grid(const OctetGrid& grid, int rows_per_thread,
                        int64_t most_ctas = std::numeric_limits<int32_t>::max()) {
  constexpr int64_t kMostY = 65535;  // of any device
  const int64_t tile_rows = int64_t{kGridThreads >> grid.log2_width} * rows_per_thread;
  const int64_t y =
      std::min({tiles_of(grid.cols, int64_t{1} << grid.log2_width), kMostY, most_ctas});
  const int64_t x = std::min(tiles_of(grid.rows, tile_rows), most_ctas / std::max<int64_t>(y, 1));
  return dim3(static_cast<unsigned>(std::max<int64_t>(x, 1)),
              static_cast<unsigned>(std::max<int64_t>(y, 1)));
}

// Whether every row of a matrix starts at a multiple of `unit` bytes.
inline bool is_aligned(const void* data, int64_t row_bytes, int64_t unit) {
  return (static_cast<int64_t>(reinterpret_cast<uintptr_t>(data)) | row_bytes) % unit == 0;
}

inline int64_t row_bytes(Format format, int64_t ld) {
  return ld * internal::find_format(format)->element_bits / 8;
}

// Bytes of an octet of codes, which is how codes want to be aligned. Plain numbers want 16.
inline int64_t code_octet_bytes(Format format) {
  return internal::find_format(format)->element_bits;
}
constexpr int64_t kVectorBytes = 16;

inline int octet_rows(Format source) {
  return source == Format::kF32 ? kOctetRows<Format::kF32, true> : kOctetRows<Format::kBf16, true>;
}

inline int octets_along(Format format) {
  return format == Format::kNvf4 ? kOctetsAlong<Format::kNvf4> : kOctetsAlong<Format::kMxf4>;
}

inline cudaError_t launch_amax(Format source, const AmaxTask& task, cudaStream_t stream) {
  // One atomic operation a warp: few CTAs, each with many tiles.
  constexpr int64_t kMostCtas = 2048;
  const dim3 grid = launch_grid(task.grid, octet_rows(source), kMostCtas);
  kAmaxKernels[plain_index(source)]<<<grid, kGridThreads, 0, stream>>>(task);
  return cudaGetLastError();
}

inline cudaError_t launch_quantize(Format source, Format format, const QuantizeTask& task,
                                   cudaStream_t stream) {
  const dim3 grid = launch_grid(task.grid, quantize_rows(octet_rows(source), octets_along(format)));
  kQuantizeKernels[plain_index(source)][block_index(format)]<<<grid, kGridThreads, 0, stream>>>(
      task);
  return cudaGetLastError();
}

inline cudaError_t launch_dequantize(Format format, Format target, const DequantizeTask& task,
                                     cudaStream_t stream) {
  const dim3 grid = launch_grid(task.grid, kDequantizeRows);
  kDequantizeKernels[block_index(format)][plain_index(target)]<<<grid, kGridThreads, 0, stream>>>(
      task);
  return cudaGetLastError();
}

inline cudaError_t launch_swizzle(void (*kernel)(SwizzleTask), const SwizzleTask& task,
                                  cudaStream_t stream) {
  // A grid-stride loop: this many CTAs fill every GPU there is, more would only queue.
  constexpr int64_t kMostCtas = 4096;
  const int64_t ctas = std::min(tiles_of(task.groups, kSwizzleThreads), kMostCtas);
  kernel<<<static_cast<unsigned>(ctas), kSwizzleThreads, 0, stream>>>(task);
  return cudaGetLastError();
}

// Loads every kernel into the current device.
inline cudaError_t load_data_kernels() {
  cudaFuncAttributes attributes;
  cudaError_t result = cudaSuccess;
  const auto load = [&](auto* kernel) {
    if (result == cudaSuccess) {
      result = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
    }
  };
  for (const AmaxKernel kernel : kAmaxKernels) {
    load(kernel);
  }
  for (const auto& by_format : kQuantizeKernels) {
    for (const QuantizeKernel kernel : by_format) {
      load(kernel);
    }
  }
  for (const auto& by_target : kDequantizeKernels) {
    for (const DequantizeKernel kernel : by_target) {
      load(kernel);
    }
  }
  load(swizzle_kernel);
  load(unswizzle_kernel);
  return result;
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
