// SPDX-License-Identifier: Apache-2.0
// Devices: count, choice, properties, peers, synchronisation.
#include "runtime/capture.hpp"
#include "runtime/device_attributes.hpp"

using namespace emu::runtime;

namespace {

bool is_device(const Session& s, int device) {
  return device >= 0 && static_cast<size_t>(device) < s.rt.devices.size();
}

cudaError_t no_such_device(Session& s, int device) {
  return s.fail(cudaErrorInvalidDevice, "device " + std::to_string(device) + "; there are " +
                                            std::to_string(s.rt.devices.size()));
}

const DeviceSpec& spec_of(const Session& s, int device) {
  return s.rt.devices[static_cast<size_t>(device)].spec;
}

cudaError_t null_pointer(Session& s) {
  return s.fail(cudaErrorInvalidValue, "the pointer for the result is null");
}

bool captures_on(const Session& s, int device) {
  for (const auto& [handle, stream] : s.rt.streams) {
    if (stream->device == device && stream->capture != nullptr) {
      stream->capture->invalidated = true;
      return true;
    }
  }
  return false;
}

// Everything that was made on the device is gone, its error with it.
cudaError_t reset(Session& s) {
  const int device = s.device_index();
  if (captures_on(s, device)) {
    return s.fail(cudaErrorStreamCaptureUnsupported,
                  "a stream of this device captures; the capture is invalid now");
  }
  s.executor().wait_device(s.lock, device);
  s.executor().wait_idle(s.lock);
  s.rt.memory.release_device(device);
  s.rt.registry.unload(device);
  const auto is_here = [&](const auto& entry) { return entry.second->device == device; };
  std::erase_if(s.rt.streams, is_here);
  std::erase_if(s.rt.events, is_here);
  s.device().orphans.clear();
  s.device().sticky = cudaSuccess;
  s.device().peers.clear();
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return api("cudaGetDeviceCount", [&](Session& s) {
    if (count == nullptr) {
      return null_pointer(s);
    }
    *count = static_cast<int>(s.rt.devices.size());
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return api("cudaSetDevice", [&](Session& s) {
    if (!is_device(s, device)) {
      return no_such_device(s, device);
    }
    const cudaError_t error = s.device_error(device);
    if (error == cudaErrorDevicesUnavailable) {
      return error;
    }
    // A device that has failed becomes current all the same; the calls that follow say so.
    this_thread().device = device;
    return error;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return api("cudaGetDevice", [&](Session& s) {
    if (device == nullptr) {
      return null_pointer(s);
    }
    *device = s.device_index();
    return cudaSuccess;
  });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return api("cudaInitDevice", [&](Session& s) {
    return is_device(s, device) ? s.device_error(device) : no_such_device(s, device);
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return api("cudaGetDeviceProperties", [&](Session& s) {
    if (properties == nullptr) {
      return null_pointer(s);
    }
    if (!is_device(s, device)) {
      return no_such_device(s, device);
    }
    *properties = device_properties(spec_of(s, device), device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return api("cudaDeviceGetAttribute", [&](Session& s) {
    if (value == nullptr) {
      return null_pointer(s);
    }
    if (!is_device(s, device)) {
      return no_such_device(s, device);
    }
    const std::optional<int> found = device_attribute(spec_of(s, device), device, attribute);
    if (!found) {
      return s.fail(cudaErrorInvalidValue,
                    "attribute " + std::to_string(static_cast<int>(attribute)) + " is not known");
    }
    *value = *found;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return device_api("cudaDeviceSynchronize", [](Session& s) {
    if (captures_on(s, s.device_index())) {
      return s.fail(cudaErrorStreamCaptureUnsupported,
                    "a stream of this device captures; the capture is invalid now");
    }
    s.executor().wait_device(s.lock, s.device_index());
    return s.device_error();
  });
}

cudaError_t cudaDeviceReset() {
  return api("cudaDeviceReset", [](Session& s) {
    return s.rt.faults.is_lost(s.device_index()) ? cudaErrorDevicesUnavailable : reset(s);
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return device_api("cudaDeviceGetStreamPriorityRange", [&](Session&) {
    if (least != nullptr) {
      *least = 0;
    }
    if (greatest != nullptr) {
      *greatest = -5;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return api("cudaDeviceCanAccessPeer", [&](Session& s) {
    if (can == nullptr) {
      return null_pointer(s);
    }
    if (!is_device(s, device) || !is_device(s, peer)) {
      return no_such_device(s, is_device(s, device) ? peer : device);
    }
    *can = device != peer ? 1 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return device_api("cudaDeviceEnablePeerAccess", [&](Session& s) {
    if (!is_device(s, peer) || peer == s.device_index()) {
      return no_such_device(s, peer);
    }
    if (flags != 0) {
      return s.fail(cudaErrorInvalidValue, "flags is " + std::to_string(flags) + "; allowed: 0");
    }
    return s.device().peers.insert(peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return device_api("cudaDeviceDisablePeerAccess", [&](Session& s) {
    if (!is_device(s, peer)) {
      return no_such_device(s, peer);
    }
    return s.device().peers.erase(peer) == 1 ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
  });
}

}  // extern "C"
