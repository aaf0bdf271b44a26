// SPDX-License-Identifier: Apache-2.0
// Where the quantiser reads and writes: strides, swizzled scales and their padding, threads,
// floating-point modes.
#include <gtest/gtest.h>

#include <cfenv>
#include <random>
#include <string>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "cpu/cpu_backend.hpp"
#include "quantize/scale_swizzle.hpp"
#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

Numbers gaussian(Format source, int64_t count, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  Numbers numbers(source, count);
  for (int64_t k = 0; k < count; ++k) {
    numbers.set(k, normal(generator) * (k % 97 == 0 ? 1000 : 1));
  }
  return numbers;
}

// The numbers of a strided view, made dense.
Numbers gathered(const Numbers& base, int64_t first, int64_t ld, int64_t rows, int64_t cols) {
  Numbers dense(base.format(), rows * cols);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < cols; ++col) {
      dense.set(row * cols + col, base.at(first + row * ld + col));
    }
  }
  return dense;
}

struct View {
  const char* name;
  int64_t first;
  int64_t ld;
  int64_t rows;
  int64_t cols;
};

// Of a 3-D array of 6 x 5 x 96, or the same memory as 30 x 96.
constexpr View kViews[] = {
    {"every third row from the second", 96, 3 * 96, 9, 96},
    {"base[:, 1, :]", 96, 5 * 96, 6, 96},
    {"columns 32 to 64", 32, 96, 30, 32},
    {"rows upside down", 29 * 96, -96, 30, 96},
    {"one row again and again", 0, 0, 7, 96},
};

TEST(QuantizeLayout, StridedRowsGiveTheBytesOfADenseCopy) {
  for (const Format source : kSources) {
    const Numbers base = gaussian(source, 30 * 96, 5);
    for (const Format format : kBlockFormats) {
      for (const View& view : kViews) {
        for (const int32_t isa : levels()) {
          const Numbers dense = gathered(base, view.first, view.ld, view.rows, view.cols);
          const QuantizeOptions options = options_for(source, format, view.rows, view.cols);
          const Quantized expected = quantize_numbers(options, dense, 0);
          Quantized actual = expected;
          std::fill(actual.qdata.begin(), actual.qdata.end(), uint8_t{1});
          std::fill(actual.scale.begin(), actual.scale.end(), uint8_t{1});
          const FormatInfo& info = *find_format(format);
          const QuantizeBuffers buffers{
              static_cast<const uint8_t*>(base.data()) + view.first * base.element_bytes(),
              view.ld,
              actual.qdata.data(),
              view.cols * info.element_bits / 8,
              actual.scale.data(),
              view.cols / info.block_size,
              &actual.global_scale};
          ASSERT_TRUE(quantize(options, buffers, cpu::quantize_row_kernels(isa), {}).ok());
          EXPECT_TRUE(actual.same_bytes(expected))
              << view.name << " " << format_name(format) << " isa " << isa;
        }
      }
    }
  }
}

TEST(QuantizeLayout, GapsOfStridedOutputsAreNotTouched) {
  constexpr int64_t kRows = 5;
  constexpr int64_t kCols = 64;
  const Numbers numbers = gaussian(Format::kBf16, kRows * kCols, 6);
  for (const Format format : kBlockFormats) {
    const FormatInfo& info = *find_format(format);
    const int64_t row_bytes = kCols * info.element_bits / 8;
    const int64_t scale_cols = kCols / info.block_size;
    const QuantizeOptions options = options_for(Format::kBf16, format, kRows, kCols);
    for (const int32_t isa : levels()) {
      const Quantized dense = quantize_numbers(options, numbers, isa);
      std::vector<uint8_t> qdata(static_cast<size_t>(kRows * (row_bytes + 7)), 0x5A);
      std::vector<uint8_t> scale(static_cast<size_t>(kRows * (scale_cols + 3)), 0x5A);
      float global_scale = 0;
      const QuantizeBuffers buffers{numbers.data(), kCols,          qdata.data(), row_bytes + 7,
                                    scale.data(),   scale_cols + 3, &global_scale};
      ASSERT_TRUE(quantize(options, buffers, cpu::quantize_row_kernels(isa), {}).ok());
      for (int64_t row = 0; row < kRows; ++row) {
        for (int64_t i = 0; i < row_bytes + 7; ++i) {
          const uint8_t expected =
              i < row_bytes ? dense.qdata[static_cast<size_t>(row * row_bytes + i)] : 0x5A;
          ASSERT_EQ(qdata[static_cast<size_t>(row * (row_bytes + 7) + i)], expected);
        }
        for (int64_t i = 0; i < scale_cols + 3; ++i) {
          const uint8_t expected =
              i < scale_cols ? dense.scale[static_cast<size_t>(row * scale_cols + i)] : 0x5A;
          ASSERT_EQ(scale[static_cast<size_t>(row * (scale_cols + 3) + i)], expected);
        }
      }
    }
  }
}

