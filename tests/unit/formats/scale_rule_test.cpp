// SPDX-License-Identifier: Apache-2.0
// The one-addition form of the scale rules against each rule's own words.
#include "formats/scale_rule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "formats/block_format.hpp"

namespace mxgemm::internal {
namespace {

constexpr ScaleRule kRules[] = {ScaleRule::kFloor, ScaleRule::kCeil, ScaleRule::kEven,
                                ScaleRule::kRceil, ScaleRule::kNearest};

// In the words of docs/formats.md; amax > 0. Values are exact in double: 24 significant bits,
// squares 48.
int exponent_in_words(ScaleRule rule, const FormatInfo& info, double amax) {
  const int floor_log2 = std::ilogb(amax);
  switch (rule) {
    case ScaleRule::kCeil:
      return floor_log2 - info.element_emax + (amax == std::ldexp(1.0, floor_log2) ? 0 : 1);
    case ScaleRule::kEven: {
      const double ulp = std::ldexp(1.0, floor_log2 - info.mantissa_bits);
      const double rounded = std::floor(amax / ulp + 0.5) * ulp;
      return std::ilogb(rounded) - info.element_emax;
    }
    case ScaleRule::kRceil: {
      int exponent = -300;
      while (std::ldexp(amax, -exponent) > info.element_max) {
        ++exponent;
      }
      return exponent;
    }
    case ScaleRule::kNearest:
      return floor_log2 - info.element_emax +
             (amax * amax >= std::ldexp(1.0, 2 * floor_log2 + 1) ? 1 : 0);
    default:
      return floor_log2 - info.element_emax;
  }
}

void check(const FormatInfo& info, uint32_t bits) {
  const double amax = std::bit_cast<float>(bits);
  for (const ScaleRule rule : kRules) {
    const uint32_t addend =
        scale_rule_addend(rule, info.mantissa_bits, f32_encode(info.element_max));
    const int exponent = std::clamp(exponent_in_words(rule, info, amax), -127, 127);
    ASSERT_EQ(+scale_from_amax(bits, addend, info.element_emax), exponent + 127)
        << info.name << " " << kScaleRuleNames[static_cast<int>(rule)] << " " << amax;
  }
}

class ScaleRuleTest : public testing::TestWithParam<Format> {};

// Mantissas where a rule can turn: powers of two, half ulps of the three widths, 1.5, 1.75,
// sqrt(2), and their neighbours.
TEST_P(ScaleRuleTest, AddsWhatTheWordsSayAtEveryExponent) {
  const FormatInfo& info = *find_format(GetParam());
  const uint32_t turns[] = {0,        0x080000, 0x100000, 0x200000, 0x300000, 0x3504F3, 0x3504F4,
                            0x400000, 0x500000, 0x600000, 0x680000, 0x700000, 0x780000, 0x7FFFFF};
  for (uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (const uint32_t turn : turns) {
      for (const uint32_t mantissa : {turn - 1, turn, turn + 1}) {
        const uint32_t bits = exponent << 23 | (mantissa & 0x7FFFFF);
        if (bits != 0) {
          check(info, bits);
        }
      }
    }
  }
}

TEST_P(ScaleRuleTest, AddsWhatTheWordsSayForAmaxOfAllKinds) {
  const FormatInfo& info = *find_format(GetParam());
  for (uint32_t bits = 1; bits < kF32Infinity; bits += 65521) {
    check(info, bits);
  }
}

TEST_P(ScaleRuleTest, GivesZeroForAnAllZeroBlock) {
  const FormatInfo& info = *find_format(GetParam());
  for (const ScaleRule rule : kRules) {
    const uint32_t addend =
        scale_rule_addend(rule, info.mantissa_bits, f32_encode(info.element_max));
    EXPECT_EQ(+scale_from_amax(0, addend, info.element_emax), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ScaleRuleTest,
                         testing::Values(Format::kMxf4, Format::kMxf8E4m3, Format::kMxf8E5m2),
                         [](const auto& test) { return format_name(test.param); });

}  // namespace
}  // namespace mxgemm::internal
