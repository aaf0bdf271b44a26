// SPDX-License-Identifier: Apache-2.0
// Devices: which exist and what they are.
#pragma once

#include <cstdint>
#include <string>

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
// INVALID_ARGUMENT for what can be no device, DEVICE_UNAVAILABLE for one that is not here. A fake
// device is here.
Status check_device(const DeviceNames& names, int32_t device_kind, int32_t device_index);
// A stream must be NULL on the CPU.
Status check_stream(int32_t device_kind, const void* stream);

// All below: the device has been checked.

// DEVICE_UNAVAILABLE for a fake device, which has neither memory nor kernels.
Status check_runnable(const DeviceNames& names, int32_t device_kind, int32_t device_index);
Status is_fake_device(int32_t device_kind, bool* is_fake);
Status device_info(int32_t device_kind, int32_t device_index, mxgemm_device_info* info);
// 10 * major + minor; 0 on the CPU. Each device has its own, whichever was asked for first.
Status device_capability(int32_t device_kind, int32_t device_index, int32_t* capability);
// " on cuda:2 (compute capability 7.5)", "" on the CPU; for messages.
std::string describe_device(const mxgemm_gemm_desc& desc, int32_t capability);
// After a call into a GPU library that returned `code`: a failure must not be found again by the
// next call.
void forget_device_error(int32_t device_kind, StatusCode code);

}  // namespace mxgemm::internal
