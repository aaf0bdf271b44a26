// SPDX-License-Identifier: Apache-2.0
// Which tensors of a checkpoint `mxgemm quantize` quantises, and why it keeps the others.
#pragma once

#include <string>
#include <vector>

#include "cli/io/checkpoint.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::cli {

struct TensorChoice {
  const TensorInfo* tensor = nullptr;
  bool quantize = false;
  std::string reason;  // why not
};

struct ShardPlan {
  const SafetensorsReader* shard = nullptr;
  std::vector<TensorChoice> choices;  // in the order of the shard
};

// Without `include`, a tensor is quantised that is a matrix of F32, BF16 or F16 whose rows are
// whole blocks, unless its name has embed, lm_head or norm in it: models lose most where those are
// quantised. With it, every matrix whose name it finds; one whose rows are no whole blocks is an
// error that names tensor, K and block. Names in which `exclude` finds something are kept. Both are
// ECMAScript regular expressions, "" for none. Throws CommandError, also where nothing is left to
// quantise.
std::vector<ShardPlan> plan_quantize(const Checkpoint& checkpoint, internal::Format format,
                                     const std::string& include, const std::string& exclude);

// The expression of what is kept without `include`, for the help text.
extern const char* const kKeptByDefault;

}  // namespace mxgemm::cli
