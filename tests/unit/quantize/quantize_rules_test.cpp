// SPDX-License-Identifier: Apache-2.0
// Known blocks and their known bytes, one test for each way in which quantisers of the field went
// wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<int> codes_of(Format format, const Quantized& quantized, int count) {
  std::vector<int> codes;
  for (int k = 0; k < count; ++k) {
    codes.push_back(code_at(format, quantized.qdata, k));
  }
  return codes;
}

// Every level of this machine, both 16-bit sources where they hold the numbers, and f32 must agree
// on these bytes.
void expect_block(Format format, ScaleRule rule, std::vector<double> values, int scale,
                  const std::vector<int>& codes) {
  values.resize(32);
  for (const Format source : kSources) {
    const Numbers numbers(source, values);
    bool exact = true;
    for (size_t k = 0; k < values.size(); ++k) {
      exact = exact && numbers.at(static_cast<int64_t>(k)) == values[k];
    }
    if (!exact) {
      continue;
    }
    for (const int32_t isa : levels()) {
      const Quantized result =
          quantize_numbers(options_for(source, format, 1, 32, rule), numbers, isa);
      ASSERT_TRUE(result.status.ok()) << result.status.message();
      EXPECT_EQ(+result.scale[0], scale) << format_name(source) << " isa " << isa;
      EXPECT_EQ(codes_of(format, result, static_cast<int>(codes.size())), codes)
          << format_name(source) << " isa " << isa;
    }
  }
}

TEST(QuantizeRules, RoundTiesToEvenCode) {
  expect_block(Format::kMxf4, ScaleRule::kFloor,
               {5, 3.5, 2.5, 1.75, 1.25, 0.75, 0.25, -5, -3.5, -2.5, -1.75, -1.25, -0.75, -0.25},
               127, {6, 6, 4, 4, 2, 2, 0, 14, 14, 12, 12, 10, 10, 8, 0, 0});
}

TEST(QuantizeRules, SubtractTheTopExponentOfTheElement) {
  expect_block(Format::kMxf4, ScaleRule::kFloor, std::vector<double>(32, 4.0), 127,
               std::vector<int>(32, 6));
  expect_block(Format::kMxf8E4m3, ScaleRule::kFloor, std::vector<double>(32, 1.0), 119,
               std::vector<int>(32, 0x78));
  expect_block(Format::kMxf8E5m2, ScaleRule::kFloor, std::vector<double>(32, 1.0), 112,
               std::vector<int>(32, 0x78));
}

TEST(QuantizeRules, FloorClipsWhereRceilDoesNot) {
  expect_block(Format::kMxf4, ScaleRule::kFloor, {7}, 127, {7, 0});
  expect_block(Format::kMxf4, ScaleRule::kRceil, {7}, 128, {6, 0});
  expect_block(Format::kMxf8E4m3, ScaleRule::kFloor, {500}, 127, {0x7E, 0});
  expect_block(Format::kMxf8E4m3, ScaleRule::kRceil, {500}, 128, {0x78, 0});
}

TEST(QuantizeRules, DefaultIsEven) {
  // 7 is half an E2M1 ulp below 8: even rounds it up, floor does not; 6.99 stays.
  expect_block(Format::kMxf4, ScaleRule::kDefault, {7}, 128, {6, 0});
  expect_block(Format::kMxf4, ScaleRule::kEven, {7}, 128, {6, 0});
  expect_block(Format::kMxf4, ScaleRule::kDefault, {6.9375}, 127, {7, 0});
  expect_block(Format::kMxf8E4m3, ScaleRule::kDefault, {496}, 128, {0x78, 0});
  expect_block(Format::kMxf8E4m3, ScaleRule::kDefault, {495}, 127, {0x7E, 0});
}

TEST(QuantizeRules, CeilRaisesAllButPowersOfTwo) {
  expect_block(Format::kMxf4, ScaleRule::kCeil, {4}, 127, {6, 0});
  expect_block(Format::kMxf4, ScaleRule::kCeil, {4.03125}, 128, {4, 0});
}

TEST(QuantizeRules, NearestTurnsAtTheSquareRootOfTwo) {
  // The fp32 neighbours of 4 * sqrt(2).
  const double below = 0x1.6A09E6p2;
  const double above = 0x1.6A09E8p2;
  ASSERT_LT(below * below, 32.0);
  ASSERT_GT(above * above, 32.0);
  expect_block(Format::kMxf4, ScaleRule::kNearest, {below}, 127, {7, 0});
  expect_block(Format::kMxf4, ScaleRule::kNearest, {above}, 128, {5, 0});
}

