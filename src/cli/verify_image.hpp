// SPDX-License-Identifier: Apache-2.0
// Buffers of exactly the documented size between guard bytes, on the host and on a device.
//
//     | guard | off bytes | payload | guard |
//
// Guards of inputs hold 0xFF bytes (NaN in every format that has one), so that a kernel which reads
// beyond its operand and uses what it finds gives NaN; guards of outputs hold the reference's
// poison.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/device.hpp"

namespace mxgemm::cli {

// More than the widest row of a tile that any kernel stores at once (256 columns of fp32), and a
// multiple of the alignment of device memory, so that the payload keeps it.
constexpr uint64_t kGuardBytes = 4096;
constexpr uint8_t kInputGuard = 0xFF;

struct Image {
  Image() = default;
  // All bytes 0xFF.
  Image(uint64_t size, int64_t offset)
      : payload_begin(kGuardBytes + static_cast<uint64_t>(offset)),
        payload_bytes(size),
        bytes(payload_begin + size + kGuardBytes, kInputGuard) {}

  uint8_t* payload() { return bytes.data() + payload_begin; }
  const uint8_t* payload() const { return bytes.data() + payload_begin; }

  uint64_t payload_begin = 0;
  uint64_t payload_bytes = 0;
  std::vector<uint8_t> bytes;
};

// Where an image lies on the CPU. kFenced ends the payload at a page that may not be touched: a
// read one byte beyond it ends the program (tests only).
enum class Placement { kGuarded, kFenced };

// A copy of an image in a device's memory.
class DeviceImage {
 public:
  DeviceImage() = default;
  DeviceImage(DeviceId device, const Image& image, Placement placement = Placement::kGuarded);
  ~DeviceImage();
  DeviceImage(DeviceImage&& other) noexcept { *this = std::move(other); }
  DeviceImage& operator=(DeviceImage&& other) noexcept;

  // nullptr for an empty image that was default-constructed.
  uint8_t* payload() const { return payload_; }
  // Writes the image's bytes again; it must have the size of the first.
  void upload(const Image& image);
  // The present bytes.
  void download(Image& image) const;

 private:
  DeviceId device_;
  void* allocation_ = nullptr;
  uint64_t mapped_bytes_ = 0;  // of a fenced allocation
  uint8_t* start_ = nullptr;   // of the part of the image that is kept
  uint8_t* payload_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace mxgemm::cli
