// SPDX-License-Identifier: Apache-2.0
// Block-scaled elements expanded to bf16 in registers: element * block scale, exactly (a product of
// E2M1 or E4M3 and a power of two has at most 4 significant bits, one of E2M1 and an E4M3 scale at
// most 6; bf16 has 8 and the exponents of fp32).
//
// E2M1, two ways; both give a fraction of the value (an eighth of MXFP4's, so that 6 * 2^127 is no
// overflow), and whoever sums multiplies by the inverse, whole_of():
//  - by table: a byte permutation looks up the upper (or lower) bytes of four magnitudes at a time
//  in eight constant bytes; pairs come in natural order. 15 integer instructions for 8 elements,
//  and 4 multiplications by the scale.
//  - by placing: a multiplication by 2^a + 2^b moves the sign of a code to where bf16 has it, and
//  the other bits to the low end of bf16's exponent and the high end of its mantissa. That is the
//  value times 2^-126, the subnormal code included, since bf16 subnormals continue the same way.
//  9 integer instructions, 4 integer multiplications; elements i and i + 4 share a word. 4 more
//  multiplications bring the scale and the exponent at once where their product is a bf16
//  (ScaleRange), or one after the other.
//
// E4M3 is placed likewise (s eeee mmm -> s 0000eeee mmm0000), the value times 2^-120.
//
// Exact for all scale bytes of E2M1 but NaN, and for 3…246 of E4M3. Above, what does not fit is
// clamped to the largest finite bf16 (Inf would make NaN of a zero beside it); below, it is rounded
// to bf16's subnormals.
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
  kStride4,  // i, i + 4: E2M1 by placing
  kStride2,  // 4 (i / 2) + i % 2, that + 2: cheapest for E4M3
};

template <Format kFormat>
struct ElementTraits {
  static constexpr bool kIsScaled = kFormat != Format::kBf16;
  static constexpr bool kIsE2m1 = kFormat == Format::kMxf4 || kFormat == Format::kNvf4;
  static constexpr int kBits = kIsE2m1 ? 4 : kIsScaled ? 8 : 16;
  static constexpr int kBlock = kFormat == Format::kNvf4 ? 16 : 32;
  static_assert(kFormat == Format::kMxf4 || kFormat == Format::kNvf4 ||
                    kFormat == Format::kMxf8E4m3 || kFormat == Format::kBf16,
                "only E2M1 and E4M3 under the scales in use fit bf16");
};

// What a sum of products of expanded elements is to be multiplied by. 2^-8 of NVFP4: its largest
// scale, 448, then is less than 2^127 even with the 2^118 that placed elements lack.
template <Format kFormat>
constexpr float whole_of() {
  return kFormat == Format::kNvf4 ? 256.0f : ElementTraits<kFormat>::kIsE2m1 ? 8.0f : 1.0f;
}
template <Format kA, Format kB>
constexpr float whole_of_products() {
  return whole_of<kA>() * whole_of<kB>();
}

// What is known of the scales of a block of MXFP4. Of the other formats, nothing needs to be.
enum class ScaleRange {
  kAll,
  kNarrow,  // none is larger than 16
};

// The largest byte with which 2^123 times the scale is a bf16: a scale of 16.
constexpr uint32_t kLargestNarrowScale = 131;

// Whether one of four bytes is larger: from 128 on, and of its lower seven bits, from 4 on.
__device__ __forceinline__ bool has_wide_scale(uint32_t bytes) {
  static_assert(kLargestNarrowScale >= 127);
  constexpr uint32_t kUpToBit7 = 0x80u - (kLargestNarrowScale + 1 - 0x80u);
  const uint32_t lower = (bytes & 0x7F7F7F7Fu) + kUpToBit7 * 0x01010101u;
  return (lower & bytes & 0x80808080u) != 0;
}

template <Format kFormat>
constexpr bool kHasWideScales = kFormat == Format::kMxf4;

// Pairs of bf16.
constexpr uint32_t kSignBits = 0x80008000u;
constexpr uint32_t kTwoTo115 = 0x79007900u;
constexpr uint32_t kTwoTo119 = 0x7B007B00u;
constexpr uint32_t kTwoTo120 = 0x7B807B80u;
constexpr uint32_t kTwoTo123 = 0x7D007D00u;
constexpr uint32_t kBf16Nan = 0x7FFF7FFFu;
constexpr uint32_t kBf16Max = 0x7F7F7F7Fu;

