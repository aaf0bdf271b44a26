// SPDX-License-Identifier: Apache-2.0
// The functions on block-scaled data of a library's table (src/plugin/plugin_abi.h). Calls have
// been checked by the core; nothing here allocates or synchronises, so all but `prepare` may stand
// inside a capture.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/host/cuda_status.hpp"
#include "cuda/host/data_launch.hpp"
#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// A failure under the name of a kernel of two formats, "quantize_bf16_mxf4".
inline int32_t check_launch(cudaError_t result, const char* operation, Format from, Format to,
                            mxgemm_message error) {
  if (result == cudaSuccess) {
    return MXGEMM_OK;
  }
  char what[96];
  std::snprintf(what, sizeof(what), "%s_%s_%s: the launch", operation, internal::format_name(from),
                internal::format_name(to));
  return check(result, what, error);
}

inline int32_t prepare_data(int32_t device_index, mxgemm_message error) {
  const DeviceGuard guard(device_index);
  const int32_t status = check(guard.result(), "data functions: cudaSetDevice", error);
  return status != MXGEMM_OK
             ? status
             : check(load_data_kernels(), "data functions: cudaFuncGetAttributes", error);
}

inline bool computes_global_scale(const mxgemm_quantize_desc& desc) {
  return desc.format == MXGEMM_NVF4 && (desc.global_scale_mode == MXGEMM_GLOBAL_SCALE_DEFAULT ||
                                        desc.global_scale_mode == MXGEMM_GLOBAL_SCALE_COMPUTE);
}

// The word in which the tensor's amax is gathered.
inline uint64_t quantize_workspace_size(const mxgemm_quantize_desc* desc) {
  return computes_global_scale(*desc) ? sizeof(uint32_t) : 0;
}

inline QuantizeRule quantize_rule(const mxgemm_quantize_desc& desc) {
  const internal::FormatInfo& info = *internal::find_format(static_cast<Format>(desc.format));
  const uint32_t element_max_bits = internal::f32_encode(info.element_max);
  return {internal::scale_rule_addend(static_cast<internal::ScaleRule>(desc.scale_rule),
                                      info.mantissa_bits, element_max_bits),
          desc.nonfinite == MXGEMM_NONFINITE_SATURATE, std::fabs(desc.min_block_scale), 1.0f, 1.0f};
}

inline GlobalScale global_scale_of(const mxgemm_quantize_desc& desc,
                                   const mxgemm_quantize_args& args) {
  if (desc.global_scale_mode == MXGEMM_GLOBAL_SCALE_GIVEN) {
    return {args.global_scale, nullptr, nullptr};
  }
  return {nullptr,
          computes_global_scale(desc) ? static_cast<const uint32_t*>(args.workspace) : nullptr,
          args.global_scale};
}

inline QuantizeTask quantize_task(const mxgemm_quantize_desc& desc,
                                  const mxgemm_quantize_args& args) {
  const auto source = static_cast<Format>(desc.format_src);
  const auto format = static_cast<Format>(desc.format);
  const int64_t scale_cols = desc.cols / internal::find_format(format)->block_size;
  const bool is_swizzled = desc.scale_layout == MXGEMM_SCALE_SWIZZLE_32_4_4;
  QuantizeTask task;
  task.rows = desc.rows;
  task.cols = desc.cols / (kOctet * octets_along(format));
  int64_t grid_rows = task.rows;
  int64_t grid_cols = task.cols;
  if (is_swizzled && grid_rows > 0 && grid_cols > 0) {
    grid_rows = tiles_of(task.rows, internal::kScaleTileRows) * internal::kScaleTileRows;
    grid_cols = tiles_of(scale_cols, internal::kScaleTileCols) * internal::kScaleTileCols *
                (task.cols / scale_cols);
  }
  task.grid = octet_grid(grid_rows, grid_cols);
  task.src = {static_cast<const uint8_t*>(args.src), row_bytes(source, args.src_ld)};
  task.qdata = {static_cast<uint8_t*>(args.qdata), row_bytes(format, args.qdata_ld)};
  task.is_aligned = is_aligned(task.src.data, task.src.row_bytes, kVectorBytes) &&
                    is_aligned(task.qdata.data, task.qdata.row_bytes,
                               code_octet_bytes(format) * octets_along(format));
  task.scale = {args.scale, args.scale_ld, scale_cols, is_swizzled};
  task.rule = quantize_rule(desc);
  task.global_scale = global_scale_of(desc, args);
  return task;
}

