// SPDX-License-Identifier: Apache-2.0
// Random and awkward blocks against the independent quantiser of expected.hpp: every format, rule,
// source, non-finite mode and ISA level, byte for byte.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "support/test_size.hpp"
#include "unit/quantize/expected.hpp"
#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

enum class Kind { kGaussian, kTies, kBits, kTiny, kHuge, kMixed };
constexpr Kind kKinds[] = {Kind::kGaussian, Kind::kTies, Kind::kBits,
                           Kind::kTiny,     Kind::kHuge, Kind::kMixed};

class BlockMaker {
 public:
  explicit BlockMaker(uint64_t seed) : generator_(seed) {}

  // A block's numbers of one kind; they are rounded to the source format afterwards.
  std::vector<double> make(Kind kind, Format format, size_t size) {
    std::vector<double> block(size);
    const int exponent = uniform(-20, 20);
    for (double& value : block) {
      value = one(kind, format, exponent);
    }
    if (kind == Kind::kMixed) {
      block[static_cast<size_t>(uniform(0, static_cast<int>(size) - 1))] = special();
    }
    return block;
  }

 private:
  int uniform(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(generator_);
  }
  double sign() { return uniform(0, 1) == 0 ? 1.0 : -1.0; }

  double one(Kind kind, Format format, int exponent) {
    switch (kind) {
      case Kind::kTies: {  // midpoints and codes of the element format, and the fp32 numbers beside
                           // them
        const auto& list = magnitudes(format);
        const auto code = static_cast<size_t>(uniform(0, static_cast<int>(list.size()) - 2));
        const double centre = uniform(0, 1) == 0 ? (list[code] + list[code + 1]) / 2 : list[code];
        auto value = static_cast<float>(std::ldexp(sign() * centre, exponent));
        if (uniform(0, 2) == 0) {
          value = std::nextafter(value, static_cast<float>(sign()) * 1e30f);
        }
        return value;
      }
      case Kind::kBits: {  // any finite fp32
        const auto bits = static_cast<uint32_t>(generator_());
        const auto value = std::bit_cast<float>(bits);
        return std::isfinite(value) ? static_cast<double>(value) : 0.0;
      }
      case Kind::kTiny:
        return std::ldexp(sign() * uniform(0, 63), uniform(-155, -120));
      case Kind::kHuge:
        return std::ldexp(sign() * uniform(64, 127), uniform(115, 121));
      default:
        return std::ldexp(normal_(generator_), exponent);
    }
  }

  double special() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const double values[] = {kInf, -kInf, std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0};
    return values[uniform(0, 4)];
  }

  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
};

constexpr int kBlocks = 99;  // a row: several batches of the SIMD kernels and a rest

Numbers make_row(Format source, Format format, uint64_t seed, int blocks) {
  const auto size = static_cast<size_t>(find_format(format)->block_size);
  BlockMaker maker(seed);
  std::vector<double> values;
  for (int i = 0; i < blocks; ++i) {
    const auto block = maker.make(kKinds[i % static_cast<int>(std::size(kKinds))], format, size);
    values.insert(values.end(), block.begin(), block.end());
  }
  Numbers row(source, values);
  for (int64_t k = 0; k < static_cast<int64_t>(values.size()); ++k) {
    // What overflows a narrow source (f16) would make every block of large numbers infinite.
    if (std::isinf(row.at(k)) && !std::isinf(values[static_cast<size_t>(k)])) {
      row.set(k, std::copysign(65504.0, values[static_cast<size_t>(k)]));
    }
  }
  return row;
}

std::vector<double> block_of(const Numbers& numbers, int64_t block, int64_t size) {
  std::vector<double> x;
  for (int64_t k = block * size; k < (block + 1) * size; ++k) {
    x.push_back(numbers.at(k));
  }
  return x;
}

void expect_equal(const Quantized& actual, Format format, int64_t block, int64_t size,
                  const ExpectedBlock& expected) {
  ASSERT_EQ(+actual.scale[static_cast<size_t>(block)], +expected.scale) << "block " << block;
  for (int64_t k = 0; k < size; ++k) {
    ASSERT_EQ(+code_at(format, actual.qdata, block * size + k),
              +expected.codes[static_cast<size_t>(k)])
        << "block " << block << " element " << k;
  }
}

class QuantizeProperty : public testing::TestWithParam<std::tuple<Format, Format>> {
 protected:
  Format format() const { return std::get<0>(GetParam()); }
  Format source() const { return std::get<1>(GetParam()); }
};

