// SPDX-License-Identifier: Apache-2.0
// What the libraries of the process have registered: fat binaries, kernels, variables.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/program.hpp"
#include "fatbin/container.hpp"

namespace emu::runtime {

struct FatBinary {
  std::string library;  // the file it lies in
  std::string text;     // PTX that was loaded from memory: the container's only entry
  std::string fault;    // not empty: why nothing in it can be run
  fatbin::Container container;
  // Parsed PTX by entry, for all devices; null once parsing has failed.
  std::map<const fatbin::Entry*, std::shared_ptr<const Program>> programs;
  std::map<const fatbin::Entry*, std::string> program_faults;
  // By device: its image's program and variables. Shared with launches that have not run yet.
  struct Loaded {
    std::shared_ptr<const Program> program;
    std::shared_ptr<const ModuleInstance> instance;
  };
  std::map<int, Loaded> loaded;
};

struct Kernel {
  FatBinary* binary = nullptr;
  std::string name;  // mangled
  const void* stub = nullptr;
  // By device: what cudaFuncSetAttribute has set.
  struct Settings {
    int max_dynamic_shared = 0;  // 0: as it comes
    bool non_portable_cluster = false;
    int carveout = -1;
  };
  std::map<int, Settings> settings;
};

struct Variable {
  FatBinary* binary = nullptr;
  std::string name;
  uint64_t bytes = 0;
  bool is_constant = false;
};

class Registry {
 public:
  FatBinary* add_binary(const void* wrapper, std::string library);
  // A module's PTX in place of a container.
  FatBinary* add_text(std::string text);
  void remove_binary(FatBinary* binary);
  // Keeps the first of two kernels that share a stub; the text says which two, or is empty.
  std::string add_kernel(FatBinary* binary, const void* stub, std::string name);
  // The kernel of a library that was loaded as text: it has no host function.
  Kernel* named_kernel(FatBinary* binary, const std::string& name);
  void add_variable(const void* host_address, Variable variable);

  // By stub address or by kernel handle; null where neither.
  Kernel* find_kernel(const void* stub_or_handle);
  Variable* find_variable(const void* host_address);
  bool has_binary(const FatBinary* binary) const;
  // Forgets what was loaded and set on the device: its memory is gone.
  void unload(int device);
  // Forgets what cudaFuncSetAttribute has set.
  void forget_settings();
  const std::map<const void*, std::unique_ptr<Kernel>>& kernels() const { return by_stub_; }

 private:
  std::vector<std::unique_ptr<FatBinary>> binaries_;
  std::map<const void*, std::unique_ptr<Kernel>> by_stub_;
  std::map<const void*, Kernel*> by_handle_;
  std::map<const void*, Variable> variables_;
};

}  // namespace emu::runtime
