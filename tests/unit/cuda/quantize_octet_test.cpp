// SPDX-License-Identifier: Apache-2.0
// What a thread of the GPU quantiser does (src/cuda/common/block_scale.cuh), compiled for the host,
// gives the CPU quantiser's bytes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "cuda/common/block_scale.cuh"
#include "support/test_size.hpp"
#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;
using cuda::kOctet;
using cuda::Octet;

constexpr ScaleRule kGpuRules[] = {ScaleRule::kDefault, ScaleRule::kFloor, ScaleRule::kCeil,
                                   ScaleRule::kEven,    ScaleRule::kRceil, ScaleRule::kNearest};

template <Format kSource>
Octet<kSource> octet_at(const Numbers& numbers, int64_t index) {
  Octet<kSource> octet;
  std::memcpy(octet.words,
              static_cast<const uint8_t*>(numbers.data()) + index * numbers.element_bytes(),
              sizeof(octet.words));
  return octet;
}

template <Format kSource>
float global_scale_of(const QuantizeOptions& options, const Numbers& numbers, float given) {
  if (options.global_scale_mode == GlobalScaleMode::kOne) {
    return 1.0f;
  }
  if (options.global_scale_mode == GlobalScaleMode::kGiven) {
    return given;
  }
  uint32_t bits = 0;
  for (int64_t i = 0; i < options.rows * options.cols; i += kOctet) {
    bits = std::max(bits, cuda::finite_amax_bits(octet_at<kSource>(numbers, i)));
  }
  return nvf4_global_scale(std::bit_cast<float>(bits));
}

// As the kernel: the lanes of a block agree on its amax, each of them does eight numbers.
template <Format kSource, Format kFormat>
Quantized quantize_octets(const QuantizeOptions& options, const Numbers& numbers, float given) {
  constexpr int kBlock = cuda::kBlockSize<kFormat>;
  const FormatInfo& info = *find_format(kFormat);
  cuda::QuantizeRule rule = {
      scale_rule_addend(options.scale_rule, info.mantissa_bits, f32_encode(info.element_max)),
      options.saturate_nonfinite, std::fabs(options.min_block_scale), 1.0f, 1.0f};
  Quantized result;
  if (info.has_global_scale) {
    rule.global_scale = global_scale_of<kSource>(options, numbers, given);
    rule.global_reciprocal = 1.0f / rule.global_scale;
    result.global_scale = rule.global_scale;
  }
  for (int64_t first = 0; first < options.rows * options.cols; first += kBlock) {
    uint32_t amax = 0;
    for (int64_t i = first; i < first + kBlock; i += kOctet) {
      amax = std::max(amax, cuda::amax_bits(octet_at<kSource>(numbers, i)));
    }
    const cuda::BlockScale scale = cuda::block_scale<kFormat>(rule, amax);
    result.scale.push_back(static_cast<uint8_t>(scale.code));
    for (int64_t i = first; i < first + kBlock; i += kOctet) {
      const auto codes =
          cuda::quantize_octet<kSource, kFormat>(octet_at<kSource>(numbers, i), scale);
      for (const uint32_t word : codes.words) {
        for (int byte = 0; byte < 4; ++byte) {
          result.qdata.push_back(static_cast<uint8_t>(word >> (8 * byte)));
        }
      }
    }
  }
  return result;
}

template <Format kSource>
Quantized quantize_octets(const QuantizeOptions& options, const Numbers& numbers, float given) {
  switch (options.format) {
    case Format::kMxf4:
      return quantize_octets<kSource, Format::kMxf4>(options, numbers, given);
    case Format::kNvf4:
      return quantize_octets<kSource, Format::kNvf4>(options, numbers, given);
    case Format::kMxf8E4m3:
      return quantize_octets<kSource, Format::kMxf8E4m3>(options, numbers, given);
    default:
      return quantize_octets<kSource, Format::kMxf8E5m2>(options, numbers, given);
  }
}

// `count` numbers as one row, a multiple of 32.
void expect_equal(QuantizeOptions options, const Numbers& numbers, int64_t count, float given) {
  options.rows = 1;
  options.cols = count;
  for (const bool saturate : {false, true}) {
    options.saturate_nonfinite = saturate;
    const Quantized expected = quantize_numbers(options, numbers, 0, given);
    ASSERT_TRUE(expected.status.ok()) << expected.status.message();
    const Quantized actual =
        numbers.format() == Format::kBf16  ? quantize_octets<Format::kBf16>(options, numbers, given)
        : numbers.format() == Format::kF16 ? quantize_octets<Format::kF16>(options, numbers, given)
                                           : quantize_octets<Format::kF32>(options, numbers, given);
    for (size_t i = 0; i < expected.scale.size(); ++i) {
      ASSERT_EQ(int{actual.scale[i]}, int{expected.scale[i]}) << "scale of block " << i;
    }
    for (size_t i = 0; i < expected.qdata.size(); ++i) {
      ASSERT_EQ(int{actual.qdata[i]}, int{expected.qdata[i]}) << "byte " << i;
    }
    if (options.format == Format::kNvf4) {
      ASSERT_EQ(actual.global_scale, expected.global_scale);
    }
  }
}

