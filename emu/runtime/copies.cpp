// SPDX-License-Identifier: Apache-2.0
#include "runtime/copies.hpp"

#include <cstring>

#include "runtime/capture.hpp"

namespace emu::runtime {
namespace {

// On the emulated clock a copy of this many bytes takes as long as one warp instruction.
constexpr uint64_t kBytesPerStep = 4096;

uint64_t cost(size_t width, size_t height) {
  return 1 + width * height / kBytesPerStep;
}

size_t extent(size_t pitch, size_t width, size_t height) {
  return height == 0 || width == 0 ? 0 : (height - 1) * pitch + width;
}

std::string hex(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof(text), "%p", pointer);
  return text;
}

// Which sides may be device memory under `kind`; pinned memory may stand for either.
cudaError_t direction_error(Session& s, const CopyPlan& plan, const Place& dst, const Place& src) {
  const auto wrong = [&](const char* what) { return s.fail(cudaErrorInvalidValue, what); };
  switch (plan.kind) {
    case cudaMemcpyHostToHost:
      return dst.on_device() || src.on_device()
                 ? wrong("kind is HostToHost, and one side is device memory")
                 : cudaSuccess;
    case cudaMemcpyHostToDevice:
      if (src.on_device()) {
        return wrong("kind is HostToDevice, and the source is device memory");
      }
      return dst.known ? cudaSuccess
                       : wrong("kind is HostToDevice, and the destination is pageable host memory");
    case cudaMemcpyDeviceToHost:
      if (dst.on_device()) {
        return wrong("kind is DeviceToHost, and the destination is device memory");
      }
      return src.known ? cudaSuccess
                       : wrong("kind is DeviceToHost, and the source is pageable host memory");
    case cudaMemcpyDeviceToDevice:
      return dst.known && src.known
                 ? cudaSuccess
                 : wrong("kind is DeviceToDevice, and one side is pageable host memory");
    case cudaMemcpyDefault:
      return cudaSuccess;
  }
  return s.fail(cudaErrorInvalidMemcpyDirection,
                "kind is " + std::to_string(static_cast<int>(plan.kind)) + "; allowed: 0..4");
}

cudaError_t device_mismatch(Session& s, const Place& place, int device, const char* role) {
  const bool wrong = device >= 0 && place.on_device() && place.allocation.device != device;
  return wrong ? s.fail(cudaErrorInvalidValue, std::string("the ") + role + " lies on device " +
                                                   std::to_string(place.allocation.device) +
                                                   ", the call says " + std::to_string(device))
               : cudaSuccess;
}

cudaError_t plan_error(Session& s, const CopyPlan& plan, Place* dst, Place* src) {
  if (plan.height > 1 && (plan.width > plan.dst_pitch || plan.width > plan.src_pitch)) {
    return s.fail(cudaErrorInvalidPitchValue,
                  "rows of " + std::to_string(plan.width) + " bytes with pitches of " +
                      std::to_string(plan.dst_pitch) + " and " + std::to_string(plan.src_pitch));
  }
  cudaError_t error =
      place_of(s, plan.dst, extent(plan.dst_pitch, plan.width, plan.height), "destination", dst);
  if (error == cudaSuccess) {
    error = place_of(s, plan.src, extent(plan.src_pitch, plan.width, plan.height), "source", src);
  }
  if (error == cudaSuccess) {
    error = direction_error(s, plan, *dst, *src);
  }
  if (error == cudaSuccess) {
    error = device_mismatch(s, *dst, plan.dst_device, "destination");
  }
  if (error == cudaSuccess) {
    error = device_mismatch(s, *src, plan.src_device, "source");
  }
  for (const Place* place : {dst, src}) {
    if (error == cudaSuccess && place->on_device()) {
      error = s.device_error(place->allocation.device);
    }
  }
  return error;
}

void copy_rows(const CopyPlan& plan) {
  for (size_t row = 0; row < plan.height; ++row) {
    std::memmove(static_cast<char*>(plan.dst) + row * plan.dst_pitch,
                 static_cast<const char*>(plan.src) + row * plan.src_pitch, plan.width);
  }
}

Task copy_task(const Stream& stream, CopyPlan plan, bool stage) {
  Task task;
  task.kind = TaskKind::kCopy;
  task.what = "a copy of " + std::to_string(plan.width * plan.height) + " bytes";
  task.device = stream.device;
  // Held by the task, which the staged bytes must outlive.
  std::shared_ptr<std::vector<char>> staged;
  if (stage) {
    staged = std::make_shared<std::vector<char>>(plan.width * plan.height);
    CopyPlan inward = plan;
    inward.dst = staged->data();
    inward.dst_pitch = plan.width;
    copy_rows(inward);
    plan.src = staged->data();
    plan.src_pitch = plan.width;
  }
  task.run = [plan, staged] {
    copy_rows(plan);
    return Outcome{cudaSuccess, cost(plan.width, plan.height), ""};
  };
  return task;
}

cudaError_t injected_fault(Session& s, int device) {
  if (!s.rt.faults.strikes(Injection::kMemcpy, device)) {
    return cudaSuccess;
  }
  s.rt.devices[static_cast<size_t>(device)].sticky = cudaErrorLaunchFailure;
  return s.fail(cudaErrorLaunchFailure, "EMU_FAULT lets this copy fail for good");
}

}  // namespace

