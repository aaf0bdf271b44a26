// SPDX-License-Identifier: Apache-2.0
// gemm_any_any_any_64x64x16: every pair of formats, as run-time switches; right, not quick.
// Elements are decoded to fp32 with their scale and multiplied on the ordinary fp32 units, 2 x 8
// outputs a thread. Also K = 0, where only the epilogue is left.
//
// No product that fits fp32 is lost on the way: a scale above 2^64 is split into a factor that
// keeps the decoded element finite (element <= 57344, so element * 2^(127-32) < 2^112) and 2^32,
// which multiplies the product. Small scales need no such care: element * 2^-127 has its lowest bit
// at 2^-143 or above, an exact subnormal.
//
// Shared memory: 64 x 16 fp32 of A and of B, 9 KiB. Any M, N, K, pitch and address (of whole
// elements).
#include "cuda/sm80/kernel_entry.hpp"
#include "cuda/sm80/tile_index.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
namespace {

constexpr int kGenericTile = 64;
constexpr int kGenericK = 16;  // the smallest block: one scale per row and step
constexpr int kGenericThreads = 256;
constexpr int kElementsPerThread = kGenericTile * kGenericK / kGenericThreads;
constexpr int kGenericPitch = kGenericTile + 4;  // 16-byte rows, columns spread over the banks
constexpr int kRowsPerThread = 2;

constexpr uint32_t kLargestPlainScale = internal::kE8m0Bias + 64;
constexpr uint32_t kScaleSplit = 32;

struct SplitScale {
  float element;  // multiplies the element
  float product;  // multiplies the product: 1 or 2^32
};

__device__ SplitScale split_scale(Format format, uint32_t code) {
  if (format == Format::kNvf4) {
    // value * 2^-120 as fp32, then * 2^120.
    const float value = __uint_as_float((code & 0x7Fu) << 20) * 0x1p120f;
    return {(code & 0x7Fu) == internal::kE4m3Nan ? __uint_as_float(0x7FFFFFFFu) : value, 1.0f};
  }
  if (code == internal::kE8m0Nan) {
    return {__uint_as_float(0x7FFFFFFFu), 1.0f};
  }
  if (code > kLargestPlainScale) {
    return {__uint_as_float((code - kScaleSplit) << 23), 0x1p32f};
  }
  return {__uint_as_float(code == 0 ? 0x00400000u : code << 23), 1.0f};  // 2^-127 is subnormal
}

__device__ float decode_element(Format format, const uint8_t* row, int64_t k) {
  switch (format) {
    case Format::kMxf4:
    case Format::kNvf4: {
      const uint32_t code = row[k / 2] >> (k % 2 * 4);
      const float magnitude = __uint_as_float((code & 7u) << 22) * 0x1p126f;
      return (code & 8u) != 0 ? -magnitude : magnitude;
    }
    case Format::kMxf8E4m3: {
      const uint32_t code = row[k];
      if ((code & 0x7Fu) == internal::kE4m3Nan) {
        return __uint_as_float(0x7FFFFFFFu);
      }
      const float magnitude = __uint_as_float((code & 0x7Fu) << 20) * 0x1p120f;
      return (code & 0x80u) != 0 ? -magnitude : magnitude;
    }
    case Format::kMxf8E5m2:  // the upper byte of an IEEE half
      return f16_value(static_cast<uint32_t>(row[k]) << 8);
    case Format::kBf16:
      return bf16_value(reinterpret_cast<const uint16_t*>(row)[k]);
    case Format::kF16:
      return f16_value(reinterpret_cast<const uint16_t*>(row)[k]);
    default:
      return reinterpret_cast<const float*>(row)[k];
  }
}

// This thread's share of a tile: kElementsPerThread elements of one row from k, decoded.
__device__ void decode_tile(const OperandRows& operand, int64_t row, int local_row, int local_k,
                            int64_t first_k, int64_t all_k, float (&tile)[kGenericK][kGenericPitch],
                            float (&product_scale)[kGenericTile]) {
  SplitScale scale = {1.0f, 1.0f};
  const bool is_inside = row < operand.scales.rows;
  if (operand.scales.view.data != nullptr && is_inside) {
    const int block = operand.format == Format::kNvf4 ? 16 : 32;
    scale = split_scale(operand.format, scale_code(operand.scales, row, first_k / block));
  }
  if (local_k == 0) {
    product_scale[local_row] = scale.product;
  }
#pragma unroll
  for (int i = 0; i < kElementsPerThread; ++i) {
    const int64_t k = first_k + local_k + i;
    const bool exists = is_inside && k < all_k;
    tile[local_k + i][local_row] =
        exists
            ? decode_element(operand.format, operand.data + row * operand.pitch, k) * scale.element
            : 0.0f;
  }
}

struct GenericShared {
  alignas(16) float a[kGenericK][kGenericPitch];
  alignas(16) float b[kGenericK][kGenericPitch];
  float scale_a[kGenericTile];
  float scale_b[kGenericTile];
};

__global__ void __launch_bounds__(kGenericThreads)
    generic_kernel(const __grid_constant__ GemmParams params) {
  extern __shared__ __align__(128) uint8_t shared_bytes[];
  GenericShared& shared = *reinterpret_cast<GenericShared*>(shared_bytes);
  const TileIndex tile = tile_index(params);
  const int64_t first_row = static_cast<int64_t>(tile.m) * kGenericTile;
  const int64_t first_col = static_cast<int64_t>(tile.n) * kGenericTile;
  const int thread = threadIdx.x;
  const int load_row = thread / (kGenericK / kElementsPerThread);
  const int load_k = thread % (kGenericK / kElementsPerThread) * kElementsPerThread;
  const int own_row = thread / 8 * kRowsPerThread;
  const int own_col = thread % 8 * kEpilogueWidth;

  alignas(16) float sums[kRowsPerThread][kEpilogueWidth] = {};
  for (int64_t k = 0; k < params.k; k += kGenericK) {
    decode_tile(params.a, first_row + load_row, load_row, load_k, k, params.k, shared.a,
                shared.scale_a);
    decode_tile(params.b, first_col + load_row, load_row, load_k, k, params.k, shared.b,
                shared.scale_b);
    __syncthreads();
    float scales[kRowsPerThread][kEpilogueWidth];
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i) {
#pragma unroll
      for (int j = 0; j < kEpilogueWidth; ++j) {
        scales[i][j] = shared.scale_a[own_row + i] * shared.scale_b[own_col + j];
      }
    }
#pragma unroll
    for (int step = 0; step < kGenericK; ++step) {
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i) {
#pragma unroll
        for (int j = 0; j < kEpilogueWidth; ++j) {
          const float product = shared.a[step][own_row + i] * shared.b[step][own_col + j];
          sums[i][j] = fmaf(product, scales[i][j], sums[i][j]);
        }
      }
    }
    __syncthreads();
  }
  // alpha is not looked at where there is no K.
  const float alpha = params.k == 0 ? 0.0f : alpha_of(params.epilogue);
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    finish_row(params.epilogue, alpha, first_row + own_row + i, first_col + own_col, sums[i]);
  }
}

