// SPDX-License-Identifier: Apache-2.0
#include "cli/io/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>

#include "cli/io/file_error.hpp"

namespace mxgemm::cli {
namespace {

using internal::StatusCode;

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// A name of fixed length, so that a long file name does not become too long.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return directory_of(path) + "/.mxgemm-" + std::to_string(getpid()) + "-" +
         std::to_string(counter.fetch_add(1)) + ".partial";
}

// A rename is on the disk when its directory is. Some file systems cannot sync a directory; the
// rename then is as safe as they make it.
void sync_directory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
}

}  // namespace

Status check_output_path(const std::string& path, bool may_replace, const char* replace_hint,
                         std::span<const FileId> inputs) {
  MXGEMM_REQUIRE(!path.empty(), "the output path is empty");
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) {
    MXGEMM_REQUIRE(may_replace || lstat(path.c_str(), &facts) != 0, "output %s exists: %s",
                   path.c_str(), replace_hint);
    return {};  // what else is wrong with it shows when it is created
  }
  MXGEMM_REQUIRE(S_ISREG(facts.st_mode), "output %s is %s", path.c_str(),
                 S_ISDIR(facts.st_mode) ? "a directory" : "not a regular file");
  const FileId id{facts.st_dev, facts.st_ino};
  MXGEMM_REQUIRE(std::find(inputs.begin(), inputs.end(), id) == inputs.end(),
                 "output %s is an input of this command; write to another file", path.c_str());
  MXGEMM_REQUIRE(may_replace, "output %s exists: %s", path.c_str(), replace_hint);
  return {};
}

OutputFile::OutputFile(std::string path, std::string temporary, int descriptor,
                       std::unique_ptr<TrackedFile> tracked)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      descriptor_(descriptor),
      tracked_(std::move(tracked)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
  if (tracked_ != nullptr) {
    unlink(temporary_.c_str());
  }
}

Status OutputFile::create(const std::string& path, uint64_t size,
                          std::unique_ptr<OutputFile>* file) {
  constexpr int kAttempts = 100;  // leftovers of a killed process with our id
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string temporary = temporary_name(path);
    auto tracked = std::make_unique<TrackedFile>(temporary);
    const int descriptor = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      const int error_number = errno;
      tracked->release();
      if (error_number == EEXIST) {
        continue;
      }
      return system_error(path, "cannot create", error_number);
    }
    std::unique_ptr<OutputFile> created(
        new OutputFile(path, temporary, descriptor, std::move(tracked)));
    if (size != 0 && fallocate(descriptor, 0, 0, static_cast<off_t>(size)) != 0 &&
        (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)) {
      const std::string what = "cannot reserve " + std::to_string(size) + " bytes";
      return system_error(path, what.c_str(), errno);
    }
    *file = std::move(created);
    return {};
  }
  return file_error("%s: cannot create: no free temporary name", path.c_str());
}

Status OutputFile::write_at(uint64_t offset, const void* data, uint64_t size) {
  const auto* from = static_cast<const char*>(data);
  while (size != 0) {
    const ssize_t written = pwrite(descriptor_, from, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return system_error(path_, "cannot write", written == 0 ? ENOSPC : errno);
    }
    from += written;
    offset += static_cast<uint64_t>(written);
    size -= static_cast<uint64_t>(written);
  }
  return {};
}

Status OutputFile::complete() {
  if (descriptor_ < 0) {
    return {};
  }
  if (fsync(descriptor_) != 0) {
    return system_error(path_, "cannot write", errno);
  }
  const int result = close(descriptor_);
  descriptor_ = -1;
  return result == 0 ? Status() : system_error(path_, "cannot write", errno);
}

Status OutputFile::rename_to_path() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return system_error(path_, "cannot give the finished file its name", errno);
  }
  tracked_.reset();
  return {};
}

Status OutputFile::publish(std::span<OutputFile* const> files) {
  for (OutputFile* file : files) {
    MXGEMM_TRY(file->complete());
  }
  const SignalDelay delay;
  std::set<std::string> directories;
  for (size_t i = 0; i < files.size(); ++i) {
    const Status renamed = files[i]->rename_to_path();
    if (!renamed.ok()) {
      for (size_t j = 0; j < i; ++j) {
        unlink(files[j]->path_.c_str());
      }
      return renamed;
    }
    directories.insert(directory_of(files[i]->path_));
  }
  for (const std::string& directory : directories) {
    sync_directory(directory);
  }
  return {};
}

}  // namespace mxgemm::cli
