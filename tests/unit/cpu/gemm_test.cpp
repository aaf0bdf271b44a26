// SPDX-License-Identifier: Apache-2.0
// Every GEMM kernel of the CPU's table that this machine can run, against the reference.
#include <gtest/gtest.h>

#include "unit/cpu/gemm_case.hpp"

namespace mxgemm::cpu {
namespace {

using internal::Activation;

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

}  // namespace
}  // namespace mxgemm::cpu
