// SPDX-License-Identifier: Apache-2.0
// Memory, streams and events of every kind of device. Devices have been checked and are no fakes.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

struct Device {
  int32_t kind;
  int32_t index;
};

// Host memory, aligned to 256 bytes as device memory is, so that it serves as a workspace.
Status host_alloc(uint64_t bytes, void** pointer);
void host_free(void* pointer);

Status device_alloc(Device device, uint64_t bytes, void** pointer);
Status device_free(Device device, void* pointer);
Status device_copy(Device dst_device, void* dst, Device src_device, const void* src, uint64_t bytes,
                   void* stream);
Status device_synchronize(Device device);
Status stream_create(Device device, void** stream);
Status stream_destroy(Device device, void* stream);
Status event_create(Device device, mxgemm_event** event);
Status event_record(mxgemm_event* event, void* stream);
Status event_elapsed(mxgemm_event* start, mxgemm_event* end, float* milliseconds);
Status event_destroy(mxgemm_event* event);

}  // namespace mxgemm::internal

// The handle of the C API.
struct mxgemm_event {
  mxgemm::internal::Device device;
  void* handle;  // cudaEvent_t; null on the CPU
  // CPU: of the steady clock. CUDA: 0 once recorded. Below 0 = not recorded.
  std::atomic<int64_t> nanoseconds;
};
