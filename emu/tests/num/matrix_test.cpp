// SPDX-License-Identifier: Apache-2.0
// The matrix arithmetic against a second formulation of both models, on values instead of fields.
#include "num/matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/num/matrix_model.hpp"

namespace emu::num {
namespace {

constexpr int kRows = 16;
constexpr int kColumns = 8;

struct TypeInfo {
  ElementType type;
  FloatFormat format;
};
const TypeInfo kTypes[] = {{ElementType::e2m1, kE2m1}, {ElementType::e2m3, kE2m3},
                           {ElementType::e3m2, kE3m2}, {ElementType::e4m3, kE4m3},
                           {ElementType::e5m2, kE5m2}, {ElementType::f16, kF16},
                           {ElementType::bf16, kBf16}};

// Codes of A and B, split for multiply(), and their values.
struct Problem {
  int k;
  std::vector<int32_t> a_significand, a_exponent, b_significand, b_exponent, a_scale, b_scale;
  std::vector<double> a, b;
  std::vector<uint32_t> c;

  explicit Problem(int k_size)
      : k(k_size),
        a_significand(kRows * k),
        a_exponent(kRows * k, kZeroExponent),
        b_significand(kColumns * k),
        b_exponent(kColumns * k, kZeroExponent),
        a_scale(kRows),
        b_scale(kColumns),
        a(kRows * k),
        b(kColumns * k),
        c(kRows * kColumns) {}

