// SPDX-License-Identifier: Apache-2.0
// Every GEMM kernel of the CPU's table that this machine can run, against the reference: operand
// pairs, shapes, scales.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/test_size.hpp"
#include "unit/cpu/gemm_case.hpp"

namespace mxgemm::cpu {
namespace {

constexpr Format kFormatsA[] = {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3, Format::kMxf8E5m2,
                                Format::kBf16, Format::kF16,  Format::kF32};
constexpr Format kFormatsB[] = {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3, Format::kMxf8E5m2};

int64_t common_block(Format a, Format b) {
  return std::max(internal::find_format(a)->block_size, internal::find_format(b)->block_size);
}

class EveryPair : public testing::TestWithParam<std::tuple<Format, Format, Data>> {};

TEST_P(EveryPair, IsRight) {
  const auto [a, b, data] = GetParam();
  for (const bool packed : {false, true}) {
    GemmOptions options;
    options.a = a;
    options.b = b;
    options.data = data;
    options.packed = packed;
    options.m = 21;
    options.n = 37;
    options.k = common_block(a, b) * 11;  // nvf4: ends in half a tile
    expect_right(options);
    options.layout_a = ScaleLayout::kRowMajor;
    options.layout_b = ScaleLayout::kRowMajor;
    options.row_padding = 3;
    options.offset = 4;
    options.k = common_block(a, b);
    expect_right(options);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Gemm, EveryPair,
    testing::Combine(testing::ValuesIn(kFormatsA), testing::ValuesIn(kFormatsB),
                     testing::Values(Data::kExact, Data::kNormal, Data::kWide, Data::kEdge)));

// Data of small integers leave no output to the error bound.
TEST(Gemm, ExactDataAreBitExact) {
  for (const Format a : kFormatsA) {
    GemmOptions options;
    options.a = a;
    options.m = 13;
    options.n = 50;
    options.k = 256;
    GemmCase gemm(options);
    for (const mxgemm_kernel* kernel : kernels_for(options)) {
      EXPECT_EQ(gemm.run(*kernel), "");
      EXPECT_EQ(gemm.report().exact_required, options.m * options.n);
      EXPECT_EQ(gemm.report().exact_mismatches, 0);
    }
  }
}

// The harness itself: one wrong bit of D is found.
TEST(Gemm, HarnessSeesAWrongOutput) {
  GemmOptions options;
  options.m = 3;
  options.n = 20;
  GemmCase gemm(options);
  mxgemm_kernel broken = *kernels_for(options).back();
  broken.run = [](const mxgemm_gemm_desc* desc, const mxgemm_gemm_args* args, void* stream,
                  mxgemm_message error) {
    const int32_t status = kernels().back().run(desc, args, stream, error);
    static_cast<float*>(args->d)[47] += 1.0f;
    return status;
  };
  EXPECT_NE(gemm.run(broken), "");
}

TEST(Gemm, EveryTail) {
  for (const Format a : {Format::kMxf4, Format::kBf16}) {
    GemmOptions options;
    options.a = a;
    options.k = 64;
    options.m = 3;
    for (options.n = 1; options.n <= 40; ++options.n) {
      options.packed = options.n % 2 == 0;
      expect_right(options);
    }
    options.n = 19;
    for (options.m = 1; options.m <= 20; ++options.m) {
      options.packed = options.m % 2 == 0;
      expect_right(options);
    }
  }
}

// Several work tiles in both directions, several steps of K, and ends that fill none of them.
TEST(Gemm, ManyWorkTiles) {
  constexpr std::pair<Format, Format> kAandD[] = {
      {Format::kMxf4, Format::kBf16}, {Format::kBf16, Format::kF16}, {Format::kNvf4, Format::kF32}};
  for (const auto& [a, d] : kAandD) {
    GemmOptions options;
    options.a = a;
    options.d = d;
    options.m = 261;
    options.n = test::test_size<int64_t>(269, 70);
    options.k = test::test_size<int64_t>(1056, 288);
    options.packed = d == Format::kBf16;
    expect_right(options);
  }
}

TEST(Gemm, LongRowsOfFewRows) {
  for (const Format a : {Format::kMxf4, Format::kBf16, Format::kMxf8E4m3}) {
    GemmOptions options;
    options.a = a;
    options.m = 2;
    options.n = 5;
    options.k = 20000 / 32 * 32;
    options.data = Data::kNormal;
    expect_right(options);
  }
}

// Element times scale leaves fp32 in both directions, the products do not: 6 * 2^127 * 0.5 *
// 2^-127.
TEST(Gemm, ProductsOfExtremeScalesAreExact) {
  for (const Format format : {Format::kMxf4, Format::kMxf8E4m3, Format::kMxf8E5m2}) {
    for (const auto& [scale_a, scale_b] :
         {std::pair<uint8_t, uint8_t>{254, 0}, {0, 254}, {253, 1}, {254, 1}, {240, 14}}) {
      for (const Format a : {format, Format::kMxf4}) {
        GemmOptions options;
        options.a = a;
        options.b = format;
        options.m = 14;
        options.n = 33;
        options.k = 96;
        options.layout_a = ScaleLayout::kRowMajor;
        options.layout_b = ScaleLayout::kRowMajor;
        GemmCase gemm(options);
        std::memset(const_cast<uint8_t*>(gemm.args().a.scale), scale_a, gemm.args().a.scale_bytes);
        std::memset(const_cast<uint8_t*>(gemm.args().b.scale), scale_b, gemm.args().b.scale_bytes);
        for (const mxgemm_kernel* kernel : kernels_for(options)) {
          EXPECT_EQ(gemm.run(*kernel), "") << int{scale_a} << " " << int{scale_b};
          EXPECT_EQ(gemm.report().exact_required, options.m * options.n);
        }
      }
    }
  }
}

// bf16 rows so large that a block's sum without B's scales would overflow.
TEST(Gemm, LargeBf16TimesSmallScales) {
  GemmOptions options;
  options.a = Format::kBf16;
  options.m = 9;
  options.n = 17;
  options.k = 64;
  options.layout_b = ScaleLayout::kRowMajor;
  GemmCase gemm(options);
  auto* codes = static_cast<uint16_t*>(const_cast<void*>(gemm.args().a.data));
  for (int64_t i = 0; i < options.m * options.k; ++i) {
    codes[i] = internal::bf16_encode((i / options.k) % 2 == 0 ? 0x1.8p126 : 0x1p118);
  }
  std::memset(const_cast<uint8_t*>(gemm.args().b.scale), 60, gemm.args().b.scale_bytes);
  for (const mxgemm_kernel* kernel : kernels_for(options)) {
    EXPECT_EQ(gemm.run(*kernel), "");
    EXPECT_EQ(gemm.report().exact_required, options.m * options.n);
  }
}

// A product far below the smallest normal number enters no sum as more than it is, and large ones
// beside it stay exact.
TEST(Gemm, TinyAndHugeBlocksSideBySide) {
  GemmOptions options;
  options.m = 5;
  options.n = 9;
  options.k = 64;
  options.layout_a = ScaleLayout::kRowMajor;
  options.layout_b = ScaleLayout::kRowMajor;
  GemmCase gemm(options);
  auto* scale_a = const_cast<uint8_t*>(gemm.args().a.scale);
  auto* scale_b = const_cast<uint8_t*>(gemm.args().b.scale);
  for (int64_t r = 0; r < options.m; ++r) {
    scale_a[2 * r] = 0;
    scale_a[2 * r + 1] = 254;
  }
  for (int64_t r = 0; r < options.n; ++r) {
    scale_b[2 * r] = 0;
    scale_b[2 * r + 1] = 100;
  }
  for (const mxgemm_kernel* kernel : kernels_for(options)) {
    EXPECT_EQ(gemm.run(*kernel), "");
  }
}

// A block of zeros under a NaN scale is NaN; under the largest scale it is nothing.
TEST(Gemm, ZeroBlocksUnderAnyScale) {
  for (const uint8_t scale : {uint8_t{0}, uint8_t{254}, uint8_t{255}}) {
    GemmOptions options;
    options.m = 7;
    options.n = 20;
    options.k = 64;
    options.layout_a = ScaleLayout::kRowMajor;
    options.layout_b = ScaleLayout::kRowMajor;
    GemmCase gemm(options);
    // Block 1 of row 2 of A, block 0 of row 3 of B.
    const auto clear = [&](const mxgemm_operand& operand, int64_t row, int64_t block) {
      auto* codes = static_cast<uint8_t*>(const_cast<void*>(operand.data));
      std::memset(codes + (row * options.k + block * 32) / 2, 0, 16);
      const_cast<uint8_t*>(operand.scale)[row * operand.scale_ld + block] = scale;
    };
    clear(gemm.args().a, 2, 1);
    clear(gemm.args().b, 3, 0);
    for (const mxgemm_kernel* kernel : kernels_for(options)) {
      EXPECT_EQ(gemm.run(*kernel), "") << int{scale};
      EXPECT_EQ(gemm.report().nan_expected, scale == 255 ? options.n + options.m - 1 : 0);
    }
  }
}

}  // namespace
}  // namespace mxgemm::cpu
