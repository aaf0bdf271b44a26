// SPDX-License-Identifier: Apache-2.0
// Part of mxgemm.hpp: devices, their memory, streams and events; settings of the CPU backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mxgemm/types.hpp"

namespace mxgemm {

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int32_t index = 0;

  static int32_t count(DeviceKind kind) {
    int32_t result = 0;
    detail::check(mxgemm_device_count(detail::value(kind), &result));
    return result;
  }
  mxgemm_device_info info() const {
    mxgemm_device_info result = MXGEMM_DEVICE_INFO_INIT;
    detail::check(mxgemm_device_info_get(detail::value(kind), index, &result));
    return result;
  }
  void synchronize() const { detail::check(mxgemm_device_synchronize(detail::value(kind), index)); }
};

// Every kernel of the library, best first per device kind.
inline std::vector<mxgemm_kernel_info> kernels() {
  int32_t count = 0;
  detail::check(mxgemm_kernel_count(&count));
  std::vector<mxgemm_kernel_info> result(static_cast<size_t>(count),
                                         mxgemm_kernel_info MXGEMM_KERNEL_INFO_INIT);
  for (int32_t index = 0; index < count; ++index) {
    detail::check(mxgemm_kernel_info_get(index, &result[static_cast<size_t>(index)]));
  }
  return result;
}

// Threads of the CPU backend; 0 = default.
inline void set_num_threads(int32_t num_threads) {
  detail::check(mxgemm_set_num_threads(num_threads));
}
inline int32_t num_threads() {
  int32_t result = 0;
  detail::check(mxgemm_get_num_threads(&result));
  return result;
}
// Highest level that the CPU backend may use; reset_max_isa goes back to MXGEMM_MAX_ISA, else the
// highest offered.
inline void set_max_isa(Isa isa) {
  detail::check(mxgemm_set_max_isa(detail::value(isa)));
}
inline void reset_max_isa() {
  detail::check(mxgemm_set_max_isa(-1));
}

class Stream {
 public:
  explicit Stream(Device device = {}) : device_(device) {
    detail::check(mxgemm_stream_create(detail::value(device.kind), device.index, &handle_));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { mxgemm_stream_destroy(detail::value(device_.kind), device_.index, handle_); }
  void* get() const noexcept { return handle_; }

 private:
  Device device_;
  void* handle_ = nullptr;
};

class Event {
 public:
  explicit Event(Device device = {}) {
    mxgemm_event* handle = nullptr;
    detail::check(mxgemm_event_create(detail::value(device.kind), device.index, &handle));
    handle_.reset(handle);
  }
  void record(void* stream = nullptr) { detail::check(mxgemm_event_record(handle_.get(), stream)); }
  // Milliseconds from `start` to this event.
  float elapsed_since(const Event& start) const {
    float result = 0.0f;
    detail::check(mxgemm_event_elapsed(start.handle_.get(), handle_.get(), &result));
    return result;
  }

 private:
  struct Destroy {
    void operator()(mxgemm_event* event) const noexcept { mxgemm_event_destroy(event); }
  };
  std::unique_ptr<mxgemm_event, Destroy> handle_;
};

// Memory of a device, 256-byte aligned.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(uint64_t bytes, Device device = {}) : device_(device), bytes_(bytes) {
    detail::check(mxgemm_device_alloc(detail::value(device.kind), device.index, bytes, &data_));
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() { mxgemm_device_free(detail::value(device_.kind), device_.index, data_); }

  void* data() noexcept { return data_; }
  const void* data() const noexcept { return data_; }
  uint64_t size() const noexcept { return bytes_; }
  Device device() const noexcept { return device_; }

  // Between this buffer's start and host memory; complete on return.
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void copy_from(std::span<const T> host, void* stream = nullptr) {
    require_room(host.size_bytes());
    detail::check(mxgemm_device_copy(detail::value(device_.kind), device_.index, data_,
                                     MXGEMM_DEVICE_CPU, 0, host.data(), host.size_bytes(), stream));
  }
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void copy_to(std::span<T> host, void* stream = nullptr) const {
    require_room(host.size_bytes());
    detail::check(mxgemm_device_copy(MXGEMM_DEVICE_CPU, 0, host.data(), detail::value(device_.kind),
                                     device_.index, data_, host.size_bytes(), stream));
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  void require_room(size_t bytes) const {
    if (bytes > bytes_) {
      throw Error(Status::kInvalidArgument, "host has " + std::to_string(bytes) +
                                                " bytes; the buffer holds " +
                                                std::to_string(bytes_));
    }
  }

  Device device_;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace mxgemm
