// SPDX-License-Identifier: Apache-2.0
#include "core/enums.hpp"

#include <span>

#include "base/require.hpp"

namespace mxgemm::internal {
namespace {

// Names by value: each of these enums counts up from 0.
using Names = std::span<const char* const>;
constexpr const char* kScaleLayouts[] = {"row_major", "swizzle_32_4_4"};
constexpr const char* kActivations[] = {"none", "relu", "gelu", "gelu_tanh", "silu"};
constexpr const char* kScaleRules[] = {"default", "floor",   "ceil", "even",
                                       "rceil",   "nearest", "mse"};
constexpr const char* kNonfinites[] = {"nan", "saturate"};
constexpr const char* kRoundings[] = {"nearest_even", "stochastic"};
constexpr const char* kGlobalScaleModes[] = {"default", "one", "compute", "given"};
constexpr const char* kPresets[] = {"default", "ocp", "torchao", "cuda"};
constexpr const char* kDeviceKinds[] = {"cpu", "cuda"};

Status check_value(const char* argument, int32_t value, Names names) {
  if (value >= 0 && static_cast<size_t>(value) < names.size()) {
    return {};
  }
  std::string allowed;
  for (size_t index = 0; index < names.size(); ++index) {
    allowed += format_text("%s%zu (%s)", index == 0 ? "" : ", ", index, names[index]);
  }
  return {StatusCode::kInvalidArgument,
          format_text("%s is %d; it must be one of %s", argument, value, allowed.c_str())};
}

}  // namespace

std::string format_names(FormatSet set) {
  std::string text;
  for (const FormatInfo& info : kFormats) {
    if ((set & format_bit(info.format)) != 0) {
      text += text.empty() ? "" : ", ";
      text += info.name;
    }
  }
  return text;
}

Status check_format(const char* argument, int32_t value, FormatSet allowed) {
  const bool known = value > 0 && value < 64 && find_format(static_cast<Format>(value)) != nullptr;
  if (known && (allowed >> value & 1) != 0) {
    return {};
  }
  std::string list;
  for (const FormatInfo& info : kFormats) {
    if ((allowed & format_bit(info.format)) != 0) {
      list += format_text("%s%d (%s)", list.empty() ? "" : ", ", static_cast<int>(info.format),
                          info.name);
    }
  }
  const char* name = known        ? format_name(static_cast<Format>(value))
                     : value == 0 ? "none"
                                  : "no format";
  return {StatusCode::kInvalidArgument,
          format_text("%s is %d (%s); it must be one of %s", argument, value, name, list.c_str())};
}

Status check_scale_layout(const char* argument, int32_t value) {
  return check_value(argument, value, kScaleLayouts);
}
Status check_activation(const char* argument, int32_t value) {
  return check_value(argument, value, kActivations);
}
Status check_scale_rule(const char* argument, int32_t value) {
  return check_value(argument, value, kScaleRules);
}
Status check_nonfinite(const char* argument, int32_t value) {
  return check_value(argument, value, kNonfinites);
}
Status check_rounding(const char* argument, int32_t value) {
  return check_value(argument, value, kRoundings);
}
Status check_global_scale_mode(const char* argument, int32_t value) {
  return check_value(argument, value, kGlobalScaleModes);
}
Status check_preset(const char* argument, int32_t value) {
  return check_value(argument, value, kPresets);
}
Status check_device_kind(const char* argument, int32_t value) {
  return check_value(argument, value, kDeviceKinds);
}

const char* device_kind_name(int32_t device_kind) {
  return device_kind >= 0 && device_kind < 2 ? kDeviceKinds[device_kind] : "unknown";
}

}  // namespace mxgemm::internal
