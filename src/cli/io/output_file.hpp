// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all: written under another name in the same directory, then
// renamed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "cli/io/mapped_file.hpp"
#include "cli/io/temporary_files.hpp"

namespace mxgemm::cli {

// Whether a command may write `path`. INVALID_ARGUMENT where it is one of the inputs, where it is
// no regular file, and where it exists and may not be replaced; `replace_hint` ends that message
// ("give
// --force to replace it").
Status check_output_path(const std::string& path, bool may_replace, const char* replace_hint,
                         std::span<const FileId> inputs);

// Not published, it leaves nothing behind.
class OutputFile {
 public:
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Reserves `size` bytes, so that a full disk shows before the work and not after it.
  static Status create(const std::string& path, uint64_t size, std::unique_ptr<OutputFile>* file);

  const std::string& path() const { return path_; }

  // Any order; a range is written once.
  Status write_at(uint64_t offset, const void* data, uint64_t size);

  // Brings the content to the disk and closes the file: for many files that wait to be published
  // together.
  Status complete();

  // Completes the files, then gives all of them their names. Where that fails none has its
  // name: those already renamed are removed.
  static Status publish(std::span<OutputFile* const> files);

 private:
  OutputFile(std::string path, std::string temporary, int descriptor,
             std::unique_ptr<TrackedFile> tracked);
  Status rename_to_path();

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  std::unique_ptr<TrackedFile> tracked_;  // null once renamed
};

}  // namespace mxgemm::cli
