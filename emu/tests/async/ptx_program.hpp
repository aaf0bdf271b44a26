// SPDX-License-Identifier: Apache-2.0
// PTX text under test: loads it, gives it device memory, runs it under every schedule policy.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "tests/kernel_runner.hpp"

namespace emu {

// The portfolio of specification 6.3, `scale` times as many seeds.
inline std::vector<Options> portfolio(uint64_t scale = 1) {
  struct Share {
    Policy policy;
    uint64_t seeds;
  };
  std::vector<Options> all;
  for (const Share share : {Share{Policy::plain, 1},
                            {Policy::random, 4},
                            {Policy::late, 2},
                            {Policy::pct, 4},
                            {Policy::late_pct, 3},
                            {Policy::early_pct, 3}}) {
    const uint64_t seeds = share.policy == Policy::plain ? 1 : share.seeds * scale;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      Options options;
      options.policy = share.policy;
      options.seed = seed;
      all.push_back(options);
    }
  }
  return all;
}

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