struct GenericKernel {
  static constexpr uint64_t kFormatsB = format_bit(MXGEMM_MXF4) | format_bit(MXGEMM_NVF4) |
                                        format_bit(MXGEMM_MXF8E4M3) | format_bit(MXGEMM_MXF8E5M2);
  static constexpr uint64_t kFormatsA = kFormatsB | kOutputFormats;
  static constexpr uint32_t kAllowances = 0;  // it decodes to fp32
  static constexpr KernelShape kShape = {"gemm_any_any_any_64x64x16",
                                         kGenericTile,
                                         kGenericTile,
                                         kGenericK,
                                         kGenericThreads,
                                         sizeof(GenericShared),
                                         1,
                                         0,
                                         0};

  static const void* function() { return reinterpret_cast<const void*>(generic_kernel); }
  static bool refuses(const mxgemm_gemm_desc&, mxgemm_message) { return false; }
  static int32_t rank(const mxgemm_gemm_desc&) { return 0; }
  static LaunchPlan plan(const mxgemm_gemm_desc& desc) {
    return {ceil_div(desc.m, kGenericTile), ceil_div(desc.n, kGenericTile), 1, 0, 0};
  }
};

}  // namespace

extern const mxgemm_kernel gemm_any_any = kernel_entry<GenericKernel>();

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