cudaError_t place_of(Session& s, const void* pointer, size_t bytes, const char* role,
                     Place* place) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  place->known = s.rt.memory.find(address, &place->allocation);
  const auto wrong = [&](const std::string& why) {
    return s.fail(cudaErrorInvalidValue, std::string("the ") + role + " " + hex(pointer) + why);
  };
  if (bytes == 0) {
    return cudaSuccess;
  }
  if (pointer == nullptr) {
    return wrong(" is null");
  }
  if (!place->known) {
    return s.rt.memory.in_arena(address) ? wrong(" lies in device memory, but in no allocation")
                                         : cudaSuccess;
  }
  const Allocation& allocation = place->allocation;
  if (allocation.freed) {
    return wrong(" lies in memory that was freed");
  }
  if (!allocation.contains(address, bytes) && allocation.kind != MemoryKind::registered_host) {
    return wrong(", " + std::to_string(bytes) + " bytes, leaves its allocation of " +
                 std::to_string(allocation.bytes) + " bytes (offset " +
                 std::to_string(address - allocation.base) + ")");
  }
  return cudaSuccess;
}

cudaError_t copy(Session& s, const CopyPlan& plan, cudaStream_t handle, bool synchronous) {
  const StreamPtr stream = s.find_stream(handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (synchronous && stream->capture != nullptr) {
    return refuse_capturing(s, stream);
  }
  Place dst;
  Place src;
  cudaError_t error = plan_error(s, plan, &dst, &src);
  if (error == cudaSuccess) {
    error = enqueue_error(s, stream);
  }
  if (error == cudaSuccess && stream->capture == nullptr) {
    error = injected_fault(s, stream->device);
  }
  if (error != cudaSuccess || plan.width == 0 || plan.height == 0) {
    return error;
  }
  // Pageable memory is read now, pinned memory when the copy runs.
  const bool stage = !src.known && stream->capture == nullptr;
  error = enqueue(s, stream, copy_task(*stream, plan, stage));
  if (error != cudaSuccess || !synchronous || (dst.on_device() && src.on_device())) {
    return error;
  }
  s.executor().wait(s.lock, {stream->last});
  return s.device_error(stream->device);
}

cudaError_t set(Session& s, const SetPlan& plan, cudaStream_t handle) {
  const StreamPtr stream = s.find_stream(handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (plan.height > 1 && plan.width > plan.pitch) {
    return s.fail(cudaErrorInvalidPitchValue, "rows of " + std::to_string(plan.width) +
                                                  " bytes with a pitch of " +
                                                  std::to_string(plan.pitch));
  }
  Place dst;
  const cudaError_t error =
      place_of(s, plan.dst, extent(plan.pitch, plan.width, plan.height), "destination", &dst);
  if (error != cudaSuccess || plan.width == 0 || plan.height == 0) {
    return error;
  }
  if (!dst.known) {
    return s.fail(cudaErrorInvalidValue, "the destination is pageable host memory");
  }
  Task task;
  task.kind = TaskKind::kSet;
  task.what = "a fill of " + std::to_string(plan.width * plan.height) + " bytes";
  task.device = stream->device;
  task.run = [plan] {
    for (size_t row = 0; row < plan.height; ++row) {
      std::memset(static_cast<char*>(plan.dst) + row * plan.pitch, plan.value, plan.width);
    }
    return Outcome{cudaSuccess, cost(plan.width, plan.height), ""};
  };
  return enqueue(s, stream, std::move(task));
}

}  // namespace emu::runtime
