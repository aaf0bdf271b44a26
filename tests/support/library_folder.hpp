// SPDX-License-Identifier: Apache-2.0
// A folder of GPU libraries, put together from the stubs (tests/stubs) and gone with the object.
// MXGEMM_STUBS is where they were built.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>

namespace mxgemm::test {

class LibraryFolder {
 public:
  // Stubs as "whole/sm80".
  LibraryFolder(std::initializer_list<const char*> stubs = {}) {
    std::string name = (std::filesystem::temp_directory_path() / "mxgemm-XXXXXX").string();
    path_ = mkdtemp(name.data());
    for (const char* stub : stubs) {
      add(stub);
    }
  }
  ~LibraryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  LibraryFolder(const LibraryFolder&) = delete;
  LibraryFolder& operator=(const LibraryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/libmxgemm_" + name + ".so"; }

  // Under the stub's own name, or under `as`.
  void add(const std::string& stub, const std::string& as = "") {
    const size_t slash = stub.find('/');
    const std::string name = stub.substr(slash + 1);
    const std::string from =
        MXGEMM_STUBS "/" + stub.substr(0, slash) + "/libmxgemm_" + name + ".so";
    std::filesystem::copy_file(from, file(as.empty() ? name : as));
  }
  // A file of the first `bytes` bytes of what is there.
  void cut(const std::string& name, uint64_t bytes) {
    std::filesystem::resize_file(file(name), bytes);
  }
  uint64_t size(const std::string& name) { return std::filesystem::file_size(file(name)); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(file(name)) << text;
  }

 private:
  std::string path_;
};

}  // namespace mxgemm::test
