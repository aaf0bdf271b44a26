// SPDX-License-Identifier: Apache-2.0
#include "num/float_format.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "num/ieee.hpp"

namespace emu::num {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr EncodeOptions kSatfinite{Rounding::kNearestEven, true};

struct Named {
  const char* name;
  FloatFormat format;
};
const Named kFormats[] = {{"e2m1", kE2m1}, {"e2m3", kE2m3}, {"e3m2", kE3m2}, {"e4m3", kE4m3},
                          {"e5m2", kE5m2}, {"f16", kF16},   {"bf16", kBf16}};

TEST(FloatFormat, ValuesOfTheNarrowFormats) {
  const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint64_t code = 0; code < 8; ++code) {
    EXPECT_EQ(decode(kE2m1, code), e2m1[code]);
    EXPECT_EQ(decode(kE2m1, code | 8), -e2m1[code]);
    EXPECT_EQ(std::signbit(decode(kE2m1, code | 8)), true);
  }
  EXPECT_EQ(decode(kE2m3, 0x1F), 7.5);
  EXPECT_EQ(decode(kE2m3, 0x01), 0.125);
  EXPECT_EQ(decode(kE3m2, 0x1F), 28);
  EXPECT_EQ(decode(kE3m2, 0x01), 0.0625);
  EXPECT_EQ(decode(kE4m3, 0x7E), 448);
  EXPECT_EQ(decode(kE4m3, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(decode(kE4m3, 0x7F)) && std::isnan(decode(kE4m3, 0xFF)));
  EXPECT_EQ(decode(kE5m2, 0x7B), 57344);
  EXPECT_EQ(decode(kE5m2, 0x01), 0x1p-16);
  EXPECT_EQ(decode(kE5m2, 0xFC), -kInfinity);
  EXPECT_EQ(decode(kF16, 0x7BFF), 65504);
  EXPECT_EQ(decode(kBf16, 0x3F80), 1);
}

TEST(FloatFormat, ReferencePointsOfTheSpecification) {
  const struct {
    double value;
    uint64_t code;
  } e2m1[] = {{0.25, 0x0}, {0.75, 0x2}, {1.25, 0x2},  {1.75, 0x4},
              {2.5, 0x4},  {3.5, 0x6},  {5, 0x6},     {double{5.0001f}, 0x7},
              {-0.1, 0x8}, {1e30, 0x7}, {-1e30, 0xF}, {kNotANumber, 0x7}};
  for (const auto& point : e2m1) {
    EXPECT_EQ(encode(kE2m1, point.value, kSatfinite), point.code) << point.value;
  }
  EXPECT_EQ(encode(kE4m3, 464, kSatfinite), 0x7Eu);
  EXPECT_EQ(encode(kE4m3, 0x1p-10, kSatfinite), 0x00u);
  EXPECT_EQ(encode(kE4m3, 1.5 * 0x1p-10, kSatfinite), 0x01u);
  EXPECT_EQ(encode(kE4m3, 1.0625, kSatfinite), 0x38u);
  EXPECT_EQ(encode(kE4m3, kNotANumber, kSatfinite), 0x7Fu);
  EXPECT_EQ(encode(kE4m3, -kInfinity, kSatfinite), 0xFEu);
  EXPECT_EQ(encode(kE5m2, kInfinity, kSatfinite), 0x7Bu);
  EXPECT_EQ(encode(kE5m2, kNotANumber, kSatfinite), 0x7Fu);
}

// Every finite code survives, and so do both infinities and NaN's class.
TEST(FloatFormat, EveryCodeSurvivesTheRoundTrip) {
  for (const Named& named : kFormats) {
    for (uint64_t code = 0; code < 2 * named.format.sign_bit(); ++code) {
      const double value = decode(named.format, code);
      if (std::isnan(value)) {
        EXPECT_EQ(encode(named.format, value), named.format.canonical_nan());
      } else {
        ASSERT_EQ(encode(named.format, value), code) << named.name;
      }
    }
  }
}

// Between neighbouring codes: exactly half way goes to the even code (or away, up, down), and the
// f32 numbers next to that point go to the nearer one.
TEST(FloatFormat, MidpointsOfAllNeighbours) {
  for (const Named& named : kFormats) {
    const FloatFormat& format = named.format;
    for (uint64_t code = 0; code < format.max_code(); ++code) {
      const double low = decode(format, code);
      const double high = decode(format, code + 1);
      const double middle = (low + high) / 2;
      const auto below = static_cast<double>(std::nextafter(static_cast<float>(middle), 0.0f));
      const auto above = static_cast<double>(std::nextafter(static_cast<float>(middle), HUGE_VALF));
      const uint64_t even = code % 2 == 0 ? code : code + 1;
      for (const uint64_t sign : {uint64_t{0}, format.sign_bit()}) {
        const double s = sign == 0 ? 1 : -1;
        ASSERT_EQ(encode(format, s * middle), sign | even) << named.name << " " << middle;
        ASSERT_EQ(encode(format, s * below), sign | code) << named.name << " " << middle;
        ASSERT_EQ(encode(format, s * above), sign | (code + 1)) << named.name << " " << middle;
        ASSERT_EQ(encode(format, s * middle, {Rounding::kTowardZero, false}), sign | code);
        ASSERT_EQ(encode(format, s * below, {Rounding::kNearestAway, false}), sign | code);
        ASSERT_EQ(encode(format, s * middle, {Rounding::kNearestAway, false}), sign | (code + 1));
        ASSERT_EQ(encode(format, s * middle, {Rounding::kUp, false}),
                  sign | (sign == 0 ? code + 1 : code));
        ASSERT_EQ(encode(format, s * middle, {Rounding::kDown, false}),
                  sign | (sign == 0 ? code : code + 1));
      }
    }
  }
}

TEST(FloatFormat, OverflowByRoundingMode) {
  EXPECT_EQ(encode(kF16, 65519), 0x7BFFu);
  EXPECT_EQ(encode(kF16, 65520), 0x7C00u);  // half way: the even neighbour is beyond the range
  EXPECT_EQ(encode(kF16, 1e300, {Rounding::kTowardZero, false}), 0x7BFFu);
  EXPECT_EQ(encode(kF16, -1e300, {Rounding::kUp, false}), 0xFBFFu);
  EXPECT_EQ(encode(kF16, -1e300, {Rounding::kDown, false}), 0xFC00u);
  EXPECT_EQ(encode(kF16, -1e300, kSatfinite), 0xFBFFu);
  EXPECT_EQ(encode(kBf16, 3.4e38), 0x7F80u);
  EXPECT_EQ(encode(kF32, 0x1.ffffffp127), 0x7F800000u);
  EXPECT_EQ(encode(kF64, std::numeric_limits<double>::max()), 0x7FEFFFFFFFFFFFFFu);
}

TEST(FloatFormat, ShortWaysAgreeWithTheLongOne) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const auto half = static_cast<uint16_t>(code);
    const double f16 = f16_to_float(half);
    if (std::isnan(f16)) {
      EXPECT_TRUE(std::isnan(decode(kF16, code)));
    } else {
      ASSERT_EQ(bits_of(f16), bits_of(decode(kF16, code)));
    }
    if (!kBf16.is_nan(code)) {
      ASSERT_EQ(static_cast<double>(bf16_to_float(half)), decode(kBf16, code));
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    // Exponents around both formats' ranges, all 52 bits of fraction or few of them.
    const uint64_t fraction = random() >> 12 & (i % 2 == 0 ? ~uint64_t{0} : ~uint64_t{0} << 40);
    const uint64_t exponent = 1023 - 160 + random() % 320;
    const double value = double_of((random() & uint64_t{1} << 63) | exponent << 52 | fraction);
    ASSERT_EQ(round_to_f16(value), encode(kF16, value)) << value;
    ASSERT_EQ(round_to_bf16(value), encode(kBf16, value)) << value;
    ASSERT_EQ(float_to_bf16(static_cast<float>(value)), encode(kBf16, static_cast<float>(value)));
    ASSERT_EQ(bits_of(static_cast<float>(value)), encode(kF32, value)) << value;
  }
}

