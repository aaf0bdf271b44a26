// SPDX-License-Identifier: Apache-2.0
#include "cli/staging.hpp"

#include "cli/program.hpp"

namespace mxgemm::cli {

Staging::~Staging() {
  mxgemm_device_free(device_.kind, device_.index, memory_);
}

const void* Staging::in(const void* host, uint64_t bytes) {
  if (on_host() || host == nullptr || bytes == 0) {
    return host;
  }
  reserve(bytes);
  check(mxgemm_device_copy(device_.kind, device_.index, memory_, MXGEMM_DEVICE_CPU, 0, host, bytes,
                           nullptr));
  return memory_;
}

void* Staging::out(void* host, uint64_t bytes) {
  if (on_host() || bytes == 0) {
    return host;
  }
  reserve(bytes);
  return memory_;
}

void Staging::fetch(void* host, uint64_t bytes) const {
  if (!on_host()) {
    check(mxgemm_device_copy(MXGEMM_DEVICE_CPU, 0, host, device_.kind, device_.index, memory_,
                             bytes, nullptr));
  }
}

void* Staging::scratch(uint64_t bytes) {
  reserve(bytes);
  return memory_;
}

void Staging::reserve(uint64_t bytes) {
  if (bytes <= capacity_) {
    return;
  }
  check(mxgemm_device_free(device_.kind, device_.index, memory_));
  memory_ = nullptr;
  capacity_ = 0;
  check(mxgemm_device_alloc(device_.kind, device_.index, bytes, &memory_));
  capacity_ = bytes;
}

}  // namespace mxgemm::cli
