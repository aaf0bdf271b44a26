// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/modules.hpp"

namespace emu::runtime {

struct LaunchShape {
  dim3 grid;
  dim3 cta;
  dim3 cluster = dim3(1, 1, 1);
  bool has_cluster = false;
  uint64_t dynamic_shared = 0;
  bool cooperative = false;
  bool programmatic = false;
};

// The shape that a launch configuration with attributes asks for.
cudaError_t shape_of(Session& s, const cudaLaunchConfig_t& config, LaunchShape* shape);

// The error that CUDA gives for a launch of this shape, explained; success where it may run.
cudaError_t shape_error(Session& s, const LoadedKernel& kernel, const LaunchShape& shape);

// Checks, copies the arguments and puts the launch into the stream.
cudaError_t launch_kernel(Session& s, const void* stub_or_handle, LaunchShape shape,
                          void** arguments, cudaStream_t stream, cudaError_t unregistered,
                          const void* caller);

// What EMU_FAULT says about this launch of a graph, which counts as one launch.
cudaError_t graph_launch_fault(Session& s);

// How many CTAs a multiprocessor of the device holds at once; 0 where it holds none.
int resident_ctas(Session& s, const Code& code, int threads, uint64_t dynamic_shared);

// Static shared memory as the attributes report it: without the system's own kilobyte.
uint64_t static_shared_bytes(const Code& code);
// What the kernel may have of dynamic shared memory on the session's device.
uint64_t dynamic_shared_limit(Session& s, const Kernel& kernel, const Code& code);
// The most threads of a CTA that the kernel was compiled for.
int max_threads(const Code& code);

}  // namespace emu::runtime