TEST(FloatFormat, BlockScales) {
  EXPECT_EQ(decode_ue8m0(0), 0x1p-127);
  EXPECT_EQ(decode_ue8m0(254), 0x1p127);
  EXPECT_TRUE(std::isnan(decode_ue8m0(255)));
  EXPECT_EQ(decode_ue4m3(0xB8), 1);  // the sign bit is ignored
  for (int code = 0; code < 255; ++code) {
    const double value = decode_ue8m0(static_cast<uint8_t>(code));
    for (const Rounding rounding : {Rounding::kTowardZero, Rounding::kUp}) {
      EXPECT_EQ(encode_ue8m0(value, rounding, true), code);
      EXPECT_EQ(encode_ue8m0(-value, rounding, true), code);
    }
    EXPECT_EQ(encode_ue8m0(value * 1.25, Rounding::kTowardZero, true), code);
    EXPECT_EQ(encode_ue8m0(value * 1.25, Rounding::kUp, true), std::min(code + 1, 254));
  }
  EXPECT_EQ(encode_ue8m0(0, Rounding::kUp, true), 0);
  EXPECT_EQ(encode_ue8m0(kNotANumber, Rounding::kUp, true), 255);
  EXPECT_EQ(encode_ue8m0(kInfinity, Rounding::kTowardZero, true), 254);
  EXPECT_EQ(encode_ue8m0(kInfinity, Rounding::kTowardZero, false), 255);
}

