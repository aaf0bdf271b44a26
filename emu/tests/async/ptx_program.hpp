// SPDX-License-Identifier: Apache-2.0
// PTX text under test: loads it, gives it device memory, runs it under every schedule policy.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "exec/launch.hpp"

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
  static constexpr const char* kHeader = ".version 9.0\n.target sm_100a\n.address_size 64\n";

  explicit PtxProgram(const std::string& text) {
    const LoadResult loaded = load_program(kHeader + text, "test");
    for (const ptx::Diagnostic& error : loaded.errors) {
      ADD_FAILURE() << "line " << error.line << ": " << error.message;
    }
    program_ = loaded.program;
    if (program_ == nullptr) {
      return;
    }
    for (const ptx::Diagnostic& warning : program_->warnings) {
      ADD_FAILURE() << "line " << warning.line << ": " << warning.message;
    }
    const GlobalMemory::Access open(memory_);
    EXPECT_TRUE(instantiate(*program_, memory_, 0, &instance_));
  }

  uint64_t allocate(uint64_t bytes) {
    return memory_.allocate(bytes, 0, MemoryKind::device, "cudaMalloc");
  }
  template <class T>
  uint64_t upload(const std::vector<T>& values) {
    const uint64_t address = allocate(values.size() * sizeof(T));
    write(address, values);
    return address;
  }
  template <class T>
  void write(uint64_t address, const std::vector<T>& values) {
    const GlobalMemory::Access open(memory_);
    std::memcpy(reinterpret_cast<void*>(address), values.data(), values.size() * sizeof(T));
  }
  template <class T>
  std::vector<T> download(uint64_t address, size_t count) {
    const GlobalMemory::Access open(memory_);
    std::vector<T> values(count);
    std::memcpy(values.data(), reinterpret_cast<const void*>(address), count * sizeof(T));
    return values;
  }

  LaunchRequest request(const std::vector<uint64_t>& params) {
    LaunchRequest r;
    r.program = program_;
    r.kernel = program_ == nullptr ? nullptr : program_->find_kernel("k");
    r.instance = &instance_;
    r.memory = &memory_;
    r.params.resize(params.size() * sizeof(uint64_t));
    std::memcpy(r.params.data(), params.data(), r.params.size());
    return r;
  }
  LaunchResult run(const LaunchRequest& r, const Options& options) {
    const GlobalMemory::Access open(memory_);
    return launch(r, options);
  }

 private:
  GlobalMemory memory_;
  std::shared_ptr<const Program> program_;
  ModuleInstance instance_;
};

}  // namespace emu
