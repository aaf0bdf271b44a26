// SPDX-License-Identifier: Apache-2.0
// Block-scaled elements expanded to bf16 in registers: element * block scale, exactly (a product of
// E2M1 or E4M3 and a power of two has at most 4 significant bits, one of E2M1 and an E4M3 scale at
// most 6; bf16 has 8 and the exponents of fp32).
//
// How. The exponent and mantissa bits of a code are put where bf16 has the low end of its exponent
// and the high end of its mantissa. What results is the code's value times 2^-126 (E2M1) or 2^-120
// (E4M3), subnormal codes included, since bf16 subnormals continue the same way. One multiplication
// undoes that power, a second one applies the scale; both are exact.
//   E2M1     s e e m          ->  s 000000ee m000000
//   E4M3     s eeee mmm       ->  s 0000eeee mmm0000
// NVFP4's scales span little, so there one multiplication by scale * 2^117 does both and leaves the
// value times 2^-9 (kLeftExponent): the epilogue multiplies it away, exactly.
//
// Exact for scale bytes 0…252 (E2M1) and 3…246 (E4M3). Above, what does not fit is clamped to the
// largest finite bf16 (Inf would make NaN of a zero beside it); below, it is rounded to bf16's
// subnormals.
//
// The order in which a tensor core sums is free as long as both operands follow it, so elements may
// be paired as is cheapest (PairOrder).
#pragma once

#include "cuda/common/ptx.cuh"
#include "formats/block_format.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

using internal::Format;

// Which two of eight consecutive elements share word i.
enum class PairOrder {
  kNatural,  // 2i, 2i + 1: what bf16 in memory looks like
  kStride4,  // i, i + 4: cheapest for E2M1
  kStride2,  // 4 (i / 2) + i % 2, that + 2: cheapest for E4M3
};

template <Format kFormat>
struct ElementTraits {
  static constexpr bool kIsScaled = kFormat != Format::kBf16;
  static constexpr bool kIsE2m1 = kFormat == Format::kMxf4 || kFormat == Format::kNvf4;
  static constexpr int kBits = kIsE2m1 ? 4 : kIsScaled ? 8 : 16;
  static constexpr int kBlock = kFormat == Format::kNvf4 ? 16 : 32;
  // An expanded element is its value times 2^-kLeftExponent.
  static constexpr int kLeftExponent = kFormat == Format::kNvf4 ? 9 : 0;
  static_assert(kFormat == Format::kMxf4 || kFormat == Format::kNvf4 ||
                    kFormat == Format::kMxf8E4m3 || kFormat == Format::kBf16,
                "only E2M1 and E4M3 with any scale in range fit bf16");
};

constexpr uint32_t kSignBits = 0x80008000u;
constexpr uint32_t kTwoTo126 = 0x7E807E80u;  // a pair of bf16
constexpr uint32_t kTwoTo120 = 0x7B807B80u;
constexpr uint32_t kBf16Nan = 0x7FFF7FFFu;
constexpr uint32_t kBf16Max = 0x7F7F7F7Fu;
constexpr uint32_t kBf16Magnitude = 0x7FFF7FFFu;

// `bits` shifted left by kShift, or right where it is negative.
template <int kShift>
__device__ __forceinline__ uint32_t shift(uint32_t bits) {
  if constexpr (kShift >= 0) {
    return bits << kShift;
  } else {
    return bits >> -kShift;
  }
}

template <int kSignShift, int kRestShift>
__device__ __forceinline__ uint32_t place_e2m1(uint32_t codes) {
  return (shift<kSignShift>(codes) & kSignBits) | (shift<kRestShift>(codes) & 0x01C001C0u);
}

// Eight E2M1 codes -> four pairs of value * 2^-126.
template <PairOrder kOrder>
__device__ __forceinline__ void spread_e2m1(uint32_t codes, uint32_t (&out)[4]) {
  static_assert(kOrder == PairOrder::kNatural || kOrder == PairOrder::kStride4);
  if constexpr (kOrder == PairOrder::kStride4) {
    out[0] = place_e2m1<12, 6>(codes);
    out[1] = place_e2m1<8, 2>(codes);
    out[2] = place_e2m1<4, -2>(codes);
    out[3] = place_e2m1<0, -6>(codes);
  } else {
    // Byte i holds a pair: its low nibble goes to the low half, its high nibble to the high half.
    const uint32_t odd = codes >> 4;
    out[0] = place_e2m1<12, 6>(permute_bytes(codes, odd, 0x4400));
    out[1] = place_e2m1<12, 6>(permute_bytes(codes, odd, 0x5511));
    out[2] = place_e2m1<12, 6>(permute_bytes(codes, odd, 0x6622));
    out[3] = place_e2m1<12, 6>(permute_bytes(codes, odd, 0x7733));
  }
}

// Two E4M3 codes in the upper bytes of both halves -> value * 2^-120.
__device__ __forceinline__ uint32_t place_e4m3(uint32_t codes) {
  return (codes & kSignBits) | ((codes >> 4) & 0x07F007F0u);
}

