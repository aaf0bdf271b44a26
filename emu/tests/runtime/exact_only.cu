// SPDX-License-Identifier: Apache-2.0
// A library with PTX for exactly 9.0 and nothing else.
#include <cuda_runtime_api.h>

__global__ void only_on_90(int* out) {
  out[0] = 90;
}

extern "C" const void* only_on_90_kernel(void) {
  return reinterpret_cast<const void*>(only_on_90);
}
