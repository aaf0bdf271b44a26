// SPDX-License-Identifier: Apache-2.0
// Eight neighbouring numbers of a row, what one thread works on: 16 bytes of bf16 or f16 are one
// load, and a block of 32 (16) is four (two) lanes of a warp. What is said here and in encode.cuh,
// encode_e2m1.cuh, block_scale.cuh and decode.cuh is compiled for the host as well, where
// tests/unit/cuda/quantize_octet_test.cpp and dequantize_octet_test.cpp compare it with the CPU's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "formats/block_format.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

using internal::Format;

constexpr int kOctet = 8;

MXGEMM_HOST_DEVICE constexpr float float_of(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

MXGEMM_HOST_DEVICE constexpr uint32_t bits_of(float value) {
  return __builtin_bit_cast(uint32_t, value);
}

MXGEMM_HOST_DEVICE inline uint32_t larger(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

// Numbers of a plain format as they lie in memory.
template <Format kSource>
struct Octet {
  static constexpr int kWords = kSource == Format::kF32 ? 8 : 4;
  static constexpr uint32_t kMagnitudes = kSource == Format::kF32 ? 0x7FFFFFFFu : 0x7FFF7FFFu;
  uint32_t words[kWords];

  // The same numbers without their signs.
  MXGEMM_HOST_DEVICE Octet magnitudes() const {
    Octet result;
    for (int i = 0; i < kWords; ++i) {
      result.words[i] = words[i] & kMagnitudes;
    }
    return result;
  }
};

MXGEMM_HOST_DEVICE inline float f16_to_f32(uint32_t code) {
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(code)));
  return value;
#else
  return static_cast<float>(internal::f16_decode(static_cast<uint16_t>(code)));
#endif
}

// Nearest even, overflow to infinity.
MXGEMM_HOST_DEVICE inline uint32_t f32_to_f16(float value) {
#if defined(__CUDA_ARCH__)
  unsigned short code;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(value));
  return code;
#else
  return internal::f16_encode(value);
#endif
}

// Number i in fp32, which holds all of them exactly.
template <Format kSource>
MXGEMM_HOST_DEVICE inline float number(const Octet<kSource>& octet, int i) {
  if constexpr (kSource == Format::kF32) {
    return float_of(octet.words[i]);
  } else {
    const uint32_t pair = octet.words[i / 2];
    if constexpr (kSource == Format::kBf16) {
      return float_of(i % 2 == 0 ? pair << 16 : pair & 0xFFFF0000u);
    } else {
      return f16_to_f32(i % 2 == 0 ? pair & 0xFFFFu : pair >> 16);
    }
  }
}

#if defined(__CUDA_ARCH__)
// The larger magnitudes of two pairs without signs; NaN where either is.
template <Format kSource>
__device__ __forceinline__ uint32_t larger_pair(uint32_t a, uint32_t b) {
  uint32_t result;
  if constexpr (kSource == Format::kBf16) {
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else {
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}
#endif

// The largest magnitude as the bits of an fp32; above infinity's if there is a NaN.
template <Format kSource>
MXGEMM_HOST_DEVICE inline uint32_t amax_bits(const Octet<kSource>& octet) {
  const Octet<kSource> magnitudes = octet.magnitudes();
#if defined(__CUDA_ARCH__)
  if constexpr (kSource != Format::kF32) {
    uint32_t pair = magnitudes.words[0];
#pragma unroll
    for (int i = 1; i < Octet<kSource>::kWords; ++i) {
      pair = larger_pair<kSource>(pair, magnitudes.words[i]);
    }
    const uint32_t code = larger(pair & 0xFFFFu, pair >> 16);
    return kSource == Format::kBf16 ? code << 16 : bits_of(f16_to_f32(code));
  }
#endif
  uint32_t bits = 0;
  for (int i = 0; i < kOctet; ++i) {
    bits = larger(bits, bits_of(number(magnitudes, i)));
  }
  return bits;
}

// The same of the finite ones among the numbers; 0 if there is none.
template <Format kSource>
MXGEMM_HOST_DEVICE inline uint32_t finite_amax_bits(const Octet<kSource>& octet) {
  const Octet<kSource> magnitudes = octet.magnitudes();
  uint32_t bits = 0;
  for (int i = 0; i < kOctet; ++i) {
    const uint32_t magnitude = bits_of(number(magnitudes, i));
    bits = larger(bits, magnitude < internal::kF32Infinity ? magnitude : 0);
  }
  return bits;
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
