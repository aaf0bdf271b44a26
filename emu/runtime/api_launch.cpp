// SPDX-License-Identifier: Apache-2.0
// Kernel launches.
#include "runtime/launch.hpp"

using namespace emu::runtime;

namespace {

LaunchShape plain_shape(dim3 grid, dim3 cta, size_t shared) {
  LaunchShape shape;
  shape.grid = grid;
  shape.cta = cta;
  shape.dynamic_shared = shared;
  return shape;
}

cudaError_t launch(const char* name, const void* function, const LaunchShape& shape,
                   void** arguments, cudaStream_t stream, const void* caller) {
  return device_api(name, [&](Session& s) {
    return launch_kernel(s, function, shape, arguments, stream, cudaErrorInvalidDeviceFunction,
                         caller);
  });
}

cudaError_t apply_attribute(Session& s, const cudaLaunchAttribute& attribute, LaunchShape* shape) {
  switch (attribute.id) {
    case cudaLaunchAttributeClusterDimension:
      shape->cluster =
          dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z);
      shape->has_cluster = true;
      return cudaSuccess;
    case cudaLaunchAttributeCooperative:
      shape->cooperative = attribute.val.cooperative != 0;
      return cudaSuccess;
    case cudaLaunchAttributeProgrammaticStreamSerialization:
      shape->programmatic = attribute.val.programmaticStreamSerializationAllowed != 0;
      return cudaSuccess;
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
      return cudaSuccess;
    default:
      return s.fail(cudaErrorNotSupported, "launch attribute " +
                                               std::to_string(static_cast<int>(attribute.id)) +
                                               " is not emulated");
  }
}

}  // namespace

namespace emu::runtime {

cudaError_t shape_of(Session& s, const cudaLaunchConfig_t& config, LaunchShape* shape) {
  *shape = plain_shape(config.gridDim, config.blockDim, config.dynamicSmemBytes);
  for (unsigned index = 0; index < config.numAttrs; ++index) {
    const cudaError_t error = apply_attribute(s, config.attrs[index], shape);
    if (error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}

}  // namespace emu::runtime

extern "C" {

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 cta, void** arguments,
                               size_t shared, cudaStream_t stream) {
  return launch("__cudaLaunchKernel", kernel, plain_shape(grid, cta, shared), arguments, stream,
                __builtin_return_address(0));
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 cta, void** arguments,
                             size_t shared, cudaStream_t stream) {
  return launch("cudaLaunchKernel", function, plain_shape(grid, cta, shared), arguments, stream,
                __builtin_return_address(0));
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 cta, void** arguments,
                                        size_t shared, cudaStream_t stream) {
  LaunchShape shape = plain_shape(grid, cta, shared);
  shape.cooperative = true;
  return launch("cudaLaunchCooperativeKernel", function, shape, arguments, stream,
                __builtin_return_address(0));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  const void* const caller = __builtin_return_address(0);
  return device_api("cudaLaunchKernelExC", [&](Session& s) {
    if (config == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the launch configuration is null");
    }
    LaunchShape shape;
    const cudaError_t error = shape_of(s, *config, &shape);
    return error != cudaSuccess ? error
                                : launch_kernel(s, function, shape, arguments, config->stream,
                                                cudaErrorInvalidDeviceFunction, caller);
  });
}

// The two names that the header does not declare.
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 cta, void** arguments,
                                    size_t shared, cudaStream_t stream) {
  const PerThreadDefault scope;
  return launch("__cudaLaunchKernel_ptsz", kernel, plain_shape(grid, cta, shared), arguments,
                stream, __builtin_return_address(0));
}

}  // extern "C"
