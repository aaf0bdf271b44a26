// SPDX-License-Identifier: Apache-2.0
// The oracle's activations against values computed from their definitions in decimal arithmetic of
// 60 digits.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/error_bound.hpp"

namespace mxgemm::internal {
namespace {

struct Row {
  double x;
  double gelu;
  double gelu_tanh;
  double silu;
};

constexpr Row kRows[] = {
    {-10.0, -7.6198530241605260660e-23, -1.2040923482098059937e-37, -4.5397868702434394505e-4},
    {-5.5, -1.0444259356238245661e-7, -5.9276402638802620260e-9, -2.2385757437428700288e-2},
    {-3.0, -4.0496940948902835800e-3, -3.6373920817730188378e-3, -1.4227761953270034264e-1},
    {-1.0, -1.5865525393145705141e-1, -1.5880800939172329522e-1, -2.6894142136999512075e-1},
    {-0.75, -1.6997051428265114950e-1, -1.7003944483437969582e-1, -2.4061597561845527013e-1},
    {-0.001, -4.9960105778608894781e-4, -4.9960105778641804469e-4, -4.9975000002083334165e-4},
    {1e-20, 4.9999999999999997258e-21, 4.9999999999999997258e-21, 4.9999999999999997258e-21},
    {0.5, 3.4573123063700655182e-1, 3.4571400982514392204e-1, 3.1122966560092728232e-1},
    {1.0, 8.4134474606854294859e-1, 8.4119199060827670478e-1, 7.3105857863000487925e-1},
    {2.25, 2.2224949365261494179e+0, 2.2227986701027113893e+0, 2.0354637039770036386e+0},
    {4.0, 3.9998733150326675203e+0, 3.9999297540518076273e+0, 3.9280551601516337679e+0},
    {9.0, 8.9999999999999999990e+0, 9.0000000000000000000e+0, 8.9988894488161239144e+0},
};

// The bound allows 2^-21; the oracle's own error must not count beside it.
constexpr double kRelative = 1e-13;

TEST(ExactActivation, SmoothOnes) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.x);
    EXPECT_NEAR(exact_activation(Activation::kGelu, row.x), row.gelu,
                kRelative * std::fabs(row.gelu));
    EXPECT_NEAR(exact_activation(Activation::kGeluTanh, row.x), row.gelu_tanh,
                kRelative * std::fabs(row.gelu_tanh));
    EXPECT_NEAR(exact_activation(Activation::kSilu, row.x), row.silu,
                kRelative * std::fabs(row.silu));
  }
}

TEST(ExactActivation, NoneAndRelu) {
  for (const double x : {-3.0, -0x1p-149, 0.0, 0x1p-149, 7.25}) {
    EXPECT_EQ(exact_activation(Activation::kNone, x), x);
    EXPECT_EQ(exact_activation(Activation::kRelu, x), x > 0.0 ? x : 0.0);
  }
}

TEST(ExactActivation, NanPassesAndInfinitiesFollowTheFormulas) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                      Activation::kGeluTanh, Activation::kSilu}) {
    SCOPED_TRACE(static_cast<int>(activation));
    EXPECT_TRUE(std::isnan(exact_activation(activation, std::nan(""))));
    EXPECT_EQ(exact_activation(activation, kInf), kInf);
    const double at_minus_infinity = exact_activation(activation, -kInf);
    if (activation == Activation::kNone) {
      EXPECT_EQ(at_minus_infinity, -kInf);
    } else if (activation == Activation::kRelu) {
      EXPECT_EQ(at_minus_infinity, 0.0);
    } else {
      EXPECT_TRUE(std::isnan(at_minus_infinity));
      // Large finite negatives give -0.
      for (const double x : {-1e4, -0x1.FFFFFEp127, -0x1p400}) {
        const double value = exact_activation(activation, x);
        EXPECT_TRUE(value == 0.0 && std::signbit(value)) << x << " gives " << value;
      }
    }
  }
}

}  // namespace
}  // namespace mxgemm::internal
