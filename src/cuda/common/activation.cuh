// SPDX-License-Identifier: Apache-2.0
// Activations in fp32, chosen at run time (the value is uniform over a launch, so the branches cost
// nothing measurable).
//
// gelu uses Phi(x) = (1 + erf(x / sqrt 2)) / 2 with the rational approximation of erf by Abramowitz
// and Stegun, Handbook of Mathematical Functions, 7.1.26 (|error| <= 1.5e-7); silu and gelu_tanh
// are x / (1 + e^-v). With ex2.approx and rcp.approx (2 ulp each) every result stays within 2^-21
// |x| of the exact value, the share of the error bound of docs/formats.md.
#pragma once

#include "formats/activation.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

__device__ __forceinline__ float exp2_approx(float x) {
  float result;
  asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ __forceinline__ float reciprocal_approx(float x) {
  float result;
  asm("rcp.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// NaN in gives NaN out, unlike fmaxf.
__device__ __forceinline__ float max_nan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

__device__ __forceinline__ float gelu_erf(float x) {
  constexpr float kSqrtHalf = 0.70710678118654752f;
  constexpr float kLog2E = 1.44269504088896341f;
  const float z = fabsf(x) * kSqrtHalf;
  const float t = reciprocal_approx(fmaf(0.3275911f, z, 1.0f));
  float poly = fmaf(1.061405429f, t, -1.453152027f);
  poly = fmaf(poly, t, 1.421413741f);
  poly = fmaf(poly, t, -0.284496736f);
  poly = fmaf(poly, t, 0.254829592f);
  const float tail = 0.5f * poly * t * exp2_approx(-z * z * kLog2E);  // Phi(-|x|)
  return x * (x < 0.0f ? tail : 1.0f - tail);
}

// x / (1 + 2^-w).
__device__ __forceinline__ float times_sigmoid(float x, float w) {
  return x * reciprocal_approx(1.0f + exp2_approx(-w));
}

__device__ __forceinline__ float activate(float x, internal::Activation activation) {
  using internal::Activation;
  constexpr float kLog2E = 1.44269504088896341f;
  // 2 sqrt(2 / pi) log2(e), and that times 0.044715: gelu_tanh(x) = x * sigmoid(2 sqrt(2/pi) (x +
  // 0.044715 x^3)).
  constexpr float kTanhLinear = 2.3022081985020f;
  constexpr float kTanhCubic = 0.1029432395800f;
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return max_nan(x, 0.0f);
    case Activation::kGelu:
      return gelu_erf(x);
    case Activation::kGeluTanh:
      return times_sigmoid(x, x * fmaf(kTanhCubic, x * x, kTanhLinear));
    case Activation::kSilu:
      return times_sigmoid(x, x * kLog2E);
  }
  return x;
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
