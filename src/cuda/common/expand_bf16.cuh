// SPDX-License-Identifier: Apache-2.0
// Block-scaled elements expanded to bf16 in registers: element * block scale, exactly (a product of
// E2M1 or E4M3 and a power of two has at most 4 significant bits, one of E2M1 and an E4M3 scale at
// most 6; bf16 has 8 and the exponents of fp32).
//
// E2M1 has eight magnitudes, so a scale is applied to those eight once per block: a table of 16
// bytes in four registers, in which a byte permutation looks up four magnitudes' upper (or lower)
// bytes at a time. Some 4 instructions per pair of elements, scaling included; placing the bits by
// shifts and masks and multiplying by the scale takes 6 or 7.
//
// E4M3: exponent and mantissa are put where bf16 has the low end of its exponent and the high end
// of its mantissa (s eeee mmm -> s 0000eeee mmm0000). That is the value times 2^-120, subnormal
// codes included, since bf16 subnormals continue the same way. One multiplication undoes that
// power, a second applies the scale.
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
  kStride4,  // i, i + 4: cheapest for E2M1 by shifts
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

// Pairs of bf16.
constexpr uint32_t kSignBits = 0x80008000u;
constexpr uint32_t kTwoTo120 = 0x7B807B80u;
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
  return bits | bits << 16;
}

// What the elements of one block are multiplied by, in the form that expand() wants.
template <Format kFormat>
struct Multiplier;

// The eight magnitudes of E2M1 times the scale: byte i of (high[1], high[0]) and (low[1], low[0]).
struct E2m1Table {
  uint32_t low[2];
  uint32_t high[2];
};
template <>
struct Multiplier<Format::kMxf4> : E2m1Table {};
template <>
struct Multiplier<Format::kNvf4> : E2m1Table {};
template <>
struct Multiplier<Format::kMxf8E4m3> {
  uint32_t pair;
};

template <Format kFormat, int kWords>
__device__ __forceinline__ Multiplier<kFormat> multiplier(uint32_t scale_code,
                                                          const uint32_t (&codes)[kWords]) {
  uint32_t pair = scale_pair<kFormat>(scale_code);
  Multiplier<kFormat> result;
  if constexpr (ElementTraits<kFormat>::kIsE2m1) {
    constexpr uint32_t kEvenBytes = 0x6420;
    constexpr uint32_t kOddBytes = 0x7531;
    const uint32_t first = multiply_bf16x2(0x3F000000u, pair);   // 0, 0.5
    const uint32_t second = multiply_bf16x2(0x3FC03F80u, pair);  // 1, 1.5
    uint32_t third = multiply_bf16x2(0x40404000u, pair);         // 2, 3
    uint32_t fourth = multiply_bf16x2(0x40C04080u, pair);        // 4, 6
    if constexpr (kFormat == Format::kMxf4) {                    // 2^127 is the largest scale
      third = min_bf16x2(third, kBf16Max);
      fourth = min_bf16x2(fourth, kBf16Max);
    }
    result.low[0] = permute_bytes(first, second, kEvenBytes);
    result.low[1] = permute_bytes(third, fourth, kEvenBytes);
    result.high[0] = permute_bytes(first, second, kOddBytes);
    result.high[1] = permute_bytes(third, fourth, kOddBytes);
  } else {
    // An E4M3 NaN makes its whole operand row NaN in the product whatever else the row holds, so
    // the scale of the elements beside it may carry it.
    uint32_t nan_bits = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      nan_bits |= (codes[i] & 0x7F7F7F7Fu) + 0x01010101u;
    }
    result.pair = (nan_bits & 0x80808080u) != 0 ? kBf16Nan : pair;
  }
  return result;
}

// Four E2M1 codes: `magnitudes` their lower three bits as the nibbles of a selector, `signs` the
// sign of element i in the highest bit of byte i -> two pairs in natural order.
__device__ __forceinline__ void look_up(const E2m1Table& table, uint32_t magnitudes, uint32_t signs,
                                        uint32_t* out) {
  const uint32_t low = permute_bytes(table.low[0], table.low[1], magnitudes);
  const uint32_t high =
      permute_bytes(table.high[0], table.high[1], magnitudes) | (signs & 0x80808080u);
  out[0] = permute_bytes(low, high, 0x5140);
  out[1] = permute_bytes(low, high, 0x7362);
}

// Two E4M3 codes in the upper bytes of both halves of `codes`.
__device__ __forceinline__ uint32_t scale_e4m3(uint32_t codes, uint32_t magnitudes, uint32_t pair) {
  const uint32_t scaled =
      multiply_bf16x2(multiply_bf16x2(magnitudes & 0x07F007F0u, kTwoTo120), pair);
  return min_bf16x2(scaled, kBf16Max) | (codes & kSignBits);
}