  void set_a(int m, int i, const TypeInfo& type, uint32_t code) {
    const SplitElement element = split(type.type, code);
    a_significand[m * k + i] = element.significand;
    a_exponent[m * k + i] = element.exponent;
    a[m * k + i] = decode(type.format, code);
  }
  void set_b(int n, int i, const TypeInfo& type, uint32_t code) {
    const SplitElement element = split(type.type, code);
    b_significand[i * kLaneColumns + n] = element.significand;
    b_exponent[i * kLaneColumns + n] = element.exponent;
    b[i * kLaneColumns + n] = decode(type.format, code);
  }
  SplitProduct product(int fraction, bool scaled) const {
    return {kRows,
            kColumns,
            k,
            fraction,
            a_significand.data(),
            a_exponent.data(),
            b_significand.data(),
            b_exponent.data(),
            scaled ? a_scale.data() : nullptr,
            scaled ? b_scale.data() : nullptr};
  }
};

TEST(Matrix, ManyCodesSplitLikeOne) {
  for (const TypeInfo& type : kTypes) {
    for (const int shift : {0, 2}) {
      const uint32_t count = 1u << type.format.width();
      std::vector<uint32_t> codes(count);
      for (uint32_t code = 0; code < count; ++code) {
        codes[code] = 0xC0000000u | code << shift;
      }
      std::vector<int32_t> significands(count), exponents(count);
      split(type.type, shift, codes, significands.data(), exponents.data());
      for (uint32_t code = 0; code < count; ++code) {
        const SplitElement one = split(type.type, code);
        ASSERT_EQ(exponents[code], one.exponent) << int(type.type) << " " << code;
        if (one.exponent < kInfinityExponent) {
          ASSERT_EQ(significands[code], one.significand);
          ASSERT_EQ(std::ldexp(one.significand, one.exponent - mantissa_bits(type.type)),
                    decode(type.format, code));
        } else if (one.exponent == kInfinityExponent) {
          ASSERT_EQ(significands[code] < 0, one.significand < 0);
        }
      }
    }
  }
}

TEST(Matrix, PackedE2m1) {
  const std::vector<uint32_t> words = {0x76543210, 0xFEDCBA98};
  float values[16];
  unpack_e2m1(words, values);
  for (unsigned code = 0; code < 16; ++code) {
    EXPECT_EQ(values[code], decode(kE2m1, code));
    EXPECT_EQ(std::signbit(values[code]), code >= 8);
  }
}

uint32_t finite_code(const FloatFormat& format, std::mt19937_64& random) {
  if (random() % 8 == 0) {
    return 0;
  }
  const uint64_t sign = random() % 2 == 0 ? format.sign_bit() : 0;
  return static_cast<uint32_t>(sign | random() % (format.max_code() + 1));
}

Problem random_problem(const TypeInfo& a, const TypeInfo& b, int k, int scale_range,
                       std::mt19937_64& random) {
  Problem p(k);
  for (int m = 0; m < kRows; ++m) {
    p.a_scale[m] = scale_range == 0 ? 0 : static_cast<int>(random() % scale_range);
    for (int i = 0; i < k; ++i) {
      p.set_a(m, i, a, finite_code(a.format, random));
    }
  }
  for (int n = 0; n < kColumns; ++n) {
    p.b_scale[n] = scale_range == 0 ? 0 : -static_cast<int>(random() % scale_range);
    for (int i = 0; i < k; ++i) {
      p.set_b(n, i, b, finite_code(b.format, random));
    }
  }
  for (uint32_t& c : p.c) {
    const double magnitude = std::ldexp(1.0 + 0x1p-23 * static_cast<double>(random() % 0x800000),
                                        static_cast<int>(random() % 60) - 30);
    c = random() % 8 == 0 ? 0 : bits_of(static_cast<float>(random() % 2 ? magnitude : -magnitude));
  }
  return p;
}

// bf16 ranges over 2^±127, where sums leave doubles' exact range: keep to the middle.
void narrow_bf16(Problem& p, const TypeInfo& type, std::mt19937_64& random) {
  for (int i = 0; i < p.k; ++i) {
    for (int m = 0; m < kRows; ++m) {
      p.set_a(m, i, type, static_cast<uint32_t>(random() & 0x87FF) | 0x3C00);
    }
    for (int n = 0; n < kColumns; ++n) {
      p.set_b(n, i, type, static_cast<uint32_t>(random() & 0x87FF) | 0x3C00);
    }
  }
}

Problem usual_problem(const TypeInfo& a, const TypeInfo& b, int k, int scale_range,
                      std::mt19937_64& random) {
  Problem p = random_problem(a, b, k, scale_range, random);
  if (a.type == ElementType::bf16) {
    narrow_bf16(p, a, random);
  }
  return p;
}

TEST(Matrix, HardwareModelOfAllPairsOfTypes) {
  std::mt19937_64 random(3);
  for (const TypeInfo& a : kTypes) {
    for (const TypeInfo& b : kTypes) {
      const bool wide = a.format.width() == 16;
      if (wide != (b.format.width() == 16) || (wide && a.type != b.type)) {
        continue;
      }
      for (const int fraction : {kTensorFraction, kFp8WgmmaFraction}) {
        if (fraction < mantissa_bits(a.type) + mantissa_bits(b.type)) {
          continue;
        }
        const int result_fraction = fraction == kTensorFraction ? 23 : fraction;
        const Problem p = usual_problem(a, b, wide ? 16 : 32, wide ? 0 : 9, random);
        std::vector<uint32_t> d = p.c;
        multiply(p.product(mantissa_bits(a.type) + mantissa_bits(b.type), !wide),
                 {MmaModel::kHardware, fraction, result_fraction, false}, d.data());
        for (int m = 0; m < kRows; ++m) {
          for (int n = 0; n < kColumns; ++n) {
            const double c = float_of(p.c[m * kColumns + n]);
            std::vector<ModelTerm> terms = {{c, factor_exponent(kF32, c)}};
            for (int i = 0; i < p.k; ++i) {
              const double x = p.a[m * p.k + i];
              const double y = p.b[i * kLaneColumns + n];
              const int scale = p.a_scale[m] + p.b_scale[n];
              const int exponent =
                  factor_exponent(a.format, x) + factor_exponent(b.format, y) + scale;
              terms.push_back({std::ldexp(x * y, scale), x * y == 0 ? kZeroExponent : exponent});
            }
            ASSERT_EQ(float_of(d[m * kColumns + n]), model_sum(terms, fraction, result_fraction))
                << "types " << int(a.type) << " " << int(b.type) << " row " << m << " column " << n;
          }
        }
      }
    }
  }
}

TEST(Matrix, ExactModelRoundsTheWholeSumOnce) {
  std::mt19937_64 random(4);
  for (const TypeInfo& type : kTypes) {
    const Problem p = usual_problem(type, type, 16, 5, random);
    std::vector<uint32_t> d = p.c;
    multiply(p.product(2 * mantissa_bits(type.type), true), {MmaModel::kExact}, d.data());
    for (int m = 0; m < kRows; ++m) {
      for (int n = 0; n < kColumns; ++n) {
        // 113 bits hold these sums: 2^31 * 2^5 down to 2^-53 from C, 2^-48 from products.
        __float128 sum = float_of(p.c[m * kColumns + n]);
        for (int i = 0; i < p.k; ++i) {
          sum += static_cast<__float128>(p.a[m * p.k + i]) * p.b[i * kLaneColumns + n] *
                 std::ldexp(1.0, p.a_scale[m] + p.b_scale[n]);
        }
        ASSERT_EQ(float_of(d[m * kColumns + n]), static_cast<float>(sum));
      }
    }
  }
}

TEST(Matrix, ExactModelOverTheWholeExponentRange) {
  Problem p(16);
  const TypeInfo& bf16 = kTypes[6];
  p.set_a(0, 0, bf16, 0x7F00);  // 2^127
  p.set_b(0, 0, bf16, 0x3F80);  // 1
  p.set_a(0, 1, bf16, 0xFF00);
  p.set_b(0, 1, bf16, 0x3F80);
  p.set_a(0, 2, bf16, 0x0001);  // 2^-133
  p.set_b(0, 2, bf16, 0x3F80);
  p.c[0] = 0x00000001;  // 2^-149
  std::vector<uint32_t> d = p.c;
  multiply(p.product(14, false), {MmaModel::kExact}, d.data());
  EXPECT_EQ(d[0], 0x00010001u);
  d = p.c;
  multiply(p.product(14, false), {MmaModel::kHardware}, d.data());
  EXPECT_EQ(d[0], 0u) << "the large terms cancel, the small ones were cut";
}

TEST(Matrix, ALargeFactorOfAZeroProductSetsNoAlignment) {
  Problem p(16);
  const TypeInfo& bf16 = kTypes[6];
  p.set_a(0, 0, bf16, 0);
  p.set_b(0, 0, bf16, 0x7F00);  // 2^127
  p.set_a(0, 1, bf16, 0x3C80);  // 2^-6
  p.set_b(0, 1, bf16, 0x3C80);
  std::vector<uint32_t> d = p.c;
  multiply(p.product(14, false), {MmaModel::kHardware}, d.data());
  EXPECT_EQ(float_of(d[0]), 0x1p-12f);
}

TEST(Matrix, SpecialValues) {
  const TypeInfo& e5m2 = kTypes[4];
  constexpr uint32_t kInf = 0x7C, kNegInf = 0xFC, kNan = 0x7E, kOne = 0x3C;
  const struct {
    uint32_t a, b, c, expected;
  } cases[] = {{kInf, kOne, 0, 0x7F800000},
               {kNegInf, kOne, 0, 0xFF800000},
               {kInf, 0, 0, kF32Nan},
               {kNan, kOne, 0, kF32Nan},
               {kNan, 0, 0, kF32Nan},
               {kInf, kOne, 0xFF800000, kF32Nan},
               {kOne, kOne, 0xFF800000, 0xFF800000},
               {kOne, kOne, 0x7FC00000, kF32Nan},
               {kNegInf, kNegInf, 0, 0x7F800000}};
  for (const MmaModel model : {MmaModel::kHardware, MmaModel::kExact}) {
    for (const auto& one : cases) {
      Problem p(32);
      p.set_a(3, 7, e5m2, one.a);
      p.set_b(5, 7, e5m2, one.b);
      p.c[3 * kColumns + 5] = one.c;
      std::vector<uint32_t> d = p.c;
      multiply(p.product(4, false), {model}, d.data());
      EXPECT_EQ(d[3 * kColumns + 5], one.expected) << one.a << " " << one.b << " " << one.c;
    }
    Problem p(32);
    p.a_scale[2] = kNanExponent;
    for (const int other_scale : {0, 127, -127}) {
      p.b_scale[0] = other_scale;
      std::vector<uint32_t> d = p.c;
      multiply(p.product(4, true), {model}, d.data());
      for (int m = 0; m < kRows; ++m) {
        EXPECT_EQ(d[m * kColumns], m == 2 ? kF32Nan : 0u) << other_scale;
      }
    }
  }
}

TEST(Matrix, F16ResultsRoundToNearestEven) {
  Problem p(16);
  const TypeInfo& f16 = kTypes[5];
  p.set_a(0, 0, f16, 0x3C00);
  p.set_b(0, 0, f16, 0x1000);  // 2^-11: half of the last bit of 1
  p.c[0] = 0x3C01;             // 1 + 2^-10
  p.c[kColumns] = 0x3C00;      // row 1 has no products
  p.set_a(2, 0, f16, 0x7BFF);
  p.c[2 * kColumns] = 0x7BFF;
  std::vector<uint32_t> d = p.c;
  multiply(p.product(20, false), {MmaModel::kHardware, kTensorFraction, 23, true}, d.data());
  EXPECT_EQ(d[0], 0x3C02u);
  EXPECT_EQ(d[kColumns], 0x3C00u);
  EXPECT_EQ(d[2 * kColumns], 0x7C00u) << "65504 + 65504 * 2^-11 rounds to 65536: infinity";
}

TEST(Matrix, OverflowIsInfinityAndSubnormalsStay) {
  Problem p(16);
  const TypeInfo& bf16 = kTypes[6];
  p.set_a(0, 0, bf16, 0x7F00);
  p.set_b(0, 0, bf16, 0x4000);  // 2^127 * 2
  p.set_a(1, 0, bf16, 0x0080);  // 2^-126
  p.set_b(1, 0, bf16, 0x3D80);  // 2^-4
  std::vector<uint32_t> d = p.c;
  multiply(p.product(14, false), {}, d.data());
  EXPECT_EQ(d[0], 0x7F800000u);
  EXPECT_EQ(d[kColumns + 1], 0x00080000u);  // 2^-130
}

TEST(Matrix, Int8WrapsOrClamps) {
  std::vector<int32_t> a(kRows * 32, 127);
  std::vector<int32_t> b(kColumns * 32, 127);
  std::vector<uint32_t> c(kRows * kColumns, 0x7FFFFFFF);
  std::vector<uint32_t> d = c;
  multiply_int8(kRows, kColumns, 32, a.data(), b.data(), false, d.data());
  EXPECT_EQ(d[0], 0x7FFFFFFFu + 32 * 127 * 127);
  d = c;
  multiply_int8(kRows, kColumns, 32, a.data(), b.data(), true, d.data());
  EXPECT_EQ(d[5], 0x7FFFFFFFu);
}

}  // namespace
}  // namespace emu::num
