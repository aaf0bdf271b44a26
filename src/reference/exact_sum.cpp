// SPDX-License-Identifier: Apache-2.0
#include "reference/exact_sum.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace mxgemm::internal {

namespace {

__extension__ using Uint128 = unsigned __int128;

// value = mantissa * 2^exponent with an odd mantissa, for a nonzero finite |value|.
struct Binary {
  uint64_t mantissa;
  int exponent;
};

Binary split(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const uint64_t mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
  const int zeros = std::countr_zero(mantissa);
  return {mantissa >> zeros, exponent - 53 + zeros};
}

}  // namespace

void ExactSum::add(uint64_t mantissa, int exponent) {
  const int position = exponent - kLowestExponent;
  const int shift = position & 63;
  size_t index = static_cast<size_t>(position >> 6);
  Uint128 carry = static_cast<Uint128>(mantissa) << shift;
  while (carry != 0 && index < kLimbs) {
    carry += limbs_[index];
    limbs_[index] = static_cast<uint64_t>(carry);
    carry >>= 64;
    ++index;
  }
}

void ExactSum::add(double value) {
  if (value != 0.0) {
    const Binary binary = split(value);
    add(binary.mantissa, binary.exponent);
  }
}

void ExactSum::add_scaled(const ExactSum& other, float factor) {
  if (factor == 0.0f) {
    return;
  }
  const Binary binary = split(factor);
  for (int index = 0; index < kLimbs; ++index) {
    const uint64_t limb = other.limbs_[static_cast<size_t>(index)];
    // The lowest set bit, not the limb's, decides whether the product stays in range.
    if (limb != 0) {
      const int zeros = std::countr_zero(limb);
      const Uint128 product = static_cast<Uint128>(limb >> zeros) * binary.mantissa;
      const int exponent = kLowestExponent + 64 * index + zeros + binary.exponent;
      add(static_cast<uint64_t>(product), exponent);
      const uint64_t high = static_cast<uint64_t>(product >> 64);
      if (high != 0) {
        add(high, exponent + 64);
      }
    }
  }
}

void ExactSum::add(const ExactSum& other) {
  Uint128 carry = 0;
  for (size_t index = 0; index < kLimbs; ++index) {
    carry += static_cast<Uint128>(limbs_[index]) + other.limbs_[index];
    limbs_[index] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
}

void ExactSum::subtract(const ExactSum& other) {
  uint64_t borrow = 0;
  for (size_t index = 0; index < kLimbs; ++index) {
    const Uint128 difference = static_cast<Uint128>(limbs_[index]) - other.limbs_[index] - borrow;
    limbs_[index] = static_cast<uint64_t>(difference);
    borrow = static_cast<uint64_t>(difference >> 64) & 1;
  }
}

int ExactSum::compare(const ExactSum& other) const {
  for (size_t index = kLimbs; index-- > 0;) {
    if (limbs_[index] != other.limbs_[index]) {
      return limbs_[index] < other.limbs_[index] ? -1 : 1;
    }
  }
  return 0;
}

int ExactSum::top_exponent() const {
  for (int index = kLimbs; index-- > 0;) {
    const uint64_t limb = limbs_[static_cast<size_t>(index)];
    if (limb != 0) {
      return kLowestExponent + 64 * index + 63 - std::countl_zero(limb);
    }
  }
  return kLowestExponent - 1;
}

bool ExactSum::bit(int index) const {
  return index >= 0 && (limbs_[static_cast<size_t>(index) / 64] >> (index % 64) & 1) != 0;
}

uint64_t ExactSum::word_at(int index) const {
  const auto limb = static_cast<size_t>(index / 64);
  const int shift = index % 64;
  const uint64_t high = shift != 0 && limb + 1 < kLimbs ? limbs_[limb + 1] << (64 - shift) : 0;
  return limbs_[limb] >> shift | high;
}

bool ExactSum::any_bit_below(int index) const {
  for (int limb = 0; 64 * limb < index; ++limb) {
    const int kept = index - 64 * limb;
    const uint64_t mask = kept >= 64 ? ~uint64_t{0} : (uint64_t{1} << kept) - 1;
    if ((limbs_[static_cast<size_t>(limb)] & mask) != 0) {
      return true;
    }
  }
  return false;
}

double ExactSum::rounded(int precision, int lowest_exponent) const {
  const int top = top_exponent();
  if (top < lowest_exponent - 1) {
    return 0.0;  // below half of the smallest multiple
  }
  const int unit = top - precision + 1 < lowest_exponent ? lowest_exponent : top - precision + 1;
  const int lowest_bit = unit - kLowestExponent;
  uint64_t mantissa = top < unit ? 0 : word_at(lowest_bit);
  const bool half = bit(lowest_bit - 1);
  if (half && ((mantissa & 1) != 0 || any_bit_below(lowest_bit - 1))) {
    ++mantissa;
  }
  return std::ldexp(static_cast<double>(mantissa), unit);
}

float ExactSum::to_float() const {
  const double value = rounded(24, -149);
  return value >= 0x1p128 ? std::numeric_limits<float>::infinity() : static_cast<float>(value);
}

int lowest_exponent(double value) {
  return split(value).exponent;
}

double rounded_difference(const ExactSum& positive, const ExactSum& negative) {
  const bool is_negative = positive.compare(negative) < 0;
  ExactSum magnitude = is_negative ? negative : positive;
  magnitude.subtract(is_negative ? positive : negative);
  return is_negative ? -magnitude.to_double() : magnitude.to_double();
}

}  // namespace mxgemm::internal
