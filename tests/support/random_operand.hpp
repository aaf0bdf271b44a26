// SPDX-License-Identifier: Apache-2.0
// Seeded contents of test operands.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "support/operand.hpp"

namespace mxgemm::test {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // first … last, both included.
  int64_t integer(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(engine_() % static_cast<uint64_t>(last - first + 1));
  }
  // [0, 1) in steps of 2^-24, the same on every standard library.
  double uniform() { return static_cast<double>(engine_() >> 40) * 0x1p-24; }
  // Sum of uniforms: close enough to a normal distribution for data, and portable.
  double normal() {
    double sum = -6.0;
    for (int index = 0; index < 12; ++index) {
      sum += uniform();
    }
    return sum;
  }

 private:
  std::mt19937_64 engine_;
};

// Small integers, scales within 3 binades: every sum of up to 2^9 products is exact in fp32 in any
// order.
inline void fill_exact(Operand* operand, Random* random) {
  for (int64_t row = 0; row < operand->rows(); ++row) {
    for (int64_t col = 0; col < operand->cols(); ++col) {
      operand->set(row, col, static_cast<double>(random->integer(-4, 4)));
    }
    for (int64_t block = 0; block < operand->scale_cols(); ++block) {
      const int64_t step = random->integer(-1, 1);
      const bool is_e4m3 = operand->info().scale_type == internal::ScaleType::kE4m3;
      operand->set_scale(row, block,
                         static_cast<uint8_t>(operand->unit_scale() + (is_e4m3 ? 8 * step : step)));
    }
  }
}

// Normal values and scales around 1.
inline void fill_normal(Operand* operand, Random* random) {
  for (int64_t row = 0; row < operand->rows(); ++row) {
    for (int64_t col = 0; col < operand->cols(); ++col) {
      operand->set(row, col, random->normal());
    }
    for (int64_t block = 0; block < operand->scale_cols(); ++block) {
      operand->set_scale(row, block,
                         static_cast<uint8_t>(operand->unit_scale() + random->integer(-4, 4)));
    }
  }
}

// Any finite code, scale bytes first … last; f32 elements with exponents from end to end.
inline void fill_codes(Operand* operand, Random* random, uint8_t first_scale, uint8_t last_scale) {
  const uint32_t codes = operand->info().element_bits == 32
                             ? ~uint32_t{0}
                             : (uint32_t{1} << operand->info().element_bits) - 1;
  for (int64_t row = 0; row < operand->rows(); ++row) {
    for (int64_t block = 0; block < operand->scale_cols(); ++block) {
      operand->set_scale(row, block,
                         static_cast<uint8_t>(random->integer(first_scale, last_scale)));
    }
    for (int64_t col = 0; col < operand->cols(); ++col) {
      do {
        operand->set_code(row, col, static_cast<uint32_t>(random->integer(0, codes)));
      } while (
          operand->has_scale()
              ? !std::isfinite(internal::element_at(
                    operand->info().format,
                    operand->data().data() + row * operand->ld() * operand->info().element_bits / 8,
                    col))
              : !std::isfinite(operand->value_at(row, col)));
    }
  }
}

// Any finite code under the scales of both ends and 1; in every fourth row one NaN scale, NaN
// element or infinity, where the format has one.
inline void fill_edge(Operand* operand, Random* random) {
  const internal::FormatInfo& info = operand->info();
  const bool is_e4m3 = info.scale_type == internal::ScaleType::kE4m3;
  fill_codes(operand, random, 0, 0x7E);
  constexpr uint8_t kE8m0Bytes[] = {0, 1, 127, 253, 254};
  constexpr uint8_t kE4m3Bytes[] = {0x00, 0x01, 0x38, 0x7E, 0xFE};
  for (int64_t row = 0; row < operand->rows(); ++row) {
    for (int64_t block = 0; block < operand->scale_cols(); ++block) {
      const int64_t choice = random->integer(0, 4);
      operand->set_scale(row, block, is_e4m3 ? kE4m3Bytes[choice] : kE8m0Bytes[choice]);
    }
    if (row % 4 == 3 && operand->cols() > 0) {
      const int64_t col = random->integer(0, operand->cols() - 1);
      const bool infinity = random->integer(0, 1) == 1;
      if (info.format == Format::kMxf4 || info.format == Format::kNvf4) {
        operand->set_scale(row, col / info.block_size, is_e4m3 ? 0x7F : 0xFF);
      } else if (info.format == Format::kMxf8E5m2) {
        operand->set_code(row, col, infinity ? internal::kE5m2Infinity : 0xFE);
      } else {
        operand->set(row, col, infinity && !operand->has_scale() ? HUGE_VAL : std::nan(""));
      }
    }
  }
}

}  // namespace mxgemm::test
