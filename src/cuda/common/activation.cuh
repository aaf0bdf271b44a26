// SPDX-License-Identifier: Apache-2.0
// Activations in fp32, chosen at run time. One path for the three smooth ones, with one ex2 and one
// rcp, and one for the others, a maximum: an epilogue that is unrolled over dozens of elements is a
// third of the size of one with a path for each, and keeps its registers.
//
// gelu uses Phi(x) = (1 + erf(x / sqrt 2)) / 2 with the rational approximation of erf by Abramowitz
// and Stegun, Handbook of Mathematical Functions, 7.1.26 (|error| <= 1.5e-7); silu and gelu_tanh
// are x / (1 + e^-v). With ex2.approx and rcp.approx (2 ulp each) every result stays within 2^-21
// |x| of the exact value, the share of the error bound of docs/formats.md.
#pragma once

#include <math_constants.h>

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

// gelu, gelu_tanh and silu: x times a share between 0 and 1. The choice is the same for all
// threads, so what looks like branches are selects by a uniform predicate.
__device__ __forceinline__ float activate_smooth(float x, internal::Activation activation) {
  using internal::Activation;
  constexpr float kLog2E = 1.44269504088896341f;
  // 2 sqrt(2 / pi) log2(e), and that times 0.044715: gelu_tanh(x) = x * sigmoid(2 sqrt(2/pi) (x +
  // 0.044715 x^3)).
  constexpr float kTanhLinear = 2.3022081985020f;
  constexpr float kTanhCubic = 0.1029432395800f;
  // The approximation's p and coefficients, p / sqrt 2 and a / 2: of Phi instead of erf, of x
  // instead of x / sqrt 2.
  constexpr float kP = 0.3275911f * 0.70710678118654752f;
  const bool is_gelu = activation == Activation::kGelu;
  const float tanh_slope = fmaf(kTanhCubic, x * x, kTanhLinear);
  const float slope = is_gelu                               ? 0.5f * kLog2E * x
                      : activation == Activation::kGeluTanh ? tanh_slope
                                                            : kLog2E;
  const float power = exp2_approx(-x * slope);
  const float t = reciprocal_approx(is_gelu ? fmaf(kP, fabsf(x), 1.0f) : 1.0f + power);
  float poly = fmaf(0.5f * 1.061405429f, t, 0.5f * -1.453152027f);
  poly = fmaf(poly, t, 0.5f * 1.421413741f);
  poly = fmaf(poly, t, 0.5f * -0.284496736f);
  poly = fmaf(poly, t, 0.5f * 0.254829592f);
  const float tail = poly * t * power;  // Phi(-|x|)
  const float share = !is_gelu ? t : x < 0.0f ? tail : 1.0f - tail;
  return x * share;
}

// Whether activate_smooth computes it.
__device__ __forceinline__ bool is_smooth(internal::Activation activation) {
  return activation > internal::Activation::kRelu;
}

// none and relu: the larger of x and a floor. NaN stays.
__device__ __forceinline__ float activate_floor(float x, internal::Activation activation) {
  return max_nan(x, activation == internal::Activation::kRelu ? 0.0f : -CUDART_INF_F);
}

__device__ __forceinline__ float activate(float x, internal::Activation activation) {
  return is_smooth(activation) ? activate_smooth(x, activation) : activate_floor(x, activation);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
