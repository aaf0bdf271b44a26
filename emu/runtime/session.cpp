// SPDX-License-Identifier: Apache-2.0
#include "runtime/session.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdio>

#include "runtime/capture.hpp"

namespace emu::runtime {
namespace {

// CUDA does not survive fork: a child whose parent has called it gets error 3 from every call.
std::atomic<bool> called{false};
std::atomic<bool> called_by_parent{false};

[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { called_by_parent = called_by_parent || called; });

}  // namespace

Session::Session(const char* name) : rt(process_runtime()), lock(rt.mutex), name_(name) {
  ++rt.counters.calls;
  if (rt.options.trace_api) {
    std::fprintf(stderr, "emulated CUDA: call %s (device %d)\n", name, device_index());
  }
}

cudaError_t Session::device_error(int device) const {
  if (rt.faults.is_lost(device)) {
    return cudaErrorDevicesUnavailable;
  }
  return rt.devices[static_cast<size_t>(device)].sticky;
}

cudaError_t Session::fail(cudaError_t error, const std::string& why) {
  rt.report(std::string(name_) + " returns " + cudaGetErrorName(error) + ": " + why);
  return error;
}

cudaError_t Session::refuse_in_capture() {
  const ThreadState& thread = this_thread();
  bool refused = false;
  for (const std::shared_ptr<Capture>& capture : rt.captures) {
    if (forbids_unsafe_calls(*capture, thread.capture_mode)) {
      capture->invalidated = true;
      refused = true;
    }
  }
  return refused
             ? fail(cudaErrorStreamCaptureUnsupported,
                    "this call is not allowed while a stream captures; the capture is invalid now")
             : cudaSuccess;
}

StreamPtr Session::find_stream(cudaStream_t handle) {
  ThreadState& thread = this_thread();
  const bool is_default = handle == nullptr;
  if (handle == cudaStreamPerThread || (is_default && thread.per_thread_default)) {
    StreamPtr& stream = thread.default_streams[device_index()];
    if (stream == nullptr) {
      stream = std::make_shared<Stream>();
      stream->device = device_index();
      stream->is_per_thread = true;
      stream->id = rt.next_id++;
    }
    return stream;
  }
  if (handle == cudaStreamLegacy || is_default) {
    return device().legacy;
  }
  const auto found = rt.streams.find(handle);
  if (found == rt.streams.end()) {
    fail(cudaErrorInvalidResourceHandle, "there is no such stream; it may have been destroyed");
    return nullptr;
  }
  return found->second;
}

EventPtr Session::find_event(cudaEvent_t handle) {
  const auto found = rt.events.find(handle);
  if (found == rt.events.end()) {
    fail(cudaErrorInvalidResourceHandle, "there is no such event; it may have been destroyed");
    return nullptr;
  }
  return found->second;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) {
    this_thread().last_error = error;
  }
  return error;
}

cudaError_t entry_error(const char* name) {
  if (this_thread().in_host_function) {
    std::fprintf(stderr, "emulated CUDA: %s is called from a host function of a stream\n", name);
    return cudaErrorNotPermitted;
  }
  if (called_by_parent) {
    std::fprintf(stderr, "emulated CUDA: %s is called in a child after fork\n", name);
    return cudaErrorInitializationError;
  }
  called = true;
  return process_runtime().configuration_error.empty() ? cudaSuccess : cudaErrorInitializationError;
}

cudaError_t report_exception(const char* name, const char* what) {
  std::fprintf(stderr, "emulated CUDA: %s: %s\n", name, what);
  return remember(cudaErrorUnknown);
}

}  // namespace emu::runtime
