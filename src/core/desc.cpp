// SPDX-License-Identifier: Apache-2.0
#include "core/desc.hpp"

#include <cinttypes>

#include "base/require.hpp"
#include "core/enums.hpp"
#include "core/operand.hpp"

namespace mxgemm::internal {
namespace {

constexpr uint32_t kKnownFlags = MXGEMM_USE_C | MXGEMM_ALPHA_ON_DEVICE |
                                 MXGEMM_GLOBAL_SCALE_A_ON_DEVICE | MXGEMM_GLOBAL_SCALE_B_ON_DEVICE |
                                 MXGEMM_SCALE_PADDING_ZERO_A | MXGEMM_SCALE_PADDING_ZERO_B |
                                 MXGEMM_PACKED_B;

const FormatInfo& info_of(int32_t format) {
  return *find_format(static_cast<Format>(format));
}

Status check_enums(const mxgemm_gemm_desc& desc) {
  MXGEMM_TRY(check_device_kind("desc.device_kind", desc.device_kind));
  MXGEMM_TRY(check_format("desc.format_a", desc.format_a, kBlockScaledFormats | kPlainFormats));
  MXGEMM_TRY(check_format("desc.format_b", desc.format_b, kBlockScaledFormats));
  MXGEMM_TRY(check_format("desc.format_d", desc.format_d, kPlainFormats));
  MXGEMM_REQUIRE(desc.format_bias == MXGEMM_FORMAT_NONE || desc.format_bias == desc.format_d ||
                     desc.format_bias == MXGEMM_F32,
                 "desc.format_bias is %" PRId32 " (%s); it must be 0 (none), %" PRId32
                 " (%s, as desc.format_d) or %d (f32)",
                 desc.format_bias, format_name(static_cast<Format>(desc.format_bias)),
                 desc.format_d, info_of(desc.format_d).name, static_cast<int>(MXGEMM_F32));
  MXGEMM_TRY(check_scale_layout("desc.scale_layout_a", desc.scale_layout_a));
  if ((desc.flags & MXGEMM_PACKED_B) == 0) {
    MXGEMM_TRY(check_scale_layout("desc.scale_layout_b", desc.scale_layout_b));
  }
  return check_activation("desc.activation", desc.activation);
}

Status check_flags(const mxgemm_gemm_desc& desc) {
  const uint32_t unknown = desc.flags & ~kKnownFlags;
  MXGEMM_REQUIRE(unknown == 0,
                 "desc.flags is 0x%" PRIx32 "; the bits 0x%" PRIx32
                 " are unknown, allowed are 0x%" PRIx32,
                 desc.flags, unknown, kKnownFlags);
  MXGEMM_REQUIRE((desc.flags & MXGEMM_GLOBAL_SCALE_A_ON_DEVICE) == 0 ||
                     info_of(desc.format_a).has_global_scale,
                 "desc.flags has MXGEMM_GLOBAL_SCALE_A_ON_DEVICE; it must not, for desc.format_a "
                 "is %s, which has no "
                 "global scale",
                 info_of(desc.format_a).name);
  MXGEMM_REQUIRE((desc.flags & MXGEMM_GLOBAL_SCALE_B_ON_DEVICE) == 0 ||
                     info_of(desc.format_b).has_global_scale,
                 "desc.flags has MXGEMM_GLOBAL_SCALE_B_ON_DEVICE; it must not, for desc.format_b "
                 "is %s, which has no "
                 "global scale",
                 info_of(desc.format_b).name);
  return {};
}

Status check_shape(const mxgemm_gemm_desc& desc) {
  MXGEMM_TRY(check_not_negative("desc.m", desc.m));
  MXGEMM_TRY(check_not_negative("desc.n", desc.n));
  MXGEMM_TRY(check_not_negative("desc.k", desc.k));
  const FormatInfo& format_a = info_of(desc.format_a);
  const FormatInfo& format_b = info_of(desc.format_b);
  uint64_t bytes = 0;
  MXGEMM_TRY(qdata_bytes(format_a, "desc.m", desc.m, "desc.k", desc.k, &bytes));
  MXGEMM_TRY(qdata_bytes(format_b, "desc.n", desc.n, "desc.k", desc.k, &bytes));
  MXGEMM_TRY(qdata_bytes(info_of(desc.format_d), "desc.m", desc.m, "desc.n", desc.n, &bytes));
  MXGEMM_TRY(
      scale_bytes(format_a, desc.scale_layout_a, "desc.m", desc.m, "desc.k", desc.k, &bytes));
  return scale_bytes(format_b, desc.scale_layout_b, "desc.n", desc.n, "desc.k", desc.k, &bytes);
}

}  // namespace

Status check_desc(const mxgemm_gemm_desc* desc) {
  MXGEMM_TRY(check_not_null("desc", desc));
  MXGEMM_TRY(
      check_struct_size("desc.struct_size", desc->struct_size, sizeof(*desc), "mxgemm_gemm_desc"));
  MXGEMM_REQUIRE(desc->reserved == 0, "desc.reserved is %" PRId32 "; it must be 0", desc->reserved);
  MXGEMM_TRY(check_enums(*desc));
  MXGEMM_TRY(check_flags(*desc));
  return check_shape(*desc);
}

std::string describe(const mxgemm_gemm_desc& desc) {
  return format_text("m%" PRId64 "n%" PRId64 "k%" PRId64 ":%s:%s:%s", desc.m, desc.n, desc.k,
                     format_name(static_cast<Format>(desc.format_a)),
                     format_name(static_cast<Format>(desc.format_b)),
                     format_name(static_cast<Format>(desc.format_d)));
}

}  // namespace mxgemm::internal
