// SPDX-License-Identifier: Apache-2.0
// The C functions of memory, streams and events.
#include <chrono>
#include <cstring>
#include <memory>

#include "base/require.hpp"
#include "core/buffers.hpp"
#include "core/device.hpp"
#include "core/guard.hpp"
#include "mxgemm/mxgemm.h"

using namespace mxgemm::internal;

mxgemm_status mxgemm_device_alloc(int32_t device_kind, int32_t device_index, uint64_t bytes,
                                  void** pointer) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("pointer", pointer));
    MXGEMM_TRY(check_device(kDeviceArguments, device_kind, device_index));
    return device_alloc(bytes, pointer);
  });
}

mxgemm_status mxgemm_device_free(int32_t device_kind, int32_t device_index, void* pointer) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_device(kDeviceArguments, device_kind, device_index));
    device_free(pointer);
    return {};
  });
}

mxgemm_status mxgemm_device_copy(int32_t dst_kind, int32_t dst_index, void* dst, int32_t src_kind,
                                 int32_t src_index, const void* src, uint64_t bytes, void* stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_device({"dst_kind", "dst_index"}, dst_kind, dst_index));
    MXGEMM_TRY(check_device({"src_kind", "src_index"}, src_kind, src_index));
    MXGEMM_TRY(check_stream(dst_kind, stream));
    if (bytes == 0) {
      return {};
    }
    MXGEMM_TRY(check_not_null("dst", dst));
    MXGEMM_TRY(check_not_null("src", src));
    std::memmove(dst, src, bytes);
    return {};
  });
}

mxgemm_status mxgemm_device_synchronize(int32_t device_kind, int32_t device_index) {
  return guard([&] { return check_device(kDeviceArguments, device_kind, device_index); });
}

mxgemm_status mxgemm_stream_create(int32_t device_kind, int32_t device_index, void** stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("stream", stream));
    MXGEMM_TRY(check_device(kDeviceArguments, device_kind, device_index));
    *stream = nullptr;  // the CPU's only stream
    return {};
  });
}

mxgemm_status mxgemm_stream_destroy(int32_t device_kind, int32_t device_index, void* stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_device(kDeviceArguments, device_kind, device_index));
    return check_stream(device_kind, stream);
  });
}

mxgemm_status mxgemm_event_create(int32_t device_kind, int32_t device_index, mxgemm_event** event) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("event", event));
    *event = nullptr;
    MXGEMM_TRY(check_device(kDeviceArguments, device_kind, device_index));
    *event = new mxgemm_event{device_kind, -1};
    return {};
  });
}

mxgemm_status mxgemm_event_record(mxgemm_event* event, void* stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("event", event));
    MXGEMM_TRY(check_stream(event->device_kind, stream));
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    event->nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    return {};
  });
}

mxgemm_status mxgemm_event_elapsed(mxgemm_event* start, mxgemm_event* end, float* milliseconds) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("start", start));
    MXGEMM_TRY(check_not_null("end", end));
    MXGEMM_TRY(check_not_null("milliseconds", milliseconds));
    const int64_t begin = start->nanoseconds;
    const int64_t finish = end->nanoseconds;
    MXGEMM_REQUIRE(begin >= 0, "start has not been recorded; call mxgemm_event_record first");
    MXGEMM_REQUIRE(finish >= 0, "end has not been recorded; call mxgemm_event_record first");
    *milliseconds = static_cast<float>(static_cast<double>(finish - begin) * 1e-6);
    return {};
  });
}

mxgemm_status mxgemm_event_destroy(mxgemm_event* event) {
  return guard([&]() -> Status {
    delete event;
    return {};
  });
}
