// SPDX-License-Identifier: Apache-2.0
// What the quantising row kernels of all ISA levels share: the facts of formats as fp32 bits, and
// the table's shape.
#pragma once

#include <cstdint>

#include "formats/block_format.hpp"
#include "formats/scale_rule.hpp"
#include "quantize/row_kernels.h"

namespace mxgemm::cpu {
namespace {

using internal::Format;
using internal::ScaleRule;

constexpr uint32_t kMagnitudeMask = internal::kF32SignBit - 1;
constexpr uint32_t kExponentMask = internal::kF32Infinity;
constexpr uint32_t kNonFinite = internal::kF32Infinity;  // magnitudes from here on are Inf and NaN

// An element format seen from fp32. A magnitude v is rounded by adding c = 2^(e + 23 - m), e the
// exponent of v but at least that of the smallest normal: c + v keeps m bits of v below 2^e,
// rounded to nearest even by the adder itself. The difference of the two bit patterns is then the
// rounded significand, and
//   code = (bits(c + v) - bits(c)) + ((e - least e) << m).
template <Format kFormat, int kMantissa, int kBias, uint32_t kLargestCode, int kSignPosition>
struct Element {
  static constexpr Format kElementOf = kFormat;
  static constexpr int kMantissaBits = kMantissa;
  static constexpr uint32_t kLeastExponentBits = static_cast<uint32_t>(127 + 1 - kBias) << 23;
  // Added to the bits of 2^e gives the bits of c.
  static constexpr uint32_t kMagicOffset = static_cast<uint32_t>(23 - kMantissa) << 23;
  static constexpr uint32_t kLeastExponentCode = kLeastExponentBits >> (23 - kMantissa);
  static constexpr uint32_t kMaxCode = kLargestCode;
  static constexpr uint32_t kSignBit = 1u << kSignPosition;
  static constexpr int kSignShift =
      31 - kSignPosition;  // from the sign of fp32 to the sign of the code
  static constexpr bool kIsNibble = kSignPosition == 3;
};

using E2m1 = Element<Format::kMxf4, internal::kE2m1MantissaBits, internal::kE2m1Bias,
                     internal::kE2m1MaxCode, 3>;
using E4m3 = Element<Format::kMxf8E4m3, internal::kE4m3MantissaBits, internal::kE4m3Bias,
                     internal::kE4m3MaxCode, 7>;
using E5m2 = Element<Format::kMxf8E5m2, internal::kE5m2MantissaBits, internal::kE5m2Bias,
                     internal::kE5m2MaxCode, 7>;

constexpr int kMxBlock = 32;
constexpr int kNvBlock = 16;

template <typename ElementType>
constexpr int kElementEmax = internal::find_format(ElementType::kElementOf)->element_emax;

template <typename ElementType, ScaleRule kRule>
constexpr uint32_t kRuleAddend = internal::scale_rule_addend(
    kRule, ElementType::kMantissaBits,
    internal::f32_encode(internal::find_format(ElementType::kElementOf)->element_max));

// The bits of 2^-X for the scale byte of 2^X; a finite amax gives bytes up to 253, so this is a
// normal number.
constexpr uint32_t inverse_scale_bits(uint32_t scale) {
  return (254 - scale) << 23;
}

template <typename Level, typename Source, typename ElementType>
constexpr void fill_rules(mxgemm_quantize_row_mx* by_rule) {
  by_rule[static_cast<int>(ScaleRule::kFloor)] =
      Level::template mx<Source, ElementType, ScaleRule::kFloor>;
  by_rule[static_cast<int>(ScaleRule::kCeil)] =
      Level::template mx<Source, ElementType, ScaleRule::kCeil>;
  by_rule[static_cast<int>(ScaleRule::kEven)] =
      Level::template mx<Source, ElementType, ScaleRule::kEven>;
  by_rule[static_cast<int>(ScaleRule::kRceil)] =
      Level::template mx<Source, ElementType, ScaleRule::kRceil>;
  by_rule[static_cast<int>(ScaleRule::kNearest)] =
      Level::template mx<Source, ElementType, ScaleRule::kNearest>;
}

template <typename Level, typename Source>
constexpr void fill_source(QuantizeRowKernels* kernels, int source) {
  fill_rules<Level, Source, E2m1>(kernels->mx[source][0]);
  fill_rules<Level, Source, E4m3>(kernels->mx[source][1]);
  fill_rules<Level, Source, E5m2>(kernels->mx[source][2]);
  kernels->nvf4[source] = Level::template nvf4<Source>;
}

// The table of a level that names its sources Bf16, F16, F32 and has mx<Source, Element, rule> and
// nvf4<Source>. The rule `mse` stays empty: a search is no work for these kernels.
template <typename Level>
constexpr QuantizeRowKernels make_row_kernels() {
  QuantizeRowKernels kernels{};
  fill_source<Level, typename Level::Bf16>(&kernels, 0);
  fill_source<Level, typename Level::F16>(&kernels, 1);
  fill_source<Level, typename Level::F32>(&kernels, 2);
  return kernels;
}

}  // namespace
}  // namespace mxgemm::cpu
