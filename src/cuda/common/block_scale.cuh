// SPDX-License-Identifier: Apache-2.0
// From the amax of a block to its scale byte and the codes of its octets (docs/formats.md,
// "Quantising"). Host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/common/encode.cuh"
#include "cuda/common/encode_e2m1.cuh"
#include "formats/nvf4_scale.hpp"
#include "formats/scale_rule.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// What is the same for all blocks of a tensor.
struct QuantizeRule {
  uint32_t addend;  // of the MX scale rule: formats/scale_rule.hpp
  bool saturate_nonfinite;
  float min_block_scale;  // nvf4 only, as what follows
  float global_scale;
  float global_reciprocal;  // 1 / global_scale
};

template <Format kFormat>
struct ElementOf {
  using Type = E2m1Rounding;
};
template <>
struct ElementOf<Format::kMxf8E4m3> {
  using Type = E4m3Rounding;
};
template <>
struct ElementOf<Format::kMxf8E5m2> {
  using Type = E5m2Rounding;
};
template <Format kFormat>
using Element = typename ElementOf<kFormat>::Type;

// Facts of a format as constants of device code.
template <Format kFormat>
constexpr int kBlockSize = internal::find_format(kFormat)->block_size;
template <Format kFormat>
constexpr int kElementEmax = internal::find_format(kFormat)->element_emax;

// x / d by multiplications, to the last bit: r is 1 / d rounded to nearest, and two steps of
// q += r * (x - q * d) round correctly (P. Markstein, Computation of elementary functions on the
// IBM RISC System/6000 processor, 1990), as long as the remainder is exact, which it is for |x| >=
// 2^-102, and r no subnormal. Where x * r overflows the result is NaN or infinite.
MXGEMM_HOST_DEVICE inline float divide(float x, float d, float r) {
  float q = x * r;
  q = fmaf(fmaf(-q, d, x), r, q);
  return fmaf(fmaf(-q, d, x), r, q);
}

struct BlockScale {
  uint32_t code;
  bool is_nan;   // then all codes are 0
  float factor;  // MX: what the numbers are multiplied by
  // NVFP4: the numbers, multiplied by prescale, are divided by divisor; reciprocal = 1 / divisor.
  float prescale;
  float divisor;
  float reciprocal;
};

template <Format kFormat>
MXGEMM_HOST_DEVICE inline BlockScale mx_scale(const QuantizeRule& rule, uint32_t amax_bits) {
  uint32_t code = internal::kE8m0MaxCode;
  if (amax_bits < internal::kF32Infinity) {
    code = internal::scale_from_amax(amax_bits, rule.addend, kElementEmax<kFormat>);
  }
  const bool is_nan = amax_bits > internal::kF32Infinity ||
                      (amax_bits == internal::kF32Infinity && !rule.saturate_nonfinite);
  // The bits of 2^-X, X = code - 127; 2^-127 is a subnormal.
  const uint32_t inverse =
      code == internal::kE8m0MaxCode ? 1u << 22 : (internal::kE8m0MaxCode - code) << 23;
  return {is_nan ? internal::kE8m0Nan : code, is_nan, float_of(inverse), 0.0f, 0.0f, 0.0f};
}

// fp32((amax / 6) / g) as far as its E4M3 code can tell: NaN where it overflows, some tiny number
// where amax is too small for `divide`, since the code then is 0.
MXGEMM_HOST_DEVICE inline float nvf4_wanted_scale(const QuantizeRule& rule, float amax) {
  constexpr float kLeastGlobal = 0x1p-64f;
  constexpr float kLargestGlobal = 0x1p64f;
  if (rule.global_scale >= kLeastGlobal && rule.global_scale <= kLargestGlobal) {
    const float sixth = divide(amax, 6.0f, 1.0f / 6.0f);
    const float scale = divide(sixth, rule.global_scale, rule.global_reciprocal);
    return scale < rule.min_block_scale ? rule.min_block_scale : scale;
  }
  return internal::nvf4_block_scale(amax, rule.global_scale, rule.min_block_scale);
}

