// SPDX-License-Identifier: Apache-2.0
// Numbers to E2M1 where no hardware converts. Host and device.
//
// With the spacing of E2M1 (1/2 below 2, then 1, from 4 on 2) the code of y >= 0 is the least of
//     round(2 y)    round(y) + 2    round(y / 2) + 4    7
// where each line is exact in its own range and above the others elsewhere. In [2^23, 2^24) fp32
// counts by ones, so does bf16 in [128, 256) and f16 in [1024, 2048): one fused multiply-add gives
// a line plus such a base, rounded to nearest; what is added is even, so ties go to even codes.
// bf16 and f16 under a power of two (MXFP4) stay what they are, two numbers an instruction.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cuda/common/octet.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// Byte i of the result is the byte of {b, a} (a the lower four) that nibble i of `selector` names.
MXGEMM_HOST_DEVICE inline uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, selector);
#else
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t index = selector >> (4 * i) & 7;
    result |= static_cast<uint32_t>(bytes >> (8 * index) & 0xFF) << (8 * i);
  }
  return result;
#endif
}

// Bit 7 of byte i is the sign of number first + i.
template <Format kSource>
MXGEMM_HOST_DEVICE inline uint32_t sign_bytes(const Octet<kSource>& octet, int first) {
  if constexpr (kSource == Format::kF32) {
    const uint32_t* words = octet.words + first;
    return pick_bytes(pick_bytes(words[0], words[1], 0x0073),
                      pick_bytes(words[2], words[3], 0x0073), 0x5410);
  } else {
    return pick_bytes(octet.words[first / 2], octet.words[first / 2 + 1], 0x7531);
  }
}

// Byte i of words 0 and 1: the code, without sign, of number i and i + 4 -> eight nibbles.
template <Format kSource>
MXGEMM_HOST_DEVICE inline uint32_t pack_e2m1(const uint32_t (&codes)[2],
                                             const Octet<kSource>& octet) {
  uint32_t pairs[2];  // two codes in each even byte
  for (int i = 0; i < 2; ++i) {
    const uint32_t bytes = codes[i] | (sign_bytes(octet, 4 * i) >> 4 & 0x08080808u);
    pairs[i] = bytes | bytes >> 4;
  }
  return pick_bytes(pairs[0], pairs[1], 0x6420);
}

// ---- fp32

// The code of a magnitude in the low byte, of infinity and NaN the largest.
MXGEMM_HOST_DEVICE inline uint32_t e2m1_code(float magnitude) {
  constexpr float kBase = 0x1p23f;
  const float halves = fmaf(magnitude, 2.0f, kBase);
  const float ones = magnitude + (kBase + 2.0f);
  const float twos = fmaf(magnitude, 0.5f, kBase + 4.0f);
  return bits_of(fminf(fminf(halves, ones), fminf(twos, kBase + 7.0f)));
}

// Eight magnitudes and the signs of an octet -> a word of codes.
template <Format kSource>
MXGEMM_HOST_DEVICE inline uint32_t encode_e2m1(const float (&magnitudes)[kOctet],
                                               const Octet<kSource>& octet) {
  uint32_t codes[2];
  for (int i = 0; i < 2; ++i) {
    const float* four = magnitudes + 4 * i;
    codes[i] = pick_bytes(pick_bytes(e2m1_code(four[0]), e2m1_code(four[1]), 0x0040),
                          pick_bytes(e2m1_code(four[2]), e2m1_code(four[3]), 0x0040), 0x5410);
  }
  return pack_e2m1(codes, octet);
}

// ---- Pairs of bf16 or f16

// a * b + c for both numbers of each word, rounded once.
template <Format kSource>
MXGEMM_HOST_DEVICE inline uint32_t fma_pair(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
#if defined(__CUDA_ARCH__)
  if constexpr (kSource == Format::kBf16) {
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  } else {
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  }
#else
  for (int shift = 0; shift < 32; shift += 16) {
    const auto value = [shift](uint32_t pair) {
      const auto code = static_cast<uint16_t>(pair >> shift);
      return kSource == Format::kBf16 ? internal::bf16_decode(code) : internal::f16_decode(code);
    };
    // Exact in double, or too small beside c to be seen.
    const double sum = value(a) * value(b) + value(c);
    const uint16_t code =
        kSource == Format::kBf16 ? internal::bf16_encode(sum) : internal::f16_encode(sum);
    result |= uint32_t{code} << shift;
  }
#endif
  return result;
}

