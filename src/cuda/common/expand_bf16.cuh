// SPDX-License-Identifier: Apache-2.0
// Block-scaled elements expanded to bf16 in registers: element * block scale, exactly (a product of
// E2M1 or E4M3 and a power of two has at most 4 significant bits, one of E2M1 and an E4M3 scale at
// most 6; bf16 has 8 and the exponents of fp32).
//
// E2M1, two ways; both give an eighth of the value, so that 6 * 2^127 is no overflow, and whoever
// sums multiplies by eighths():
//  - by table: a byte permutation looks up the upper (or lower) bytes of four magnitudes at a time
//  in eight constant bytes; pairs come in natural order. 15 integer instructions for 8 elements.
//  - by placing: a multiplication by 2^a + 2^b moves the sign of a code to where bf16 has it, and
//  the other bits to the low end of bf16's exponent and the high end of its mantissa. That is the
//  value times 2^-126, the subnormal code included, since bf16 subnormals continue the same way.
//  9 integer instructions, 4 multiplications; elements i and i + 4 share a word.
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

// What a sum of products of expanded elements is to be multiplied by.
template <Format kA, Format kB>
constexpr float eighths() {
  return (ElementTraits<kA>::kIsE2m1 ? 8.0f : 1.0f) * (ElementTraits<kB>::kIsE2m1 ? 8.0f : 1.0f);
}

// Pairs of bf16.
constexpr uint32_t kSignBits = 0x80008000u;
constexpr uint32_t kTwoTo120 = 0x7B807B80u;
constexpr uint32_t kTwoTo123 = 0x7D007D00u;
constexpr uint32_t kBf16Nan = 0x7FFF7FFFu;
constexpr uint32_t kBf16Max = 0x7F7F7F7Fu;

// A block scale as a pair of the same bf16.
template <Format kFormat>
__device__ __forceinline__ uint32_t scale_pair(uint32_t code) {
  uint32_t bits;
  if constexpr (kFormat == Format::kNvf4) {
    // value * 2^-120 as fp32, then * 2^120; 4 significant bits fit the upper half.
    bits = __float_as_uint(__uint_as_float((code & 0x7Fu) << 20) * 0x1p120f) >> 16;
    bits = (code & 0x7Fu) == internal::kE4m3Nan ? kBf16Nan & 0xFFFFu : bits;
  } else {
    bits = code == 0 ? 0x0040u : code << 7;  // 2^-127 is a subnormal
    bits = code == internal::kE8m0Nan ? kBf16Nan & 0xFFFFu : bits;
  }
  return bits * 0x00010001u;
}

// What the elements of one block (or its part in `codes`) are multiplied by.
template <Format kFormat, int kWords>
__device__ __forceinline__ uint32_t multiplier(uint32_t scale_code,
                                               const uint32_t (&codes)[kWords]) {
  const uint32_t pair = scale_pair<kFormat>(scale_code);
  if constexpr (ElementTraits<kFormat>::kIsE2m1) {
    return pair;
  } else {
    // An E4M3 NaN makes its whole operand row NaN in the product whatever else the row holds, so
    // the scale of the elements beside it may carry it.
    uint32_t nan_bits = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      nan_bits |= (codes[i] & 0x7F7F7F7Fu) + 0x01010101u;
    }
    return (nan_bits & 0x80808080u) != 0 ? kBf16Nan : pair;
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

__device__ __forceinline__ void place_e2m1_stride4(uint32_t codes, uint32_t (&out)[4]) {
  constexpr uint32_t kLowNibbles = 0x000F000Fu;
  constexpr uint32_t kHighNibbles = 0x00F000F0u;
  const uint32_t upper = codes >> 8;
  out[0] = multiply_bf16x2(place_e2m1<0>(codes & kLowNibbles), kTwoTo123);
  out[1] = multiply_bf16x2(place_e2m1<4>(codes & kHighNibbles), kTwoTo123);
  out[2] = multiply_bf16x2(place_e2m1<0>(upper & kLowNibbles), kTwoTo123);
  out[3] = multiply_bf16x2(place_e2m1<4>(upper & kHighNibbles), kTwoTo123);
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

// Eight elements (one word of E2M1, two of E4M3) of one block -> four pairs of bf16.
template <Format kFormat, PairOrder kOrder>
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
