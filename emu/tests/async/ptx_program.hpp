// SPDX-License-Identifier: Apache-2.0
// PTX text under test: loads it, gives it device memory, runs it under every schedule policy.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "tests/kernel_runner.hpp"

namespace emu {

using test::portfolio;

// One kernel called "k" whose parameters are .u64 addresses.
class PtxProgram {
 public:
  explicit PtxProgram(const std::string& text) : runner_(test::ptx_head("sm_100a") + text) {
    for (const ptx::Diagnostic& warning : runner_.program().warnings) {
      ADD_FAILURE() << "line " << warning.line << ": " << warning.message;
    }
  }

  uint64_t allocate(uint64_t bytes) {
    return runner_.memory.allocate(bytes, 0, MemoryKind::device, "cudaMalloc");
  }
  template <class T>
  uint64_t upload(const std::vector<T>& values) {
    return runner_.buffer(values);
  }
  template <class T>
  void write(uint64_t address, const std::vector<T>& values) {
    std::memcpy(reinterpret_cast<void*>(address), values.data(), values.size() * sizeof(T));
  }
  template <class T>
  std::vector<T> download(uint64_t address, size_t count) {
    return runner_.read<T>(address, count);
  }
  // One CTA of one thread; tests change what they need.
  LaunchRequest request(const std::vector<uint64_t>& params) {
    return runner_.request(params, {}, {});
  }
  LaunchResult run(const LaunchRequest& request, const Options& options) {
    return launch(request, options);
  }

 private:
  test::KernelRunner runner_;
};

}  // namespace emu
