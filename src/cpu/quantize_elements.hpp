// SPDX-License-Identifier: Apache-2.0
// What the quantising row kernels of all ISA levels share: the facts of formats as fp32 bits, and
// the table's shape.
#pragma once

#include <cstdint>

#include "formats/block_format.hpp"
#include "formats/element_rounding.hpp"
#include "formats/scale_rule.hpp"
#include "quantize/row_kernels.h"

namespace mxgemm::cpu {
namespace {

using internal::Format;
using internal::ScaleRule;

constexpr uint32_t kMagnitudeMask = internal::kF32SignBit - 1;
constexpr uint32_t kExponentMask = internal::kF32Infinity;
constexpr uint32_t kNonFinite = internal::kF32Infinity;  // magnitudes from here on are Inf and NaN

using E2m1 = internal::E2m1Rounding;
using E4m3 = internal::E4m3Rounding;
using E5m2 = internal::E5m2Rounding;

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
