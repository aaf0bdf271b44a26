// SPDX-License-Identifier: Apache-2.0
#include "cli/checkpoint_output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cli/check_status.hpp"
#include "cli/io/file_error.hpp"

namespace mxgemm::cli {
namespace {

constexpr const char* kReplaceHint = "give --force to replace it";

bool is_directory(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

CheckpointOutput::CheckpointOutput(const Checkpoint& input, const std::string& path, bool force)
    : input_(input), path_(path) {
  if (!input.index().has_value()) {
    if (is_checkpoint_index(path)) {
      throw CommandError(kExitBadCommandLine,
                         "output " + path +
                             ": one safetensors file goes in, so one comes out; the "
                             "name must not end in .json");
    }
    check(check_output_path(path, force, kReplaceHint, input.files()));
    paths_.push_back(path);
    return;
  }
  if (is_checkpoint_index(path)) {
    directory_ = path.substr(0, path.rfind('/') + 1);
  } else {
    directory_ = path.ends_with('/') || path.empty() ? path : path + "/";
    path_ = directory_ + file_name(input.path());
  }
  check(check_output_path(path_, force, kReplaceHint, input.files()));
  for (const std::string& shard : input.index()->shards) {
    paths_.push_back(directory_ + shard);
    check(check_output_path(paths_.back(), force, kReplaceHint, input.files()));
    if (paths_.back() == path_) {
      throw CommandError(kExitBadCommandLine,
                         "output " + path_ + ": the index would have the name of a shard");
    }
  }
  make_directory();
}

void CheckpointOutput::make_directory() {
  const std::string name =
      directory_.size() > 1 ? directory_.substr(0, directory_.size() - 1) : directory_;
  if (name.empty() || is_directory(name)) {
    return;
  }
  auto tracked = std::make_unique<TrackedFile>(name);
  if (mkdir(name.c_str(), 0777) != 0) {
    const int error_number = errno;
    tracked->release();
    check(system_error(name, "cannot make the directory", error_number));
  }
  made_directory_ = std::move(tracked);
}

CheckpointOutput::~CheckpointOutput() {
  finished_.clear();
  writers_.clear();
  index_.reset();
  if (made_directory_ != nullptr) {
    rmdir(directory_.c_str());
  }
}

SafetensorsWriter* CheckpointOutput::begin_shard(size_t shard,
                                                 const std::vector<TensorInfo>& tensors,
                                                 const Metadata& metadata) {
  for (const TensorInfo& tensor : tensors) {
    const std::string name = file_name(paths_[shard]);
    const auto [other, first] = weight_map_.emplace(tensor.name, name);
    if (!first && other->second != name) {
      throw CommandError(kExitRunTimeFailure, path_ + ": tensor " + quoted_text(tensor.name) +
                                                  " would be in two shards, " + other->second +
                                                  " and " + name);
    }
  }
  check(SafetensorsWriter::create(paths_[shard], tensors, metadata, &writers_.emplace_back()));
  return writers_.back().get();
}

void CheckpointOutput::finish_shard() {
  total_size_ += writers_.back()->data_bytes();
  check(writers_.back()->finish(&finished_.emplace_back()));
}

void CheckpointOutput::publish() {
  if (input_.index().has_value()) {
    CheckpointIndex index = *input_.index();
    index.weight_map = weight_map_;
    const std::string text = make_checkpoint_index(index, total_size_);
    check(OutputFile::create(path_, text.size(), &index_));
    check(index_->write_at(0, text.data(), text.size()));
    finished_.push_back(index_.get());  // last: whoever sees the index sees the shards
  }
  check(OutputFile::publish(finished_));
  if (made_directory_ != nullptr) {
    made_directory_->release();
    made_directory_.reset();
  }
}

}  // namespace mxgemm::cli
