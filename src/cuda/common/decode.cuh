// SPDX-License-Identifier: Apache-2.0
// Eight element codes under one scale -> eight numbers of a plain format: the exact product rounded
// once (docs/formats.md, "Decoding"). Host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/common/block_scale.cuh"
#include "cuda/common/octet.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// Every NaN is written as the one positive quiet NaN.
template <Format kTarget>
constexpr uint32_t kQuietNan = kTarget == Format::kBf16  ? 0x7FC0u
                               : kTarget == Format::kF16 ? 0x7E00u
                                                         : 0x7FC00000u;

// The value of a finite code, exactly: its exponent and mantissa where fp32 has the low end of its
// exponent and the high end of its mantissa are the value times a power of two, subnormals too.
template <typename Element>
MXGEMM_HOST_DEVICE inline float finite_value(uint32_t code) {
  constexpr uint32_t kMagnitudes = Element::kSignBit - 1;
  // Bias 1 goes with the least normal 2^0, the fp32 subnormals with 2^-126.
  constexpr float kUnit = float_of(Element::kLeastExponentBits + (126u << 23));
  return float_of((code & kMagnitudes) << (23 - Element::kMantissaBits) |
                  (code & Element::kSignBit) << Element::kSignShift) *
         kUnit;
}

// E5M2 has an infinity, E4M3 has not.
template <typename Element>
MXGEMM_HOST_DEVICE inline float element_value(uint32_t code) {
  const uint32_t magnitude = code & (Element::kSignBit - 1);
  if (magnitude <= Element::kMaxCode) {
    return finite_value<Element>(code);
  }
  const bool is_infinite =
      Element::kMantissaBits == internal::kE5m2MantissaBits && magnitude == internal::kE5m2Infinity;
  return is_infinite ? copysignf(INFINITY, finite_value<Element>(code)) : NAN;
}

// Whether all codes are finite; no E2M1 code is otherwise.
template <typename Element>
MXGEMM_HOST_DEVICE inline bool are_finite(const OctetCodes<Element>& codes) {
  if constexpr (Element::kIsNibble) {
    return true;
  } else {
    // Adding what is missing from the first code that is not finite to 0x80 sets bit 7 there.
    constexpr uint32_t kAddend = (0x7Fu - Element::kMaxCode) * 0x01010101u;
    const uint32_t first = (codes.words[0] & 0x7F7F7F7Fu) + kAddend;
    const uint32_t second = (codes.words[1] & 0x7F7F7F7Fu) + kAddend;
    return ((first | second) & 0x80808080u) == 0;
  }
}

MXGEMM_HOST_DEVICE inline float e8m0_value(uint32_t code) {
  // Byte 0 is a subnormal, 255 is no infinity.
  return code == internal::kE8m0Nan ? NAN : float_of(code == 0 ? 1u << 22 : code << 23);
}

MXGEMM_HOST_DEVICE inline float e4m3_scale_value(uint32_t code) {
  return element_value<E4m3Rounding>(code & (internal::kE4m3SignBit - 1u));
}

