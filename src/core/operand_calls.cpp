// SPDX-License-Identifier: Apache-2.0
// Dequantising, swizzling and packing: the calls that take finished block-scaled data.
#include <cinttypes>
#include <optional>

#include "base/require.hpp"
#include "core/enums.hpp"
#include "core/environment.hpp"
#include "core/gpu_data.hpp"
#include "core/operand.hpp"
#include "core/quantize_call.hpp"
#include "cpu/cpu_backend.hpp"
#include "quantize/dequantize.hpp"
#include "quantize/scale_swizzle.hpp"

namespace mxgemm::internal {
namespace {

constexpr OperandNames kNamesSrc = MXGEMM_OPERAND_NAMES("src");
constexpr OperandNames kNamesB = MXGEMM_OPERAND_NAMES("b");
constexpr BufferNames kNamesDst = {"dst", "dst_bytes", "dst_ld"};
constexpr BufferNames kNamesPacked = {"packed", "packed_bytes", nullptr};
constexpr uint64_t kPackedAlignment = 64;  // of the vectors that it holds

Status check_operand_shape(int32_t format, const char* rows_name, int64_t rows,
                           const char* cols_name, int64_t cols) {
  MXGEMM_TRY(check_format("format", format, kBlockScaledFormats));
  MXGEMM_TRY(check_not_negative(rows_name, rows));
  MXGEMM_TRY(check_not_negative(cols_name, cols));
  uint64_t bytes = 0;
  return qdata_bytes(*find_format(static_cast<Format>(format)), rows_name, rows, cols_name, cols,
                     &bytes);
}

Status check_swizzle(const SwizzleCall& call, bool to_swizzled, int64_t* ld) {
  MXGEMM_TRY(check_not_negative("rows", call.rows));
  MXGEMM_TRY(check_not_negative("cols", call.cols));
  constexpr BufferNames kSource = {"src", "src_bytes", "src_ld"};
  const int32_t src_layout = to_swizzled ? MXGEMM_SCALE_ROW_MAJOR : MXGEMM_SCALE_SWIZZLE_32_4_4;
  const int32_t dst_layout = to_swizzled ? MXGEMM_SCALE_SWIZZLE_32_4_4 : MXGEMM_SCALE_ROW_MAJOR;
  int64_t src_ld = to_swizzled ? call.ld : 0;
  int64_t dst_ld = to_swizzled ? 0 : call.ld;
  Region src;
  Region dst;
  MXGEMM_TRY(check_scales(kSource, src_layout, call.rows, call.cols, call.src, call.src_bytes,
                          &src_ld, &src));
  MXGEMM_TRY(check_scales(kNamesDst, dst_layout, call.rows, call.cols, call.dst, call.dst_bytes,
                          &dst_ld, &dst));
  *ld = to_swizzled ? src_ld : dst_ld;
  return check_disjoint(dst, src);
}

Status dequantize_on_cpu(const DequantizeCall& call, const OperandShape& shape,
                         const mxgemm_operand& src, int64_t dst_ld) {
  MXGEMM_TRY(check_threads());
  DequantizeJob job;
  job.format = shape.format->format;
  job.rows = call.rows;
  job.cols = call.cols;
  job.qdata = static_cast<const uint8_t*>(src.data);
  job.qdata_row_bytes = src.ld * shape.format->element_bits / 8;
  job.scale = scale_view(shape, src);
  job.global_scale = shape.global_scale_on_device ? *src.global_scale_ptr : src.global_scale;
  job.format_dst = static_cast<Format>(call.format_dst);
  job.dst = call.dst;
  job.dst_ld = dst_ld;
  dequantize(job, cpu::parallel_for());
  return {};
}

}  // namespace

Status run_dequantize(const DequantizeCall& call) {
  MXGEMM_TRY(check_operand_shape(call.format, "rows", call.rows, "cols", call.cols));
  MXGEMM_TRY(check_format("format_dst", call.format_dst, kPlainFormats));
  MXGEMM_TRY(check_scale_layout("scale_layout", call.scale_layout));
  MXGEMM_TRY(check_not_null("src", call.src));
  const FormatInfo& format = *find_format(static_cast<Format>(call.format));
  const bool on_device = call.global_scale_on_device != 0;
  MXGEMM_REQUIRE(!on_device || format.has_global_scale,
                 "global_scale_on_device is %" PRId32 "; it must be 0, for %s has no global scale",
                 call.global_scale_on_device, format.name);
  const OperandShape shape = {&format, call.scale_layout, call.rows, call.cols, on_device};
  mxgemm_operand src = *call.src;
  OperandRegions regions;
  MXGEMM_TRY(check_operand(kNamesSrc, shape, &src, &regions));
  int64_t dst_ld = call.dst_ld;
  Region dst;
  const int dst_bits = find_format(static_cast<Format>(call.format_dst))->element_bits;
  MXGEMM_TRY(check_matrix(kNamesDst, {call.rows, call.cols, dst_bits}, call.dst, call.dst_bytes,
                          &dst_ld, &dst));
  MXGEMM_TRY(check_disjoint(dst, regions.data));
  MXGEMM_TRY(check_disjoint(dst, regions.scale));
  MXGEMM_TRY(check_disjoint(dst, regions.global_scale));
  if (call.rows == 0 || call.cols == 0) {
    return {};
  }
  if (call.target.device_kind == MXGEMM_DEVICE_CUDA) {
    return gpu_dequantize(
        {sizeof(mxgemm_dequantize_call), call.target.device_index, call.format, call.format_dst,
         call.scale_layout, on_device ? 1 : 0, call.rows, call.cols, &src, call.dst, dst_ld},
        call.target.stream);
  }
  return dequantize_on_cpu(call, shape, src, dst_ld);
}

Status run_swizzle(const SwizzleCall& call) {
  int64_t src_ld = 0;
  MXGEMM_TRY(check_swizzle(call, true, &src_ld));
  if (call.rows == 0 || call.cols == 0) {
    return {};
  }
  if (call.target.device_kind == MXGEMM_DEVICE_CUDA) {
    return gpu_swizzle({sizeof(mxgemm_swizzle_call), call.target.device_index, call.rows, call.cols,
                        call.src, call.dst, src_ld},
                       true, call.target.stream);
  }
  swizzle_scales(call.rows, call.cols, call.src, src_ld, call.dst);
  return {};
}

Status run_unswizzle(const SwizzleCall& call) {
  int64_t dst_ld = 0;
  MXGEMM_TRY(check_swizzle(call, false, &dst_ld));
  if (call.rows == 0 || call.cols == 0) {
    return {};
  }
  if (call.target.device_kind == MXGEMM_DEVICE_CUDA) {
    return gpu_swizzle({sizeof(mxgemm_swizzle_call), call.target.device_index, call.rows, call.cols,
                        call.src, call.dst, dst_ld},
                       false, call.target.stream);
  }
  unswizzle_scales(call.rows, call.cols, call.src, call.dst, dst_ld);
  return {};
}

Status check_packing_device(int32_t device_kind) {
  if (device_kind == MXGEMM_DEVICE_CPU) {
    return {};
  }
  return {
      StatusCode::kUnsupported,
      "device_kind is 1 (cuda); only the CPU has prepared weights, GPU kernels read B as it is"};
}

Status packed_bytes(int32_t format, int64_t n, int64_t k, uint64_t* bytes) {
  MXGEMM_TRY(check_operand_shape(format, "n", n, "k", k));
  const std::optional<uint64_t> size = cpu::packed_size(static_cast<Format>(format), n, k);
  MXGEMM_REQUIRE(size,
                 "n is %" PRId64 " and k is %" PRId64
                 "; packed as %s, in whole tiles, they exceed 2^63 - 1 bytes",
                 n, k, format_name(static_cast<Format>(format)));
  *bytes = *size;
  return {};
}

Status run_pack(const PackCall& call) {
  uint64_t needed = 0;
  MXGEMM_TRY(packed_bytes(call.format, call.n, call.k, &needed));
  MXGEMM_TRY(check_scale_layout("scale_layout", call.scale_layout));
  MXGEMM_TRY(check_not_null("b", call.b));
  const FormatInfo& format = *find_format(static_cast<Format>(call.format));
  // A pointer to a global scale is for the run; here it is neither needed nor wrong.
  const OperandShape shape = {&format, call.scale_layout, call.n, call.k,
                              format.has_global_scale && call.b->global_scale_ptr != nullptr};
  mxgemm_operand b = *call.b;
  OperandRegions regions;
  MXGEMM_TRY(check_operand(kNamesB, shape, &b, &regions));
  Region packed;
  MXGEMM_TRY(check_buffer(kNamesPacked, call.packed, call.packed_bytes, needed, kPackedAlignment,
                          &packed));
  MXGEMM_TRY(check_disjoint(packed, regions.data));
  MXGEMM_TRY(check_disjoint(packed, regions.scale));
  MXGEMM_TRY(check_threads());
  cpu::pack(format.format, call.n, call.k, b.data, b.ld * format.element_bits / 8,
            scale_view(shape, b), call.packed, cpu::parallel_for());
  return {};
}

}  // namespace mxgemm::internal
