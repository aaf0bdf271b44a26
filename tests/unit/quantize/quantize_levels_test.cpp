// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels give the scalar quantiser's bytes: every 16-bit number as an element, every fp32
// exponent, runs of every length, non-finite blocks at every place of a run.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "cpu/cpu_backend.hpp"
#include "support/test_size.hpp"
#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

struct Setting {
  Format format;
  ScaleRule rule;
  GlobalScaleMode mode;
};

std::vector<Setting> settings() {
  std::vector<Setting> list;
  for (const Format format : kMxFormats) {
    for (const ScaleRule rule : kAllRules) {
      list.push_back({format, rule, GlobalScaleMode::kDefault});
    }
  }
  list.push_back({Format::kNvf4, ScaleRule::kDefault, GlobalScaleMode::kOne});
  list.push_back({Format::kNvf4, ScaleRule::kDefault, GlobalScaleMode::kCompute});
  list.push_back({Format::kNvf4, ScaleRule::kDefault, GlobalScaleMode::kGiven});
  return list;
}

// `count` numbers as one row, by every level and setting; a whole number of blocks of 32.
void expect_levels_agree(const Numbers& numbers, int64_t count, const std::string& what) {
  for (const Setting& setting : settings()) {
    QuantizeOptions options = options_for(numbers.format(), setting.format, 1, count, setting.rule);
    options.global_scale_mode = setting.mode;
    constexpr float kGiven = 0.0123f;
    const Quantized scalar = quantize_numbers(options, numbers, 0, kGiven);
    ASSERT_TRUE(scalar.status.ok());
    for (const int32_t isa : levels()) {
      ASSERT_TRUE(quantize_numbers(options, numbers, isa, kGiven).same_bytes(scalar))
          << what << " " << format_name(setting.format) << " isa " << isa << " "
          << kScaleRuleNames[static_cast<int>(setting.rule)];
    }
  }
}

// Each code once in a block whose other numbers are of the same binade or a few below, so that it
// meets every distance from the amax; the codes of a binade follow each other.
TEST(QuantizeLevels, AgreeOnEvery16BitNumber) {
  for (const Format source : {Format::kBf16, Format::kF16}) {
    Numbers in_order(source, 65536);
    Numbers shuffled(source, 65536);
    for (uint32_t code = 0; code < 65536; ++code) {
      in_order.set_code(code, code);
      // 40503 is odd: a permutation of the codes that mixes exponents and signs.
      shuffled.set_code(code, code * 40503u & 0xFFFF);
    }
    expect_levels_agree(in_order, 65536, "in order");
    expect_levels_agree(shuffled, 65536, "shuffled");
  }
}

// Every bf16 beside a fixed number: amax is 2^e for each e and the codes run through all below.
TEST(QuantizeLevels, AgreeOnEveryBf16BesideEveryPowerOfTwo) {
  const int step = test_size(7, 60);
  for (int exponent = -133; exponent <= 127; exponent += step) {
    Numbers numbers(Format::kBf16, 65536);
    for (int64_t k = 0; k < 65536; ++k) {
      numbers.set_code(k, static_cast<uint32_t>(k));
      if (k % 16 == 0 || std::fabs(numbers.at(k)) > std::ldexp(1.0, exponent)) {
        numbers.set(k, std::ldexp(1.0, exponent));
      }
    }
    expect_levels_agree(numbers, 65536, "beside 2^" + std::to_string(exponent));
  }
}

TEST(QuantizeLevels, AgreeOnRandomFp32OfAllExponents) {
  std::mt19937_64 generator(3);
  const int64_t count = test_size(1 << 18, 1 << 13);
  Numbers wild(Format::kF32, count);
  Numbers tame(Format::kF32, count);
  for (int64_t k = 0; k < count; ++k) {
    wild.set_code(k, static_cast<uint32_t>(generator()));
    // A block of one binade, mantissas free: element ties are met by clearing low bits now and
    // then.
    const auto exponent = static_cast<uint32_t>(k / 32 % 255);
    const auto bits = static_cast<uint32_t>(generator());
    const uint32_t kept = bits & 1 ? 0x807FFFFF : 0x80780000;
    tame.set_code(k, (bits & kept) | (exponent > 2 ? exponent - bits / 8 % 3 : exponent) << 23);
  }
  expect_levels_agree(wild, count, "wild");
  expect_levels_agree(tame, count, "tame");
}

TEST(QuantizeLevels, AgreeOnRunsOfEveryLengthWithNonFiniteBlocksAnywhere) {
  std::mt19937_64 generator(4);
  std::normal_distribution<double> normal;
  const double specials[] = {std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()};
  for (int64_t blocks = 1; blocks <= 40; ++blocks) {
    for (const Format source : kSources) {
      Numbers numbers(source, blocks * 32);
      for (int64_t k = 0; k < blocks * 32; ++k) {
        numbers.set(k, normal(generator));
      }
      expect_levels_agree(numbers, blocks * 32, "finite run of " + std::to_string(blocks));
      numbers.set(static_cast<int64_t>(generator() % static_cast<uint64_t>(blocks * 32)),
                  specials[blocks % 3]);
      numbers.set(blocks * 32 - 1, specials[(blocks + 1) % 3]);
      expect_levels_agree(numbers, blocks * 32, "spoiled run of " + std::to_string(blocks));
    }
  }
}

// Each level above scalar that is said to have kernels really has them for every source, format and
// rule but the search.
TEST(QuantizeLevels, HaveKernelsForEveryRuleButMse) {
  for (const int32_t isa : levels()) {
    const QuantizeRowKernels* kernels = cpu::quantize_row_kernels(isa);
    ASSERT_EQ(kernels == nullptr, isa == 0);
    if (kernels == nullptr) {
      continue;
    }
    for (int source = 0; source < MXGEMM_QUANTIZE_SOURCES; ++source) {
      EXPECT_NE(kernels->nvf4[source], nullptr);
      for (int format = 0; format < MXGEMM_QUANTIZE_MX_FORMATS; ++format) {
        for (int rule = 1; rule < MXGEMM_QUANTIZE_MX_RULES; ++rule) {
          EXPECT_EQ(kernels->mx[source][format][rule] == nullptr,
                    rule == static_cast<int>(ScaleRule::kMse));
        }
      }
    }
  }
}

// A kernel that always declined would pass every comparison above.
TEST(QuantizeLevels, KernelsTakeFiniteBlocksAndStopAtOthers) {
  std::vector<float> row(32 * 20, 1.5f);
  std::vector<uint8_t> qdata(row.size());
  std::vector<uint8_t> scale(row.size() / 16);
  for (const int32_t isa : levels()) {
    if (isa == 0) {
      continue;
    }
    const QuantizeRowKernels& kernels = *cpu::quantize_row_kernels(isa);
    const auto mx = kernels.mx[2][0][static_cast<int>(ScaleRule::kEven)];
    EXPECT_EQ(mx(row.data(), 20, qdata.data(), scale.data()), 20);
    EXPECT_EQ(kernels.nvf4[2](row.data(), 40, 1.0f, 0.0f, qdata.data(), scale.data()), 40);
    row[32 * 7 + 3] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(mx(row.data(), 20, qdata.data(), scale.data()), 7);
    EXPECT_EQ(kernels.nvf4[2](row.data(), 40, 1.0f, 0.0f, qdata.data(), scale.data()), 14);
    row[32 * 7 + 3] = 1.5f;
  }
}

}  // namespace
}  // namespace mxgemm::test
