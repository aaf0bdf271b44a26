// SPDX-License-Identifier: Apache-2.0
// Checks of enum-typed arguments. `argument` is the name as it stands in mxgemm.h
// ("desc.format_a").
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::internal {

// Bit f stands for format value f.
using FormatSet = uint64_t;

constexpr FormatSet format_bit(Format format) {
  return FormatSet{1} << static_cast<int32_t>(format);
}

// All formats of kFormats that are block-scaled, or are not.
constexpr FormatSet format_set(bool block_scaled) {
  FormatSet set = 0;
  for (const FormatInfo& info : kFormats) {
    set |= (info.scale_type != ScaleType::kNone) == block_scaled ? format_bit(info.format) : 0;
  }
  return set;
}
constexpr FormatSet kBlockScaledFormats = format_set(true);
constexpr FormatSet kPlainFormats = format_set(false);

// "mxf4, nvf4, bf16".
std::string format_names(FormatSet set);

Status check_format(const char* argument, int32_t value, FormatSet allowed);
Status check_scale_layout(const char* argument, int32_t value);
Status check_activation(const char* argument, int32_t value);
Status check_scale_rule(const char* argument, int32_t value);
Status check_nonfinite(const char* argument, int32_t value);
Status check_rounding(const char* argument, int32_t value);
Status check_global_scale_mode(const char* argument, int32_t value);
Status check_preset(const char* argument, int32_t value);
Status check_device_kind(const char* argument, int32_t value);

// "cpu", "cuda".
const char* device_kind_name(int32_t device_kind);

}  // namespace mxgemm::internal
