// SPDX-License-Identifier: Apache-2.0
// Memory of exactly so many bytes on a device, filled from the host and read back through the C
// ABI. On the CPU it is a heap block of its own without rounding, so that a sanitizer sees an
// access past its end.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mxgemm/mxgemm.h"

namespace mxgemm::test {

struct Device {
  int32_t kind = MXGEMM_DEVICE_CPU;
  int32_t index = 0;
};

class DeviceBuffer {
 public:
  // Bytes before what `data()` points to, to test a pointer that is aligned to its element only.
  DeviceBuffer(Device device, const void* source, uint64_t bytes, uint64_t offset = 0)
      : device_(device), bytes_(bytes), offset_(offset) {
    const uint64_t total = bytes + offset;
    if (total != 0 && is_cpu()) {
      // Packed weights are aligned to 64 bytes.
      EXPECT_EQ(posix_memalign(&memory_, 64, total), 0);
      std::memset(memory_, 0xFF, total);
    } else if (total != 0) {
      EXPECT_EQ(mxgemm_device_alloc(device_.kind, device_.index, total, &memory_), MXGEMM_OK)
          << mxgemm_last_error();
    }
    if (source != nullptr && bytes != 0) {
      copy(data(), device_, source, Device{});
    }
  }
  DeviceBuffer(Device device, uint64_t bytes) : DeviceBuffer(device, nullptr, bytes) {}
  ~DeviceBuffer() {
    if (is_cpu()) {
      std::free(memory_);
    } else {
      EXPECT_EQ(mxgemm_device_free(device_.kind, device_.index, memory_), MXGEMM_OK)
          << mxgemm_last_error();
    }
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // NULL for nothing.
  uint8_t* data() const {
    return memory_ == nullptr ? nullptr : static_cast<uint8_t*>(memory_) + offset_;
  }
  uint64_t bytes() const { return bytes_; }

  std::vector<uint8_t> download() const {
    std::vector<uint8_t> host(bytes_);
    if (bytes_ != 0) {
      copy(host.data(), Device{}, data(), device_);
    }
    return host;
  }

 private:
  bool is_cpu() const { return device_.kind == MXGEMM_DEVICE_CPU; }
  void copy(void* to, Device to_device, const void* from, Device from_device) const {
    EXPECT_EQ(mxgemm_device_copy(to_device.kind, to_device.index, to, from_device.kind,
                                 from_device.index, from, bytes_, nullptr),
              MXGEMM_OK)
        << mxgemm_last_error();
  }

  Device device_;
  uint64_t bytes_;
  uint64_t offset_;
  void* memory_ = nullptr;
};

}  // namespace mxgemm::test
