// SPDX-License-Identifier: Apache-2.0
// Runs kernels given as PTX text: the shortest way from a test to the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "exec/launch.hpp"

namespace emu::test {

inline std::string ptx_head(const std::string& target = "sm_80") {
  return ".version 8.8\n.target " + target + "\n.address_size 64\n";
}

// A kernel `k` with one pointer parameter and the given body.
inline std::string kernel(const std::string& body, const std::string& target = "sm_80",
                          const std::string& before = "") {
  return ptx_head(target) + before + ".visible .entry k(.param .u64 out)\n{\n" + body +
         "\nret;\n}\n";
}

class KernelRunner {
 public:
  explicit KernelRunner(const std::string& text) : loaded_(load_program(text, "test.ptx")) {
    for (const ptx::Diagnostic& e : loaded_.errors) {
      ADD_FAILURE() << "line " << e.line << ": " << e.message;
    }
    if (loaded_.program != nullptr) {
      instantiate(*loaded_.program, memory, 0, &instance_);
    }
  }

  const Program& program() const { return *loaded_.program; }
  const ModuleInstance& instance() const { return instance_; }

  // Space for `count` values that the kernel's first parameter points to.
  template <class T>
  uint64_t buffer(const std::vector<T>& values) {
    const uint64_t address =
        memory.allocate(values.size() * sizeof(T), 0, MemoryKind::device, "buffer");
    std::memcpy(reinterpret_cast<void*>(address), values.data(), values.size() * sizeof(T));
    return address;
  }
  template <class T>
  std::vector<T> read(uint64_t address, size_t count) const {
    std::vector<T> out(count);
    std::memcpy(out.data(), reinterpret_cast<const void*>(address), count * sizeof(T));
    return out;
  }

  LaunchResult run(const std::vector<uint64_t>& params, Dim3 grid, Dim3 block,
                   const char* name = "k") {
    LaunchRequest request = this->request(params, grid, block, name);
    return launch(request, options);
  }

  LaunchRequest request(const std::vector<uint64_t>& params, Dim3 grid, Dim3 block,
                        const char* name = "k") {
    LaunchRequest r;
    r.program = loaded_.program;
    r.kernel = loaded_.program->find_kernel(name);
    r.instance = &instance_;
    r.grid = grid;
    r.block = block;
    r.cluster = cluster;
    r.dynamic_shared_bytes = dynamic_shared;
    r.params.resize(params.size() * 8);
    std::memcpy(r.params.data(), params.data(), r.params.size());
    if (r.kernel != nullptr) {
      r.params.resize(r.kernel->param_bytes);
    }
    r.memory = &memory;
    return r;
  }

  GlobalMemory memory;
  Options options;
  Dim3 cluster;
  uint32_t dynamic_shared = 0;

 private:
  LoadResult loaded_;
  ModuleInstance instance_;
};

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

// f(options) for each.
template <class F>
void for_portfolio(F f) {
  for (const Options& options : portfolio()) {
    f(options);
  }
}

}  // namespace emu::test
