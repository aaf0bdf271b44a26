// SPDX-License-Identifier: Apache-2.0
// model.safetensors.index.json: which of several safetensors files (shards) holds which tensor.
//
//     {"metadata": {"total_size": 123, …}, "weight_map": {"<tensor>": "<file>", …}}
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "cli/io/json_reader.hpp"

namespace mxgemm::cli {

struct CheckpointIndex {
  // Tensor -> file name, without directory.
  std::map<std::string, std::string> weight_map;
  // Each file once, by name.
  std::vector<std::string> shards;
  // "metadata" without total_size, which is made when an index is written.
  JsonValue::Object metadata;
};

// Names of files are plain names in the index's own directory: one with a directory in it, "..", or
// an absolute path is an error.
Status parse_checkpoint_index(std::span<const uint8_t> file, CheckpointIndex* index);

std::string make_checkpoint_index(const CheckpointIndex& index, uint64_t total_size);

}  // namespace mxgemm::cli
