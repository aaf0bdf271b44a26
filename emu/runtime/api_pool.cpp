// SPDX-License-Identifier: Apache-2.0
// Memory pools: what stream-ordered allocations are made from. A pool here holds nothing back, so
// its settings are kept and answered, and change nothing.
#include <cstring>

#include "runtime/memory_pool.hpp"
#include "runtime/session.hpp"

using namespace emu::runtime;

namespace {

cudaError_t no_such_pool(Session& s) {
  return s.fail(cudaErrorInvalidValue, "there is no such memory pool");
}

cudaError_t no_such_device(Session& s, int device) {
  return s.fail(cudaErrorInvalidDevice, "device " + std::to_string(device) + "; there are " +
                                            std::to_string(s.rt.devices.size()));
}

// `body(session, device state)` for a device that exists.
template <typename Body>
cudaError_t with_device(const char* name, int device, const Body& body) {
  return api(name, [&](Session& s) {
    return device >= 0 && static_cast<size_t>(device) < s.rt.devices.size()
               ? body(s, s.rt.devices[static_cast<size_t>(device)])
               : no_such_device(s, device);
  });
}

template <typename Body>
cudaError_t with_pool(const char* name, cudaMemPool_t handle, const Body& body) {
  return api(name, [&](Session& s) {
    MemoryPool* const pool = find_pool(s.rt, handle);
    return pool == nullptr ? no_such_pool(s) : body(s, pool);
  });
}

// The pools' own allocations on a device.
uint64_t used_bytes(const Session& s, int device) {
  uint64_t total = 0;
  for (const emu::Allocation& each : s.rt.memory.snapshot()->all()) {
    total += each.device == device && !each.freed && each.label == kPoolLabel ? each.bytes : 0;
  }
  return total;
}

bool is_flag(cudaMemPoolAttr attribute) {
  return attribute == cudaMemPoolReuseFollowEventDependencies ||
         attribute == cudaMemPoolReuseAllowOpportunistic ||
         attribute == cudaMemPoolReuseAllowInternalDependencies;
}

cudaError_t unknown_attribute(Session& s, cudaMemPoolAttr attribute) {
  return s.fail(cudaErrorInvalidValue,
                "pool attribute " + std::to_string(static_cast<int>(attribute)) + " is not known");
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return with_device("cudaDeviceGetDefaultMemPool", device, [&](Session& s, Device&) {
    *pool = default_pool(s.rt, device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return with_device("cudaDeviceGetMemPool", device, [&](Session& s, Device& state) {
    *pool = state.pool != nullptr ? state.pool : default_pool(s.rt, device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  return with_device("cudaDeviceSetMemPool", device, [&](Session& s, Device& state) {
    const MemoryPool* const pool = find_pool(s.rt, handle);
    if (pool == nullptr || pool->device != device) {
      return no_such_pool(s);
    }
    state.pool = handle;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* out, const cudaMemPoolProps* properties) {
  return device_api("cudaMemPoolCreate", [&](Session& s) {
    if (out == nullptr || properties == nullptr ||
        properties->location.type != cudaMemLocationTypeDevice ||
        properties->handleTypes != cudaMemHandleTypeNone) {
      return s.fail(cudaErrorNotSupported,
                    "only pools of device memory without handles are emulated");
    }
    const int device = properties->location.id;
    if (device < 0 || static_cast<size_t>(device) >= s.rt.devices.size()) {
      return no_such_device(s, device);
    }
    *out = s.rt.make_handle<cudaMemPool_t>();
    s.rt.pools[*out].device = device;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return with_pool("cudaMemPoolDestroy", handle, [&](Session& s, MemoryPool* pool) {
    Device& device = s.rt.devices[static_cast<size_t>(pool->device)];
    if (handle == device.default_pool) {
      return s.fail(cudaErrorInvalidValue, "the default pool cannot be destroyed");
    }
    if (device.pool == handle) {
      device.pool = nullptr;
    }
    s.rt.pools.erase(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return with_pool("cudaMemPoolSetAttribute", handle, [&](Session& s, MemoryPool* pool) {
    if (value == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the pointer to the value is null");
    }
    if (is_flag(attribute)) {
      pool->flags[attribute] = *static_cast<const int*>(value);
      return cudaSuccess;
    }
    if (attribute == cudaMemPoolAttrReleaseThreshold) {
      std::memcpy(&pool->release_threshold, value, sizeof(pool->release_threshold));
      return cudaSuccess;
    }
    if (attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh) {
      return cudaSuccess;  // resets a high-water mark, which is not kept
    }
    return unknown_attribute(s, attribute);
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return with_pool("cudaMemPoolGetAttribute", handle, [&](Session& s, MemoryPool* pool) {
    if (value == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the pointer to the value is null");
    }
    if (is_flag(attribute)) {
      const auto found = pool->flags.find(attribute);
      *static_cast<int*>(value) = found == pool->flags.end() ? 1 : found->second;
      return cudaSuccess;
    }
    uint64_t number = used_bytes(s, pool->device);
    if (attribute == cudaMemPoolAttrReleaseThreshold) {
      number = pool->release_threshold;
    } else if (attribute < cudaMemPoolAttrReservedMemCurrent ||
               attribute > cudaMemPoolAttrUsedMemHigh) {
      return unknown_attribute(s, attribute);
    }
    std::memcpy(value, &number, sizeof(number));
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return with_pool("cudaMemPoolTrimTo", handle, [](Session&, MemoryPool*) { return cudaSuccess; });
}

cudaError_t cudaMallocFromPoolAsync(void** out, size_t bytes, cudaMemPool_t handle,
                                    cudaStream_t stream) {
  // The pool's device, whose memory it is, must be the stream's.
  const cudaError_t error =
      with_pool("cudaMallocFromPoolAsync", handle, [&](Session& s, MemoryPool* pool) {
        return pool->device == s.device_index()
                   ? cudaSuccess
                   : s.fail(cudaErrorInvalidValue,
                            "the pool is of device " + std::to_string(pool->device));
      });
  return error != cudaSuccess ? error : cudaMallocAsync(out, bytes, stream);
}

}  // extern "C"

namespace emu::runtime {

MemoryPool* find_pool(Runtime& rt, cudaMemPool_t handle) {
  const auto found = rt.pools.find(handle);
  return found == rt.pools.end() ? nullptr : &found->second;
}

cudaMemPool_t default_pool(Runtime& rt, int device) {
  Device& state = rt.devices[static_cast<size_t>(device)];
  if (state.default_pool == nullptr) {
    state.default_pool = rt.make_handle<cudaMemPool_t>();
    rt.pools[state.default_pool].device = device;
  }
  return state.default_pool;
}

}  // namespace emu::runtime
