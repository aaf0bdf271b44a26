// SPDX-License-Identifier: Apache-2.0
// Which options go together: an option that a format does not use is an error, never ignored.
#include "base/require.hpp"
#include "quantize/quantize.hpp"

namespace mxgemm::internal {
namespace {

Status check_shape(const QuantizeOptions& options, const FormatInfo& info) {
  MXGEMM_REQUIRE(options.rows >= 0, "rows is %lld; it must be >= 0",
                 static_cast<long long>(options.rows));
  MXGEMM_REQUIRE(options.cols >= 0, "cols is %lld; it must be >= 0",
                 static_cast<long long>(options.cols));
  MXGEMM_REQUIRE(options.cols % info.block_size == 0,
                 "cols is %lld; it must be a multiple of %d, the block of %s",
                 static_cast<long long>(options.cols), info.block_size, info.name);
  return {};
}

Status check_nvf4_options(const QuantizeOptions& options) {
  MXGEMM_REQUIRE(options.scale_rule == ScaleRule::kDefault,
                 "scale_rule is %s; nvf4 has E4M3 scales and takes only default",
                 kScaleRuleNames[static_cast<int>(options.scale_rule)]);
  MXGEMM_REQUIRE(options.min_block_scale >= 0.0f && options.min_block_scale <= 448.0f,
                 "min_block_scale is %g; it must lie in 0 ... 448",
                 static_cast<double>(options.min_block_scale));
  return {};
}

Status check_mx_options(const QuantizeOptions& options, const FormatInfo& info) {
  MXGEMM_REQUIRE(options.min_block_scale == 0.0f,
                 "min_block_scale is %g; it is an option of nvf4 and must be 0 for %s",
                 static_cast<double>(options.min_block_scale), info.name);
  MXGEMM_REQUIRE(options.global_scale_mode == GlobalScaleMode::kDefault,
                 "global_scale_mode is %d; it is an option of nvf4 and must be 0 (default) for %s",
                 static_cast<int>(options.global_scale_mode), info.name);
  return {};
}

}  // namespace

Status check_quantize_options(const QuantizeOptions& options) {
  const FormatInfo* source = find_format(options.format_src);
  MXGEMM_REQUIRE(source != nullptr && source->scale_type == ScaleType::kNone,
                 "format_src is %d (%s); it must be bf16, f16 or f32",
                 static_cast<int>(options.format_src), format_name(options.format_src));
  const FormatInfo* info = find_format(options.format);
  MXGEMM_REQUIRE(info != nullptr && info->scale_type != ScaleType::kNone,
                 "format is %d (%s); it must be mxf4, nvf4, mxf8e4m3 or mxf8e5m2",
                 static_cast<int>(options.format), format_name(options.format));
  MXGEMM_REQUIRE(options.scale_layout == ScaleLayout::kRowMajor ||
                     options.scale_layout == ScaleLayout::kSwizzle32x4x4,
                 "scale_layout is %d; it must be 0 (row-major) or 1 (swizzle_32_4_4)",
                 static_cast<int>(options.scale_layout));
  MXGEMM_REQUIRE(options.scale_rule >= ScaleRule::kDefault && options.scale_rule <= ScaleRule::kMse,
                 "scale_rule is %d; it must lie in 0 ... 6", static_cast<int>(options.scale_rule));
  MXGEMM_REQUIRE(options.global_scale_mode >= GlobalScaleMode::kDefault &&
                     options.global_scale_mode <= GlobalScaleMode::kGiven,
                 "global_scale_mode is %d; it must lie in 0 ... 3",
                 static_cast<int>(options.global_scale_mode));
  MXGEMM_TRY(check_shape(options, *info));
  MXGEMM_TRY(options.format == Format::kNvf4 ? check_nvf4_options(options)
                                             : check_mx_options(options, *info));
  MXGEMM_REQUIRE(options.stochastic || options.seed == 0,
                 "seed is %llu; it is used by stochastic rounding only and must be 0 here",
                 static_cast<unsigned long long>(options.seed));
  MXGEMM_REQUIRE(options.stochastic || options.offset == 0,
                 "offset is %llu; it is used by stochastic rounding only and must be 0 here",
                 static_cast<unsigned long long>(options.offset));
  return {};
}

}  // namespace mxgemm::internal