// A scale in E8M0 as a pair of the same bf16.
__device__ __forceinline__ uint32_t e8m0_pair(uint32_t code) {
  uint32_t bits = code == 0 ? 0x0040u : code << 7;  // 2^-127 is a subnormal
  bits = code == internal::kE8m0Nan ? kBf16Nan & 0xFFFFu : bits;
  return bits * 0x00010001u;
}

// 2^123 times a narrow one: its exponent is the code + 123.
__device__ __forceinline__ uint32_t narrow_e8m0_pair(uint32_t code) {
  return code * 0x00800080u + (kTwoTo123 - (127u * 0x00800080u));
}

// One in E4M3, its sign ignored, times 2^-120 (placed as elements are) and the powers of two in
// kFactor and kFactor2.
template <uint32_t kFactor, uint32_t kFactor2>
__device__ __forceinline__ uint32_t e4m3_pair(uint32_t code) {
  const uint32_t magnitude = code & 0x7Fu;
  uint32_t pair = multiply_bf16x2(magnitude * 0x00100010u, kFactor);
  if constexpr (kFactor2 != 0) {
    pair = multiply_bf16x2(pair, kFactor2);
  }
  return magnitude == internal::kE4m3Nan ? kBf16Nan : pair;
}

// Whether elements of E2M1 are placed and then multiplied by scale and exponent at once.
template <Format kFormat, PairOrder kOrder, ScaleRange kRange>
constexpr bool kMultipliesOnce = ElementTraits<kFormat>::kIsE2m1&& kOrder == PairOrder::kStride4 &&
                                 (!kHasWideScales<kFormat> || kRange == ScaleRange::kNarrow);

// What the elements of one block (or its part in `codes`) are multiplied by.
template <Format kFormat, PairOrder kOrder, ScaleRange kRange, int kWords>
__device__ __forceinline__ uint32_t multiplier(uint32_t scale_code,
                                               const uint32_t (&codes)[kWords]) {
  if constexpr (kFormat == Format::kNvf4) {
    // 2^-5 for the eighths of the table, 2^118 for what was placed.
    return kOrder == PairOrder::kStride4 ? e4m3_pair<kTwoTo119, kTwoTo119>(scale_code)
                                         : e4m3_pair<kTwoTo115, 0>(scale_code);
  } else if constexpr (kMultipliesOnce<kFormat, kOrder, kRange>) {
    return narrow_e8m0_pair(scale_code);
  } else if constexpr (ElementTraits<kFormat>::kIsE2m1) {
    return e8m0_pair(scale_code);
  } else {
    // An E4M3 NaN makes its whole operand row NaN in the product whatever else the row holds, so
    // the scale of the elements beside it may carry it.
    uint32_t nan_bits = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      nan_bits |= (codes[i] & 0x7F7F7F7Fu) + 0x01010101u;
    }
    return (nan_bits & 0x80808080u) != 0 ? kBf16Nan : e8m0_pair(scale_code);
  }
}

// ---- E2M1

// Four codes: `magnitudes` their lower three bits as the nibbles of a selector, `signs` the sign of
// element i in the highest bit of byte i -> eighths of them, two pairs in natural order.
__device__ __forceinline__ void look_up_e2m1(uint32_t magnitudes, uint32_t signs, uint32_t* out) {
  // 0, 1/16, 1/8, 3/16 and 1/4, 3/8, 1/2, 3/4 in bf16.
  const uint32_t low = permute_bytes(0x40008000u, 0x4000C080u, magnitudes);
  const uint32_t high = permute_bytes(0x3E3E3D00u, 0x3F3F3E3Eu, magnitudes) | (signs & 0x80808080u);
  out[0] = permute_bytes(low, high, 0x5140);
  out[1] = permute_bytes(low, high, 0x7362);
}

__device__ __forceinline__ void expand_e2m1_natural(uint32_t codes, uint32_t (&out)[4]) {
  const uint32_t magnitudes = codes & 0x77777777u;
  // The sign of an odd element is the highest bit of its byte, that of an even one comes there.
  const uint32_t even = codes << 4;
  look_up_e2m1(magnitudes, permute_bytes(even, codes, 0x5140), out);
  look_up_e2m1(magnitudes >> 16, permute_bytes(even, codes, 0x7362), out + 2);
}