float random_float(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return float_of(static_cast<uint32_t>(random()));
    case 1:  // close in exponent, so that sums cancel
      return float_of(static_cast<uint32_t>(random() & 0x80FFFFFFu) | 0x3F000000u);
    case 2:  // few bits, so that ties happen
      return float_of(static_cast<uint32_t>(random() & 0x83FFF000u) | 0x3C000000u);
    default:  // small
      return float_of(static_cast<uint32_t>(random() & 0x81FFFFFFu));
  }
}

// The host's own arithmetic in its own rounding modes is the second opinion.
TEST(Ieee, AgreesWithTheHostInEveryRoundingMode) {
  const struct {
    Rounding rounding;
    int host;
  } modes[] = {{Rounding::kNearestEven, FE_TONEAREST},
               {Rounding::kTowardZero, FE_TOWARDZERO},
               {Rounding::kUp, FE_UPWARD},
               {Rounding::kDown, FE_DOWNWARD}};
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const volatile float a = random_float(random);
    const volatile float b = random_float(random);
    const volatile float c = random_float(random);
    const double odd_quotient = divide_to_odd(a, b);
    const double odd_root = sqrt_to_odd(std::fabs(a));
    for (const auto& mode : modes) {
      std::fesetround(mode.host);
      const volatile float sum = a + b;
      const volatile float product_sum = std::fma(a, b, c);
      const volatile float quotient = a / b;
      const volatile float root = std::sqrt(std::fabs(a));
      std::fesetround(FE_TONEAREST);
      const auto same = [&](float ours, float host) {
        return bits_of(canonical(ours)) == bits_of(canonical(host));
      };
      ASSERT_PRED2(same, round_to_f32(add_to_odd(a, b, mode.rounding), mode.rounding), sum)
          << a << " " << b;
      ASSERT_PRED2(same, round_to_f32(fma_to_odd(a, b, c, mode.rounding), mode.rounding),
                   product_sum)
          << a << " " << b;
      ASSERT_PRED2(same, round_to_f32(odd_quotient, mode.rounding), quotient) << a << " " << b;
      ASSERT_PRED2(same, round_to_f32(odd_root, mode.rounding), root) << a;
    }
  }
}

TEST(Ieee, IntegersClampAndNanHasItsOwnValue) {
  const auto s32 = [](double v, Rounding r) { return to_integer(v, 32, true, r, true); };
  EXPECT_EQ(s32(2.5, Rounding::kNearestEven), 2u);
  EXPECT_EQ(s32(-2.5, Rounding::kDown), 0xFFFFFFFDu);
  EXPECT_EQ(s32(3e9, Rounding::kTowardZero), 0x7FFFFFFFu);
  EXPECT_EQ(s32(-3e9, Rounding::kTowardZero), 0x80000000u);
  EXPECT_EQ(s32(kNotANumber, Rounding::kTowardZero), 0u);
  EXPECT_EQ(to_integer(kNotANumber, 64, true, Rounding::kTowardZero, true), 0x8000000000000000u);
  EXPECT_EQ(to_integer(kNotANumber, 32, false, Rounding::kTowardZero, false), 0x80000000u);
  EXPECT_EQ(to_integer(-1, 8, false, Rounding::kTowardZero, true), 0u);
  EXPECT_EQ(to_integer(300, 8, false, Rounding::kTowardZero, true), 255u);
  EXPECT_EQ(to_integer(0x1p64, 64, false, Rounding::kTowardZero, true), ~uint64_t{0});
}

}  // namespace
}  // namespace emu::num
