// SPDX-License-Identifier: Apache-2.0
// alpha, C, bias and activation on every kernel of every place: that each has its effect, and what
// becomes of NaN and infinities.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "device/every_kernel.hpp"

namespace mxgemm::test {
namespace {

using internal::Activation;

class Epilogue : public EveryKernel {};

INSTANTIATE_TEST_SUITE_P(Places, Epilogue, testing::ValuesIn(places()), place_test_name);

TEST_P(Epilogue, EveryArgumentHasItsEffect) {
  const Operand a = ones(Format::kNvf4, 64, 64, ScaleLayout::kSwizzle32x4x4);
  const Operand b = ones(Format::kNvf4, 64, 64, ScaleLayout::kSwizzle32x4x4);
  for (const Format format_d : {Format::kBf16, Format::kF16, Format::kF32}) {
    SCOPED_TRACE(internal::format_name(format_d));
    const GemmRun plain(a, b, format_d);
    expect_everywhere(plain, all(64.0));
    GemmRun run = plain;
    run.alpha = 0.5f;
    expect_everywhere(run, all(32.0));
    run.global_scale_a = 4.0f;
    expect_everywhere(run, all(128.0));
    run.global_scale_b = 0.25f;
    expect_everywhere(run, all(32.0));
    run.global_scale_b = 8.0f;
    run.scalars_on_device = true;
    expect_everywhere(run, all(1024.0));
    run = plain;
    run.activation = Activation::kRelu;
    expect_everywhere(run, all(64.0));
    run.alpha = -1.0f;
    expect_everywhere(run, all(0.0));
    run.activation = Activation::kNone;
    expect_everywhere(run, all(-64.0));
    run = plain;
    run.c.assign(64 * 64, NAN);  // beta = 0: not read
    expect_everywhere(run, all(64.0));
    run.c.assign(64 * 64, 3.0);
    run.beta = -2.0f;
    expect_everywhere(run, all(58.0));
    run.in_place = true;
    expect_everywhere(run, all(58.0));
    run = plain;
    run.bias.resize(64);
    for (size_t n = 0; n < 64; ++n) {
      run.bias[n] = static_cast<double>(n);
    }
    const auto with_bias = [](int64_t, int64_t n) { return 64.0 + static_cast<double>(n); };
    run.format_bias = format_d;
    expect_everywhere(run, with_bias);
    run.format_bias = Format::kF32;
    expect_everywhere(run, with_bias);
    run.extra_ldd = 5;
    run.offset = 4;
    expect_everywhere(run, with_bias);
  }
}

TEST_P(Epilogue, Fp32BiasAndOutputAreNotRounded) {
  const Operand a = ones(Format::kMxf4, 5, 32, ScaleLayout::kSwizzle32x4x4);
  const Operand b = ones(Format::kMxf4, 20, 32, ScaleLayout::kSwizzle32x4x4);
  for (const double bias : {1.00390625, 3.0 * 0x1p-18}) {
    GemmRun run(a, b, Format::kF32);
    run.bias.assign(20, bias);
    run.format_bias = Format::kF32;
    expect_everywhere(run, [bias](int64_t, int64_t) { return 32.0 + bias; });
  }
}

// numerics: a NaN in A stays NaN whatever alpha is; one in C is not read where beta is 0.
TEST_P(Epilogue, NanComesThroughAlphaOfZeroAndNotThroughBetaOfZero) {
  for (const Format format : {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3}) {
    Operand a = ones(format, 5, 64, ScaleLayout::kSwizzle32x4x4);
    a.set_scale(2, 1, format == Format::kNvf4 ? 0x7F : 0xFF);
    const Operand b = ones(format, 24, 64, ScaleLayout::kSwizzle32x4x4);
    GemmRun run(a, b, Format::kBf16);
    run.alpha = 0.0f;
    run.c.assign(5 * 24, NAN);
    run.beta = 0.0f;
    run.bias.assign(24, 2.0);
    run.format_bias = Format::kBf16;
    expect_everywhere(run, [](int64_t m, int64_t) { return m == 2 ? NAN : 2.0; });
  }
}

TEST_P(Epilogue, ActivationsAtTheEnds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Operand a = ones(Format::kMxf4, 3, 32, ScaleLayout::kSwizzle32x4x4);
  const Operand b = ones(Format::kMxf4, 8, 32, ScaleLayout::kSwizzle32x4x4);
  for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                      Activation::kGeluTanh, Activation::kSilu}) {
    SCOPED_TRACE(static_cast<int>(activation));
    GemmRun run(a, b, Format::kF32);
    run.activation = activation;
    run.format_bias = Format::kF32;
    run.bias = {NAN, kInfinity, -kInfinity, 1e30, -1e30, 0.0, 0.0, 0.0};
    run.c.assign(3 * 8, -32.0);  // cancels the product
    run.beta = 1.0f;
    const bool passes = activation == Activation::kNone;
    const bool is_curve = activation != Activation::kRelu && !passes;
    expect_everywhere(run, [&](int64_t, int64_t n) {
      switch (n) {
        case 0:
          return static_cast<double>(NAN);
        case 1:
          return kInfinity;
        case 2:  // -Inf: what the formulas give
          return passes ? -kInfinity : is_curve ? static_cast<double>(NAN) : 0.0;
        case 3:
          return static_cast<double>(1e30f);
        case 4:
          return passes ? static_cast<double>(-1e30f) : 0.0;
        default:
          return 0.0;
      }
    });
  }
}

}  // namespace
}  // namespace mxgemm::test
