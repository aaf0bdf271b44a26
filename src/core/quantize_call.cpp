// SPDX-License-Identifier: Apache-2.0
#include "core/quantize_call.hpp"

#include <cinttypes>
#include <string>

#include "base/require.hpp"
#include "core/enums.hpp"
#include "core/environment.hpp"
#include "core/gpu_data.hpp"
#include "core/operand.hpp"
#include "cpu/cpu_backend.hpp"
#include "quantize/quantize.hpp"

namespace mxgemm::internal {
namespace {

constexpr BufferNames kNamesSrc = {"args.src", "args.src_bytes", "args.src_ld"};
constexpr BufferNames kNamesQdata = {"args.qdata", "args.qdata_bytes", "args.qdata_ld"};
constexpr BufferNames kNamesScale = {"args.scale", "args.scale_bytes", "args.scale_ld"};
constexpr BufferNames kNamesGlobalScale = {"args.global_scale", "", nullptr};

// What torchao clamps NVFP4 block scales to from below: E4M3's smallest normal number.
constexpr float kTorchaoMinBlockScale = 0x1p-6f;

QuantizeOptions options_of(const mxgemm_quantize_desc& desc) {
  QuantizeOptions options;
  options.format_src = static_cast<Format>(desc.format_src);
  options.format = static_cast<Format>(desc.format);
  options.scale_layout = static_cast<ScaleLayout>(desc.scale_layout);
  options.rows = desc.rows;
  options.cols = desc.cols;
  options.scale_rule = static_cast<ScaleRule>(desc.scale_rule);
  options.saturate_nonfinite = desc.nonfinite == MXGEMM_NONFINITE_SATURATE;
  options.stochastic = desc.rounding == MXGEMM_ROUND_STOCHASTIC;
  options.global_scale_mode = static_cast<GlobalScaleMode>(desc.global_scale_mode);
  options.min_block_scale = desc.min_block_scale;
  options.seed = desc.seed;
  options.offset = desc.offset;
  return options;
}

Status check_global_scale_argument(const mxgemm_quantize_desc& desc,
                                   const mxgemm_quantize_args& args, Region* region) {
  const FormatInfo& format = *find_format(static_cast<Format>(desc.format));
  MXGEMM_REQUIRE(format.has_global_scale || args.global_scale == nullptr,
                 "args.global_scale is %p; it must be NULL, for %s has no global scale",
                 static_cast<void*>(args.global_scale), format.name);
  if (args.global_scale == nullptr &&
      (!format.has_global_scale || desc.global_scale_mode == MXGEMM_GLOBAL_SCALE_ONE)) {
    return {};
  }
  return check_buffer(kNamesGlobalScale, args.global_scale, sizeof(float), sizeof(float),
                      alignof(float), region);
}

// What only the CPU offers.
Status check_gpu_options(const mxgemm_quantize_desc& desc) {
  if (desc.device_kind == MXGEMM_DEVICE_CPU) {
    return {};
  }
  if (desc.scale_rule == MXGEMM_SCALE_RULE_MSE) {
    return {StatusCode::kUnsupported, "desc.scale_rule is 6 (mse); only the CPU has it"};
  }
  if (desc.rounding == MXGEMM_ROUND_STOCHASTIC) {
    return {StatusCode::kUnsupported, "desc.rounding is 1 (stochastic); only the CPU has it"};
  }
  return {};
}

Status resolve_quantize_args(const mxgemm_quantize_desc& desc, mxgemm_quantize_args* args,
                             QuantizeBufferRegions* out) {
  const FormatInfo& format = *find_format(static_cast<Format>(desc.format));
  const int src_bits = find_format(static_cast<Format>(desc.format_src))->element_bits;
  QuantizeBufferRegions& regions = *out;
  MXGEMM_TRY(check_matrix(kNamesSrc, {desc.rows, desc.cols, src_bits}, args->src, args->src_bytes,
                          &args->src_ld, &regions.src));
  MXGEMM_TRY(check_matrix(kNamesQdata, {desc.rows, desc.cols, format.element_bits}, args->qdata,
                          args->qdata_bytes, &args->qdata_ld, &regions.qdata));
  MXGEMM_TRY(check_scales(kNamesScale, desc.scale_layout, desc.rows, desc.cols / format.block_size,
                          args->scale, args->scale_bytes, &args->scale_ld, &regions.scale));
  MXGEMM_TRY(check_global_scale_argument(desc, *args, &regions.global_scale));
  MXGEMM_TRY(check_disjoint(regions.qdata, regions.src));
  MXGEMM_TRY(check_disjoint(regions.scale, regions.src));
  MXGEMM_TRY(check_disjoint(regions.scale, regions.qdata));
  MXGEMM_TRY(check_disjoint(regions.qdata, regions.global_scale));
  MXGEMM_TRY(check_disjoint(regions.scale, regions.global_scale));
  return check_disjoint(regions.global_scale, regions.src);
}

Status quantize_on_cpu(const mxgemm_quantize_desc& desc, const mxgemm_quantize_args& args) {
  IsaLimit limit;
  MXGEMM_TRY(isa_limit(&limit));
  MXGEMM_TRY(check_threads());
  QuantizeBuffers buffers;
  buffers.src = args.src;
  buffers.src_ld = args.src_ld;
  buffers.qdata = static_cast<uint8_t*>(args.qdata);
  buffers.qdata_row_bytes =
      args.qdata_ld * find_format(static_cast<Format>(desc.format))->element_bits / 8;
  buffers.scale = args.scale;
  buffers.scale_ld = args.scale_ld;
  buffers.global_scale = args.global_scale;
  return quantize(options_of(desc), buffers, cpu::quantize_row_kernels(limit.isa),
                  cpu::parallel_for());
}

}  // namespace

Status apply_preset(int32_t preset, mxgemm_quantize_desc* desc) {
  MXGEMM_TRY(check_not_null("desc", desc));
  MXGEMM_TRY(check_struct_size("desc.struct_size", desc->struct_size, sizeof(*desc),
                               "mxgemm_quantize_desc"));
  MXGEMM_TRY(check_preset("preset", preset));
  MXGEMM_TRY(check_format("desc.format", desc->format, kBlockScaledFormats));
  const bool is_nvf4 = desc->format == MXGEMM_NVF4;
  MXGEMM_REQUIRE(
      !is_nvf4 || preset != MXGEMM_PRESET_OCP,
      "preset is 1 (ocp); it must not be with desc.format nvf4, which is no OCP MX format");
  desc->scale_rule = MXGEMM_SCALE_RULE_DEFAULT;
  desc->nonfinite = preset == MXGEMM_PRESET_CUDA ? MXGEMM_NONFINITE_SATURATE : MXGEMM_NONFINITE_NAN;
  desc->min_block_scale = is_nvf4 && preset == MXGEMM_PRESET_TORCHAO ? kTorchaoMinBlockScale : 0.0f;
  if (!is_nvf4 && preset != MXGEMM_PRESET_DEFAULT) {
    desc->scale_rule =
        preset == MXGEMM_PRESET_CUDA ? MXGEMM_SCALE_RULE_RCEIL : MXGEMM_SCALE_RULE_FLOOR;
  }
  return {};
}

Status check_quantize_desc(const mxgemm_quantize_desc* desc) {
  MXGEMM_TRY(check_not_null("desc", desc));
  MXGEMM_TRY(check_struct_size("desc.struct_size", desc->struct_size, sizeof(*desc),
                               "mxgemm_quantize_desc"));
  MXGEMM_REQUIRE(desc->reserved == 0, "desc.reserved is %" PRIu32 "; it must be 0", desc->reserved);
  MXGEMM_TRY(check_device_kind("desc.device_kind", desc->device_kind));
  MXGEMM_TRY(check_format("desc.format_src", desc->format_src, kPlainFormats));
  MXGEMM_TRY(check_format("desc.format", desc->format, kBlockScaledFormats));
  MXGEMM_TRY(check_scale_layout("desc.scale_layout", desc->scale_layout));
  MXGEMM_TRY(check_scale_rule("desc.scale_rule", desc->scale_rule));
  MXGEMM_TRY(check_nonfinite("desc.nonfinite", desc->nonfinite));
  MXGEMM_TRY(check_rounding("desc.rounding", desc->rounding));
  MXGEMM_TRY(check_global_scale_mode("desc.global_scale_mode", desc->global_scale_mode));
  MXGEMM_TRY(check_not_negative("desc.rows", desc->rows));
  MXGEMM_TRY(check_not_negative("desc.cols", desc->cols));
  const FormatInfo& format = *find_format(static_cast<Format>(desc->format));
  const FormatInfo& format_src = *find_format(static_cast<Format>(desc->format_src));
  uint64_t bytes = 0;
  MXGEMM_TRY(qdata_bytes(format, "desc.rows", desc->rows, "desc.cols", desc->cols, &bytes));
  MXGEMM_TRY(qdata_bytes(format_src, "desc.rows", desc->rows, "desc.cols", desc->cols, &bytes));
  MXGEMM_TRY(scale_bytes(format, desc->scale_layout, "desc.rows", desc->rows, "desc.cols",
                         desc->cols, &bytes));
  const Status options = check_quantize_options(options_of(*desc));
  return options.ok() ? options : Status(options.code(), "desc." + options.message());
}

Status quantize_workspace_size(const mxgemm_quantize_desc& desc, uint64_t* bytes) {
  *bytes = 0;  // the CPU needs none
  MXGEMM_TRY(check_gpu_options(desc));
  return desc.device_kind == MXGEMM_DEVICE_CPU ? Status()
                                               : gpu_quantize_workspace_size(desc, bytes);
}

Status run_quantize(const mxgemm_quantize_desc& desc, const mxgemm_quantize_args* args,
                    void* stream) {
  MXGEMM_TRY(check_not_null("args", args));
  MXGEMM_TRY(check_struct_size("args.struct_size", args->struct_size, sizeof(*args),
                               "mxgemm_quantize_args"));
  MXGEMM_REQUIRE(args->reserved == 0, "args.reserved is %" PRIu32 "; it must be 0", args->reserved);
  MXGEMM_TRY(check_gpu_options(desc));
  mxgemm_quantize_args resolved = *args;
  QuantizeBufferRegions regions;
  MXGEMM_TRY(resolve_quantize_args(desc, &resolved, &regions));
  if (desc.device_kind == MXGEMM_DEVICE_CUDA) {
    return gpu_quantize(desc, resolved, stream, regions);
  }
  return quantize_on_cpu(desc, resolved);
}

}  // namespace mxgemm::internal