// The lesser of two numbers >= 0, for both of each word; if one is NaN, the other.
template <Format kSource>
MXGEMM_HOST_DEVICE inline uint32_t min_pair(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  uint32_t result;
  if constexpr (kSource == Format::kBf16) {
    asm("min.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else {
    asm("min.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
#else
  constexpr uint32_t kMagnitude = 0x7FFF;  // the sign of a NaN is nobody's
  const uint32_t low = std::min(a & kMagnitude, b & kMagnitude);
  return low | std::min(a >> 16 & kMagnitude, b >> 16 & kMagnitude) << 16;
#endif
}

constexpr uint32_t twice(uint32_t code) {
  return code | code << 16;
}

// A power of two as pairs of kSource: the product of both. f16 has no 2^26, which its smallest
// numbers ask for.
struct PairFactor {
  uint32_t first;
  uint32_t second;  // f16 only
};

template <Format kSource>
MXGEMM_HOST_DEVICE inline PairFactor pair_factor(float factor) {
  if constexpr (kSource == Format::kBf16) {
    return {twice(bits_of(factor) >> 16), 0};
  } else {
    // Only a block of zeros asks for more than 2^27; what is below f16 makes 0 of finite numbers,
    // which is their code then.
    constexpr float kMost = 0x1p15f;
    const float first = fminf(factor, kMost);
    const float second = fminf(fmaxf(factor / kMost, 1.0f), kMost);
    return {twice(f32_to_f16(first)), twice(f32_to_f16(second))};
  }
}

// The codes of two magnitudes in the low bytes of both halves.
template <Format kSource>
MXGEMM_HOST_DEVICE inline uint32_t e2m1_pair(uint32_t magnitudes, const PairFactor& factor) {
  constexpr bool kIsBf16 = kSource == Format::kBf16;
  constexpr uint32_t kTwo = twice(0x4000);
  constexpr uint32_t kOne = twice(kIsBf16 ? 0x3F80 : 0x3C00);
  constexpr uint32_t kHalf = twice(kIsBf16 ? 0x3F00 : 0x3800);
  constexpr uint32_t kBase = twice(kIsBf16 ? 0x4300 : 0x6400);  // 128, 1024; a bit more is 1 more
  constexpr uint32_t kNothing = twice(0x8000);                  // adding -0 changes no product
  uint32_t y = fma_pair<kSource>(magnitudes, factor.first, kNothing);
  if constexpr (!kIsBf16) {
    y = fma_pair<kSource>(y, factor.second, kNothing);
  }
  const uint32_t halves = fma_pair<kSource>(y, kTwo, kBase);
  const uint32_t ones = fma_pair<kSource>(y, kOne, kBase + twice(2));
  const uint32_t twos = fma_pair<kSource>(y, kHalf, kBase + twice(4));
  return min_pair<kSource>(min_pair<kSource>(min_pair<kSource>(halves, ones), twos),
                           kBase + twice(7));
}

// Eight numbers times a power of two -> a word of codes. `magnitudes`: the octet without signs.
template <Format kSource>
MXGEMM_HOST_DEVICE inline uint32_t encode_e2m1_pairs(const Octet<kSource>& magnitudes, float factor,
                                                     const Octet<kSource>& octet) {
  const PairFactor factors = pair_factor<kSource>(factor);
  uint32_t codes[2];
  for (int i = 0; i < 2; ++i) {
    codes[i] = pick_bytes(e2m1_pair<kSource>(magnitudes.words[2 * i], factors),
                          e2m1_pair<kSource>(magnitudes.words[2 * i + 1], factors), 0x6420);
  }
  return pack_e2m1(codes, octet);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
