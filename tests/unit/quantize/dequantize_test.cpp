// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

// Code of element `index` as it lies in memory.
uint32_t bits_at(const Numbers& numbers, int64_t index) {
  uint32_t bits = 0;
  std::memcpy(&bits, static_cast<const uint8_t*>(numbers.data()) + index * numbers.element_bytes(),
              static_cast<size_t>(numbers.element_bytes()));
  return bits;
}

uint32_t rounded_once(Format format, double value) {
  return format == Format::kBf16  ? bf16_encode(value)
         : format == Format::kF16 ? f16_encode(value)
                                  : f32_encode(value);
}

// One block whose first element has `code`, all others 0.
Quantized one_code(Format format, uint8_t code, uint8_t scale, float global_scale = 1.0f) {
  Quantized quantized;
  quantized.qdata.assign(format == Format::kMxf4 ? 16 : format == Format::kNvf4 ? 8 : 32, 0);
  quantized.qdata[0] = code;
  quantized.scale = {scale};
  quantized.global_scale = global_scale;
  return quantized;
}

uint32_t decoded_bits(Format format, uint8_t code, uint8_t scale, Format format_dst,
                      float global_scale = 1.0f) {
  const int64_t cols = find_format(format)->block_size;
  return bits_at(decode(format, 1, cols, one_code(format, code, scale, global_scale), format_dst),
                 0);
}

TEST(Dequantize, ScalesOfBothEnds) {
  Quantized quantized;
  quantized.qdata.assign(4 * 16, 0x22);
  quantized.scale = {0, 1, 254, 255};
  const Numbers f32 = decode(Format::kMxf4, 4, 32, quantized, Format::kF32);
  const Numbers bf16 = decode(Format::kMxf4, 4, 32, quantized, Format::kBf16);
  const uint32_t f32_bits[] = {0x00400000, 0x00800000, 0x7F000000};
  const uint32_t bf16_bits[] = {0x0040, 0x0080, 0x7F00};
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t k = 0; k < 32; ++k) {
      EXPECT_EQ(bits_at(f32, row * 32 + k), f32_bits[row]);
      EXPECT_EQ(bits_at(bf16, row * 32 + k), bf16_bits[row]);
    }
  }
  for (int64_t k = 0; k < 32; ++k) {
    EXPECT_TRUE(std::isnan(f32.at(3 * 32 + k)));
    EXPECT_TRUE(std::isnan(bf16.at(3 * 32 + k)));
  }
}

TEST(Dequantize, EndsKeepTheirSigns) {
  EXPECT_EQ(decoded_bits(Format::kMxf4, 0x1, 0, Format::kBf16), 0x0020u);
  EXPECT_EQ(decoded_bits(Format::kMxf4, 0xF, 254, Format::kBf16), 0xFF80u);
  EXPECT_EQ(decoded_bits(Format::kMxf4, 0x8, 200, Format::kBf16), 0x8000u);
  EXPECT_EQ(decoded_bits(Format::kMxf4, 0x2, 254, Format::kBf16), 0x7F00u);
  EXPECT_EQ(decoded_bits(Format::kMxf4, 0xF, 254, Format::kF32), 0xFF800000u);
  EXPECT_EQ(decoded_bits(Format::kMxf4, 0xF, 254, Format::kF16), 0xFC00u);
  EXPECT_EQ(decoded_bits(Format::kMxf8E5m2, 0x7B, 254, Format::kF32), 0x7F800000u);
}