TEST(QuantizeRules, MseTakesTheLeastErrorAndTheSmallerExponentOnTies) {
  // 4 is exact under 2^0 and 2^1 and clipped under 2^-1.
  expect_block(Format::kMxf4, ScaleRule::kMse, {4}, 127, {6, 0});
  // Under floor's 2^0 a lone 7.5 loses 1.5; under 2^1 it is 3.75 -> 4, losing 0.5.
  expect_block(Format::kMxf4, ScaleRule::kMse, {7.5}, 128, {6, 0});
  // Many 0.5 beside one 7: under 2^1 each 0.5 becomes 0 (a tie to even); floor's exponent wins.
  std::vector<double> values(32, 0.5);
  values[0] = 7;
  std::vector<int> codes(32, 1);
  codes[0] = 7;
  expect_block(Format::kMxf4, ScaleRule::kMse, values, 127, codes);
}

TEST(QuantizeRules, ClampToTheLargestElement) {
  expect_block(Format::kMxf8E4m3, ScaleRule::kFloor, {957, -957}, 128, {0x7E, 0xFE, 0});
  expect_block(Format::kMxf8E4m3, ScaleRule::kRceil, {957, -957}, 129, {0x77, 0xF7, 0});
  const Quantized floor = quantize_row(Format::kMxf8E4m3, ScaleRule::kFloor, {957, -957});
  EXPECT_EQ(decode(Format::kMxf8E4m3, 1, 32, floor, Format::kF32).at(1), -896);
  const Quantized rceil = quantize_row(Format::kMxf8E4m3, ScaleRule::kRceil, {957, -957});
  EXPECT_EQ(decode(Format::kMxf8E4m3, 1, 32, rceil, Format::kF32).at(0), 960);
}

TEST(QuantizeRules, NeverMakeNanOutOfLargeNumbers) {
  expect_block(Format::kMxf8E4m3, ScaleRule::kFloor, {511, 465, 464, 448, -500}, 127,
               {0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0});
}

TEST(QuantizeRules, KeepNumbersDownToTheSmallestScale) {
  expect_block(Format::kMxf8E4m3, ScaleRule::kFloor, std::vector<double>(32, 0x1p-130), 0,
               std::vector<int>(32, 0x20));
  expect_block(Format::kMxf4, ScaleRule::kFloor, std::vector<double>(32, 0x1p-127), 0,
               std::vector<int>(32, 2));
  const Quantized tiny =
      quantize_row(Format::kMxf8E4m3, ScaleRule::kFloor, std::vector<double>(32, 0x1p-130));
  EXPECT_EQ(decode(Format::kMxf8E4m3, 1, 32, tiny, Format::kF32).at(31), 0x1p-130);
  const Quantized tinier =
      quantize_row(Format::kMxf4, ScaleRule::kFloor, std::vector<double>(32, 0x1p-127));
  EXPECT_EQ(decode(Format::kMxf4, 1, 32, tinier, Format::kBf16).at(0), 0x1p-127);
  // The smallest fp32 of all is below half of every format's smallest number, but E5M2 comes near.
  expect_block(Format::kMxf4, ScaleRule::kFloor, {0x1p-149}, 0, {0, 0});
  expect_block(Format::kMxf8E5m2, ScaleRule::kFloor, {0x1p-143, -0x1p-144, 0x1.8p-144}, 0,
               {1, 0x80, 1, 0});
}

TEST(QuantizeRules, KeepNumbersUpToTheLargestFinite) {
  const double largest = 0x1.FEp127;  // of bf16
  expect_block(Format::kMxf4, ScaleRule::kFloor, {largest, -largest}, 252, {7, 15, 0});
  expect_block(Format::kMxf4, ScaleRule::kEven, {largest, -largest}, 253, {6, 14, 0});
  expect_block(Format::kMxf4, ScaleRule::kCeil, {largest, 0x1p127}, 253, {6, 4, 0});
  expect_block(Format::kMxf8E4m3, ScaleRule::kRceil, {largest, 0x1p100}, 247, {0x78, 0, 0});
  expect_block(Format::kMxf8E5m2, ScaleRule::kNearest, {largest}, 240, {0x78, 0});
}

TEST(QuantizeRules, AllZeroBlockHasScaleZeroAndKeepsSigns) {
  for (const ScaleRule rule : kAllRules) {
    expect_block(Format::kMxf4, rule, {0.0, -0.0, 0.0}, 0, {0, 8, 0, 0});
    expect_block(Format::kMxf8E4m3, rule, {0.0, -0.0, 0.0}, 0, {0, 0x80, 0, 0});
    expect_block(Format::kMxf8E5m2, rule, {-0.0}, 0, {0x80, 0});
  }
}

