// SPDX-License-Identifier: Apache-2.0
// Where GPU libraries lie, and how one is opened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace mxgemm::internal {

// Absolute path of the folder of the GPU libraries: MXGEMM_PLUGIN_DIR, else mxgemm/ beside this
// library, else this library's own folder. The current directory and LD_LIBRARY_PATH play no part.
Status gpu_library_folder(std::string* folder);

// Names of the files of `folder` that are called libmxgemm_sm*.so, sorted.
std::vector<std::string> arch_library_files(const std::string& folder);

// What opening a library gave: its table, or why not.
struct OpenedLibrary {
  const void* table = nullptr;
  std::string refusal;
};

// Loads the library at `path` (absolute), calls its function `symbol` and compares what every table
// begins with (abi_version, struct_size, version). Nothing is ever unloaded: registered kernels and
// threads of the CUDA runtime would outlive the code.
OpenedLibrary open_library(const std::string& path, const char* symbol, size_t struct_size);

}  // namespace mxgemm::internal