// Every element code under every scale byte, to every output format: the exact product rounded
// once.
TEST(Dequantize, EveryCodeUnderEveryScale) {
  for (const Format format : kBlockFormats) {
    const FormatInfo& info = *find_format(format);
    const int codes = 1 << info.element_bits;
    for (int scale = 0; scale < 256; ++scale) {
      Quantized quantized;
      for (int code = 0; code < codes; ++code) {
        if (info.element_bits == 8) {
          quantized.qdata.push_back(static_cast<uint8_t>(code));
        } else if (code % 2 == 0) {
          quantized.qdata.push_back(
              pack_nibbles(static_cast<uint8_t>(code), static_cast<uint8_t>(code + 1)));
        }
      }
      quantized.qdata.resize(static_cast<size_t>(256 * info.element_bits / 8));
      quantized.scale.assign(static_cast<size_t>(256 / info.block_size),
                             static_cast<uint8_t>(scale));
      quantized.global_scale = 1.0f;
      for (const Format format_dst : kSources) {
        const Numbers decoded = decode(format, 1, 256, quantized, format_dst);
        for (int code = 0; code < codes; ++code) {
          const double product = element_at(format, quantized.qdata.data(), code) *
                                 scale_value(info.scale_type, static_cast<uint8_t>(scale));
          if (std::isnan(product)) {
            ASSERT_TRUE(std::isnan(decoded.at(code)));
          } else {
            ASSERT_EQ(bits_at(decoded, code), rounded_once(format_dst, product))
                << format_name(format) << " " << code << " x " << scale << " to "
                << format_name(format_dst);
          }
        }
      }
    }
  }
}

// Global scales that put products on ties and near them, in subnormals and beyond the largest
// number.
TEST(Dequantize, GlobalScaleIsPartOfTheExactProduct) {
  const float globals[] = {0x1.FFFFFEp127f, 0x1.000002p-126f, 0x1p-149f,  0x1.555556p-3f,
                           0x1.AAAAACp10f,  0x1.010102p-20f,  0x1.8p-24f, 1.0f,
                           0x1.0204p-14f,   0x1.00FFFEp0f,    0x1.002p0f};
  for (const float global : globals) {
    for (int scale = 0; scale < 128; ++scale) {
      for (uint8_t code = 0; code < 16; ++code) {
        const double product = e2m1_decode(code) * e4m3_scale_decode(static_cast<uint8_t>(scale)) *
                               static_cast<double>(global);
        for (const Format format_dst : kSources) {
          const uint32_t bits =
              decoded_bits(Format::kNvf4, code, static_cast<uint8_t>(scale), format_dst, global);
          if (scale == 0x7F) {
            ASSERT_EQ(bits, format_dst == Format::kBf16  ? 0x7FC0u
                            : format_dst == Format::kF16 ? 0x7E00u
                                                         : 0x7FC00000u);
          } else {
            ASSERT_EQ(bits, rounded_once(format_dst, product));
          }
        }
      }
    }
  }
}

// Products that lie beside a bf16 tie by less than fp32 can tell: by way of fp32 they would fall on
// the tie.
TEST(Dequantize, RoundsOnceNotByWayOfFp32) {
  constexpr uint8_t kElement = 0x3;  // 1.5
  constexpr uint8_t kScale = 0x39;   // 1.125
  int differences = 0;
  for (int step = 0; step < 64; ++step) {
    const double tie = 1 + (2 * step + 1) * 0x1p-8;
    const auto global = static_cast<float>(tie / (1.5 * 1.125));
    const double exact = 1.5 * 1.125 * static_cast<double>(global);
    const uint32_t once = bf16_encode(exact);
    differences += once != bf16_encode(static_cast<double>(static_cast<float>(exact)));
    ASSERT_EQ(decoded_bits(Format::kNvf4, kElement, kScale, Format::kBf16, global), once) << tie;
  }
  EXPECT_GT(differences, 0) << "no case tells one rounding from two";
}

TEST(Dequantize, IgnoresTheSignOfAnE4m3BlockScale) {
  EXPECT_EQ(decoded_bits(Format::kNvf4, 0x2, 0xB8, Format::kF32), 0x3F800000u);
  EXPECT_EQ(decoded_bits(Format::kNvf4, 0x0, 0xFF, Format::kF32), 0x7FC00000u);
}

