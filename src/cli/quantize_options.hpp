// SPDX-License-Identifier: Apache-2.0
// How to quantise, as options of a command, as the library takes it, and as files record it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/device.hpp"
#include "formats/block_format.hpp"
#include "mxgemm/mxgemm.h"

namespace CLI {
class App;
}  // namespace CLI

namespace mxgemm::cli {

// Empty texts and values: not given, the library's default.
struct QuantizeOptions {
  std::string scale_rule;
  std::string preset;
  std::string nonfinite;
  std::string scales;
  bool stochastic = false;
  uint64_t seed = 0;
  uint64_t offset = 0;
  bool one_level = false;
  std::optional<float> min_block_scale;
};

void add_quantize_options(CLI::App* command, QuantizeOptions* options);

// The names of the block-scaled formats: "mxf4", …
const std::vector<std::string>& block_scaled_format_names();
// The format of a name that a command's option has let through; "mxf8" is mxf8e4m3.
internal::Format parse_format(const std::string& name);

// A descriptor for 0 rows: the caller fills in source format, rows and columns. Throws where an
// option does not fit the format, or is one that `device` lacks, with the library's message.
mxgemm_quantize_desc make_quantize_desc(const QuantizeOptions& options, internal::Format format,
                                        DeviceId device = {});

// Names of the values, as the options have them.
const char* scale_rule_name(int32_t rule);
const char* nonfinite_name(int32_t nonfinite);
const char* scale_layout_name(int32_t layout);

}  // namespace mxgemm::cli
