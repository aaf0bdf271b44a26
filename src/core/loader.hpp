// SPDX-License-Identifier: Apache-2.0
// The GPU libraries of this installation: which there are, which serve a device, and why the others
// do not. A library is loaded when a device that it may serve is first asked for, and stays.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/status.hpp"
#include "core/arch_name.hpp"
#include "plugin/plugin_abi.h"

namespace mxgemm::internal {

struct GpuLibrary;

struct RegisteredKernel {
  const mxgemm_kernel* kernel;
  int32_t device_kind;
  std::string id;                       // "cpu:avx512:gemm_mxf4_mxf4_any_8x32x32"
  const GpuLibrary* library = nullptr;  // null on the CPU
};

struct GpuLibrary {
  std::string path;
  ArchName arch;
  // Set by loading, which happens once.
  const mxgemm_plugin_table* table = nullptr;  // null where it is not loaded
  std::string refusal;                         // why it cannot be loaded
  std::vector<RegisteredKernel> kernels;

  // Why it does not serve devices of `capability`, "" if it does.
  std::string device_refusal(int32_t capability) const;
  // "10.0, 10.3"; "" where it is not loaded.
  std::string capabilities() const;
};

// A library that a device may ask for, and why it does not serve it ("" if it does).
struct LibraryChoice {
  const GpuLibrary* library;
  std::string refusal;
};

class Loader {
 public:
  explicit Loader(const std::string& folder);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  const std::string& folder() const { return folder_; }

  // Every library found, those that serve the capability first and best first. The result stays
  // valid.
  const std::vector<LibraryChoice>& choices(int32_t capability);
  // Every library, loaded where it can be; newest architecture first.
  std::vector<const GpuLibrary*> load_all();
  // Files whose names look like libraries' and name no architecture.
  const std::vector<std::string>& unknown_files() const { return unknown_files_; }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Entry {
    GpuLibrary library;
    bool tried = false;
  };

  // Lines for the log, written when the lock is no longer held: whoever receives them may call
  // back.
  using Notes = std::vector<std::pair<LogLevel, std::string>>;
  static void load(Entry* entry, Notes* notes);
  static void write(const Notes& notes);
  std::vector<LibraryChoice> choose(int32_t capability, Notes* notes);

  const std::string folder_;
  std::vector<std::string> unknown_files_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;  // newest architecture first
  std::map<int32_t, std::vector<LibraryChoice>> choices_;
};

// The process's loader, on the folder that gpu_library_folder says.
Status gpu_loader(Loader** loader);

}  // namespace mxgemm::internal