// Eight E4M3 codes -> four pairs of value * 2^-120.
template <PairOrder kOrder>
__device__ __forceinline__ void spread_e4m3(uint32_t first, uint32_t second, uint32_t (&out)[4]) {
  if constexpr (kOrder == PairOrder::kStride2) {
    out[0] = place_e4m3(first << 8);
    out[1] = place_e4m3(first);
    out[2] = place_e4m3(second << 8);
    out[3] = place_e4m3(second);
  } else if constexpr (kOrder == PairOrder::kNatural) {
    out[0] = place_e4m3(permute_bytes(first, 0, 0x1000));
    out[1] = place_e4m3(permute_bytes(first, 0, 0x3020));
    out[2] = place_e4m3(permute_bytes(second, 0, 0x1000));
    out[3] = place_e4m3(permute_bytes(second, 0, 0x3020));
  } else {
    out[0] = place_e4m3(permute_bytes(first, second, 0x4000));
    out[1] = place_e4m3(permute_bytes(first, second, 0x5010));
    out[2] = place_e4m3(permute_bytes(first, second, 0x6020));
    out[3] = place_e4m3(permute_bytes(first, second, 0x7030));
  }
}

// Nonzero if one of four E4M3 codes is NaN.
__device__ __forceinline__ uint32_t e4m3_nan_bits(uint32_t codes) {
  return ((codes & 0x7F7F7F7Fu) + 0x01010101u) & 0x80808080u;
}

// What the elements of one scale are multiplied by.
struct ScaleFactor {
  uint32_t pair;  // twice the same bf16
  bool clamps;    // products may exceed bf16
};

template <Format kFormat>
__device__ __forceinline__ ScaleFactor scale_factor(uint32_t code) {
  if constexpr (kFormat == Format::kNvf4) {
    // value * 2^-120 as fp32, then * 2^237 in two steps, since 2^237 is no fp32.
    const float value = __uint_as_float((code & 0x7Fu) << 20) * 0x1p127f * 0x1p110f;
    const uint32_t bits = __float_as_uint(value) >> 16;
    return {(code & 0x7Fu) == internal::kE4m3Nan ? kBf16Nan : bits | bits << 16, false};
  } else {
    constexpr uint32_t kLargestExact = kFormat == Format::kMxf4 ? 252 : 246;
    const uint32_t bits = code == 0 ? 0x0040u : code << 7;  // 2^-127 is a subnormal
    return {code == internal::kE8m0Nan ? kBf16Nan : bits | bits << 16,
            code > kLargestExact && code != internal::kE8m0Nan};
  }
}

// An E4M3 NaN makes its whole operand row NaN in the product whatever else the row holds, so the
// scale of the elements beside it may carry it.
template <Format kFormat, int kWords>
__device__ __forceinline__ void note_nan(const uint32_t (&codes)[kWords], ScaleFactor* factor) {
  if constexpr (kFormat == Format::kMxf8E4m3) {
    uint32_t nan_bits = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      nan_bits |= e4m3_nan_bits(codes[i]);
    }
    if (nan_bits != 0) {
      *factor = {kBf16Nan, false};
    }
  }
}

__device__ __forceinline__ uint32_t clamp_infinities(uint32_t pair) {
  const uint32_t magnitude = pair & kBf16Magnitude;
  const uint32_t low = min(magnitude & 0xFFFFu, kBf16Max & 0xFFFFu);
  const uint32_t high = min(magnitude >> 16, kBf16Max >> 16);
  return (pair & kSignBits) | low | high << 16;
}

// Eight elements (one word of E2M1, two of E4M3) under one scale -> four pairs of bf16.
template <Format kFormat, PairOrder kOrder>
__device__ __forceinline__ void expand(const uint32_t* codes, const ScaleFactor& factor,
                                       uint32_t (&out)[4]) {
  if constexpr (ElementTraits<kFormat>::kIsE2m1) {
    spread_e2m1<kOrder>(codes[0], out);
  } else {
    spread_e4m3<kOrder>(codes[0], codes[1], out);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (kFormat == Format::kMxf4) {
      out[i] = multiply_bf16x2(out[i], kTwoTo126);
    } else if constexpr (kFormat == Format::kMxf8E4m3) {
      out[i] = multiply_bf16x2(out[i], kTwoTo120);
    }
    out[i] = multiply_bf16x2(out[i], factor.pair);
  }
  if (factor.clamps) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[i] = clamp_infinities(out[i]);
    }
  }
}

// Eight bf16 in natural order -> kOrder.
template <PairOrder kOrder>
__device__ __forceinline__ void reorder(const uint32_t (&natural)[4], uint32_t (&out)[4]) {
  constexpr uint32_t kLowHalves = 0x5410;
  constexpr uint32_t kHighHalves = 0x7632;
  if constexpr (kOrder == PairOrder::kStride4) {
    out[0] = permute_bytes(natural[0], natural[2], kLowHalves);
    out[1] = permute_bytes(natural[0], natural[2], kHighHalves);
    out[2] = permute_bytes(natural[1], natural[3], kLowHalves);
    out[3] = permute_bytes(natural[1], natural[3], kHighHalves);
  } else if constexpr (kOrder == PairOrder::kStride2) {
    out[0] = permute_bytes(natural[0], natural[1], kLowHalves);
    out[1] = permute_bytes(natural[0], natural[1], kHighHalves);
    out[2] = permute_bytes(natural[2], natural[3], kLowHalves);
    out[3] = permute_bytes(natural[2], natural[3], kHighHalves);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[i] = natural[i];
    }
  }
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