// Freed memory full of 0xFF, a hundred times: 15 real scales, every other byte zero.
TEST(QuantizeLayout, SwizzledPaddingIsZero) {
  const Numbers numbers = gaussian(Format::kBf16, 5 * 96, 7);
  QuantizeOptions options = options_for(Format::kBf16, Format::kMxf4, 5, 96);
  const Quantized row_major = quantize_numbers(options, numbers);
  options.scale_layout = ScaleLayout::kSwizzle32x4x4;
  for (int round = 0; round < 100; ++round) {
    std::vector<uint8_t> scale(512, 0xFF);
    std::vector<uint8_t> qdata(5 * 48, 0xFF);
    const QuantizeBuffers buffers{numbers.data(), 96, qdata.data(), 48, scale.data(), 0, nullptr};
    ASSERT_TRUE(quantize(options, buffers, nullptr, {}).ok());
    std::vector<uint8_t> expected(512, 0);
    for (size_t row = 0; row < 5; ++row) {
      for (size_t col = 0; col < 3; ++col) {
        expected[16 * row + col] = row_major.scale[row * 3 + col];
      }
    }
    ASSERT_EQ(scale, expected);
  }
}

TEST(QuantizeLayout, SwizzledScalesAreTheRowMajorOnesSwizzled) {
  for (const Format format : kBlockFormats) {
    const int64_t block = find_format(format)->block_size;
    for (const int64_t scale_cols : {1, 2, 3, 5, 9, 44, 90, 1030}) {
      // The widest, more than a tile of work across, with few rows.
      for (const int64_t rows :
           scale_cols < 1000 ? std::vector<int64_t>{1, 127, 130} : std::vector<int64_t>{3}) {
        const int64_t cols = scale_cols * block;
        const Numbers numbers = gaussian(Format::kBf16, rows * cols, 8);
        QuantizeOptions options = options_for(Format::kBf16, format, rows, cols);
        for (const int32_t isa : levels()) {
          options.scale_layout = ScaleLayout::kRowMajor;
          const Quantized row_major = quantize_numbers(options, numbers, isa);
          options.scale_layout = ScaleLayout::kSwizzle32x4x4;
          const Quantized swizzled = quantize_numbers(options, numbers, isa);
          std::vector<uint8_t> expected(swizzled.scale.size(), 0xA5);
          swizzle_scales(rows, scale_cols, row_major.scale.data(), scale_cols, expected.data());
          ASSERT_EQ(swizzled.scale, expected) << rows << " x " << scale_cols << " isa " << isa;
          ASSERT_EQ(swizzled.qdata, row_major.qdata);
        }
      }
    }
  }
}

TEST(QuantizeLayout, K1408HasA5632ByteSwizzledScale) {
  const Numbers numbers = gaussian(Format::kBf16, 128 * 1408, 9);
  QuantizeOptions options = options_for(Format::kBf16, Format::kMxf4, 128, 1408);
  options.scale_layout = ScaleLayout::kSwizzle32x4x4;
  const Quantized result = quantize_numbers(options, numbers);
  ASSERT_TRUE(result.status.ok());
  EXPECT_EQ(result.scale.size(), 5632u);
}

