// SPDX-License-Identifier: Apache-2.0
// A file, mapped read-only.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.hpp"

namespace mxgemm::cli {

using internal::Status;

// Identity of a file on this machine, whatever path leads to it.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  // Only regular files are taken: a directory, a pipe or a device is an IO_ERROR.
  static Status open(const std::string& path, MappedFile* file);

  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  FileId id() const { return id_; }

  // Tells the system that `size` bytes from `offset` were read and will not be needed soon, so that
  // a file larger than memory streams through a few pages.
  void drop(uint64_t offset, uint64_t size) const;

 private:
  const uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
  FileId id_;
};

}  // namespace mxgemm::cli
