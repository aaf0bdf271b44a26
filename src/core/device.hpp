// SPDX-License-Identifier: Apache-2.0
// Devices: which exist, what they are, and their memory and clock.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

// Names of the two arguments that say which device.
struct DeviceNames {
  const char* kind;
  const char* index;
};
constexpr DeviceNames kDeviceArguments = {"device_kind", "device_index"};
constexpr DeviceNames kDescDevice = {"desc.device_kind", "desc.device_index"};

Status device_count(int32_t device_kind, int32_t* count);
// INVALID_ARGUMENT for what can be no device, DEVICE_UNAVAILABLE for one that is not here.
Status check_device(const DeviceNames& names, int32_t device_kind, int32_t device_index);
// A stream must be NULL on the CPU.
Status check_stream(int32_t device_kind, const void* stream);

// All below: the device has been checked.
Status device_info(int32_t device_kind, int32_t device_index, mxgemm_device_info* info);
Status device_alloc(uint64_t bytes, void** pointer);
void device_free(void* pointer);

}  // namespace mxgemm::internal

// The handle of the C API.
struct mxgemm_event {
  int32_t device_kind;
  std::atomic<int64_t> nanoseconds;  // of the steady clock; below 0 = not recorded
};
