// SPDX-License-Identifier: Apache-2.0
#include "core/library_file.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/env.hpp"
#include "base/require.hpp"
#include "core/elf_file.hpp"
#include "mxgemm/version.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::internal {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderVariable = "MXGEMM_PLUGIN_DIR";

// What the tables of all libraries begin with.
struct TableHead {
  uint32_t abi_version;
  uint32_t struct_size;
  const char* version;
};
static_assert(offsetof(TableHead, struct_size) == offsetof(mxgemm_plugin_table, struct_size));
static_assert(offsetof(TableHead, version) == offsetof(mxgemm_plugin_table, version));
static_assert(offsetof(TableHead, struct_size) == offsetof(mxgemm_cuda_runtime_table, struct_size));
static_assert(offsetof(TableHead, version) == offsetof(mxgemm_cuda_runtime_table, version));

// Path of the file that is mapped at `address`. The kernel's list has absolute paths, where dladdr
// repeats what the program gave to dlopen, which may be relative to a directory long left.
std::string mapped_file(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    const size_t path = line.find('/');
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 && wanted >= begin &&
        wanted < end && path != std::string::npos) {
      return line.substr(path);
    }
  }
  return "";
}

std::string own_file() {
  const auto address = reinterpret_cast<const void*>(&gpu_library_folder);
  Dl_info info{};
  const std::string name =
      dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
  const std::string path = !name.empty() && name.front() == '/' ? name : mapped_file(address);
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);  // a link may stand elsewhere
  return error ? path : canonical.string();
}

std::string last_dl_error() {
  const char* text = dlerror();
  return text == nullptr ? "no reason given" : text;
}

std::string head_refusal(const TableHead& head, size_t struct_size) {
  if (head.abi_version != MXGEMM_PLUGIN_ABI_VERSION) {
    return format_text("its interface has number %" PRIu32 "; this library needs %u",
                       head.abi_version, MXGEMM_PLUGIN_ABI_VERSION);
  }
  if (head.struct_size != struct_size) {
    return format_text("its table has %" PRIu32 " bytes; this library needs %zu", head.struct_size,
                       struct_size);
  }
  if (head.version == nullptr || std::strcmp(head.version, MXGEMM_VERSION_STRING) != 0) {
    return format_text("it is of version %s; this library is %s, and the two must be the same",
                       head.version == nullptr ? "NULL" : head.version, MXGEMM_VERSION_STRING);
  }
  return "";
}

}  // namespace

Status gpu_library_folder(std::string* folder) {
  const std::optional<std::string> wanted = env_text(kFolderVariable);
  std::error_code error;
  // A program with another user's rights must not load what its caller names.
  if (wanted && getauxval(AT_SECURE) == 0) {
    MXGEMM_REQUIRE(
        wanted->front() == '/' && fs::is_directory(*wanted, error),
        "environment variable %s is \"%s\"; it must be the absolute path of a folder that exists",
        kFolderVariable, wanted->c_str());
    *folder = *wanted;
    return {};
  }
  const fs::path own = fs::path(own_file()).parent_path();
  const fs::path below = own / "mxgemm";
  *folder = fs::is_directory(below, error) ? below.string() : own.string();
  return {};
}

std::vector<std::string> arch_library_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("libmxgemm_sm") && name.ends_with(".so")) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

OpenedLibrary open_library(const std::string& path, const char* symbol, size_t struct_size) {
  // The dynamic loader maps what the headers promise and dies by a signal where the file ends
  // before.
  if (const std::string fault = elf_file_fault(path); !fault.empty()) {
    return {nullptr, fault};
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return {nullptr, last_dl_error()};
  }
  void* function = dlsym(library, symbol);
  if (function == nullptr) {
    return {nullptr, last_dl_error()};
  }
  using TableFunction = const void* (*)();
  const void* table = reinterpret_cast<TableFunction>(function)();
  if (table == nullptr) {
    return {nullptr, format_text("%s() gives no table", symbol)};
  }
  const std::string refusal = head_refusal(*static_cast<const TableHead*>(table), struct_size);
  return {refusal.empty() ? table : nullptr, refusal};
}

}  // namespace mxgemm::internal