// A joined run of dense rows and single rows with a stride must draw the same random numbers.
TEST(QuantizeLayout, StochasticBytesDoNotDependOnStrides) {
  const Numbers dense = gaussian(Format::kF32, 6 * 64, 11);
  std::vector<float> wide(6 * 100, 1e9f);
  for (int64_t row = 0; row < 6; ++row) {
    for (int64_t col = 0; col < 64; ++col) {
      wide[static_cast<size_t>(row * 100 + col)] = static_cast<float>(dense.at(row * 64 + col));
    }
  }
  for (const Format format : kMxFormats) {
    QuantizeOptions options = options_for(Format::kF32, format, 6, 64);
    options.stochastic = true;
    options.seed = 3;
    const Quantized expected = quantize_numbers(options, dense);
    Quantized actual = expected;
    std::fill(actual.qdata.begin(), actual.qdata.end(), uint8_t{0});
    const QuantizeBuffers buffers{wide.data(),
                                  100,
                                  actual.qdata.data(),
                                  64 * find_format(format)->element_bits / 8,
                                  actual.scale.data(),
                                  2,
                                  nullptr};
    ASSERT_TRUE(quantize(options, buffers, nullptr, {}).ok());
    EXPECT_TRUE(actual.same_bytes(expected));
  }
}

// The host program's rounding mode and flush-to-zero bits must not show in the bytes, and must be
// back afterwards.
class FloatMode {
 public:
  explicit FloatMode(int rounding) {
    std::fegetenv(&saved_);
    std::fesetround(rounding);
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | 0x8040);  // FTZ and DAZ
#endif
  }
  ~FloatMode() {
    std::fesetenv(&saved_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  std::fenv_t saved_;
};

TEST(QuantizeLayout, BytesDoNotDependOnTheCallersFloatingPointMode) {
  Numbers numbers(Format::kF32, 4 * 64);
  std::mt19937_64 generator(12);
  for (int64_t k = 0; k < 4 * 64; ++k) {
    // Rows of subnormals, of numbers near 1, of large ones, of both ends.
    const uint32_t exponents[] = {0, 127, 254, static_cast<uint32_t>(k % 2 * 250)};
    numbers.set_code(k, static_cast<uint32_t>(generator() & 0x807FFFFF) | exponents[k / 64] << 23);
  }
  for (const Format format : kBlockFormats) {
    for (const int32_t isa : levels()) {
      QuantizeOptions options = options_for(Format::kF32, format, 4, 64);
      const Quantized expected = quantize_numbers(options, numbers, isa);
      const Numbers decoded = decode(format, 4, 64, expected, Format::kF32);
      for (const int rounding : {FE_UPWARD, FE_TOWARDZERO}) {
        Quantized actual;
        Numbers decoded_again(Format::kF32, 0);
        int rounding_after = 0;
        {
          const FloatMode mode(rounding);
          actual = quantize_numbers(options, numbers, isa);
          decoded_again = decode(format, 4, 64, expected, Format::kF32);
          rounding_after = std::fegetround();
        }
        EXPECT_EQ(rounding_after, rounding);
        EXPECT_TRUE(actual.same_bytes(expected)) << format_name(format) << " isa " << isa;
        for (int64_t k = 0; k < 4 * 64; ++k) {
          ASSERT_EQ(decoded_again.at(k), decoded.at(k));
        }
      }
    }
  }
}

TEST(QuantizeLayout, EmptyMatricesWriteNothingButTheGlobalScale) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{0, 64}, {4, 0}, {0, 0}}) {
    for (const Format format : kBlockFormats) {
      const Quantized result = quantize_numbers(options_for(Format::kBf16, format, rows, cols),
                                                Numbers(Format::kBf16, 0), 0, 5.0f);
      EXPECT_TRUE(result.status.ok());
      EXPECT_TRUE(result.qdata.empty() && result.scale.empty());
      EXPECT_EQ(result.global_scale, format == Format::kNvf4 ? 1.0f : 5.0f);
    }
  }
}

}  // namespace
}  // namespace mxgemm::test
