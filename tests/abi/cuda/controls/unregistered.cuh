// SPDX-License-Identifier: Apache-2.0
// The cause of "cudaFuncSetAttribute … invalid resource handle" in thirty lines
// (docs/decisions/0003): a constant that is unsigned in a trait and int in the alias that takes it.
// nvcc's front end converts it, GCC keeps it unsigned, and the stub that the host code launches is
// not the one that was registered.
//
// MXGEMM_CURED selects the cured twin. Each twin is a library that exports `control_launch`.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace mxgemm_control {

template <auto kValue>
struct Constant {
  static constexpr auto value = kValue;
};
template <int kValue>
using Int = Constant<kValue>;
template <class... T>
struct Tuple {};
template <class... T>
using Shape = Tuple<T...>;

struct Tag {};
template <class S, class P>
struct Trait {};
template <class S>
struct Trait<S, Tag> {
#if defined(MXGEMM_CURED)
  static constexpr int kVector = 32;
#else
  static constexpr uint32_t kVector = 32;
#endif
};

template <class P>
struct Builder {
  static constexpr auto kVector = Trait<int, P>::kVector;
  using Type = Shape<Int<kVector>, Int<1>>;
};

template <class T>
__global__ void kernel(int* out) {
  *out = 1;
}

template <class T>
int launch(int* out) {
  cudaFuncSetAttribute(kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
  const cudaError_t attribute = cudaGetLastError();
  kernel<T><<<1, 1, 100000>>>(out);
  const cudaError_t launched = cudaGetLastError();
  return attribute != cudaSuccess ? static_cast<int>(attribute) : static_cast<int>(launched);
}

template <class P>
int launch_in_template(int* out) {
  return launch<typename Builder<P>::Type>(out);
}

}  // namespace mxgemm_control

extern "C" __attribute__((visibility("default"))) int control_launch(int* out) {
  return mxgemm_control::launch_in_template<mxgemm_control::Tag>(out);
}
