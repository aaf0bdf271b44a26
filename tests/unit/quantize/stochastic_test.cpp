// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "quantize/philox.hpp"
#include "support/test_size.hpp"
#include "unit/quantize/expected.hpp"
#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

TEST(Philox, GivesThePublishedWords) {
  EXPECT_EQ(philox(0, 0),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(1, 5),
            (std::array<uint32_t, 4>{0x2907fe46, 0x4baaf5d2, 0x1a9c5fa2, 0x42a90185}));
}

TEST(Philox, UsesAllBitsOfSeedAndCounter) {
  const auto base = philox(0x123456789ABCDEF0, 0x0FEDCBA987654321);
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_NE(philox(0x123456789ABCDEF0 ^ uint64_t{1} << bit, 0x0FEDCBA987654321), base);
    EXPECT_NE(philox(0x123456789ABCDEF0, 0x0FEDCBA987654321 ^ uint64_t{1} << bit), base);
  }
}

// From the words of docs/formats.md: between two codes the one farther from zero iff r < f * 2^32.
uint8_t expected_code(Format format, double value, uint32_t random) {
  const auto& list = magnitudes(format);
  const double magnitude = std::fabs(value);
  size_t code = list.size() - 1;
  while (list[code] > magnitude) {
    --code;
  }
  if (code + 1 < list.size()) {
    const double fraction = (magnitude - list[code]) / (list[code + 1] - list[code]);
    code += static_cast<double>(random) < std::ldexp(fraction, 32) ? 1 : 0;
  }
  const size_t sign = std::signbit(value) ? (list.size() == 8 ? 0x8 : 0x80) : 0;
  return static_cast<uint8_t>(code | sign);
}

Numbers gaussian(int64_t count) {
  std::mt19937_64 generator(21);
  std::normal_distribution<double> normal;
  Numbers numbers(Format::kF32, count);
  for (int64_t k = 0; k < count; ++k) {
    numbers.set(k, k % 50 == 0 ? -0.0 : normal(generator));
  }
  return numbers;
}

TEST(Stochastic, RoundsByThePhiloxWordOfEachElement) {
  constexpr int64_t kRows = 5;
  constexpr int64_t kCols = 96;
  const Numbers numbers = gaussian(kRows * kCols);
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1000}, ~uint64_t{0} - 7}) {
    for (const Format format : kBlockFormats) {
      QuantizeOptions options = options_for(Format::kF32, format, kRows, kCols);
      const Quantized nearest = quantize_numbers(options, numbers);
      options.stochastic = true;
      options.seed = 0x0123456789ABCDEF;
      options.offset = offset;
      const Quantized result = quantize_numbers(options, numbers, levels().back());
      ASSERT_TRUE(result.status.ok());
      EXPECT_EQ(result.scale, nearest.scale);
      const int64_t block = find_format(format)->block_size;
      for (int64_t i = 0; i < kRows * kCols; ++i) {
        const uint8_t scale = result.scale[static_cast<size_t>(i / block)];
        const double value =
            format == Format::kNvf4
                ? static_cast<float>(numbers.at(i)) /
                      (static_cast<float>(e4m3_decode(scale)) * result.global_scale)
                : std::ldexp(numbers.at(i), 127 - scale);
        const uint64_t counter = offset + static_cast<uint64_t>(i) / 4;  // wraps around 2^64
        const uint32_t random = philox(options.seed, counter)[static_cast<size_t>(i % 4)];
        ASSERT_EQ(+code_at(format, result.qdata, i), +expected_code(format, value, random))
            << format_name(format) << " element " << i << " of value " << value;
      }
    }
  }
}

TEST(Stochastic, LeavesExactValuesAndSaturatesAboveTheLargest) {
  std::vector<double> values{0.5, -1.5, 6, -7.5, 4, 0.0, -0.0};
  values.resize(32);
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    QuantizeOptions options = options_for(Format::kF32, Format::kMxf4, 1, 32, ScaleRule::kFloor);
    options.stochastic = true;
    options.seed = seed;
    const Quantized result = quantize_numbers(options, Numbers(Format::kF32, values));
    const int expected[] = {1, 11, 7, 15, 6, 0, 8, 0};
    for (int k = 0; k < 8; ++k) {
      ASSERT_EQ(+code_at(Format::kMxf4, result.qdata, k), expected[k]);
    }
  }
}

