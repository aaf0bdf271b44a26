// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include "runtime/capture.hpp"

using namespace emu::runtime;

namespace {

constexpr int kGreatestPriority = -5;
// One interpreted warp instruction counts as this many milliseconds on the emulated clock.
constexpr double kMillisecondsPerStep = 1e-5;

cudaError_t create_stream(const char* name, cudaStream_t* out, unsigned flags, int priority) {
  return device_api(name, [&](Session& s) {
    if (out == nullptr || (flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the result is null, or flags is " +
                                               std::to_string(flags) + "; allowed: 0, 1");
    }
    auto stream = std::make_shared<Stream>();
    stream->device = s.device_index();
    stream->flags = flags;
    stream->priority = std::min(std::max(priority, kGreatestPriority), 0);
    stream->id = s.rt.next_id++;
    *out = s.rt.make_handle<cudaStream_t>();
    s.rt.streams[*out] = std::move(stream);
    return cudaSuccess;
  });
}

// `body(session, stream)` for a stream that exists.
template <typename Body>
cudaError_t with_stream(const char* name, cudaStream_t handle, const Body& body) {
  return device_api(name, [&](Session& s) {
    const StreamPtr stream = s.find_stream(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : body(s, stream);
  });
}

template <typename Body>
cudaError_t with_event(const char* name, cudaEvent_t handle, const Body& body) {
  return device_api(name, [&](Session& s) {
    const EventPtr event = s.find_event(handle);
    return event == nullptr ? cudaErrorInvalidResourceHandle : body(s, event);
  });
}

// For waiting and asking: neither goes with a capture.
cudaError_t refuse_wait(Session& s, const StreamPtr& stream) {
  const cudaError_t error = refuse_capturing(s, stream);
  return error != cudaSuccess ? error : s.refuse_in_capture();
}

cudaError_t refuse_captured(Session& s, const Event& event) {
  return event.capture == nullptr ? cudaSuccess
                                  : s.fail(cudaErrorCapturedEvent,
                                           "the event was last recorded in a stream that captured");
}

// The legacy stream stands for all blocking ones.
void wait_for_stream(Session& s, const StreamPtr& stream) {
  std::vector<WorkPtr> targets = {stream->last};
  if (stream->is_legacy) {
    for (const auto& [handle, other] : s.rt.streams) {
      if (other->device == stream->device && other->is_blocking()) {
        targets.push_back(other->last);
      }
    }
  }
  s.executor().wait(s.lock, targets);
}

bool is_done(const WorkPtr& work) {
  return work == nullptr || work->state == Work::State::kDone;
}

cudaError_t query(Session& s, const WorkPtr& work, int device) {
  if (!is_done(work)) {
    s.executor().nudge(s.lock, work);
  }
  const cudaError_t error = s.device_error(device);
  return error != cudaSuccess || is_done(work) ? error : cudaErrorNotReady;
}

Task host_task(const Stream& stream, std::function<void()> function) {
  Task task;
  task.kind = TaskKind::kHost;
  task.what = "a host function";
  task.device = stream.device;
  task.run = [function = std::move(function)] {
    this_thread().in_host_function = true;
    function();
    this_thread().in_host_function = false;
    return Outcome{};
  };
  return task;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* out) {
  return create_stream("cudaStreamCreate", out, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  return create_stream("cudaStreamCreateWithFlags", out, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int priority) {
  return create_stream("cudaStreamCreateWithPriority", out, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return device_api("cudaStreamDestroy", [&](Session& s) {
    const auto found = s.rt.streams.find(handle);
    if (found == s.rt.streams.end()) {
      return s.fail(cudaErrorInvalidResourceHandle, "there is no such stream");
    }
    Stream& stream = *found->second;
    if (stream.capture != nullptr) {
      // What was captured is lost; the streams that take part must not wait for it for ever.
      const std::shared_ptr<Capture> capture = stream.capture;
      capture->invalidated = true;
      capture->members.erase(&stream);
      if (capture->origin == &stream) {
        abandon_capture(s, capture);
      }
    }
    // Its work goes on without it.
    if (stream.is_blocking() && !is_done(stream.last)) {
      s.rt.devices[static_cast<size_t>(stream.device)].orphans.push_back(stream.last);
    }
    s.rt.streams.erase(found);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with_stream("cudaStreamSynchronize", handle, [](Session& s, const StreamPtr& stream) {
    const cudaError_t error = refuse_wait(s, stream);
    if (error != cudaSuccess) {
      return error;
    }
    wait_for_stream(s, stream);
    return s.device_error(stream->device);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with_stream("cudaStreamQuery", handle, [](Session& s, const StreamPtr& stream) {
    const cudaError_t error = refuse_wait(s, stream);
    return error != cudaSuccess ? error : query(s, stream->last, stream->device);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t event_handle, unsigned) {
  return with_stream("cudaStreamWaitEvent", stream_handle,
                     [&](Session& s, const StreamPtr& stream) {
                       const EventPtr event = s.find_event(event_handle);
                       return event == nullptr ? cudaErrorInvalidResourceHandle
                                               : wait_for_event(s, stream, *event);
                     });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return with_stream("cudaStreamGetFlags", handle, [&](Session&, const StreamPtr& stream) {
    *flags = stream->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return with_stream("cudaStreamGetPriority", handle, [&](Session&, const StreamPtr& stream) {
    *priority = stream->priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return with_stream("cudaStreamGetId", handle, [&](Session&, const StreamPtr& stream) {
    *id = stream->id;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return with_stream("cudaStreamGetDevice", handle, [&](Session&, const StreamPtr& stream) {
    *device = stream->device;
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* argument) {
  return with_stream("cudaLaunchHostFunc", handle, [&](Session& s, const StreamPtr& stream) {
    if (function == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the function is null");
    }
    return enqueue(s, stream, host_task(*stream, [=] { function(argument); }));
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback,
                                  void* argument, unsigned flags) {
  return with_stream("cudaStreamAddCallback", handle, [&](Session& s, const StreamPtr& stream) {
    if (callback == nullptr || flags != 0) {
      return s.fail(cudaErrorInvalidValue, "the callback is null, or flags is not 0");
    }
    const cudaError_t error = refuse_capturing(s, stream);
    if (error != cudaSuccess) {
      return error;
    }
    // Unlike a host function it runs after a failure, too, and is told of it.
    Task task =
        host_task(*stream, [=, &device = s.rt.devices[static_cast<size_t>(stream->device)]] {
          callback(handle, device.sticky, argument);
        });
    task.always = true;
    return enqueue(s, stream, std::move(task));
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  return device_api("cudaEventCreateWithFlags", [&](Session& s) {
    constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming;
    if (out == nullptr || (flags & ~kKnown) != 0) {
      return s.fail(
          (flags & cudaEventInterprocess) != 0 ? cudaErrorNotSupported : cudaErrorInvalidValue,
          "the pointer for the result is null, or flags is " + std::to_string(flags) +
              "; allowed: 0..3");
    }
    auto event = std::make_shared<Event>();
    event->device = s.device_index();
    event->flags = flags;
    *out = s.rt.make_handle<cudaEvent_t>();
    s.rt.events[*out] = std::move(event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* out) {
  return cudaEventCreateWithFlags(out, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return device_api("cudaEventDestroy", [&](Session& s) {
    return s.rt.events.erase(handle) == 1
               ? cudaSuccess
               : s.fail(cudaErrorInvalidResourceHandle, "there is no such event");
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event_handle, cudaStream_t stream_handle) {
  return with_event("cudaEventRecord", event_handle, [&](Session& s, const EventPtr& event) {
    const StreamPtr stream = s.find_stream(stream_handle);
    if (stream == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    if (stream->device != event->device) {
      return s.fail(cudaErrorInvalidResourceHandle,
                    "the event belongs to device " + std::to_string(event->device) +
                        ", the stream to device " + std::to_string(stream->device));
    }
    return record_event(s, stream, event.get());
  });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return flags == cudaEventRecordDefault ? cudaEventRecord(event, stream)
                                         : remember(cudaErrorNotSupported);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return with_event("cudaEventSynchronize", handle, [](Session& s, const EventPtr& event) {
    cudaError_t error = refuse_captured(s, *event);
    if (error == cudaSuccess) {
      error = s.refuse_in_capture();
    }
    if (error != cudaSuccess) {
      return error;
    }
    s.executor().wait(s.lock, {event->work});
    return s.device_error(event->device);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return with_event("cudaEventQuery", handle, [](Session& s, const EventPtr& event) {
    cudaError_t error = refuse_captured(s, *event);
    if (error == cudaSuccess) {
      error = s.refuse_in_capture();
    }
    return error != cudaSuccess ? error : query(s, event->work, event->device);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return with_event("cudaEventElapsedTime", start, [&](Session& s, const EventPtr& first) {
    const EventPtr last = s.find_event(end);
    if (last == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    for (const EventPtr& event : {first, last}) {
      if (!event->recorded || (event->flags & cudaEventDisableTiming) != 0) {
        return s.fail(cudaErrorInvalidResourceHandle,
                      "an event was never recorded, or was made without timing");
      }
      const cudaError_t error = refuse_captured(s, *event);
      if (error != cudaSuccess) {
        return error;
      }
    }
    if (!is_done(first->work) || !is_done(last->work)) {
      return cudaErrorNotReady;
    }
    *milliseconds = static_cast<float>((static_cast<double>(last->work->finished_at) -
                                        static_cast<double>(first->work->finished_at)) *
                                       kMillisecondsPerStep);
    return cudaSuccess;
  });
}

}  // extern "C"
