// SPDX-License-Identifier: Apache-2.0
// D = cast(act(fma(beta, C, fma(alpha', acc, bias)))), in fp32 and in this order
// (docs/formats.md), for eight neighbouring columns at a time. Types, bias, C and activation are
// run-time values, uniform over a launch.
#pragma once

#include <cstdint>

#include "cuda/common/activation.cuh"
#include "cuda/common/ptx.cuh"
#include "formats/block_format.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct Epilogue {
  // alpha': the product of the three from left to right; a pointer, where there is one, is read on
  // the device instead of the value.
  float alpha_value[3];
  const float* alpha_pointer[3];
  float beta;
  const void* c;  // nullptr = not read (beta is 0)
  int64_t ldc;
  void* d;
  int64_t ldd;
  internal::Format format_d;
  const void* bias;  // nullptr = none
  internal::Format format_bias;
  internal::Activation activation;
  int64_t m;
  int64_t n;
};

constexpr int kEpilogueWidth = 8;  // 16 bytes of bf16

__device__ inline float alpha_of(const Epilogue& epilogue) {
  float alpha = 1.0f;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    alpha *= epilogue.alpha_pointer[i] != nullptr ? __ldg(epilogue.alpha_pointer[i])
                                                  : epilogue.alpha_value[i];
  }
  return alpha;
}

__device__ __forceinline__ bool is_aligned_16(const void* pointer) {
  return (reinterpret_cast<uintptr_t>(pointer) & 15) == 0;
}

// `count` (at most 8) numbers from index `first` of an array; the others are left alone.
__device__ inline void load_row(const void* array, internal::Format format, int64_t first,
                                int count, float (&out)[kEpilogueWidth]) {
  if (format == internal::Format::kF32) {
    const float* source = static_cast<const float*>(array) + first;
    if (count == kEpilogueWidth && is_aligned_16(source)) {
      *reinterpret_cast<float4*>(out) = *reinterpret_cast<const float4*>(source);
      *reinterpret_cast<float4*>(out + 4) = *reinterpret_cast<const float4*>(source + 4);
      return;
    }
#pragma unroll
    for (int i = 0; i < kEpilogueWidth; ++i) {
      if (i < count) {
        out[i] = source[i];
      }
    }
    return;
  }
  const uint16_t* source = static_cast<const uint16_t*>(array) + first;
  uint32_t bits[kEpilogueWidth] = {};
  if (count == kEpilogueWidth && is_aligned_16(source)) {
    const uint4 packed = *reinterpret_cast<const uint4*>(source);
    const uint32_t words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (int i = 0; i < kEpilogueWidth; ++i) {
      bits[i] = words[i / 2] >> (i % 2 * 16) & 0xFFFFu;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kEpilogueWidth; ++i) {
      if (i < count) {
        bits[i] = source[i];
      }
    }
  }
  const bool is_bf16 = format == internal::Format::kBf16;
#pragma unroll
  for (int i = 0; i < kEpilogueWidth; ++i) {
    out[i] = is_bf16 ? bf16_value(bits[i]) : f16_value(bits[i]);
  }
}

__device__ inline void store_row(void* array, internal::Format format, int64_t first, int count,
                                 const float (&values)[kEpilogueWidth]) {
  if (format == internal::Format::kF32) {
    float* target = static_cast<float*>(array) + first;
    if (count == kEpilogueWidth && is_aligned_16(target)) {
      *reinterpret_cast<float4*>(target) = *reinterpret_cast<const float4*>(values);
      *reinterpret_cast<float4*>(target + 4) = *reinterpret_cast<const float4*>(values + 4);
      return;
    }
#pragma unroll
    for (int i = 0; i < kEpilogueWidth; ++i) {
      if (i < count) {
        target[i] = values[i];
      }
    }
    return;
  }
  uint16_t* target = static_cast<uint16_t*>(array) + first;
  const bool is_bf16 = format == internal::Format::kBf16;
  uint32_t bits[kEpilogueWidth];
#pragma unroll
  for (int i = 0; i < kEpilogueWidth; ++i) {
    bits[i] = is_bf16 ? bf16_bits(values[i]) : f16_bits(values[i]);
  }
  if (count == kEpilogueWidth && is_aligned_16(target)) {
    *reinterpret_cast<uint4*>(target) =
        make_uint4(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16, bits[4] | bits[5] << 16,
                   bits[6] | bits[7] << 16);
    return;
  }
#pragma unroll
  for (int i = 0; i < kEpilogueWidth; ++i) {
    if (i < count) {
      target[i] = static_cast<uint16_t>(bits[i]);
    }
  }
}

// Finishes D[row, col … col + 7] from its accumulators; what lies outside D is left alone.
__device__ inline void finish_row(const Epilogue& epilogue, float alpha, int64_t row, int64_t col,
                                  float (&values)[kEpilogueWidth]) {
  if (row >= epilogue.m || col >= epilogue.n) {
    return;
  }
  const int count = static_cast<int>(min(epilogue.n - col, static_cast<int64_t>(kEpilogueWidth)));
  // What is asked for most, in a few lines of code: kernels of some microseconds wait for each
  // line.
  if (epilogue.format_d == internal::Format::kBf16 && epilogue.bias == nullptr &&
      epilogue.c == nullptr && epilogue.activation == internal::Activation::kNone &&
      count == kEpilogueWidth) {
    uint16_t* target = static_cast<uint16_t*>(epilogue.d) + row * epilogue.ldd + col;
    if (is_aligned_16(target)) {
      uint32_t bits[kEpilogueWidth];
#pragma unroll
      for (int i = 0; i < kEpilogueWidth; ++i) {
        bits[i] = bf16_bits(fmaf(alpha, values[i], 0.0f));
      }
      *reinterpret_cast<uint4*>(target) =
          make_uint4(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16, bits[4] | bits[5] << 16,
                     bits[6] | bits[7] << 16);
      return;
    }
  }
  alignas(16) float addend[kEpilogueWidth] = {};
  if (epilogue.bias != nullptr) {
    load_row(epilogue.bias, epilogue.format_bias, col, count, addend);
  }
#pragma unroll
  for (int i = 0; i < kEpilogueWidth; ++i) {
    values[i] = fmaf(alpha, values[i], addend[i]);
  }
  if (epilogue.c != nullptr) {
    load_row(epilogue.c, epilogue.format_d, row * epilogue.ldc + col, count, addend);
#pragma unroll
    for (int i = 0; i < kEpilogueWidth; ++i) {
      values[i] = fmaf(epilogue.beta, addend[i], values[i]);
    }
  }
  if (epilogue.activation != internal::Activation::kNone) {
#pragma unroll
    for (int i = 0; i < kEpilogueWidth; ++i) {
      values[i] = activate(values[i], epilogue.activation);
    }
  }
  store_row(epilogue.d, epilogue.format_d, row * epilogue.ldd + col, count, values);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
