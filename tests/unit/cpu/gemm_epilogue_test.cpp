// SPDX-License-Identifier: Apache-2.0
// alpha, beta, C, bias, activations, formats of D; and what a host's floating-point mode must not
// change.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/epilogue.hpp"
#include "unit/cpu/gemm_case.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace mxgemm::cpu {
namespace {

using internal::Activation;

constexpr Activation kActivations[] = {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                       Activation::kGeluTanh, Activation::kSilu};
constexpr Format kFormatsD[] = {Format::kBf16, Format::kF16, Format::kF32};

GemmOptions small() {
  GemmOptions options;
  options.m = 9;
  options.n = 29;
  options.k = 64;
  return options;
}

TEST(GemmEpilogue, EveryCombination) {
  uint64_t seed = 1;
  for (const Format d : kFormatsD) {
    for (const Activation activation : kActivations) {
      for (const Format bias : {Format::kNone, d, Format::kF32}) {
        for (const int c : {0, 1, 2}) {
          GemmOptions options = small();
          options.d = d;
          options.activation = activation;
          options.bias = bias;
          options.use_c = c != 0;
          options.in_place = c == 2;
          options.beta = c == 0 ? 0.0f : -1.5f;
          options.alpha = 0.375f;
          options.row_padding = static_cast<int64_t>(seed % 3);
          options.data = seed % 2 == 0 ? Data::kExact : Data::kNormal;
          options.seed = ++seed;
          expect_right(options);
        }
      }
    }
  }
}

TEST(GemmEpilogue, ScalarsBehindPointersAreReadAtRunTime) {
  for (const Format format : {Format::kNvf4, Format::kMxf4}) {
    GemmOptions options = small();
    options.a = format;
    options.b = format;
    options.alpha = 0.75f;
    options.scalars_behind_pointers = true;
    expect_right(options);
  }
}

TEST(GemmEpilogue, BetaOfZeroDoesNotReadC) {
  GemmOptions options = small();
  options.use_c = true;
  GemmCase gemm(options);
  std::memset(const_cast<void*>(gemm.args().c), 0xFF,
              static_cast<size_t>(options.m * options.n) * sizeof(float));
  for (const mxgemm_kernel* kernel : kernels_for(options)) {
    EXPECT_EQ(gemm.run(*kernel), "");
    EXPECT_EQ(gemm.report().nan_unexpected, 0);
  }
}

TEST(GemmEpilogue, AlphaOfZeroStillMultiplies) {
  GemmOptions options = small();
  options.alpha = 0.0f;
  options.layout_a = ScaleLayout::kRowMajor;
  GemmCase gemm(options);
  const_cast<uint8_t*>(gemm.args().a.scale)[0] = 255;
  for (const mxgemm_kernel* kernel : kernels_for(options)) {
    EXPECT_EQ(gemm.run(*kernel), "");
    EXPECT_EQ(gemm.report().nan_expected, options.n);
  }
}

TEST(GemmEpilogue, WithoutProductsAlphaIsNotLookedAt) {
  for (const float alpha :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    GemmOptions options = small();
    options.k = 0;
    options.bias = Format::kF32;
    options.use_c = true;
    options.beta = 2.0f;
    options.alpha = alpha;
    for (const bool packed : {false, true}) {
      options.packed = packed;
      GemmCase gemm(options);
      for (const mxgemm_kernel* kernel : kernels_for(options)) {
        EXPECT_EQ(gemm.run(*kernel), "");
        EXPECT_EQ(gemm.report().exact_required, options.m * options.n);
        EXPECT_EQ(gemm.report().nan_expected, 0);
      }
    }
  }
}

// NaN, infinities and the ends of the range through each activation, set by a bias on K = 0.
TEST(GemmEpilogue, ActivationsOfSpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kValues[] = {
      0.0f,      -0.0f,          kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
      -1e30f,    1e30f,          -100.0f,   -20.0f,     -0x1p-149f,
      0x1p-149f, -3.5f,          3.5f,      88.0f,      -88.0f,
      -10.0f,    0x1.fffffep127f};
  for (const Activation activation : kActivations) {
    for (const Format d : kFormatsD) {
      GemmOptions options = small();
      options.m = 1;
      options.n = std::size(kValues);
      options.k = 0;
      options.d = d;
      options.bias = Format::kF32;
      options.activation = activation;
      GemmCase gemm(options);
      std::memcpy(const_cast<void*>(gemm.args().bias), kValues, sizeof kValues);
      for (const mxgemm_kernel* kernel : kernels_for(options)) {
        EXPECT_EQ(gemm.run(*kernel), "");
        const bool smooth = activation != Activation::kNone && activation != Activation::kRelu;
        EXPECT_EQ(gemm.report().nan_expected, smooth ? 2 : 1);
      }
    }
  }
}

// A sum that lies on the tie between two codes of D, just above it and just below.
TEST(GemmEpilogue, OutputIsRoundedToNearestEvenOnce) {
  constexpr float kValues[] = {1.00390625f,  1.01171875f, 1.00390637f, 1.00390613f,
                               -1.00390625f, 2049.0f,     2051.0f,     65519.0f,
                               65520.0f,     0x1p-25f,    0x1.8p-25f,  3.39e38f};
  for (const Format d : kFormatsD) {
    GemmOptions options = small();
    options.m = 1;
    options.n = std::size(kValues);
    options.k = 0;
    options.d = d;
    options.bias = Format::kF32;
    GemmCase gemm(options);
    std::memcpy(const_cast<void*>(gemm.args().bias), kValues, sizeof kValues);
    for (const mxgemm_kernel* kernel : kernels_for(options)) {
      EXPECT_EQ(gemm.run(*kernel), "");
      EXPECT_EQ(gemm.report().exact_required, options.n);
    }
  }
}

#if defined(__x86_64__)

// A host that flushes subnormals and rounds upwards gets the same bits, and its mode back.
TEST(GemmEpilogue, HostFloatingPointModeDoesNotMatter) {
  constexpr unsigned kFlushAndRoundUp = 0x1F80 | 0x8000 | 0x0040 | 0x4000;
  GemmOptions options = small();
  options.data = Data::kWide;
  for (const Format a : {Format::kMxf4, Format::kBf16, Format::kMxf8E5m2}) {
    options.a = a;
    GemmCase gemm(options);
    for (const mxgemm_kernel* kernel : kernels_for(options)) {
      EXPECT_EQ(gemm.run(*kernel), "");
      const std::vector<uint8_t> usual = gemm.d_bytes();
      const unsigned before = _mm_getcsr();
      _mm_setcsr(kFlushAndRoundUp);
      const int32_t status = gemm.multiply(*kernel);
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      EXPECT_EQ(status, MXGEMM_OK);
      EXPECT_EQ(after & ~0x3Fu, kFlushAndRoundUp) << kernel->name;
      EXPECT_EQ(gemm.d_bytes(), usual) << kernel->name;
    }
  }
}

#endif

}  // namespace
}  // namespace mxgemm::cpu
