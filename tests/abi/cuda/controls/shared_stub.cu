// SPDX-License-Identifier: Apache-2.0
// Built twice, for two architectures, without the rules of cmake/MxgemmCudaArch.cmake: default
// visibility, so that the host template around the kernel is one weak symbol for both libraries
// when they are loaded with global scope.
#include <cuda_runtime_api.h>

namespace mxgemm_control {

template <class T>
__global__ void shared_kernel(T* out) {
  *out = 1;
}

template <class T>
struct Launcher {
  // Not inlined: a host template of CUTLASS's size never is.
  __attribute__((noinline)) static int run(T* out) {
    shared_kernel<T><<<1, 1>>>(out);
    return static_cast<int>(cudaGetLastError());
  }
};

}  // namespace mxgemm_control

extern "C" int control_launch(int* out) {
  return mxgemm_control::Launcher<int>::run(out);
}
