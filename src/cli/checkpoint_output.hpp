// SPDX-License-Identifier: Apache-2.0
// The checkpoint that a command makes of another: a file of a file, shards and an index of shards.
// It appears when it is complete; before, and where the command fails, nothing does.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/io/checkpoint.hpp"
#include "cli/io/safetensors_file.hpp"
#include "cli/io/temporary_files.hpp"

namespace mxgemm::cli {

class CheckpointOutput {
 public:
  // `path` is a file for a single file; for shards the path of an index (…json), beside which the
  // shards go under their old names, or a directory, made if need be. Throws CommandError.
  CheckpointOutput(const Checkpoint& input, const std::string& path, bool force);
  ~CheckpointOutput();
  CheckpointOutput(const CheckpointOutput&) = delete;
  CheckpointOutput& operator=(const CheckpointOutput&) = delete;

  // The writer of what shard number `shard` of the input becomes; valid until finish_shard().
  SafetensorsWriter* begin_shard(size_t shard, const std::vector<TensorInfo>& tensors,
                                 const Metadata& metadata);
  void finish_shard();
  void publish();

  // What the user is told: the file or the index.
  const std::string& path() const { return path_; }

 private:
  void make_directory();

  const Checkpoint& input_;
  std::string path_;
  std::string directory_;                        // with its slash; shards only
  std::vector<std::string> paths_;               // of the shards
  std::unique_ptr<TrackedFile> made_directory_;  // null if it was there before, or is to stay
  std::map<std::string, std::string> weight_map_;
  uint64_t total_size_ = 0;
  std::vector<std::unique_ptr<SafetensorsWriter>> writers_;
  std::vector<OutputFile*> finished_;
  std::unique_ptr<OutputFile> index_;
};

}  // namespace mxgemm::cli
