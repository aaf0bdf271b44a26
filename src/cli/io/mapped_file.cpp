// SPDX-License-Identifier: Apache-2.0
#include "cli/io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cli/io/file_error.hpp"

namespace mxgemm::cli {
namespace {

const uint8_t* const kFailed = static_cast<const uint8_t*>(MAP_FAILED);

}  // namespace

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    munmap(const_cast<uint8_t*>(data_), size_);
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(id_, other.id_);
  return *this;
}

Status MappedFile::open(const std::string& path, MappedFile* file) {
  // O_NONBLOCK: opening a pipe that nobody writes must not hang; it is refused below.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return system_error(path, "cannot open", errno);
  }
  struct stat facts {};
  MappedFile mapped;
  Status status;
  if (fstat(descriptor, &facts) != 0) {
    status = system_error(path, "cannot read its size", errno);
  } else if (!S_ISREG(facts.st_mode)) {
    status = file_error("%s: not a regular file%s", path.c_str(),
                        S_ISDIR(facts.st_mode) ? " but a directory" : "");
  } else {
    mapped.size_ = static_cast<uint64_t>(facts.st_size);
    mapped.id_ = {facts.st_dev, facts.st_ino};
    if (mapped.size_ != 0) {
      mapped.data_ = static_cast<const uint8_t*>(
          mmap(nullptr, mapped.size_, PROT_READ, MAP_PRIVATE, descriptor, 0));
      if (mapped.data_ == kFailed) {
        mapped.data_ = nullptr;
        status = system_error(path, "cannot map", errno);
      }
    }
  }
  close(descriptor);
  if (status.ok()) {
    *file = std::move(mapped);
  }
  return status;
}

void MappedFile::drop(uint64_t offset, uint64_t size) const {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = (offset + page - 1) / page * page;  // a page shared with others stays
  const uint64_t end = (offset + size) / page * page;
  if (begin < end && end <= size_) {
    madvise(const_cast<uint8_t*>(data_) + begin, end - begin, MADV_DONTNEED);
  }
}

}  // namespace mxgemm::cli
