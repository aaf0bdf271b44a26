// SPDX-License-Identifier: Apache-2.0
// A checkpoint: one safetensors file, or an index and its shards.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "cli/io/checkpoint_index.hpp"
#include "cli/io/safetensors_file.hpp"

namespace mxgemm::cli {

struct TensorPlace {
  const SafetensorsReader* shard = nullptr;
  const TensorInfo* tensor = nullptr;
};

class Checkpoint {
 public:
  // A path that ends in ".json" is an index. Every tensor that it lists must be in its shard, and
  // no name in two shards.
  static Status open(const std::string& path, Checkpoint* checkpoint);

  const std::string& path() const { return path_; }
  // Empty for a single file.
  const std::optional<CheckpointIndex>& index() const { return index_; }
  // In the order of index()->shards; one for a single file.
  const std::vector<SafetensorsReader>& shards() const { return shards_; }
  std::optional<TensorPlace> find(std::string_view name) const;
  // Every file that was opened.
  const std::vector<FileId>& files() const { return files_; }

 private:
  Status open_shards(const std::string& directory);

  std::string path_;
  std::optional<CheckpointIndex> index_;
  std::vector<SafetensorsReader> shards_;
  std::vector<FileId> files_;
};

bool is_checkpoint_index(std::string_view path);

}  // namespace mxgemm::cli
