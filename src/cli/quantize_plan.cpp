// SPDX-License-Identifier: Apache-2.0
#include "cli/quantize_plan.hpp"

#include <fmt/core.h>

#include <optional>
#include <regex>

#include "cli/io/file_error.hpp"
#include "cli/program.hpp"
#include "cli/tensor_stream.hpp"

namespace mxgemm::cli {
namespace {

// std::regex recurses once per character of the text: a name from a hostile file must not overflow
// the stack. Real names have a tenth of this.
constexpr size_t kMaxMatchedName = 2000;

class NamePattern {
 public:
  NamePattern(const char* option, const std::string& text) {
    if (text.empty()) {
      return;
    }
    try {
      pattern_.emplace(text, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error& error) {
      throw CommandError(kExitBadCommandLine, fmt::format("{} '{}' is no regular expression: {}",
                                                          option, text, error.what()));
    }
  }

  bool given() const { return pattern_.has_value(); }
  bool finds(const std::string& name) const {
    return given() && std::regex_search(name, *pattern_);
  }

 private:
  std::optional<std::regex> pattern_;
};

struct Patterns {
  NamePattern include;
  NamePattern exclude;
  NamePattern kept;
};

// Why a tensor cannot be quantised, whatever its name; "" if it can.
std::string unusable(const TensorInfo& tensor) {
  if (plain_format(tensor.dtype) == internal::Format::kNone) {
    return fmt::format("{} is not quantised", dtype_name(tensor.dtype));
  }
  if (tensor.shape.size() != 2) {
    return fmt::format("{}-D, not 2-D", tensor.shape.size());
  }
  return tensor.shape[0] == 0 || tensor.shape[1] == 0 ? "empty" : "";
}

TensorChoice choose(const TensorInfo& tensor, int block_size, const Patterns& patterns) {
  TensorChoice choice{&tensor, false, unusable(tensor)};
  if (!choice.reason.empty()) {
    return choice;
  }
  if (tensor.name.size() > kMaxMatchedName) {
    throw CommandError(kExitRunTimeFailure,
                       fmt::format("tensor {}: the name has {} bytes; names are matched up to {}",
                                   quoted_text(tensor.name), tensor.name.size(), kMaxMatchedName));
  }
  if (patterns.include.given() && !patterns.include.finds(tensor.name)) {
    choice.reason = "not included";
  } else if (patterns.exclude.finds(tensor.name)) {
    choice.reason = "excluded";
  } else if (!patterns.include.given() && patterns.kept.finds(tensor.name)) {
    choice.reason = "kept by default";
  } else if (tensor.shape[1] % block_size != 0) {
    choice.reason = fmt::format("K = {} is not a multiple of {}", tensor.shape[1], block_size);
    if (patterns.include.given()) {
      throw CommandError(
          kExitBadCommandLine,
          fmt::format("--include matches tensor {}, but its K = {} is not a multiple of the block "
                      "of {} elements; exclude it with --exclude",
                      quoted_text(tensor.name), tensor.shape[1], block_size));
    }
  }
  choice.quantize = choice.reason.empty();
  return choice;
}

}  // namespace

const char* const kKeptByDefault = "embed|lm_head|norm|Norm";

std::vector<ShardPlan> plan_quantize(const Checkpoint& checkpoint, internal::Format format,
                                     const std::string& include, const std::string& exclude) {
  const Patterns patterns{NamePattern("--include", include), NamePattern("--exclude", exclude),
                          NamePattern("the default", kKeptByDefault)};
  const int block_size = internal::find_format(format)->block_size;
  std::vector<ShardPlan> plan;
  size_t chosen = 0;
  for (const SafetensorsReader& shard : checkpoint.shards()) {
    ShardPlan& part = plan.emplace_back(ShardPlan{&shard, {}});
    for (const TensorInfo& tensor : shard.tensors()) {
      part.choices.push_back(choose(tensor, block_size, patterns));
      chosen += part.choices.back().quantize ? 1 : 0;
    }
  }
  if (chosen == 0) {
    throw CommandError(
        kExitBadCommandLine,
        fmt::format("{}: no tensor to quantise: {}", checkpoint.path(),
                    patterns.include.given()
                        ? "no matrix matches --include, or --exclude matches all of them"
                        : "no matrix of F32, BF16 or F16 is left by the defaults and --exclude; "
                          "choose with --include"));
  }
  return plan;
}

}  // namespace mxgemm::cli