// A divisor near an end of fp32 is brought to its middle together with the numbers, by a power of
// two: numbers that lose bits by it are so small that their code is 0, those that overflow so large
// that it is the largest.
MXGEMM_HOST_DEVICE inline void set_divisor(float block_scale, float global_scale,
                                           BlockScale* scale) {
  constexpr float kLeast = 0x1p-96f;
  constexpr float kLargest = 0x1p96f;
  scale->prescale = 1.0f;
  scale->divisor = block_scale * global_scale;
  if (!(scale->divisor >= kLeast && scale->divisor <= kLargest)) {
    const float divisor = internal::nvf4_divisor(block_scale, global_scale);
    if (divisor == INFINITY) {  // leaves 0 of every finite number
      scale->divisor = 1.0f;
      scale->reciprocal = 0.0f;
      return;
    }
    scale->prescale = divisor > kLargest ? 0x1p-64f : 0x1p96f;
    // In place of 0 what makes the largest code of every number but 0, as 0 does.
    scale->divisor = divisor == 0.0f ? 0x1p-126f : divisor * scale->prescale;
  }
  scale->reciprocal = 1.0f / scale->divisor;
}

MXGEMM_HOST_DEVICE inline BlockScale nvf4_scale(const QuantizeRule& rule, uint32_t amax_bits) {
  // An infinite amax gives an infinite scale, that is 448.
  const float amax = amax_bits < internal::kF32Infinity ? float_of(amax_bits) : INFINITY;
  BlockScale scale;
  scale.code = magnitude_code<E4m3Rounding>(nvf4_wanted_scale(rule, amax));
  scale.factor = 0.0f;
  // E4M3's exponent and mantissa at the place of fp32's: the value times 2^-120, subnormals too.
  set_divisor(float_of(scale.code << 20) * 0x1p120f, rule.global_scale, &scale);
  scale.is_nan = amax_bits > internal::kF32Infinity ||
                 (amax_bits == internal::kF32Infinity && !rule.saturate_nonfinite);
  scale.code = scale.is_nan ? internal::kE4m3Nan : scale.code;
  return scale;
}

template <Format kFormat>
MXGEMM_HOST_DEVICE inline BlockScale block_scale(const QuantizeRule& rule, uint32_t amax_bits) {
  if constexpr (kFormat == Format::kNvf4) {
    return nvf4_scale(rule, amax_bits);
  } else {
    return mx_scale<kFormat>(rule, amax_bits);
  }
}

// The magnitudes of an octet divided; NaN where that overflows, which only the largest code is for.
template <Format kSource>
MXGEMM_HOST_DEVICE inline void divide_magnitudes(const Octet<kSource>& octet,
                                                 const BlockScale& scale,
                                                 float (&quotients)[kOctet]) {
  const Octet<kSource> magnitudes = octet.magnitudes();
  for (int i = 0; i < kOctet; ++i) {
    quotients[i] = number(magnitudes, i);
  }
  if (scale.prescale != 1.0f) {
    for (float& value : quotients) {
      value *= scale.prescale;
    }
  }
  for (float& value : quotients) {
    value = divide(value, scale.divisor, scale.reciprocal);
  }
}

template <Format kSource, Format kFormat>
MXGEMM_HOST_DEVICE inline OctetCodes<Element<kFormat>> encode_octet(const Octet<kSource>& octet,
                                                                    const BlockScale& scale) {
  using E = Element<kFormat>;
  float scaled[kOctet];
  if constexpr (kFormat == Format::kMxf4 && kSource != Format::kF32 && !MXGEMM_CONVERTS_E2M1) {
    return {{encode_e2m1_pairs(octet.magnitudes(), scale.factor, octet)}};
  } else if constexpr (kFormat != Format::kNvf4) {
    for (int i = 0; i < kOctet; ++i) {
      scaled[i] = number(octet, i) * scale.factor;
    }
    return encode<E>(scaled);
  } else if constexpr (MXGEMM_CONVERTS_E2M1) {
    divide_magnitudes(octet, scale, scaled);
    for (int i = 0; i < kOctet; ++i) {
      // A conversion takes NaN for a positive number.
      scaled[i] = copysignf(fminf(scaled[i], kLargestElement<E>), number(octet, i));
    }
    return encode<E>(scaled);
  } else {
    divide_magnitudes(octet, scale, scaled);
    return {{encode_e2m1(scaled, octet)}};
  }
}

template <Format kSource, Format kFormat>
MXGEMM_HOST_DEVICE inline OctetCodes<Element<kFormat>> quantize_octet(const Octet<kSource>& octet,
                                                                      const BlockScale& scale) {
  OctetCodes<Element<kFormat>> codes = encode_octet<kSource, kFormat>(octet, scale);
  for (uint32_t& word : codes.words) {
    word = scale.is_nan ? 0 : word;
  }
  return codes;
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
