// SPDX-License-Identifier: Apache-2.0
#include "cli/quantize_options.hpp"

#include <CLI/CLI.hpp>
#include <string_view>
#include <vector>

#include "cli/option_values.hpp"
#include "cli/program.hpp"

namespace mxgemm::cli {
namespace {

struct NamedValue {
  const char* name;
  int32_t value;
};

constexpr NamedValue kScaleRules[] = {
    {"floor", MXGEMM_SCALE_RULE_FLOOR},     {"ceil", MXGEMM_SCALE_RULE_CEIL},
    {"even", MXGEMM_SCALE_RULE_EVEN},       {"rceil", MXGEMM_SCALE_RULE_RCEIL},
    {"nearest", MXGEMM_SCALE_RULE_NEAREST}, {"mse", MXGEMM_SCALE_RULE_MSE},
};
constexpr NamedValue kPresets[] = {
    {"ocp", MXGEMM_PRESET_OCP},
    {"torchao", MXGEMM_PRESET_TORCHAO},
    {"cuda", MXGEMM_PRESET_CUDA},
};
constexpr NamedValue kNonfinite[] = {
    {"nan", MXGEMM_NONFINITE_NAN},
    {"saturate", MXGEMM_NONFINITE_SATURATE},
};
constexpr NamedValue kScaleLayouts[] = {
    {"row_major", MXGEMM_SCALE_ROW_MAJOR},
    {"swizzled", MXGEMM_SCALE_SWIZZLE_32_4_4},
};

template <size_t kSize>
std::vector<std::string> names(const NamedValue (&values)[kSize]) {
  std::vector<std::string> result;
  for (const NamedValue& entry : values) {
    result.emplace_back(entry.name);
  }
  return result;
}

// `name` has passed the option's check.
template <size_t kSize>
int32_t value_of(const NamedValue (&values)[kSize], std::string_view name) {
  for (const NamedValue& entry : values) {
    if (name == entry.name) {
      return entry.value;
    }
  }
  return 0;
}

template <size_t kSize>
const char* name_of(const NamedValue (&values)[kSize], int32_t value) {
  for (const NamedValue& entry : values) {
    if (value == entry.value) {
      return entry.name;
    }
  }
  return "unknown";
}

}  // namespace

void add_quantize_options(CLI::App* command, QuantizeOptions* options) {
  command
      ->add_option("--scale-rule", options->scale_rule, "how a block's scale follows from its amax")
      ->check(CLI::IsMember(names(kScaleRules)));
  command
      ->add_option("--preset", options->preset,
                   "the options that another implementation uses; options given beside it win")
      ->check(CLI::IsMember(names(kPresets)));
  command->add_option("--nonfinite", options->nonfinite, "what becomes of infinities")
      ->check(CLI::IsMember(names(kNonfinite)));
  command->add_option("--scales", options->scales, "layout of the scales (default: row_major)")
      ->check(CLI::IsMember(names(kScaleLayouts)));
  CLI::Option* stochastic =
      command->add_flag("--stochastic", options->stochastic, "stochastic rounding (Philox4x32-10)");
  command->add_option("--seed", options->seed, "its seed; every tensor uses the same")
      ->transform(CLI::Validator(take_uint64, ""))
      ->needs(stochastic);
  command->add_option("--offset", options->offset, "its first counter")
      ->transform(CLI::Validator(take_uint64, ""))
      ->needs(stochastic);
  command->add_flag("--one-level", options->one_level, "nvf4: no global scale (it is 1)");
  command
      ->add_option("--min-block-scale", options->min_block_scale,
                   "nvf4: smallest block scale, 0 to 448")
      ->transform(CLI::Validator(take_finite_float, ""));
}

const std::vector<std::string>& block_scaled_format_names() {
  static const std::vector<std::string> kNames{"mxf4", "nvf4", "mxf8", "mxf8e4m3", "mxf8e5m2"};
  return kNames;
}

internal::Format parse_format(const std::string& name) {
  const std::string_view full = name == "mxf8" ? "mxf8e4m3" : std::string_view(name);
  for (const internal::FormatInfo& info : internal::kFormats) {
    if (full == info.name) {
      return info.format;
    }
  }
  return internal::Format::kNone;
}

mxgemm_quantize_desc make_quantize_desc(const QuantizeOptions& options, internal::Format format,
                                        DeviceId device) {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.format = static_cast<int32_t>(format);
  desc.format_src = MXGEMM_F32;
  if (!options.preset.empty()) {
    check(mxgemm_quantize_preset(value_of(kPresets, options.preset), &desc), "--preset");
  }
  if (!options.scale_rule.empty()) {
    desc.scale_rule = value_of(kScaleRules, options.scale_rule);
  }
  if (!options.nonfinite.empty()) {
    desc.nonfinite = value_of(kNonfinite, options.nonfinite);
  }
  if (options.min_block_scale.has_value()) {
    desc.min_block_scale = *options.min_block_scale;
  }
  desc.scale_layout = value_of(kScaleLayouts, options.scales);
  desc.rounding = options.stochastic ? MXGEMM_ROUND_STOCHASTIC : MXGEMM_ROUND_NEAREST_EVEN;
  desc.seed = options.seed;
  desc.offset = options.offset;
  const bool two_levels = internal::find_format(format)->has_global_scale && !options.one_level;
  desc.global_scale_mode = options.one_level ? MXGEMM_GLOBAL_SCALE_ONE
                           : two_levels      ? MXGEMM_GLOBAL_SCALE_COMPUTE
                                             : MXGEMM_GLOBAL_SCALE_DEFAULT;
  // The library checks the options of a job without rows as it checks any other's.
  desc.cols = internal::find_format(format)->block_size;
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  float global_scale = 1.0f;
  args.global_scale = two_levels ? &global_scale : nullptr;
  check(mxgemm_quantize(&desc, &args, nullptr));
  desc.device_kind = device.kind;
  desc.device_index = device.index;
  uint64_t bytes = 0;
  check(mxgemm_quantize_workspace_size(&desc, &bytes));  // says what only the CPU has
  desc.cols = 0;
  return desc;
}

const char* scale_rule_name(int32_t rule) {
  return rule == MXGEMM_SCALE_RULE_DEFAULT ? "even" : name_of(kScaleRules, rule);
}

const char* nonfinite_name(int32_t nonfinite) {
  return name_of(kNonfinite, nonfinite);
}

const char* scale_layout_name(int32_t layout) {
  return name_of(kScaleLayouts, layout);
}

}  // namespace mxgemm::cli