void expect_mx_equal(const Numbers& numbers, int64_t count) {
  for (const Format format : kMxFormats) {
    for (const ScaleRule rule : kGpuRules) {
      SCOPED_TRACE(testing::Message()
                   << format_name(numbers.format()) << " to " << format_name(format) << ", "
                   << kScaleRuleNames[static_cast<int>(rule)]);
      expect_equal(options_for(numbers.format(), format, 1, count, rule), numbers, count, 1.0f);
    }
  }
}

void expect_nvf4_equal(const Numbers& numbers, int64_t count, const std::vector<float>& given) {
  QuantizeOptions options = options_for(numbers.format(), Format::kNvf4, 1, count);
  for (const float least : {0.0f, -0.0f, 0x1p-6f, 448.0f}) {
    options.min_block_scale = least;
    for (const GlobalScaleMode mode : {GlobalScaleMode::kOne, GlobalScaleMode::kCompute}) {
      SCOPED_TRACE(testing::Message() << format_name(numbers.format()) << " to nvf4, mode "
                                      << static_cast<int>(mode) << ", least " << least);
      options.global_scale_mode = mode;
      expect_equal(options, numbers, count, 1.0f);
    }
    options.global_scale_mode = GlobalScaleMode::kGiven;
    for (const float global_scale : given) {
      SCOPED_TRACE(testing::Message() << format_name(numbers.format()) << " to nvf4, given "
                                      << global_scale << ", least " << least);
      expect_equal(options, numbers, count, global_scale);
    }
  }
}

// Ends of fp32, both sides of the ends of plain divisors, and something in the middle.
const std::vector<float> kGivenScales = {0x1p-149f, 0x1p-126f, 0x1p-105f, 0x1p-96f,
                                         0.0123f,   0x1p87f,   0x1p96f,   0x1.FFFFFEp127f};

TEST(QuantizeOctet, EqualsTheCpuOnEvery16BitNumber) {
  for (const Format source : {Format::kBf16, Format::kF16}) {
    Numbers in_order(source, 65536);
    Numbers shuffled(source, 65536);
    for (uint32_t code = 0; code < 65536; ++code) {
      in_order.set_code(code, code);
      // 40503 is odd: a permutation of the codes that mixes exponents and signs.
      shuffled.set_code(code, code * 40503u & 0xFFFF);
    }
    expect_mx_equal(shuffled, 65536);
    expect_nvf4_equal(shuffled, 65536, kGivenScales);
    if (!quick()) {
      expect_mx_equal(in_order, 65536);
      expect_nvf4_equal(in_order, 65536, kGivenScales);
    }
  }
}

TEST(QuantizeOctet, EqualsTheCpuOnEveryBf16BesideEveryPowerOfTwo) {
  for (int exponent = -133; exponent <= 127; exponent += test_size(31, 90)) {
    Numbers numbers(Format::kBf16, 65536);
    for (int64_t k = 0; k < 65536; ++k) {
      numbers.set_code(k, static_cast<uint32_t>(k));
      if (k % 16 == 0 || !(std::fabs(numbers.at(k)) <= std::ldexp(1.0, exponent))) {
        numbers.set(k, std::ldexp(1.0, exponent));
      }
    }
    expect_mx_equal(numbers, 65536);
    expect_nvf4_equal(numbers, 65536, {0x1p-20f});
  }
}

TEST(QuantizeOctet, EqualsTheCpuOnRandomBitsOfFp32) {
  std::mt19937 engine(1);
  Numbers numbers(Format::kF32, 65536);
  for (int64_t k = 0; k < 65536; ++k) {
    // One block in four keeps its NaNs and infinities.
    const auto bits = static_cast<uint32_t>(engine());
    numbers.set_code(k, k / 32 % 4 == 0 ? bits : bits & ~(1u << 30));
  }
  expect_mx_equal(numbers, 65536);
  expect_nvf4_equal(numbers, 65536, kGivenScales);
}

double element_value(Format format, uint32_t code) {
  const auto byte = static_cast<uint8_t>(code);
  return format == Format::kMxf4       ? e2m1_decode(byte)
         : format == Format::kMxf8E4m3 ? e4m3_decode(byte)
                                       : e5m2_decode(byte);
}

