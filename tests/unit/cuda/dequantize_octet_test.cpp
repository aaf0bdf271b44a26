// SPDX-License-Identifier: Apache-2.0
// What a thread of the GPU's dequantiser does (src/cuda/common/decode.cuh), compiled for the host,
// gives the CPU's bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "cuda/common/decode.cuh"
#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;
using cuda::kOctet;

constexpr Format kTargets[] = {Format::kBf16, Format::kF16, Format::kF32};

template <Format kFormat, Format kTarget>
void dequantize_octets(const Quantized& source, float global_scale, uint8_t* dst) {
  using Codes = cuda::OctetCodes<cuda::Element<kFormat>>;
  constexpr size_t kLanes = cuda::kBlockSize<kFormat> / kOctet;
  for (size_t octet = 0; octet < source.scale.size() * kLanes; ++octet) {
    Codes codes;
    std::memcpy(codes.words, source.qdata.data() + octet * sizeof(codes.words),
                sizeof(codes.words));
    const auto result =
        cuda::dequantize_octet<kFormat, kTarget>(codes, source.scale[octet / kLanes], global_scale);
    std::memcpy(dst + octet * sizeof(result.words), result.words, sizeof(result.words));
  }
}

template <Format kFormat>
void dequantize_octets(const Quantized& source, Format target, float global_scale, uint8_t* dst) {
  switch (target) {
    case Format::kBf16:
      return dequantize_octets<kFormat, Format::kBf16>(source, global_scale, dst);
    case Format::kF16:
      return dequantize_octets<kFormat, Format::kF16>(source, global_scale, dst);
    default:
      return dequantize_octets<kFormat, Format::kF32>(source, global_scale, dst);
  }
}

void dequantize_octets(Format format, const Quantized& source, Format target, uint8_t* dst) {
  switch (format) {
    case Format::kMxf4:
      return dequantize_octets<Format::kMxf4>(source, target, source.global_scale, dst);
    case Format::kNvf4:
      return dequantize_octets<Format::kNvf4>(source, target, source.global_scale, dst);
    case Format::kMxf8E4m3:
      return dequantize_octets<Format::kMxf8E4m3>(source, target, source.global_scale, dst);
    default:
      return dequantize_octets<Format::kMxf8E5m2>(source, target, source.global_scale, dst);
  }
}

// Every element code under every scale byte, a row a scale.
Quantized all_codes(Format format) {
  const FormatInfo& info = *find_format(format);
  const size_t codes = size_t{1} << info.element_bits;
  const size_t cols = std::max(codes, static_cast<size_t>(info.block_size));
  Quantized all;
  for (size_t scale = 0; scale < 256; ++scale) {
    all.scale.insert(all.scale.end(), cols / static_cast<size_t>(info.block_size),
                     static_cast<uint8_t>(scale));
    for (size_t k = 0; k < cols; k += info.element_bits == 4 ? 2 : 1) {
      all.qdata.push_back(info.element_bits == 8
                              ? static_cast<uint8_t>(k)
                              : pack_nibbles(static_cast<uint8_t>(k % codes),
                                             static_cast<uint8_t>((k + 1) % codes)));
    }
  }
  return all;
}

void expect_equal(Format format, float global_scale) {
  Quantized source = all_codes(format);
  source.global_scale = global_scale;
  const FormatInfo& info = *find_format(format);
  const auto cols = static_cast<int64_t>(source.qdata.size()) / 256 * 8 / info.element_bits;
  for (const Format target : kTargets) {
    SCOPED_TRACE(testing::Message() << info.name << " to " << format_name(target)
                                    << ", global scale " << std::hexfloat << global_scale);
    const Numbers expected = decode(format, 256, cols, source, target);
    std::vector<uint8_t> actual(static_cast<size_t>(256 * cols * expected.element_bytes()));
    dequantize_octets(format, source, target, actual.data());
    ASSERT_EQ(std::memcmp(actual.data(), expected.data(), actual.size()), 0);
  }
}

TEST(DequantizeOctet, EqualsTheCpuOnEveryCodeAndScale) {
  for (const Format format : kMxFormats) {
    expect_equal(format, 1.0f);
  }
  expect_equal(Format::kNvf4, 1.0f);
}

TEST(DequantizeOctet, EqualsTheCpuUnderEveryKindOfGlobalScale) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float global_scale :
       {0.0f, 0x1p-149f, 0x1p-126f, 0x1.234568p-120f, 0x1.FFFFFEp-65f, 0x1p-64f, 0x1p64f,
        0x1.000002p64f, 0x1.89ABCEp90f, 0x1.FFFFFEp127f, kInfinity, -1.5f,
        std::numeric_limits<float>::quiet_NaN()}) {
    expect_equal(Format::kNvf4, global_scale);
  }
}

// Around f16's and bf16's range, where roundings differ most.
TEST(DequantizeOctet, EqualsTheCpuUnderRandomGlobalScales) {
  std::mt19937 engine(5);
  std::uniform_real_distribution<float> exponent(-40.0f, 20.0f);
  for (int i = 0; i < 200; ++i) {
    const float global_scale = std::exp2(exponent(engine));
    expect_equal(Format::kNvf4, global_scale);
    // Few significant bits: ties are common.
    expect_equal(Format::kNvf4, cuda::float_of(cuda::bits_of(global_scale) & 0xFFFE0000u));
  }
}

}  // namespace
}  // namespace mxgemm::test
