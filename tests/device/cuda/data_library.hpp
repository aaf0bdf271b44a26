// SPDX-License-Identifier: Apache-2.0
// A GPU architecture's library opened by hand, and memory on the device: its functions on
// block-scaled data are tested one library at a time, whichever the core would choose.
#pragma once

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::test {

[[noreturn]] inline void give_up(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(4);
}

inline void must(cudaError_t result, const char* what) {
  if (result != cudaSuccess) {
    give_up(what, cudaGetErrorString(result));
  }
}

inline std::vector<uint8_t> bytes_of(float value) {
  std::vector<uint8_t> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// Exactly so many bytes, so that compute-sanitizer sees an access past their end; the first
// `offset` of them are skipped.
class DeviceBytes {
 public:
  explicit DeviceBytes(const std::vector<uint8_t>& host, size_t offset = 0) : offset_(offset) {
    bytes_ = host.size();
    if (bytes_ != 0) {
      must(cudaMalloc(&memory_, bytes_ + offset), "cudaMalloc");
      must(cudaMemset(memory_, 0xA5, bytes_ + offset), "cudaMemset");
      must(cudaMemcpy(data(), host.data(), bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
  }
  // Poisoned.
  explicit DeviceBytes(size_t bytes) : bytes_(bytes) {
    must(cudaMalloc(&memory_, bytes), "cudaMalloc");
    must(cudaMemset(memory_, 0xA5, bytes), "cudaMemset");
  }
  ~DeviceBytes() { cudaFree(memory_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  uint8_t* data() const {
    return memory_ == nullptr ? nullptr : static_cast<uint8_t*>(memory_) + offset_;
  }
  std::vector<uint8_t> download() const {
    std::vector<uint8_t> host(bytes_);
    if (bytes_ != 0) {
      must(cudaMemcpy(host.data(), data(), bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    return host;
  }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  size_t offset_ = 0;
};

// The functions of the library at `path`, prepared on device 0.
inline const mxgemm_data_functions& open_data_functions(const char* path) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    give_up(path, dlerror());
  }
  const auto entry = reinterpret_cast<mxgemm_plugin_function>(dlsym(handle, MXGEMM_PLUGIN_SYMBOL));
  if (entry == nullptr) {
    give_up(path, "it has no " MXGEMM_PLUGIN_SYMBOL);
  }
  const mxgemm_plugin_table* table = entry();
  if (table->data == nullptr) {
    give_up(path, "its table has no functions on block-scaled data");
  }
  char text[512] = "";
  if (table->data->prepare(0, {text, sizeof(text)}) != MXGEMM_OK) {
    give_up(path, text);
  }
  return *table->data;
}

}  // namespace mxgemm::test
