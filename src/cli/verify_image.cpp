// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_image.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "cli/program.hpp"

namespace mxgemm::cli {

DeviceImage::DeviceImage(DeviceId device, const Image& image, Placement placement)
    : device_(device), bytes_(image.bytes.size()) {
  if (placement == Placement::kFenced && device.kind == MXGEMM_DEVICE_CPU) {
    bytes_ = image.payload_begin + image.payload_bytes;
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t usable = (bytes_ + page - 1) / page * page;
    mapped_bytes_ = usable + page;
    allocation_ =
        mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (allocation_ == MAP_FAILED) {
      allocation_ = nullptr;
      throw std::bad_alloc();
    }
    uint8_t* const fence = static_cast<uint8_t*>(allocation_) + usable;
    mprotect(fence, page, PROT_NONE);
    start_ = fence - bytes_;
  } else {
    check(mxgemm_device_alloc(device.kind, device.index, bytes_, &allocation_));
    start_ = static_cast<uint8_t*>(allocation_);
  }
  payload_ = start_ + image.payload_begin;
  upload(image);
}

DeviceImage::~DeviceImage() {
  if (mapped_bytes_ != 0) {
    munmap(allocation_, mapped_bytes_);
  } else if (allocation_ != nullptr) {
    mxgemm_device_free(device_.kind, device_.index, allocation_);
  }
}

DeviceImage& DeviceImage::operator=(DeviceImage&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(allocation_, other.allocation_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(start_, other.start_);
  std::swap(payload_, other.payload_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void DeviceImage::upload(const Image& image) {
  check(mxgemm_device_copy(device_.kind, device_.index, start_, MXGEMM_DEVICE_CPU, 0,
                           image.bytes.data(), bytes_, nullptr));
}

void DeviceImage::download(Image& image) const {
  check(mxgemm_device_copy(MXGEMM_DEVICE_CPU, 0, image.bytes.data(), device_.kind, device_.index,
                           start_, bytes_, nullptr));
}

}  // namespace mxgemm::cli