using MxProperty = QuantizeProperty;
using NvProperty = QuantizeProperty;

TEST_P(MxProperty, MatchesTheIndependentQuantiserForEveryRule) {
  const int rounds = test_size(12, 2);
  for (int round = 0; round < rounds; ++round) {
    const Numbers row = make_row(source(), format(), static_cast<uint64_t>(round) + 1, kBlocks);
    for (const ScaleRule rule : kAllRules) {
      for (const bool saturate : {false, true}) {
        QuantizeOptions options = options_for(source(), format(), 1, kBlocks * 32, rule);
        options.saturate_nonfinite = saturate;
        std::vector<Quantized> results;
        for (const int32_t isa : levels()) {
          results.push_back(quantize_numbers(options, row, isa));
          ASSERT_TRUE(results.back().same_bytes(results.front())) << "isa " << isa;
        }
        for (int64_t block = 0; block < kBlocks; ++block) {
          const auto x = block_of(row, block, 32);
          SCOPED_TRACE(std::string(kScaleRuleNames[static_cast<int>(rule)]) + " round " +
                       std::to_string(round));
          expect_equal(results.front(), format(), block, 32,
                       expected_mx_block(format(), rule, saturate, x));
          if (HasFatalFailure()) {
            return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, MxProperty,
                         testing::Combine(testing::ValuesIn(kMxFormats),
                                          testing::ValuesIn(kSources)),
                         [](const auto& test) {
                           return std::string(format_name(std::get<0>(test.param))) + "_from_" +
                                  format_name(std::get<1>(test.param));
                         });

struct NvCase {
  GlobalScaleMode mode;
  float given;
  float min_block_scale;
};

TEST_P(NvProperty, MatchesTheIndependentQuantiserForEveryGlobalScale) {
  const NvCase cases[] = {
      {GlobalScaleMode::kOne, 0, 0},
      {GlobalScaleMode::kOne, 0, 0x1p-6f},
      {GlobalScaleMode::kCompute, 0, 0},
      {GlobalScaleMode::kDefault, 0, 0x1p-6f},
      {GlobalScaleMode::kGiven, 0.37f, 0},
      {GlobalScaleMode::kGiven, 0x1p-149f, 0},
      {GlobalScaleMode::kGiven, 0x1p-149f, 0x1p-6f},
      {GlobalScaleMode::kGiven, 0x1p-126f, 448.0f},
      {GlobalScaleMode::kGiven, 0x1.FFFFFEp127f, 0},
      {GlobalScaleMode::kGiven, 0x1p120f, 448.0f},
      {GlobalScaleMode::kGiven, 3e5f, 1.7f},
  };
  const int rounds = test_size(8, 1);
  for (int round = 0; round < rounds; ++round) {
    const Numbers row =
        make_row(source(), Format::kNvf4, static_cast<uint64_t>(round) + 99, kBlocks);
    for (const NvCase& test : cases) {
      for (const bool saturate : {false, true}) {
        QuantizeOptions options = options_for(source(), Format::kNvf4, 1, kBlocks * 16);
        options.global_scale_mode = test.mode;
        options.saturate_nonfinite = saturate;
        options.min_block_scale = test.min_block_scale;
        std::vector<Quantized> results;
        for (const int32_t isa : levels()) {
          results.push_back(quantize_numbers(options, row, isa, test.given));
          ASSERT_TRUE(results.back().status.ok()) << results.back().status.message();
          ASSERT_TRUE(results.back().same_bytes(results.front())) << "isa " << isa;
        }
        const Quantized& result = results.front();
        const float global = test.mode == GlobalScaleMode::kOne ? 1.0f
                             : test.mode == GlobalScaleMode::kGiven
                                 ? test.given
                                 : expected_global_scale(block_of(row, 0, kBlocks * 16));
        ASSERT_EQ(result.global_scale, global);
        for (int64_t block = 0; block < kBlocks; ++block) {
          expect_equal(result, Format::kNvf4, block, 16,
                       expected_nvf4_block(saturate, global, test.min_block_scale,
                                           block_of(row, block, 16)));
          if (HasFatalFailure()) {
            return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, NvProperty,
                         testing::Combine(testing::Values(Format::kNvf4),
                                          testing::ValuesIn(kSources)),
                         [](const auto& test) {
                           return std::string("from_") + format_name(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace mxgemm::test
