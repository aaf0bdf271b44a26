// SPDX-License-Identifier: Apache-2.0
// Function attributes and occupancy.
#include <cstring>

#include "check/registration.hpp"
#include "runtime/launch.hpp"

using namespace emu;
using namespace emu::runtime;

namespace {

// What CUDA returns for a function that was never registered: an attribute call this, a launch 98.
constexpr cudaError_t kUnregistered = cudaErrorInvalidResourceHandle;

// Where the number is not known; this many fit a CTA of the largest size.
constexpr int kReportedRegisters = 64;

template <typename Body>
cudaError_t with_kernel(const char* name, const void* function, const void* caller,
                        const Body& body) {
  return device_api(name, [&](Session& s) {
    const LoadedKernel kernel = load_kernel(s, function, kUnregistered, caller);
    return kernel.error != cudaSuccess ? kernel.error : body(s, kernel);
  });
}

int as_int(uint64_t value) {
  return static_cast<int>(value);
}

cudaFuncAttributes attributes_of(Session& s, const LoadedKernel& kernel) {
  cudaFuncAttributes attributes;
  std::memset(&attributes, 0, sizeof(attributes));
  const Code& code = *kernel.code;
  const ptx::Module& module = *kernel.program->module;
  const Kernel::Settings& settings = kernel.kernel->settings[s.device_index()];
  attributes.sharedSizeBytes = static_shared_bytes(code);
  attributes.localSizeBytes = code.local_bytes;
  attributes.maxThreadsPerBlock = max_threads(code);
  const uint32_t registers = s.rt.options.registers.of(code);
  attributes.numRegs = registers != 0 ? as_int(registers) : kReportedRegisters;
  attributes.ptxVersion = as_int(module.target);
  attributes.binaryVersion = s.device().spec.capability;
  attributes.maxDynamicSharedSizeBytes = as_int(dynamic_shared_limit(s, *kernel.kernel, code));
  attributes.preferredShmemCarveout = settings.carveout;
  attributes.nonPortableClusterSizeAllowed = settings.non_portable_cluster ? 1 : 0;
  const uint32_t(&cluster)[3] = code.function->reqnctapercluster;
  attributes.clusterDimMustBeSet = code.function->explicit_cluster && cluster[0] == 0 ? 1 : 0;
  attributes.requiredClusterWidth = as_int(cluster[0]);
  attributes.requiredClusterHeight = as_int(cluster[1]);
  attributes.requiredClusterDepth = as_int(cluster[2]);
  return attributes;
}

cudaError_t set_dynamic_shared(Session& s, const LoadedKernel& kernel, int value) {
  const int most =
      s.device().spec.shared_per_block_optin - as_int(static_shared_bytes(*kernel.code));
  if (value < 0 || value > most) {
    return s.fail(cudaErrorInvalidValue,
                  check::demangled(kernel.kernel->name) + ": " + std::to_string(value) +
                      " bytes of dynamic shared memory; allowed: 0.." + std::to_string(most));
  }
  kernel.kernel->settings[s.device_index()].max_dynamic_shared = value;
  return cudaSuccess;
}

cudaError_t set_attribute(Session& s, const LoadedKernel& kernel, cudaFuncAttribute attribute,
                          int value) {
  Kernel::Settings& settings = kernel.kernel->settings[s.device_index()];
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      return set_dynamic_shared(s, kernel, value);
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      settings.non_portable_cluster = value != 0;
      return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) {
        return s.fail(cudaErrorInvalidValue,
                      "a carveout of " + std::to_string(value) + "; allowed: -1..100");
      }
      settings.carveout = value;
      return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      return cudaSuccess;
    default:
      return s.fail(
          cudaErrorInvalidValue,
          "function attribute " + std::to_string(static_cast<int>(attribute)) + " is not emulated");
  }
}

