// SPDX-License-Identifier: Apache-2.0
// Eight scaled numbers -> eight element codes, packed as in memory: nearest, ties to the even code,
// saturating, sign kept. Host and device.
//
// Devices that convert to an element format in hardware do so here. Their conversions are the same
// function of every number but NaN: round to nearest even, satfinite, subnormals and the sign of
// zero kept. (What NaN gives does not matter: all codes of its block are 0.) Everything else rounds
// with one addition (formats/element_rounding.hpp), E2M1 mostly as encode_e2m1.cuh does.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/common/octet.cuh"
#include "formats/element_rounding.hpp"

// E2M1 conversions belong to the families 100 and 120, not to plain targets of those numbers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && \
    (defined(__CUDA_ARCH_FAMILY_SPECIFIC__) || defined(__CUDA_ARCH_SPECIFIC__))
#define MXGEMM_CONVERTS_E2M1 1
#else
#define MXGEMM_CONVERTS_E2M1 0
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define MXGEMM_CONVERTS_FP8 1
#else
#define MXGEMM_CONVERTS_FP8 0
#endif

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

using internal::E2m1Rounding;
using internal::E4m3Rounding;
using internal::E5m2Rounding;

// The value of the largest code, as a constant of device code.
template <typename Element>
constexpr float kLargestElement =
    static_cast<float>(internal::find_format(Element::kElementOf)->element_max);

// Code of a magnitude; of infinity and of NaN the largest.
template <typename Element>
MXGEMM_HOST_DEVICE inline uint32_t magnitude_code(float magnitude) {
  const float bounded = fminf(magnitude, kLargestElement<Element>);
  const uint32_t exponent =
      larger(bits_of(bounded) & internal::kF32Infinity, Element::kLeastExponentBits);
  // 2^(e + 23 - m) and the magnitude, added with one rounding.
  constexpr float kMagicFactor = float_of(Element::kMagicOffset + (127u << 23));
  const float sum = fmaf(float_of(exponent), kMagicFactor, bounded);
  return bits_of(sum) + (exponent >> (23 - Element::kMantissaBits)) - exponent -
         (Element::kMagicOffset + Element::kLeastExponentCode);
}

template <typename Element>
MXGEMM_HOST_DEVICE inline uint32_t element_code(float value) {
  return magnitude_code<Element>(fabsf(value)) |
         (bits_of(value) >> Element::kSignShift & Element::kSignBit);
}

// The codes of an octet: one word of nibbles or two of bytes.
template <typename Element>
struct OctetCodes {
  static constexpr int kWords = Element::kIsNibble ? 1 : 2;
  uint32_t words[kWords];
};

#if MXGEMM_CONVERTS_E2M1
__device__ __forceinline__ uint32_t convert_e2m1(const float (&v)[kOctet]) {
  uint32_t word;
  asm("{\n\t"
      ".reg .b8 b0, b1, b2, b3;\n\t"
      "cvt.rn.satfinite.e2m1x2.f32 b0, %2, %1;\n\t"
      "cvt.rn.satfinite.e2m1x2.f32 b1, %4, %3;\n\t"
      "cvt.rn.satfinite.e2m1x2.f32 b2, %6, %5;\n\t"
      "cvt.rn.satfinite.e2m1x2.f32 b3, %8, %7;\n\t"
      "mov.b32 %0, {b0, b1, b2, b3};\n\t"
      "}"
      : "=r"(word)
      : "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "f"(v[4]), "f"(v[5]), "f"(v[6]), "f"(v[7]));
  return word;
}
#endif

#if MXGEMM_CONVERTS_FP8
// Two numbers -> two bytes, the first in the low one.
template <typename Element>
__device__ __forceinline__ uint32_t convert_fp8_pair(float first, float second) {
  unsigned short pair;
  if constexpr (Element::kMantissaBits == internal::kE4m3MantissaBits) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  }
  return pair;
}
#endif

template <typename Element>
MXGEMM_HOST_DEVICE inline OctetCodes<Element> encode(const float (&values)[kOctet]) {
  OctetCodes<Element> codes{};
#if MXGEMM_CONVERTS_E2M1
  if constexpr (Element::kIsNibble) {
    codes.words[0] = convert_e2m1(values);
    return codes;
  }
#endif
#if MXGEMM_CONVERTS_FP8
  if constexpr (!Element::kIsNibble) {
    for (int i = 0; i < kOctet; i += 2) {
      codes.words[i / 4] |= convert_fp8_pair<Element>(values[i], values[i + 1]) << (i % 4 * 8);
    }
    return codes;
  }
#endif
  constexpr int kBits = Element::kIsNibble ? 4 : 8;
  constexpr int kPerWord = 32 / kBits;
  for (int i = 0; i < kOctet; ++i) {
    codes.words[i / kPerWord] |= element_code<Element>(values[i]) << (i % kPerWord * kBits);
  }
  return codes;
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
