// SPDX-License-Identifier: Apache-2.0
#include "core/memory.hpp"

#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/math.hpp"
#include "base/require.hpp"
#include "core/backend_call.hpp"
#include "core/cuda_state.hpp"

namespace mxgemm::internal {
namespace {

// What mxgemm_device_alloc promises; the alignment of a workspace, so that one serves as the other.
constexpr uint64_t kAllocationAlignment = 256;
// How the runtime library numbers the host.
constexpr int32_t kHost = -1;

bool is_cpu(Device device) {
  return device.kind == MXGEMM_DEVICE_CPU;
}

// A function of the runtime library, called with the arguments.
template <typename Member, typename... Arguments>
Status cuda(Member member, Arguments... arguments) {
  const CudaState* state = nullptr;
  MXGEMM_TRY(cuda_state(&state));
  return call_backend(state->runtime->*member, arguments...);
}

using Runtime = mxgemm_cuda_runtime_table;

}  // namespace

Status host_alloc(uint64_t bytes, void** pointer) {
  *pointer = nullptr;
  if (bytes == 0) {
    return {};
  }
  if (bytes <= SIZE_MAX - kAllocationAlignment) {
    *pointer = std::aligned_alloc(kAllocationAlignment, round_up(bytes, kAllocationAlignment));
  }
  if (*pointer == nullptr) {
    return {StatusCode::kOutOfMemory,
            format_text("bytes is %" PRIu64 "; the host has no such memory", bytes)};
  }
  return {};
}

void host_free(void* pointer) {
  std::free(pointer);
}

Status device_alloc(Device device, uint64_t bytes, void** pointer) {
  if (is_cpu(device)) {
    return host_alloc(bytes, pointer);
  }
  *pointer = nullptr;
  return bytes == 0 ? Status() : cuda(&Runtime::alloc, device.index, bytes, pointer);
}

Status device_free(Device device, void* pointer) {
  if (is_cpu(device)) {
    host_free(pointer);
    return {};
  }
  return pointer == nullptr ? Status() : cuda(&Runtime::free, device.index, pointer);
}

Status device_copy(Device dst_device, void* dst, Device src_device, const void* src, uint64_t bytes,
                   void* stream) {
  if (is_cpu(dst_device) && is_cpu(src_device)) {
    std::memmove(dst, src, bytes);
    return {};
  }
  return cuda(&Runtime::copy, is_cpu(dst_device) ? kHost : dst_device.index, dst,
              is_cpu(src_device) ? kHost : src_device.index, src, bytes, stream);
}

Status device_synchronize(Device device) {
  return is_cpu(device) ? Status() : cuda(&Runtime::synchronize, device.index);
}

Status stream_create(Device device, void** stream) {
  *stream = nullptr;  // the CPU's only stream
  return is_cpu(device) ? Status() : cuda(&Runtime::stream_create, device.index, stream);
}

Status stream_destroy(Device device, void* stream) {
  return is_cpu(device) || stream == nullptr ? Status()
                                             : cuda(&Runtime::stream_destroy, device.index, stream);
}

Status event_create(Device device, mxgemm_event** event) {
  std::unique_ptr<mxgemm_event> made(new mxgemm_event{device, nullptr, {-1}});
  if (!is_cpu(device)) {
    MXGEMM_TRY(cuda(&Runtime::event_create, device.index, &made->handle));
  }
  *event = made.release();
  return {};
}

Status event_record(mxgemm_event* event, void* stream) {
  if (is_cpu(event->device)) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    event->nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    return {};
  }
  MXGEMM_TRY(cuda(&Runtime::event_record, event->device.index, event->handle, stream));
  event->nanoseconds = 0;
  return {};
}

Status event_elapsed(mxgemm_event* start, mxgemm_event* end, float* milliseconds) {
  MXGEMM_REQUIRE(start->device.kind == end->device.kind && start->device.index == end->device.index,
                 "start and end are events of two devices; they must be of one");
  const int64_t begin = start->nanoseconds;
  const int64_t finish = end->nanoseconds;
  MXGEMM_REQUIRE(begin >= 0, "start has not been recorded; call mxgemm_event_record first");
  MXGEMM_REQUIRE(finish >= 0, "end has not been recorded; call mxgemm_event_record first");
  if (!is_cpu(start->device)) {
    return cuda(&Runtime::event_elapsed, start->device.index, start->handle, end->handle,
                milliseconds);
  }
  *milliseconds = static_cast<float>(static_cast<double>(finish - begin) * 1e-6);
  return {};
}

Status event_destroy(mxgemm_event* event) {
  const std::unique_ptr<mxgemm_event> owned(event);
  return event == nullptr || is_cpu(event->device)
             ? Status()
             : cuda(&Runtime::event_destroy, event->device.index, event->handle);
}

}  // namespace mxgemm::internal