// fp32 -> code of the target: nearest even, overflow to infinity.
template <Format kTarget>
MXGEMM_HOST_DEVICE inline uint32_t round_to(float value) {
  if (value != value) {
    return kQuietNan<kTarget>;
  }
  const uint32_t bits = bits_of(value);
  if constexpr (kTarget == Format::kBf16) {
    return (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
  } else if constexpr (kTarget == Format::kF16) {
    return f32_to_f16(value);
  } else {
    return bits;
  }
}

// Two numbers that are no NaN -> two codes, the first in the lower half.
template <Format kTarget>
MXGEMM_HOST_DEVICE inline uint32_t round_pair(float first, float second) {
#if defined(__CUDA_ARCH__)
  uint32_t pair;
  if constexpr (kTarget == Format::kBf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  }
  return pair;
#else
  return round_to<kTarget>(first) | round_to<kTarget>(second) << 16;
#endif
}

// Positive global scales up to this are plain: no step of `plain_product` overflows.
constexpr float kLargestPlainGlobal = 0x1p64f;

// The product of a (at most 6 significant bits) and a plain global scale, as the fp32 that the
// rounding to kTarget gives: adding c = 2^(e + 23 - m), e the product's exponent but at least that
// of the target's least normal and m its mantissa bits, rounds the exact product there and then,
// once. The exponent comes from the rounded product; where that is the next power of two, the exact
// one lies so close below it that it rounds to it either way.
template <Format kTarget>
MXGEMM_HOST_DEVICE inline float plain_product(float a, float global_scale) {
  constexpr int kMantissa =
      kTarget == Format::kBf16 ? internal::kBf16MantissaBits : internal::kF16MantissaBits;
  constexpr int kBias = kTarget == Format::kBf16 ? internal::kBf16Bias : internal::kF16Bias;
  constexpr uint32_t kLeastExponentBits = static_cast<uint32_t>(127 + 1 - kBias) << 23;
  const float magnitude = fabsf(a);
  const uint32_t exponent =
      larger(bits_of(magnitude * global_scale) & internal::kF32Infinity, kLeastExponentBits);
  const float c = float_of(exponent + (static_cast<uint32_t>(23 - kMantissa) << 23));
  return copysignf(fmaf(magnitude, global_scale, c) - c, a);
}

MXGEMM_HOST_DEVICE inline bool is_plain(float global_scale) {
  return global_scale > 0.0f && global_scale <= kLargestPlainGlobal;
}

// `value`, exact, times any global scale, rounded once to kTarget.
template <Format kTarget>
MXGEMM_HOST_DEVICE inline uint32_t scaled_code(float value, float global_scale) {
  if constexpr (kTarget == Format::kF32) {
    return round_to<kTarget>(value * global_scale);
  } else {
    // At most 30 significant bits, exact in double.
    const double product = static_cast<double>(value) * static_cast<double>(global_scale);
    if (product != product) {
      return kQuietNan<kTarget>;
    }
    return kTarget == Format::kBf16 ? internal::bf16_encode(product)
                                    : internal::f16_encode(product);
  }
}

template <typename Element>
MXGEMM_HOST_DEVICE inline uint32_t code_at(const OctetCodes<Element>& codes, int i) {
  constexpr int kBits = Element::kIsNibble ? 4 : 8;
  constexpr int kPerWord = 32 / kBits;
  return codes.words[i / kPerWord] >> (i % kPerWord * kBits) & ((1u << kBits) - 1);
}

// No NaN, no infinite element, and a plain global scale: the common case in few instructions.
template <Format kFormat, Format kTarget>
MXGEMM_HOST_DEVICE inline Octet<kTarget> dequantize_ordinary(
    const OctetCodes<Element<kFormat>>& codes, float scale, float global_scale) {
  float values[kOctet];
  for (int i = 0; i < kOctet; ++i) {
    // With an E8M0 scale exact in fp32 or beyond it, with an E4M3 scale always exact.
    values[i] = finite_value<Element<kFormat>>(code_at(codes, i)) * scale;
    if constexpr (kFormat == Format::kNvf4) {
      values[i] = kTarget == Format::kF32 ? values[i] * global_scale
                                          : plain_product<kTarget>(values[i], global_scale);
    }
  }
  Octet<kTarget> result;
  for (int i = 0; i < Octet<kTarget>::kWords; ++i) {
    if constexpr (kTarget == Format::kF32) {
      result.words[i] = bits_of(values[i]);
    } else {
      result.words[i] = round_pair<kTarget>(values[2 * i], values[2 * i + 1]);
    }
  }
  return result;
}

template <Format kFormat, Format kTarget>
MXGEMM_HOST_DEVICE inline Octet<kTarget> dequantize_any(const OctetCodes<Element<kFormat>>& codes,
                                                        float scale, float global_scale) {
  constexpr int kPerWord = kTarget == Format::kF32 ? 1 : 2;
  Octet<kTarget> result{};
  for (int i = 0; i < kOctet; ++i) {
    const float value = element_value<Element<kFormat>>(code_at(codes, i)) * scale;
    const uint32_t code = kFormat == Format::kNvf4 ? scaled_code<kTarget>(value, global_scale)
                                                   : round_to<kTarget>(value);
    result.words[i / kPerWord] |= code << (i % kPerWord * 16);
  }
  return result;
}

template <Format kFormat, Format kTarget>
MXGEMM_HOST_DEVICE inline Octet<kTarget> dequantize_octet(const OctetCodes<Element<kFormat>>& codes,
                                                          uint32_t scale_code, float global_scale) {
  constexpr bool kIsNvf4 = kFormat == Format::kNvf4;
  const float scale = kIsNvf4 ? e4m3_scale_value(scale_code) : e8m0_value(scale_code);
  if (scale == scale && are_finite(codes) && (!kIsNvf4 || is_plain(global_scale))) {
    return dequantize_ordinary<kFormat, kTarget>(codes, scale, global_scale);
  }
  return dequantize_any<kFormat, kTarget>(codes, scale, global_scale);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