// One code in each half, in bits 0…3 of it (kShift 0) or 4…7 (kShift 4); the other bits are 0.
template <int kShift>
__device__ __forceinline__ uint32_t place_e2m1(uint32_t codes) {
  constexpr uint32_t kToSignAndRest = (1u << 12 | 1u << 6) >> kShift;
  return codes * kToSignAndRest & (kSignBits | 0x01C001C0u);
}

// The values times 2^-126.
__device__ __forceinline__ void place_e2m1_stride4(uint32_t codes, uint32_t (&out)[4]) {
  constexpr uint32_t kLowNibbles = 0x000F000Fu;
  constexpr uint32_t kHighNibbles = 0x00F000F0u;
  const uint32_t upper = codes >> 8;
  out[0] = place_e2m1<0>(codes & kLowNibbles);
  out[1] = place_e2m1<4>(codes & kHighNibbles);
  out[2] = place_e2m1<0>(upper & kLowNibbles);
  out[3] = place_e2m1<4>(upper & kHighNibbles);
}

// ---- E4M3

// Two codes in the upper bytes of both halves of `codes`.
__device__ __forceinline__ uint32_t scale_e4m3(uint32_t codes, uint32_t magnitudes, uint32_t pair) {
  const uint32_t scaled =
      multiply_bf16x2(multiply_bf16x2(magnitudes & 0x07F007F0u, kTwoTo120), pair);
  return min_bf16x2(scaled, kBf16Max) | (codes & kSignBits);
}

template <PairOrder kOrder>
__device__ __forceinline__ void expand_e4m3(const uint32_t* codes, uint32_t pair,
                                            uint32_t (&out)[4]) {
  if constexpr (kOrder == PairOrder::kStride2) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      out[2 * i] = scale_e4m3(codes[i] << 8, codes[i] << 4, pair);
      out[2 * i + 1] = scale_e4m3(codes[i], codes[i] >> 4, pair);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Byte 1 of `pairs` is the first code, byte 3 the second.
      const uint32_t selector = kOrder == PairOrder::kStride4
                                    ? 0x4400u + 0x1111u * static_cast<uint32_t>(i)
                                    : 0x1100u + 0x2222u * static_cast<uint32_t>(i);
      const uint32_t pairs = permute_bytes(codes[0], codes[1], selector);
      out[i] = scale_e4m3(pairs, pairs >> 4, pair);
    }
  }
}

// Eight elements (one word of E2M1, two of E4M3) of one block -> four pairs of bf16. `pair`: their
// multiplier() of the same order and range.
template <Format kFormat, PairOrder kOrder, ScaleRange kRange>
__device__ __forceinline__ void expand(const uint32_t* codes, uint32_t pair, uint32_t (&out)[4]) {
  if constexpr (ElementTraits<kFormat>::kIsE2m1) {
    static_assert(kOrder != PairOrder::kStride2);
    if constexpr (kOrder == PairOrder::kNatural) {
      expand_e2m1_natural(codes[0], out);
    } else {
      place_e2m1_stride4(codes[0], out);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kOrder == PairOrder::kStride4 && !kMultipliesOnce<kFormat, kOrder, kRange>) {
        out[i] = multiply_bf16x2(out[i], kTwoTo123);
      }
      out[i] = multiply_bf16x2(out[i], pair);
    }
  } else {
    expand_e4m3<kOrder>(codes, pair, out);
  }
}

// Eight bf16 in natural order -> kOrder.
template <PairOrder kOrder>
__device__ __forceinline__ uint4 reorder(const uint4& natural) {
  constexpr uint32_t kLowHalves = 0x5410;
  constexpr uint32_t kHighHalves = 0x7632;
  static_assert(kOrder != PairOrder::kStride2);
  if constexpr (kOrder == PairOrder::kNatural) {
    return natural;
  } else {
    return make_uint4(permute_bytes(natural.x, natural.z, kLowHalves),
                      permute_bytes(natural.x, natural.z, kHighHalves),
                      permute_bytes(natural.y, natural.w, kLowHalves),
                      permute_bytes(natural.y, natural.w, kHighHalves));
  }
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