// Numbers at, just above and just below the midpoints of neighbouring codes under every scale.
TEST(QuantizeOctet, EqualsTheCpuAroundTiesOfFp32) {
  const int64_t count = test_size(int64_t{1} << 16, int64_t{1} << 14);
  std::mt19937 engine(2);
  Numbers numbers(Format::kF32, count);
  for (const Format format : {Format::kMxf4, Format::kMxf8E4m3, Format::kMxf8E5m2}) {
    const uint32_t last = format == Format::kMxf4       ? kE2m1MaxCode
                          : format == Format::kMxf8E4m3 ? kE4m3MaxCode
                                                        : kE5m2MaxCode;
    for (int64_t k = 0; k < count; ++k) {
      const auto code = static_cast<uint32_t>(engine() % last);
      const double tie = (element_value(format, code) + element_value(format, code + 1)) / 2;
      const int exponent = static_cast<int>(k / 32 % 254) - 127;
      const auto value = static_cast<float>(std::ldexp(tie, exponent));
      numbers.set_code(k, std::bit_cast<uint32_t>(value) + engine() % 3 - 1);
    }
    expect_mx_equal(numbers, count);
  }
}

// x around midpoint * divisor, so that the fp32 quotient falls on, above or below the midpoint.
TEST(QuantizeOctet, EqualsTheCpuAroundTiesOfNvf4Quotients) {
  constexpr float kMidpoints[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  const int64_t count = test_size(int64_t{1} << 16, int64_t{1} << 14);
  std::mt19937 engine(3);
  std::uniform_real_distribution<float> significand(1.0f, 2.0f);
  Numbers numbers(Format::kF32, count);
  for (const int exponent : {-126, -100, -60, -9, 0, 30, 100}) {
    const float global_scale = std::ldexp(significand(engine), exponent);
    for (int64_t k = 0; k < count; k += 16) {
      const auto code = static_cast<uint8_t>(1 + engine() % kE4m3MaxCode);
      const float divisor = nvf4_divisor(static_cast<float>(e4m3_decode(code)), global_scale);
      for (int64_t i = k; i < k + 16; ++i) {
        const float x = kMidpoints[engine() % 7] * divisor;
        const uint32_t sign = engine() % 2 << 31;
        numbers.set_code(i, (std::bit_cast<uint32_t>(x) + engine() % 7 - 3) | sign);
      }
      // The amax that makes the divisor.
      numbers.set_code(k, std::bit_cast<uint32_t>(6.0f * divisor));
    }
    expect_nvf4_equal(numbers, count, {global_scale});
  }
}

TEST(QuantizeOctet, DividesToTheLastBit) {
  std::mt19937 engine(4);
  const auto random = [&] { return static_cast<uint32_t>(engine()); };
  const int count = test_size(1 << 21, 1 << 15);
  for (int i = 0; i < count; ++i) {
    // Significands near 1 and 2 are the hard cases of a rounded reciprocal.
    uint32_t mantissa = random() & 0x7FFFFF;
    mantissa = i % 3 == 0 ? mantissa & 0xFF : i % 3 == 1 ? mantissa | 0x7FFF00 : mantissa;
    const float d = std::bit_cast<float>((127 - 96 + random() % 192) << 23 | mantissa);
    const float q = std::bit_cast<float>((127 - 12 + random() % 24) << 23 | (random() & 0x7FFFFF));
    const float x = q * d;
    if (x >= 0x1p-102f && std::isfinite(x)) {
      ASSERT_EQ(cuda::divide(x, d, 1.0f / d), x / d) << std::hexfloat << x << " / " << d;
    }
  }
}

// Quotients as close to the middle of two fp32 as any can be: the significands satisfy
// middle * d = x * 2^25 + s with a small odd s, so x / d misses the 25-bit middle by s / (2^25 d).
TEST(QuantizeOctet, DividesToTheLastBitNextToMiddles) {
  std::mt19937 engine(6);
  constexpr uint32_t kModulus = 1u << 25;
  int tried = 0;
  for (int i = 0; i < test_size(1 << 19, 1 << 14); ++i) {
    const uint32_t d = ((1u << 23) + static_cast<uint32_t>(engine()) % (1u << 23)) | 1u;
    uint32_t inverse = d;  // Newton's iteration modulo 2^32: 3, 6, 12, 24, 48 bits
    for (int step = 0; step < 4; ++step) {
      inverse *= 2 - d * inverse;
    }
    const int s = static_cast<int>(engine() % 8) * 2 - 7;
    const uint32_t middle = static_cast<uint32_t>(s) * inverse % kModulus;
    const auto x =
        static_cast<uint32_t>((uint64_t{middle} * d - static_cast<uint64_t>(s)) / kModulus);
    if (middle < kModulus / 2 || x >= 1u << 24) {
      continue;
    }
    const auto numerator = static_cast<float>(x);
    const auto divisor = static_cast<float>(d);
    ASSERT_EQ(cuda::divide(numerator, divisor, 1.0f / divisor), numerator / divisor)
        << x << " / " << d;
    ++tried;
  }
  EXPECT_GT(tried, test_size(1 << 16, 1 << 11));
}

}  // namespace
}  // namespace mxgemm::test
