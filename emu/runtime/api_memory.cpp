// SPDX-License-Identifier: Apache-2.0
// Memory: allocation, pinned host memory, what a pointer is.
#include <cstring>

#include "runtime/capture.hpp"
#include "runtime/copies.hpp"
#include "runtime/memory_pool.hpp"

using namespace emu;
using namespace emu::runtime;

namespace {

constexpr size_t kPitchAlignment = 512;

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// A piece of the current device's memory; what `out` gets is null with every error.
cudaError_t allocate(Session& s, void** out, size_t bytes, const char* label) {
  if (out == nullptr) {
    return s.fail(cudaErrorInvalidValue, "the pointer for the result is null");
  }
  *out = nullptr;
  if (s.rt.faults.strikes(Injection::kMalloc, s.device_index())) {
    return s.fail(cudaErrorMemoryAllocation, "EMU_FAULT lets this allocation fail");
  }
  if (bytes == 0) {
    return cudaSuccess;
  }
  s.executor().wait_idle(s.lock);
  const uint64_t used = s.rt.memory.live_bytes(s.device_index());
  const uint64_t total = s.device().spec.memory_bytes;
  const uint64_t address =
      used > total || bytes > total - used
          ? 0
          : s.rt.memory.allocate(bytes, s.device_index(), MemoryKind::device, label);
  if (address == 0) {
    return s.fail(cudaErrorMemoryAllocation, std::to_string(bytes) + " bytes; the device has " +
                                                 std::to_string(total) + ", of which " +
                                                 std::to_string(used) + " are in use");
  }
  *out = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

cudaError_t not_allocated(Session& s, const void* pointer) {
  Allocation found;
  const bool known = s.rt.memory.find(address_of(pointer), &found);
  const char* why = "it is no memory of this runtime";
  if (known && found.freed) {
    why = "it was freed before";
  } else if (known && found.base != address_of(pointer)) {
    why = "it does not point to the start of its allocation";
  } else if (known) {
    why = "it is memory of another kind";
  }
  return s.fail(cudaErrorInvalidValue, std::string("the pointer cannot be freed: ") + why);
}

bool find_live(Session& s, const void* pointer, Allocation* found) {
  return s.rt.memory.find(address_of(pointer), found) && !found->freed &&
         found->base == address_of(pointer);
}

cudaError_t allocate_host(void** out, size_t bytes, const char* name) {
  return device_api(name, [&](Session& s) {
    if (out == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the result is null");
    }
    *out = nullptr;
    const cudaError_t refused = s.refuse_in_capture();
    if (refused != cudaSuccess || bytes == 0) {
      return refused;
    }
    const uint64_t address = s.rt.memory.allocate(bytes, -1, MemoryKind::pinned_host, name);
    if (address == 0) {
      return s.fail(cudaErrorMemoryAllocation, std::to_string(bytes) + " bytes of host memory");
    }
    *out = reinterpret_cast<void*>(address);
    return cudaSuccess;
  });
}

cudaError_t free_in_stream(Session& s, void* pointer, const StreamPtr& stream) {
  Allocation found;
  if (!find_live(s, pointer, &found) || found.kind != MemoryKind::device) {
    return not_allocated(s, pointer);
  }
  Task task;
  task.what = "freeing memory";
  task.device = stream->device;
  task.always = true;
  task.run = [&memory = s.rt.memory, address = found.base] {
    memory.release(address);
    return Outcome{};
  };
  return enqueue(s, stream, std::move(task));
}

// Memory that exists only once the stream has come to it: until then its content is undefined, and
// what another stream writes into it is lost.
cudaError_t allocate_in_stream(Session& s, void** out, size_t bytes, cudaStream_t handle) {
  const StreamPtr stream = s.find_stream(handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->capture != nullptr) {
    stream->capture->invalidated = true;
    return s.fail(cudaErrorNotSupported, "allocations inside of graphs are not emulated");
  }
  const cudaError_t error = allocate(s, out, bytes, kPoolLabel);
  if (error != cudaSuccess || bytes == 0) {
    return error;
  }
  Task task;
  task.what = "an allocation of " + std::to_string(bytes) + " bytes";
  task.device = stream->device;
  task.run = [pointer = *out, bytes] {
    std::memset(pointer, GlobalMemory::kFreshByte, bytes);
    return Outcome{};
  };
  return enqueue(s, stream, std::move(task));
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** out, size_t bytes) {
  return device_api("cudaMalloc", [&](Session& s) {
    const cudaError_t refused = s.refuse_in_capture();
    return refused != cudaSuccess ? refused : allocate(s, out, bytes, "cudaMalloc");
  });
}

cudaError_t cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
  return device_api("cudaMallocPitch", [&](Session& s) {
    const cudaError_t refused = s.refuse_in_capture();
    if (refused != cudaSuccess) {
      return refused;
    }
    if (pitch == nullptr || width > SIZE_MAX - kPitchAlignment) {
      return s.fail(cudaErrorInvalidValue,
                    "the pointer for the pitch is null, or the width is " + std::to_string(width));
    }
    *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    if (height != 0 && *pitch > SIZE_MAX / height) {
      return s.fail(cudaErrorMemoryAllocation, "width times height overflows");
    }
    return allocate(s, out, *pitch * height, "cudaMallocPitch");
  });
}

cudaError_t cudaFree(void* pointer) {
  return device_api("cudaFree", [&](Session& s) {
    if (pointer == nullptr) {
      return cudaSuccess;
    }
    const cudaError_t refused = s.refuse_in_capture();
    if (refused != cudaSuccess) {
      return refused;
    }
    Allocation found;
    if (!find_live(s, pointer, &found) || found.kind != MemoryKind::device) {
      return not_allocated(s, pointer);
    }
    // Work that may still use it runs first.
    s.executor().wait_device(s.lock, found.device);
    s.executor().wait_idle(s.lock);
    s.rt.memory.release(found.base);
    return s.device_error(found.device);
  });
}

cudaError_t cudaMallocAsync(void** out, size_t bytes, cudaStream_t stream) {
  return device_api("cudaMallocAsync",
                    [&](Session& s) { return allocate_in_stream(s, out, bytes, stream); });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return device_api("cudaFreeAsync", [&](Session& s) {
    const StreamPtr stream = s.find_stream(handle);
    if (stream == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    return pointer == nullptr ? cudaSuccess : free_in_stream(s, pointer, stream);
  });
}

cudaError_t cudaMallocHost(void** out, size_t bytes) {
  return allocate_host(out, bytes, "cudaMallocHost");
}

cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  return allocate_host(out, bytes, "cudaHostAlloc");
}

cudaError_t cudaFreeHost(void* pointer) {
  return device_api("cudaFreeHost", [&](Session& s) {
    if (pointer == nullptr) {
      return cudaSuccess;
    }
    const cudaError_t refused = s.refuse_in_capture();
    Allocation found;
    if (refused != cudaSuccess) {
      return refused;
    }
    if (!find_live(s, pointer, &found) || found.kind != MemoryKind::pinned_host) {
      return not_allocated(s, pointer);
    }
    s.executor().wait_all(s.lock);
    s.executor().wait_idle(s.lock);
    s.rt.memory.release(found.base);
    return cudaSuccess;
  });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  return device_api("cudaHostRegister", [&](Session& s) {
    if (pointer == nullptr || bytes == 0) {
      return s.fail(cudaErrorInvalidValue, "the pointer is null, or the size is 0");
    }
    const cudaError_t refused = s.refuse_in_capture();
    if (refused != cudaSuccess) {
      return refused;
    }
    s.executor().wait_idle(s.lock);
    return s.rt.memory.adopt(address_of(pointer), bytes, -1, MemoryKind::registered_host,
                             "cudaHostRegister")
               ? cudaSuccess
               : s.fail(cudaErrorHostMemoryAlreadyRegistered,
                        "the range overlaps memory that is registered or allocated here");
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return device_api("cudaHostUnregister", [&](Session& s) {
    s.executor().wait_all(s.lock);
    s.executor().wait_idle(s.lock);
    return s.rt.memory.forget(address_of(pointer))
               ? cudaSuccess
               : s.fail(cudaErrorHostMemoryNotRegistered, "no range is registered from there on");
  });
}

cudaError_t cudaHostGetDevicePointer(void** out, void* pointer, unsigned flags) {
  return device_api("cudaHostGetDevicePointer", [&](Session& s) {
    if (out == nullptr || flags != 0) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the result is null, or flags is not 0");
    }
    Allocation found;
    if (!s.rt.memory.find(address_of(pointer), &found) || found.freed || found.device >= 0) {
      return s.fail(cudaErrorInvalidValue, "the pointer is no pinned or registered host memory");
    }
    *out = pointer;  // one address space
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return device_api("cudaMemGetInfo", [&](Session& s) {
    if (free_bytes == nullptr || total_bytes == nullptr) {
      return s.fail(cudaErrorInvalidValue, "a pointer for the result is null");
    }
    const uint64_t used = s.rt.memory.live_bytes(s.device_index());
    *total_bytes = s.device().spec.memory_bytes;
    *free_bytes = *total_bytes > used ? *total_bytes - used : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return device_api("cudaPointerGetAttributes", [&](Session& s) {
    if (attributes == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the result is null");
    }
    std::memset(attributes, 0, sizeof(*attributes));
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    Allocation found;
    if (!s.rt.memory.find(address_of(pointer), &found) || found.freed) {
      attributes->hostPointer = const_cast<void*>(pointer);
      return cudaSuccess;
    }
    const bool is_host = found.device < 0;
    attributes->type = is_host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    attributes->device = is_host ? s.device_index() : found.device;
    attributes->devicePointer = const_cast<void*>(pointer);
    attributes->hostPointer = is_host ? const_cast<void*>(pointer) : nullptr;
    return cudaSuccess;
  });
}

}  // extern "C"