inline int32_t quantize(const mxgemm_quantize_desc* desc, const mxgemm_quantize_args* args,
                        void* stream, mxgemm_message error) {
  const auto source = static_cast<Format>(desc->format_src);
  const auto format = static_cast<Format>(desc->format);
  const QuantizeTask task = quantize_task(*desc, *args);
  const bool is_empty = desc->rows == 0 || desc->cols == 0;
  if (is_empty && task.global_scale.result == nullptr) {
    return MXGEMM_OK;  // an empty tensor has at most a global scale to be written
  }
  const DeviceGuard guard(desc->device_index);
  int32_t status = check(guard.result(), "quantize: cudaSetDevice", error);
  auto* cuda_stream = static_cast<cudaStream_t>(stream);
  if (status == MXGEMM_OK && computes_global_scale(*desc)) {
    auto* amax = static_cast<uint32_t*>(args->workspace);
    status = check(cudaMemsetAsync(amax, 0, sizeof(*amax), cuda_stream),
                   "quantize: cudaMemsetAsync", error);
    if (status == MXGEMM_OK && !is_empty) {
      const AmaxTask amax_task = {octet_grid(desc->rows, desc->cols / kOctet), task.src,
                                  is_aligned(task.src.data, task.src.row_bytes, kVectorBytes),
                                  amax};
      status =
          check_launch(launch_amax(source, amax_task, cuda_stream), "amax", source, format, error);
    }
  }
  if (status == MXGEMM_OK) {
    status = check_launch(launch_quantize(source, format, task, cuda_stream), "quantize", source,
                          format, error);
  }
  return status;
}

inline int32_t dequantize(const mxgemm_dequantize_call* call, void* stream, mxgemm_message error) {
  const auto format = static_cast<Format>(call->format);
  const auto target = static_cast<Format>(call->format_dst);
  const mxgemm_operand& src = *call->src;
  DequantizeTask task;
  task.grid = octet_grid(call->rows, call->cols / kOctet);
  task.qdata = {static_cast<const uint8_t*>(src.data), row_bytes(format, src.ld)};
  task.scale = {src.scale, static_cast<internal::ScaleLayout>(call->scale_layout), src.scale_ld,
                call->cols / internal::find_format(format)->block_size};
  task.global_scale_pointer = call->global_scale_on_device != 0 ? src.global_scale_ptr : nullptr;
  task.global_scale = src.global_scale;
  task.dst = {static_cast<uint8_t*>(call->dst), row_bytes(target, call->dst_ld)};
  task.is_aligned = is_aligned(task.qdata.data, task.qdata.row_bytes, code_octet_bytes(format)) &&
                    is_aligned(task.dst.data, task.dst.row_bytes, kVectorBytes);
  const DeviceGuard guard(call->device_index);
  const int32_t status = check(guard.result(), "dequantize: cudaSetDevice", error);
  return status != MXGEMM_OK ? status
                             : check_launch(launch_dequantize(format, target, task,
                                                              static_cast<cudaStream_t>(stream)),
                                            "dequantize", format, target, error);
}

// One side is row-major and has row_bytes, the other's groups of four follow each other.
inline SwizzleTask swizzle_task(const mxgemm_swizzle_call& call, int64_t src_row_bytes,
                                int64_t dst_row_bytes) {
  constexpr int64_t kGroup = internal::kScaleTileCols;
  return {
      call.rows,
      call.cols,
      internal::swizzled_scale_bytes(call.rows, call.cols) / kGroup,
      {call.src, src_row_bytes},
      {call.dst, dst_row_bytes},
      is_aligned(call.src, src_row_bytes, kGroup) && is_aligned(call.dst, dst_row_bytes, kGroup)};
}

inline int32_t run_swizzle(const mxgemm_swizzle_call& call, void (*kernel)(SwizzleTask),
                           const SwizzleTask& task, void* stream, mxgemm_message error) {
  const DeviceGuard guard(call.device_index);
  const int32_t status = check(guard.result(), "swizzle: cudaSetDevice", error);
  return status != MXGEMM_OK
             ? status
             : check(launch_swizzle(kernel, task, static_cast<cudaStream_t>(stream)),
                     "swizzle: the launch", error);
}

inline int32_t swizzle(const mxgemm_swizzle_call* call, void* stream, mxgemm_message error) {
  return run_swizzle(*call, swizzle_kernel, swizzle_task(*call, call->ld, 0), stream, error);
}

inline int32_t unswizzle(const mxgemm_swizzle_call* call, void* stream, mxgemm_message error) {
  return run_swizzle(*call, unswizzle_kernel, swizzle_task(*call, 0, call->ld), stream, error);
}

constexpr mxgemm_data_functions data_functions() {
  return {sizeof(mxgemm_data_functions),
          0,
          prepare_data,
          quantize_workspace_size,
          quantize,
          dequantize,
          swizzle,
          unswizzle};
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
