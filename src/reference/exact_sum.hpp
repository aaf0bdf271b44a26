// SPDX-License-Identifier: Apache-2.0
// A sum of nonnegative numbers without rounding: 1024 bits of fixed point.
//
// Range. Operand values are multiples of 2^-149 (f32; every block-scaled format is coarser: E5M2
// with scale 2^-127 ends at 2^-143) and below 2^143 (57344 * 2^127), so products are multiples of
// 2^-298 below 2^286, and a sum of up to 2^63 of them is below 2^349. Times alpha' (24 bits, 2^-149
// … 2^128) that is 2^-447 … 2^477: inside 2^-512 … 2^512.
#pragma once

#include <array>
#include <cstdint>

namespace mxgemm::internal {

class ExactSum {
 public:
  static constexpr int kLimbs = 16;
  static constexpr int kLowestExponent = -512;  // weight of the lowest bit

  // += mantissa * 2^exponent.
  void add(uint64_t mantissa, int exponent);
  // += |value|, a finite double whose lowest set bit is at least 2^kLowestExponent.
  void add(double value);
  // += other * |factor|, factor finite.
  void add_scaled(const ExactSum& other, float factor);
  void add(const ExactSum& other);
  // -= other; other <= *this.
  void subtract(const ExactSum& other);

  // -1, 0 or 1 as *this is below, equal to or above other.
  int compare(const ExactSum& other) const;
  bool is_zero() const { return top_exponent() < kLowestExponent; }
  // Exponent of the highest set bit, kLowestExponent - 1 for zero.
  int top_exponent() const;

  // Nearest, ties to even; the exponent range of double is never left.
  double to_double() const { return rounded(53, kLowestExponent); }
  // Nearest fp32, ties to even, subnormals kept, +Inf from 2^128 - 2^103 on.
  float to_float() const;

 private:
  // Nearest multiple of 2^lowest_exponent with at most `precision` significant bits.
  double rounded(int precision, int lowest_exponent) const;
  bool bit(int index) const;
  bool any_bit_below(int index) const;
  // The 64 bits from `index` on.
  uint64_t word_at(int index) const;

  std::array<uint64_t, kLimbs> limbs_{};  // lowest first
};

// Exponent of the lowest set bit of a finite value other than 0.
int lowest_exponent(double value);

// `positive` - `negative`, rounded to double once.
double rounded_difference(const ExactSum& positive, const ExactSum& negative);

}  // namespace mxgemm::internal
