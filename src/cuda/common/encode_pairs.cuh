// SPDX-License-Identifier: Apache-2.0
// bf16 and f16 to E2M1 under a power of two, two numbers an instruction: what quantising to MXFP4
// spends most of its instructions on where no hardware converts. Host and device.
//
// In [128, 256) bf16 counts by ones, and so does f16 in [1024, 2048): adding such a base rounds to
// an integer, ties to even. With the spacing of E2M1 (1/2 below 2, then 1, from 4 on 2) the code of
// y >= 0 is the least of
//     round(2 y)    round(y) + 2    round(y / 2) + 4    7
// where each line is exact in its own range and above the others elsewhere; what is added is even,
// so ties go to even codes. One fused multiply-add gives a line plus the base.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/common/encode.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

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
  constexpr uint32_t kBase =
      twice(kIsBf16 ? 0x4300 : 0x6400);         // 128, 1024; + 1 in the last bit is 1
  constexpr uint32_t kNothing = twice(0x8000);  // adding -0 changes no product
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

// Eight numbers -> a word of codes.
template <Format kSource>
MXGEMM_HOST_DEVICE inline uint32_t encode_e2m1_pairs(const Octet<kSource>& octet, float factor) {
  constexpr uint32_t kMagnitudes = 0x7FFF7FFFu;
  constexpr uint32_t kLowBytes = 0x6420;   // of the four halves
  constexpr uint32_t kHighBytes = 0x7531;  // bit 7 of each is a sign
  const PairFactor factors = pair_factor<kSource>(factor);
  uint32_t bytes[2];
  for (int i = 0; i < 2; ++i) {
    const uint32_t first = octet.words[2 * i];
    const uint32_t second = octet.words[2 * i + 1];
    const uint32_t codes = pick_bytes(e2m1_pair<kSource>(first & kMagnitudes, factors),
                                      e2m1_pair<kSource>(second & kMagnitudes, factors), kLowBytes);
    const uint32_t signs = pick_bytes(first, second, kHighBytes) >> 4 & 0x08080808u;
    bytes[i] = codes | signs;
    bytes[i] |= bytes[i] >> 4;  // two codes in each even byte
  }
  return pick_bytes(bytes[0], bytes[1], kLowBytes);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