// A value whose fraction is exactly its random word stays; the next number up moves.
TEST(Stochastic, TheRandomWordItselfIsNotBelowTheFraction) {
  // A word of at most 24 significant bits is needed, so that word / 2^32 half-steps is an fp32
  // number.
  uint64_t seed = 1;
  while (philox(seed, 0)[0] % 256 != 0) {
    ++seed;
  }
  const float value = std::ldexp(static_cast<float>(philox(seed, 0)[0]), -33);
  for (const auto& [x, code] : {std::pair{value, 0}, {std::nextafter(value, 1.0f), 1}}) {
    std::vector<double> values(32);
    values[0] = x;
    values[1] = 4;
    QuantizeOptions options = options_for(Format::kF32, Format::kMxf4, 1, 32, ScaleRule::kFloor);
    options.stochastic = true;
    options.seed = seed;
    const Quantized result = quantize_numbers(options, Numbers(Format::kF32, values));
    EXPECT_EQ(+code_at(Format::kMxf4, result.qdata, 0), code);
  }
}

// 0.3 of the way from one code to the next goes up 30 % of the time: 5 standard deviations of a
// binomial count.
TEST(Stochastic, IsUnbiased) {
  constexpr int64_t kCount = 32 * 4096;
  for (const double sign : {1.0, -1.0}) {
    Numbers numbers(Format::kF32, kCount);
    for (int64_t k = 0; k < kCount; ++k) {
      numbers.set(k, k % 32 == 0 ? 4.0 : sign * 2.3);
    }
    QuantizeOptions options =
        options_for(Format::kF32, Format::kMxf4, 1, kCount, ScaleRule::kFloor);
    options.stochastic = true;
    options.seed = 5;
    const Quantized result = quantize_numbers(options, numbers);
    int64_t up = 0;
    int64_t drawn = 0;
    for (int64_t k = 0; k < kCount; ++k) {
      if (k % 32 != 0) {
        const uint8_t code = code_at(Format::kMxf4, result.qdata, k) & 7;
        ASSERT_TRUE(code == 4 || code == 5);
        up += code == 5;
        ++drawn;
      }
    }
    const double expected = 0.3 * static_cast<double>(drawn);
    EXPECT_NEAR(static_cast<double>(up), expected, 5 * std::sqrt(expected * 0.7));
  }
}

TEST(Stochastic, AContinuedRunDrawsOnFromItsOffset) {
  const Numbers whole = gaussian(4 * 64);
  Numbers second(Format::kF32, 2 * 64);
  for (int64_t k = 0; k < 2 * 64; ++k) {
    second.set(k, whole.at(2 * 64 + k));
  }
  QuantizeOptions options = options_for(Format::kF32, Format::kMxf8E5m2, 4, 64);
  options.stochastic = true;
  options.seed = 9;
  const Quantized all = quantize_numbers(options, whole);
  options.rows = 2;
  options.offset = 2 * 64 / 4;
  const Quantized rest = quantize_numbers(options, second);
  EXPECT_TRUE(std::equal(rest.qdata.begin(), rest.qdata.end(), all.qdata.begin() + 2 * 64));
}

TEST(Stochastic, TheSearchedScaleIsThatOfNearestRounding) {
  const Numbers numbers = gaussian(32 * 64);
  QuantizeOptions options = options_for(Format::kF32, Format::kMxf4, 32, 64, ScaleRule::kMse);
  const Quantized nearest = quantize_numbers(options, numbers);
  options.stochastic = true;
  options.seed = 4;
  EXPECT_EQ(quantize_numbers(options, numbers).scale, nearest.scale);
}

TEST(Stochastic, SeedsDiffer) {
  const Numbers numbers = gaussian(32 * 64);
  QuantizeOptions options = options_for(Format::kF32, Format::kMxf4, 32, 64);
  options.stochastic = true;
  options.seed = 1;
  const Quantized one = quantize_numbers(options, numbers);
  EXPECT_TRUE(quantize_numbers(options, numbers).same_bytes(one));
  options.seed = uint64_t{1} << 32;
  EXPECT_NE(quantize_numbers(options, numbers).qdata, one.qdata);
}

}  // namespace
}  // namespace mxgemm::test
