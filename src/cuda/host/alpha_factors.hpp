// SPDX-License-Identifier: Apache-2.0
// The scalars in front of A . B.
#pragma once

#include "mxgemm/mxgemm.h"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// alpha' = alpha * gA * gB as up to three factors that the epilogue multiplies in fp32 from left to
// right: what is known on the host is multiplied in double and rounded once, device scalars follow
// in the order alpha, gA, gB (docs/formats.md).
struct AlphaFactors {
  float value[3] = {1.0f, 1.0f, 1.0f};
  const float* pointer[3] = {nullptr, nullptr, nullptr};
};

inline AlphaFactors alpha_factors(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args) {
  AlphaFactors factors;
  double host = 1.0;
  int count = 0;
  const float* pointers[3] = {};
  const auto add = [&](uint32_t flag, float value, const float* pointer) {
    if ((desc.flags & flag) != 0) {
      pointers[count++] = pointer;
    } else {
      host *= static_cast<double>(value);
    }
  };
  add(MXGEMM_ALPHA_ON_DEVICE, args.alpha, args.alpha_ptr);
  add(MXGEMM_GLOBAL_SCALE_A_ON_DEVICE, args.a.global_scale, args.a.global_scale_ptr);
  add(MXGEMM_GLOBAL_SCALE_B_ON_DEVICE, args.b.global_scale, args.b.global_scale_ptr);
  // With all three on the device the host's share is 1 and needs no slot.
  const int first = count == 3 ? 0 : 1;
  if (first == 1) {
    factors.value[0] = static_cast<float>(host);
  }
  for (int i = 0; i < count; ++i) {
    factors.pointer[first + i] = pointers[i];
  }
  return factors;
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
