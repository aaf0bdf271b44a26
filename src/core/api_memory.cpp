// SPDX-License-Identifier: Apache-2.0
// The C functions of memory, streams and events.
#include "base/require.hpp"
#include "core/buffers.hpp"
#include "core/device.hpp"
#include "core/guard.hpp"
#include "core/memory.hpp"
#include "mxgemm/mxgemm.h"

using namespace mxgemm::internal;

namespace {

// A device that is here and has memory.
Status check_present(const DeviceNames& names, int32_t device_kind, int32_t device_index) {
  MXGEMM_TRY(check_device(names, device_kind, device_index));
  return check_runnable(names, device_kind, device_index);
}

}  // namespace

mxgemm_status mxgemm_device_alloc(int32_t device_kind, int32_t device_index, uint64_t bytes,
                                  void** pointer) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("pointer", pointer));
    MXGEMM_TRY(check_present(kDeviceArguments, device_kind, device_index));
    return device_alloc({device_kind, device_index}, bytes, pointer);
  });
}

mxgemm_status mxgemm_device_free(int32_t device_kind, int32_t device_index, void* pointer) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_present(kDeviceArguments, device_kind, device_index));
    return device_free({device_kind, device_index}, pointer);
  });
}

mxgemm_status mxgemm_device_copy(int32_t dst_kind, int32_t dst_index, void* dst, int32_t src_kind,
                                 int32_t src_index, const void* src, uint64_t bytes, void* stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_present({"dst_kind", "dst_index"}, dst_kind, dst_index));
    MXGEMM_TRY(check_present({"src_kind", "src_index"}, src_kind, src_index));
    // With a GPU on either side the stream is that GPU's.
    MXGEMM_TRY(check_stream(dst_kind == MXGEMM_DEVICE_CPU ? src_kind : dst_kind, stream));
    if (bytes == 0) {
      return {};
    }
    MXGEMM_TRY(check_not_null("dst", dst));
    MXGEMM_TRY(check_not_null("src", src));
    return device_copy({dst_kind, dst_index}, dst, {src_kind, src_index}, src, bytes, stream);
  });
}

mxgemm_status mxgemm_device_synchronize(int32_t device_kind, int32_t device_index) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_present(kDeviceArguments, device_kind, device_index));
    return device_synchronize({device_kind, device_index});
  });
}

mxgemm_status mxgemm_stream_create(int32_t device_kind, int32_t device_index, void** stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("stream", stream));
    MXGEMM_TRY(check_present(kDeviceArguments, device_kind, device_index));
    return stream_create({device_kind, device_index}, stream);
  });
}

mxgemm_status mxgemm_stream_destroy(int32_t device_kind, int32_t device_index, void* stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_present(kDeviceArguments, device_kind, device_index));
    MXGEMM_TRY(check_stream(device_kind, stream));
    return stream_destroy({device_kind, device_index}, stream);
  });
}

mxgemm_status mxgemm_event_create(int32_t device_kind, int32_t device_index, mxgemm_event** event) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("event", event));
    *event = nullptr;
    MXGEMM_TRY(check_present(kDeviceArguments, device_kind, device_index));
    return event_create({device_kind, device_index}, event);
  });
}

mxgemm_status mxgemm_event_record(mxgemm_event* event, void* stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("event", event));
    MXGEMM_TRY(check_stream(event->device.kind, stream));
    return event_record(event, stream);
  });
}

mxgemm_status mxgemm_event_elapsed(mxgemm_event* start, mxgemm_event* end, float* milliseconds) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("start", start));
    MXGEMM_TRY(check_not_null("end", end));
    MXGEMM_TRY(check_not_null("milliseconds", milliseconds));
    return event_elapsed(start, end, milliseconds);
  });
}

mxgemm_status mxgemm_event_destroy(mxgemm_event* event) {
  return guard([&] { return event_destroy(event); });
}
