// SPDX-License-Identifier: Apache-2.0
// Host memory where a device can use it: on the CPU the memory itself, on a GPU a copy in a buffer
// that is kept and grows.
#pragma once

#include <cstdint>

#include "cli/device.hpp"

namespace mxgemm::cli {

class Staging {
 public:
  explicit Staging(DeviceId device) : device_(device) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // For a call that reads `bytes` bytes at `host`.
  const void* in(const void* host, uint64_t bytes);
  // For a call that writes them; `fetch` brings them to `host`.
  void* out(void* host, uint64_t bytes);
  void fetch(void* host, uint64_t bytes) const;
  // A buffer on the device, aligned as workspaces are.
  void* scratch(uint64_t bytes);

 private:
  bool on_host() const { return device_.kind == MXGEMM_DEVICE_CPU; }
  void reserve(uint64_t bytes);

  DeviceId device_;
  void* memory_ = nullptr;
  uint64_t capacity_ = 0;
};

}  // namespace mxgemm::cli
