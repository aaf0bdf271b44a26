// SPDX-License-Identifier: Apache-2.0
#include "cli/io/checkpoint.hpp"

#include <unordered_map>
#include <utility>

#include "cli/io/file_error.hpp"

namespace mxgemm::cli {

bool is_checkpoint_index(std::string_view path) {
  return path.ends_with(".json");
}

Status Checkpoint::open(const std::string& path, Checkpoint* checkpoint) {
  Checkpoint opened;
  opened.path_ = path;
  if (is_checkpoint_index(path)) {
    MappedFile file;
    MXGEMM_TRY(MappedFile::open(path, &file));
    opened.files_.push_back(file.id());
    opened.index_.emplace();
    MXGEMM_TRY(with_prefix(path, parse_checkpoint_index(file.bytes(), &*opened.index_)));
    const size_t slash = path.rfind('/');
    MXGEMM_TRY(opened.open_shards(slash == std::string::npos ? "" : path.substr(0, slash + 1)));
  } else {
    MXGEMM_TRY(SafetensorsReader::open(path, &opened.shards_.emplace_back()));
    opened.files_.push_back(opened.shards_.back().file().id());
  }
  *checkpoint = std::move(opened);
  return {};
}

Status Checkpoint::open_shards(const std::string& directory) {
  std::unordered_map<std::string, const SafetensorsReader*> by_name;
  std::unordered_map<std::string_view, const SafetensorsReader*> owner;
  shards_.reserve(index_->shards.size());  // pointers into it are kept below
  for (const std::string& name : index_->shards) {
    SafetensorsReader& shard = shards_.emplace_back();
    MXGEMM_TRY(with_prefix(path_, SafetensorsReader::open(directory + name, &shard)));
    files_.push_back(shard.file().id());
    by_name.emplace(name, &shard);
    for (const TensorInfo& tensor : shard.tensors()) {
      const auto [other, first] = owner.emplace(tensor.name, &shard);
      if (!first) {
        return file_error("%s: tensor %s is in two shards, %s and %s", path_.c_str(),
                          quoted_text(tensor.name).c_str(), other->second->path().c_str(),
                          shard.path().c_str());
      }
    }
  }
  for (const auto& [tensor, name] : index_->weight_map) {
    const SafetensorsReader* shard = by_name.at(name);
    if (shard->find(tensor) == nullptr) {
      return file_error("%s: weight_map says that %s holds tensor %s, but it does not",
                        path_.c_str(), shard->path().c_str(), quoted_text(tensor).c_str());
    }
  }
  return {};
}

std::optional<TensorPlace> Checkpoint::find(std::string_view name) const {
  for (const SafetensorsReader& shard : shards_) {
    if (const TensorInfo* tensor = shard.find(name)) {
      return TensorPlace{&shard, tensor};
    }
  }
  return std::nullopt;
}

}  // namespace mxgemm::cli