cudaError_t occupancy(const char* name, int* count, const void* function, int threads,
                      size_t dynamic_shared, const void* caller) {
  return with_kernel(name, function, caller, [&](Session& s, const LoadedKernel& kernel) {
    if (count == nullptr || threads <= 0) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the result is null, or the CTA has " +
                                               std::to_string(threads) + " threads");
    }
    *count = resident_ctas(s, *kernel.code, threads, dynamic_shared);
    return cudaSuccess;
  });
}

int threads_of(const LaunchShape& shape) {
  return as_int(uint64_t{shape.cta.x} * shape.cta.y * shape.cta.z);
}

// CTAs of this shape that the whole device holds at once.
int resident_on_device(Session& s, const LoadedKernel& kernel, const LaunchShape& shape) {
  return s.device().spec.multiprocessors *
         resident_ctas(s, *kernel.code, threads_of(shape), shape.dynamic_shared);
}

}  // namespace

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return with_kernel("cudaFuncGetAttributes", function, __builtin_return_address(0),
                     [&](Session& s, const LoadedKernel& kernel) {
                       if (attributes == nullptr) {
                         return s.fail(cudaErrorInvalidValue, "the pointer for the result is null");
                       }
                       *attributes = attributes_of(s, kernel);
                       return cudaSuccess;
                     });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_kernel("cudaFuncSetAttribute", function, __builtin_return_address(0),
                     [&](Session& s, const LoadedKernel& kernel) {
                       return set_attribute(s, kernel, attribute, value);
                     });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return with_kernel("cudaFuncSetCacheConfig", function, __builtin_return_address(0),
                     [](Session&, const LoadedKernel&) { return cudaSuccess; });
}

cudaError_t cudaFuncGetName(const char** out, const void* function) {
  return with_kernel("cudaFuncGetName", function, __builtin_return_address(0),
                     [&](Session&, const LoadedKernel& kernel) {
                       *out = kernel.kernel->name.c_str();
                       return cudaSuccess;
                     });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count, const void* function,
                                                          int threads, size_t dynamic_shared) {
  return occupancy("cudaOccupancyMaxActiveBlocksPerMultiprocessor", count, function, threads,
                   dynamic_shared, __builtin_return_address(0));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* count, const void* function,
                                                                   int threads,
                                                                   size_t dynamic_shared,
                                                                   unsigned) {
  return occupancy("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", count, function,
                   threads, dynamic_shared, __builtin_return_address(0));
}

cudaError_t cudaOccupancyMaxActiveClusters(int* count, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return with_kernel("cudaOccupancyMaxActiveClusters", function, __builtin_return_address(0),
                     [&](Session& s, const LoadedKernel& kernel) {
                       LaunchShape shape;
                       if (count == nullptr || config == nullptr) {
                         return s.fail(cudaErrorInvalidValue, "a pointer is null");
                       }
                       cudaError_t error = shape_of(s, *config, &shape);
                       if (error == cudaSuccess) {
                         error = shape_error(s, kernel, shape);
                       }
                       if (error == cudaSuccess) {
                         const auto ctas =
                             as_int(uint64_t{shape.cluster.x} * shape.cluster.y * shape.cluster.z);
                         *count = resident_on_device(s, kernel, shape) / ctas;
                       }
                       return error;
                     });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t* config) {
  return with_kernel("cudaOccupancyMaxPotentialClusterSize", function, __builtin_return_address(0),
                     [&](Session& s, const LoadedKernel& kernel) {
                       LaunchShape shape;
                       if (size == nullptr || config == nullptr) {
                         return s.fail(cudaErrorInvalidValue, "a pointer is null");
                       }
                       if (!s.device().spec.cluster_launch) {
                         return s.fail(cudaErrorNotSupported, "the device has no clusters");
                       }
                       const cudaError_t error = shape_of(s, *config, &shape);
                       const int most =
                           kernel.kernel->settings[s.device_index()].non_portable_cluster ? 16 : 8;
                       *size = std::min(most, resident_on_device(s, kernel, shape));
                       return error;
                     });
}

}  // extern "C"
