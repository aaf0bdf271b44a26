// SPDX-License-Identifier: Apache-2.0
// Cases and data of the tests of a GPU library's functions on block-scaled data.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "device/cuda/data_library.hpp"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {

// Of the library that is tested; set by main.
extern const mxgemm_data_functions* functions;

using Bytes = std::vector<uint8_t>;
using internal::find_format;
using internal::Format;
using internal::FormatInfo;

inline const FormatInfo& info_of(int32_t format) {
  return *find_format(static_cast<Format>(format));
}

enum class Data { kNormal, kWide, kBits };

// Numbers of a plain format: around 1; of all magnitudes with zeros among them; any bits at all.
inline Bytes random_numbers(int32_t format, int64_t count, Data data, std::mt19937* engine) {
  const int bytes = info_of(format).element_bits / 8;
  Bytes numbers(static_cast<size_t>(count * bytes));
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> exponent(-140, 127);
  double unit = 1.0;
  for (int64_t i = 0; i < count; ++i) {
    if (data == Data::kWide && i % 16 == 0) {
      unit = std::ldexp(1.0, format == MXGEMM_F16 ? exponent(*engine) / 8 : exponent(*engine));
    }
    const double value =
        data == Data::kWide && (*engine)() % 9 == 0 ? -0.0 : normal(*engine) * unit;
    uint32_t code = format == MXGEMM_BF16  ? internal::bf16_encode(value)
                    : format == MXGEMM_F16 ? internal::f16_encode(value)
                                           : internal::f32_encode(value);
    if (data == Data::kBits && i / 48 % 2 == 0) {
      code = static_cast<uint32_t>((*engine)());
    }
    std::memcpy(numbers.data() + i * bytes, &code, static_cast<size_t>(bytes));
  }
  return numbers;
}

inline Bytes random_bytes(size_t count, std::mt19937* engine) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>((*engine)());
  }
  return bytes;
}

inline int64_t scale_bytes(int32_t layout, int64_t rows, int64_t cols, int64_t ld) {
  return layout == MXGEMM_SCALE_ROW_MAJOR ? (rows - 1) * ld + cols
                                          : internal::swizzled_scale_bytes(rows, cols);
}

// Without the elements behind the last row.
inline size_t matrix_bytes(int32_t format, int64_t rows, int64_t cols, int64_t ld) {
  return static_cast<size_t>(((rows - 1) * ld + cols) * info_of(format).element_bits / 8);
}

struct QuantizeCase {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  int64_t extra_src = 0;  // elements of a row
  int64_t extra_qdata = 0;
  int64_t extra_scale = 0;
  size_t offset_src = 0;  // bytes
  size_t offset_qdata = 0;
  float given = 1.0f;
  Data data = Data::kNormal;
};

inline std::string describe(const QuantizeCase& c) {
  char text[256];
  std::snprintf(
      text, sizeof(text),
      "%s to %s, %lld x %lld, layout %d, rule %d, nonfinite %d, global %d (%a), least %a, "
      "extra %lld %lld %lld, offsets %zu %zu, data %d",
      info_of(c.desc.format_src).name, info_of(c.desc.format).name,
      static_cast<long long>(c.desc.rows), static_cast<long long>(c.desc.cols), c.desc.scale_layout,
      c.desc.scale_rule, c.desc.nonfinite, c.desc.global_scale_mode, static_cast<double>(c.given),
      static_cast<double>(c.desc.min_block_scale), static_cast<long long>(c.extra_src),
      static_cast<long long>(c.extra_qdata), static_cast<long long>(c.extra_scale), c.offset_src,
      c.offset_qdata, static_cast<int>(c.data));
  return text;
}

inline constexpr int32_t kSources[] = {MXGEMM_BF16, MXGEMM_F16, MXGEMM_F32};
inline constexpr int32_t kFormats[] = {MXGEMM_MXF4, MXGEMM_NVF4, MXGEMM_MXF8E4M3, MXGEMM_MXF8E5M2};
inline constexpr int64_t kRows[] = {1, 2, 5, 31, 127, 128, 129, 300, 700};
inline constexpr int64_t kCols[] = {32, 64, 96, 160, 288, 512, 1056, 2880, 4096, 8224};

// Strides and offsets by turn: everything aligned, rows apart, pointers aligned to the element
// only.
inline QuantizeCase case_of(int turn, int32_t format_src, int32_t format) {
  QuantizeCase c;
  c.desc.format_src = format_src;
  c.desc.format = format;
  c.desc.rows = kRows[turn % 9];
  c.desc.cols = kCols[turn / 3 % 10] + (format == MXGEMM_NVF4 && turn % 4 == 1 ? 16 : 0);
  c.desc.scale_layout = turn % 2 == 0 ? MXGEMM_SCALE_SWIZZLE_32_4_4 : MXGEMM_SCALE_ROW_MAJOR;
  c.desc.nonfinite = turn / 2 % 2 == 0 ? MXGEMM_NONFINITE_NAN : MXGEMM_NONFINITE_SATURATE;
  c.data = static_cast<Data>(turn % 3);
  if (turn % 4 != 0) {
    c.extra_src = turn % 4 == 1 ? 32 : 1;
    c.extra_qdata = turn % 4 == 2 ? 64 : 2;
    c.extra_scale = turn % 3;
  }
  const size_t element = static_cast<size_t>(info_of(format_src).element_bits / 8);
  c.offset_src = turn % 5 == 3 ? element : turn % 5 == 4 ? 16 : 0;
  c.offset_qdata = turn % 7 == 3 ? 1 : turn % 7 == 5 ? 4 : 0;
  return c;
}

inline void expect_same(const Bytes& gpu, const Bytes& cpu, const char* what) {
  ASSERT_EQ(gpu.size(), cpu.size());
  if (gpu.empty() || std::memcmp(gpu.data(), cpu.data(), gpu.size()) == 0) {
    return;
  }
  size_t first = 0;
  while (gpu[first] == cpu[first]) {
    ++first;
  }
  FAIL() << what << " byte " << first << " is " << int{gpu[first]} << ", the CPU's "
         << int{cpu[first]};
}

}  // namespace mxgemm::test