TEST(Dequantize, NanAndInfinityElementsOfE5m2) {
  EXPECT_EQ(decoded_bits(Format::kMxf8E5m2, 0x7C, 0, Format::kBf16), 0x7F80u);
  EXPECT_EQ(decoded_bits(Format::kMxf8E5m2, 0xFC, 100, Format::kF16), 0xFC00u);
  EXPECT_EQ(decoded_bits(Format::kMxf8E5m2, 0xFD, 127, Format::kF32), 0x7FC00000u);
  EXPECT_EQ(decoded_bits(Format::kMxf8E4m3, 0xFF, 127, Format::kF16), 0x7E00u);
}

TEST(Dequantize, ReadsSwizzledScalesAndStridedRows) {
  constexpr int64_t kRows = 130;
  constexpr int64_t kCols = 9 * 32;
  std::vector<uint8_t> qdata(kRows * 200, 0x22);
  std::vector<uint8_t> scale(static_cast<size_t>(swizzled_scale_bytes(kRows, 9)), 0xFF);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t col = 0; col < 9; ++col) {
      scale[static_cast<size_t>(swizzled_scale_offset(row, col, 9))] =
          static_cast<uint8_t>(100 + (row + 3 * col) % 50);
    }
  }
  std::vector<float> dst(kRows * 300, -1.0f);
  const DequantizeJob job{.format = Format::kMxf4,
                          .rows = kRows,
                          .cols = kCols,
                          .qdata = qdata.data(),
                          .qdata_row_bytes = 200,
                          .scale = {scale.data(), ScaleLayout::kSwizzle32x4x4, 0, 9},
                          .format_dst = Format::kF32,
                          .dst = dst.data(),
                          .dst_ld = 300};
  int32_t threads = 3;
  for (const ParallelFor& parallel_for : {ParallelFor{}, backward_threads(&threads)}) {
    std::fill(dst.begin(), dst.end(), -1.0f);
    dequantize(job, parallel_for);
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t k = 0; k < 300; ++k) {
        const int exponent = static_cast<int>(100 + (row + 3 * (k / 32)) % 50) - 127;
        ASSERT_EQ(dst[static_cast<size_t>(row * 300 + k)],
                  k < kCols ? std::ldexp(1.0f, exponent) : -1.0f);
      }
    }
  }
}

TEST(Dequantize, EmptyIsNothing) {
  dequantize({.format = Format::kMxf4, .rows = 0, .cols = 32, .format_dst = Format::kF32}, {});
  dequantize({.format = Format::kMxf4, .rows = 3, .cols = 0, .format_dst = Format::kF32}, {});
}

// Decoding and quantising again gives the bytes back where the scale rule finds the same scale.
TEST(Dequantize, RoundTripsThroughTheQuantiser) {
  for (const Format format : kMxFormats) {
    const int codes = 1 << find_format(format)->element_bits;
    for (int scale = 20; scale < 230; scale += 7) {
      std::vector<double> values(32);
      for (int k = 1; k < 32; ++k) {
        const auto code = static_cast<uint8_t>(k * 37 % codes);
        const double element = format == Format::kMxf4       ? e2m1_decode(code)
                               : format == Format::kMxf8E4m3 ? e4m3_decode(code)
                                                             : e5m2_decode(code);
        values[static_cast<size_t>(k)] =
            std::isfinite(element) ? std::ldexp(element, scale - 127) : 0.0;
      }
      values[0] = std::ldexp(find_format(format)->element_max, scale - 127);
      const Quantized once = quantize_row(format, ScaleRule::kFloor, values);
      EXPECT_EQ(+once.scale[0], scale);
      const Numbers decoded = decode(format, 1, 32, once, Format::kF32);
      for (int64_t k = 0; k < 32; ++k) {
        ASSERT_EQ(decoded.at(k), values[static_cast<size_t>(k)]) << format_name(format);
      }
    }
  }
}

}  // namespace
}  // namespace mxgemm::test
