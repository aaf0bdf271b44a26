// SPDX-License-Identifier: Apache-2.0
// What every API function does around its own work.
#pragma once

#include <string>
#include <utility>

#include "runtime/state.hpp"

namespace emu::runtime {

// One API call: holds the runtime's lock.
class Session {
 public:
  explicit Session(const char* name);

  Runtime& rt;
  std::unique_lock<std::mutex> lock;

  const char* name() const { return name_; }
  Executor& executor() { return *rt.executor; }
  int device_index() const { return this_thread().device; }
  Device& device() { return rt.devices[static_cast<size_t>(device_index())]; }

  // Success, or why nothing can be done on the device: it is lost, or has failed before.
  cudaError_t device_error(int device) const;
  cudaError_t device_error() const { return device_error(device_index()); }

  // Prints why this call returns `error`, and returns it.
  cudaError_t fail(cudaError_t error, const std::string& why);

  // 900, and the captures are invalid, where calls of this kind are not allowed during one.
  cudaError_t refuse_in_capture();

  // Null after an unknown handle has been reported.
  StreamPtr find_stream(cudaStream_t handle);
  EventPtr find_event(cudaEvent_t handle);

 private:
  const char* name_;
};

// While it lives, stream 0 means the thread's own default stream: calls through a _ptsz or _ptds
// name.
class PerThreadDefault {
 public:
  PerThreadDefault() : previous_(this_thread().per_thread_default) {
    this_thread().per_thread_default = true;
  }
  ~PerThreadDefault() { this_thread().per_thread_default = previous_; }
  PerThreadDefault(const PerThreadDefault&) = delete;
  PerThreadDefault& operator=(const PerThreadDefault&) = delete;

 private:
  bool previous_;
};

// The error of the call as the thread's last error, too.
cudaError_t remember(cudaError_t error);
// Success, or the reason why no call may be made now.
cudaError_t entry_error(const char* name);
cudaError_t report_exception(const char* name, const char* what);

// Runs `body(session)` as the API function `name`.
template <typename Body>
cudaError_t api(const char* name, Body&& body) noexcept {
  try {
    const cudaError_t refused = entry_error(name);
    if (refused != cudaSuccess) {
      return remember(refused);
    }
    Session session(name);
    session.executor().drift(session.lock);
    return remember(std::forward<Body>(body)(session));
  } catch (const std::exception& exception) {
    return report_exception(name, exception.what());
  }
}

// The same for calls that want a device which works.
template <typename Body>
cudaError_t device_api(const char* name, Body&& body) noexcept {
  return api(name, [&](Session& s) {
    const cudaError_t error = s.device_error();
    return error != cudaSuccess ? error : body(s);
  });
}

}  // namespace emu::runtime
