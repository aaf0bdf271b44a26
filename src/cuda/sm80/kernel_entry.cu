// SPDX-License-Identifier: Apache-2.0
// Host side of every kernel of this library, and the second pass of a split GEMM: it adds the parts
// of K in their order, so that the result does not depend on which CTA came first, and finishes D.
#include <bit>
#include <climits>
#include <iterator>

#include "cuda/host/shared_memory.hpp"
#include "cuda/sm80/kernel_entry.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {
namespace {

constexpr int kSumThreads = 128;  // of eight columns each; small, so that few rows fill the GPU

__global__ void __launch_bounds__(kSumThreads)
    sum_splits(const __grid_constant__ GemmParams params) {
  const int64_t groups_per_row = params.partial_pitch / kEpilogueWidth;
  const int64_t group = static_cast<int64_t>(blockIdx.x) * kSumThreads + threadIdx.x;
  const int64_t row = group / groups_per_row;
  const int64_t col = group % groups_per_row * kEpilogueWidth;
  if (row >= params.epilogue.m) {
    return;
  }
  const int64_t part = params.epilogue.m * params.partial_pitch;
  const float* source = params.partial + row * params.partial_pitch + col;
  alignas(16) float values[kEpilogueWidth] = {};
#pragma unroll 4
  for (int split = 0; split < params.splits; ++split) {
    const float4 low = *reinterpret_cast<const float4*>(source + split * part);
    const float4 high = *reinterpret_cast<const float4*>(source + split * part + 4);
    values[0] += low.x;
    values[1] += low.y;
    values[2] += low.z;
    values[3] += low.w;
    values[4] += high.x;
    values[5] += high.y;
    values[6] += high.z;
    values[7] += high.w;
  }
  finish_row(params.epilogue, alpha_of(params.epilogue), row, col, values);
}

const internal::FormatInfo& info(int32_t format) {
  return *internal::find_format(static_cast<Format>(format));
}

int32_t common_alignment(const void* data, int64_t pitch) {
  const uint64_t bits = reinterpret_cast<uintptr_t>(data) | static_cast<uint64_t>(pitch) | 16;
  return static_cast<int32_t>(bits & (~bits + 1));
}

OperandRows operand_rows(const mxgemm_operand& operand, int32_t format, int32_t layout,
                         int64_t rows, int64_t k) {
  const internal::FormatInfo& facts = info(format);
  const int64_t pitch = operand.ld * facts.element_bits / 8;
  OperandRows result = {};
  result.data = static_cast<const uint8_t*>(operand.data);
  result.pitch = pitch;
  result.alignment = common_alignment(operand.data, pitch);
  result.format = static_cast<Format>(format);
  result.scales.rows = rows;
  if (facts.scale_type != internal::ScaleType::kNone) {
    result.scales = scale_rows({operand.scale, static_cast<internal::ScaleLayout>(layout),
                                operand.scale_ld, k / facts.block_size},
                               rows);
  }
  return result;
}

Epilogue make_epilogue(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args) {
  Epilogue result = {};
  const AlphaFactors factors = alpha_factors(desc, args);
  std::copy(std::begin(factors.value), std::end(factors.value), result.alpha_value);
  std::copy(std::begin(factors.pointer), std::end(factors.pointer), result.alpha_pointer);
  result.beta = args.beta;
  // beta = 0 must not read C.
  result.c = (desc.flags & MXGEMM_USE_C) != 0 && args.beta != 0.0f ? args.c : nullptr;
  result.ldc = args.ldc;
  result.d = args.d;
  result.ldd = args.ldd;
  result.format_d = static_cast<Format>(desc.format_d);
  result.bias = desc.format_bias != MXGEMM_FORMAT_NONE ? args.bias : nullptr;
  result.format_bias = static_cast<Format>(desc.format_bias);
  result.activation = static_cast<internal::Activation>(desc.activation);
  result.m = desc.m;
  result.n = desc.n;
  return result;
}

int64_t partial_pitch(int64_t n) {
  return ceil_div(n, kEpilogueWidth) * kEpilogueWidth;
}

int32_t load_function(const void* function, int shared_bytes, int device, mxgemm_message error) {
  const DeviceGuard guard(device);
  int32_t status = check(guard.result(), "cudaSetDevice", error);
  if (status != MXGEMM_OK) {
    return status;
  }
  cudaFuncAttributes attributes;
  status = check(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes", error);
  if (status != MXGEMM_OK || shared_bytes == 0) {
    return status;
  }
  return allow_shared_memory(function, shared_bytes, device, error);
}

int32_t launch_function(const void* function, const GemmParams& params, dim3 grid, int threads,
                        int shared_bytes, cudaStream_t stream, const char* what,
                        mxgemm_message error) {
  GemmParams copy = params;
  void* arguments[] = {&copy};
  const cudaError_t launched =
      cudaLaunchKernel(function, grid, dim3(static_cast<unsigned>(threads)), arguments,
                       static_cast<size_t>(shared_bytes), stream);
  return check(launched, what, error);
}

}  // namespace

GemmParams make_params(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args,
                       const LaunchPlan& plan) {
  GemmParams params = {};
  params.a = operand_rows(args.a, desc.format_a, desc.scale_layout_a, desc.m, desc.k);
  params.b = operand_rows(args.b, desc.format_b, desc.scale_layout_b, desc.n, desc.k);
  params.k = desc.k;
  params.tiles_m = static_cast<int32_t>(plan.tiles_m);
  params.tiles_n = static_cast<int32_t>(plan.tiles_n);
  params.splits = plan.splits;
  params.steps_per_split = plan.steps_per_split;
  params.warps_along_n = plan.warps_along_n;
  params.log2_warps_along_n = std::bit_width(static_cast<uint32_t>(plan.warps_along_n)) - 1;
  params.partial = static_cast<float*>(args.workspace);
  params.partial_pitch = partial_pitch(desc.n);
  params.epilogue = make_epilogue(desc, args);
  return params;
}

int32_t accepts_problem(const mxgemm_gemm_desc& desc, const KernelShape& shape,
                        mxgemm_message why) {
  // Steps and elements of a row are counted in 32 bits; the copies ahead of the last step add a
  // few.
  constexpr int64_t kMaxK = int64_t{1} << 30;
  if (desc.k > kMaxK) {
    fail(why, MXGEMM_UNSUPPORTED, "K is %lld; it must be at most %lld",
         static_cast<long long>(desc.k), static_cast<long long>(kMaxK));
  } else if (ceil_div(desc.m, shape.tile_m) > INT_MAX / ceil_div(desc.n, shape.tile_n)) {
    fail(why, MXGEMM_UNSUPPORTED, "M x N is %lld x %lld; a grid holds %d tiles of %d x %d",
         static_cast<long long>(desc.m), static_cast<long long>(desc.n), INT_MAX, shape.tile_m,
         shape.tile_n);
  } else if ((desc.flags & MXGEMM_PACKED_B) != 0) {
    fail(why, MXGEMM_UNSUPPORTED, "B is packed; it reads B as it is");
  } else {
    return 1;
  }
  return 0;
}

uint64_t partial_bytes(const mxgemm_gemm_desc& desc, const LaunchPlan& plan) {
  return plan.splits == 1 ? 0
                          : static_cast<uint64_t>(plan.splits) * static_cast<uint64_t>(desc.m) *
                                static_cast<uint64_t>(partial_pitch(desc.n)) * sizeof(float);
}

int32_t prepare_function(const void* function, const KernelShape& shape, int device,
                         mxgemm_message error) {
  return load_function(function, shape.shared_bytes, device, error);
}

int32_t prepare_sum_splits(int device, mxgemm_message error) {
  return load_function(reinterpret_cast<const void*>(sum_splits), 0, device, error);
}

int32_t launch(const void* function, const KernelShape& shape, const GemmParams& params, int device,
               void* stream, mxgemm_message error) {
  const DeviceGuard guard(device);
  int32_t status = check(guard.result(), "cudaSetDevice", error);
  if (status != MXGEMM_OK) {
    return status;
  }
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const dim3 grid(static_cast<unsigned>(params.tiles_m) * static_cast<unsigned>(params.tiles_n),
                  static_cast<unsigned>(params.splits));
  status = launch_function(function, params, grid, shape.threads, shape.shared_bytes, cuda_stream,
                           "the launch", error);
  if (status != MXGEMM_OK || params.splits == 1) {
    return status;
  }
  const int64_t groups = params.epilogue.m * (params.partial_pitch / kEpilogueWidth);
  return launch_function(reinterpret_cast<const void*>(sum_splits), params,
                         dim3(static_cast<unsigned>(ceil_div(groups, kSumThreads))), kSumThreads, 0,
                         cuda_stream, "the launch of sum_splits", error);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