TEST(QuantizeRules, ZeroRowBesideARowOfOnes) {
  for (const auto& [format, byte, code] :
       {std::tuple{Format::kMxf4, 125, 6}, std::tuple{Format::kMxf8E4m3, 119, 0x78}}) {
    std::vector<double> values(128, 0.0);
    std::fill(values.begin() + 64, values.end(), 1.0);
    const Numbers numbers(Format::kBf16, values);
    const Quantized result = quantize_numbers(options_for(Format::kBf16, format, 2, 64), numbers);
    EXPECT_EQ(result.scale,
              (std::vector<uint8_t>{0, 0, static_cast<uint8_t>(byte), static_cast<uint8_t>(byte)}));
    const Numbers decoded = decode(format, 2, 64, result, Format::kF32);
    for (int k = 0; k < 64; ++k) {
      EXPECT_EQ(code_at(format, result.qdata, k), 0);
      EXPECT_EQ(code_at(format, result.qdata, 64 + k), code);
      EXPECT_FALSE(std::signbit(decoded.at(k)));
      EXPECT_EQ(decoded.at(k), 0.0);
    }
  }
}

TEST(QuantizeRules, NegativeZeroAndWhatRoundsToItKeepTheSign) {
  expect_block(Format::kMxf4, ScaleRule::kFloor, {4, -0.0, -0.1875, 0.1875}, 127, {6, 8, 8, 0, 0});
  const Quantized result = quantize_row(Format::kMxf4, ScaleRule::kFloor, {4, -0.0, -0.2, 0.2});
  EXPECT_EQ(result.qdata[0], 0x86);
  EXPECT_EQ(result.qdata[1], 0x08);
  const Numbers decoded = decode(Format::kMxf4, 1, 32, result, Format::kBf16);
  EXPECT_TRUE(std::signbit(decoded.at(1)) && decoded.at(1) == 0.0);
}

TEST(QuantizeRules, NanMakesItsBlockNanAndNoOther) {
  for (const Format format : kBlockFormats) {
    for (const bool saturate : {false, true}) {
      for (const int32_t isa : levels()) {
        const Numbers plain(Format::kBf16, std::vector<double>(128, 1.0));
        Numbers spoiled = plain;
        spoiled.set(40, kNan);
        QuantizeOptions options = options_for(Format::kBf16, format, 2, 64);
        options.saturate_nonfinite = saturate;
        const Quantized good = quantize_numbers(options, plain, isa);
        const Quantized bad = quantize_numbers(options, spoiled, isa);
        const int block_size = find_format(format)->block_size;
        const int block = 40 / block_size;
        EXPECT_EQ(bad.global_scale, good.global_scale);
        for (size_t i = 0; i < good.scale.size(); ++i) {
          const int nan_byte = format == Format::kNvf4 ? 0x7F : 0xFF;
          EXPECT_EQ(+bad.scale[i], static_cast<int>(i) == block ? nan_byte : +good.scale[i]);
        }
        const Numbers decoded = decode(format, 2, 64, bad, Format::kBf16);
        for (int k = 0; k < 128; ++k) {
          const bool in_block = k / block_size == block;
          EXPECT_EQ(+code_at(format, bad.qdata, k), in_block ? 0 : +code_at(format, good.qdata, k));
          EXPECT_EQ(std::isnan(decoded.at(k)), in_block);
        }
      }
    }
  }
}

TEST(QuantizeRules, InfinityMakesNanOrSaturates) {
  std::vector<double> values{kInf, -kInf, 0x1p127, 1.0, -0.0};
  values.resize(32);
  const Numbers numbers(Format::kF32, values);
  for (const ScaleRule rule : kAllRules) {
    QuantizeOptions options = options_for(Format::kF32, Format::kMxf4, 1, 32, rule);
    EXPECT_EQ(+quantize_numbers(options, numbers).scale[0], 255);
    EXPECT_EQ(quantize_numbers(options, numbers).qdata, std::vector<uint8_t>(16, 0));
    options.saturate_nonfinite = true;
    for (const int32_t isa : levels()) {
      const Quantized result = quantize_numbers(options, numbers, isa);
      EXPECT_EQ(+result.scale[0], 254);
      EXPECT_EQ(codes_of(Format::kMxf4, result, 6), (std::vector<int>{7, 15, 2, 0, 8, 0}));
    }
  }
  QuantizeOptions options = options_for(Format::kF32, Format::kMxf8E5m2, 1, 32);
  options.saturate_nonfinite = true;
  EXPECT_EQ(codes_of(Format::kMxf8E5m2, quantize_numbers(options, numbers), 3),
            (std::vector<int>{0x7B, 0xFB, 0x3C}));
}

TEST(QuantizeRules, NanBesideInfinityIsNanEvenWhenSaturating) {
  std::vector<double> values{kInf, kNan};
  values.resize(32);
  for (const Format format : kMxFormats) {
    QuantizeOptions options = options_for(Format::kF32, format, 1, 32);
    options.saturate_nonfinite = true;
    const Quantized result = quantize_numbers(options, Numbers(Format::kF32, values));
    EXPECT_EQ(+result.scale[0], 255);
    EXPECT_EQ(result.qdata, std::vector<uint8_t>(result.qdata.size(), 0));
  }
}

}  // namespace
}  // namespace mxgemm::test