// Eight elements (one word of E2M1, two of E4M3) of one block -> four pairs of bf16.
template <Format kFormat, PairOrder kOrder>
__device__ __forceinline__ void expand(const uint32_t* codes, const Multiplier<kFormat>& by,
                                       uint32_t (&out)[4]) {
  if constexpr (ElementTraits<kFormat>::kIsE2m1) {
    static_assert(kOrder == PairOrder::kNatural);
    const uint32_t magnitudes = codes[0] & 0x77777777u;
    // The sign of an odd element is the highest bit of its byte, that of an even one comes there.
    const uint32_t even = codes[0] << 4;
    look_up(by, magnitudes, permute_bytes(even, codes[0], 0x5140), out);
    look_up(by, magnitudes >> 16, permute_bytes(even, codes[0], 0x7362), out + 2);
  } else {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if constexpr (kOrder == PairOrder::kStride2) {
        out[2 * i] = scale_e4m3(codes[i] << 8, codes[i] << 4, by.pair);
        out[2 * i + 1] = scale_e4m3(codes[i], codes[i] >> 4, by.pair);
      } else {
        const uint32_t first = permute_bytes(codes[i], 0, 0x1404);
        const uint32_t second = permute_bytes(codes[i], 0, 0x3424);
        out[2 * i] = scale_e4m3(first, first >> 4, by.pair);
        out[2 * i + 1] = scale_e4m3(second, second >> 4, by.pair);
      }
    }
  }
}

template <int kSignShift, int kRestShift>
__device__ __forceinline__ uint32_t place_e2m1(uint32_t codes) {
  const uint32_t rest = kRestShift >= 0 ? codes << (kRestShift & 31) : codes >> (-kRestShift & 31);
  return (codes << kSignShift & kSignBits) | (rest & 0x01C001C0u);
}

// A block scale times what undoes the power of two that place_e2m1() leaves, as a pair of one
// factor. So that it fits bf16, the elements are left multiplied by 2^-kPlacedExponent: exactly,
// since a product that is normal in fp32 loses nothing by as much (at most 14 significant bits,
// 2^-149 the least bit). E4M3 scales may be any; E8M0 scales must lie between the two bounds, the
// larger of which is 2^10.
constexpr int kPlacedExponent = 9;
constexpr uint32_t kLeastPlacedScale = 4;
constexpr uint32_t kLargestPlacedScale = 137;

template <Format kFormat>
__device__ __forceinline__ uint32_t placed_scale_pair(uint32_t code) {
  uint32_t bits;
  if constexpr (kFormat == Format::kNvf4) {
    // value * 2^-120 as fp32, then * 2^(120 + 126 - 9) in two steps, since 2^237 is no fp32.
    bits = __float_as_uint(__uint_as_float((code & 0x7Fu) << 20) * 0x1p127f * 0x1p110f) >> 16;
    bits = (code & 0x7Fu) == internal::kE4m3Nan ? kBf16Nan & 0xFFFFu : bits;
  } else {
    bits = (code + 126 - kPlacedExponent) << 7;
  }
  return bits | bits << 16;
}

// Eight E2M1 codes -> four pairs in order kStride4, times a placed_scale_pair().
__device__ __forceinline__ void expand_placed(uint32_t codes, uint32_t pair, uint32_t (&out)[4]) {
  out[0] = multiply_bf16x2(place_e2m1<12, 6>(codes), pair);
  out[1] = multiply_bf16x2(place_e2m1<8, 2>(codes), pair);
  out[2] = multiply_bf16x2(place_e2m1<4, -2>(codes), pair);
  out[3] = multiply_bf16x2(place_e2m1<0, -6>(codes), pair);
}

// Eight bf16 in natural order -> kOrder.
template <PairOrder kOrder>
__device__ __forceinline__ void reorder(const uint32_t (&natural)[4], uint32_t (&out)[4]) {
  constexpr uint32_t kLowHalves = 0x5410;
  constexpr uint32_t kHighHalves = 0x7632;
  if constexpr (kOrder == PairOrder::kNatural) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[i] = natural[i];
    }
  } else {
    constexpr int kPartner = kOrder == PairOrder::kStride4 ? 2 : 1;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int first = kOrder == PairOrder::kStride4 ? i : 2 * i;
      out[2 * i] = permute_bytes(natural[first], natural[first + kPartner], kLowHalves);
      out[2 * i + 1] = permute_bytes(natural[first], natural[first + kPartner], kHighHalves);
    }
  }
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
