// SPDX-License-Identifier: Apache-2.0
#include "reference/exact_dot.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace mxgemm::internal {

namespace {

constexpr int kLowestNormalExponent = -126;  // of fp32
constexpr int kF32Precision = 24;

}  // namespace

void DotAccumulator::note_product_unit(int exponent) {
  unit_exponent_ = has_products_ && unit_exponent_ < exponent ? unit_exponent_ : exponent;
  has_products_ = true;
}

void DotAccumulator::add_integers(const DecodedGroup& a, const DecodedGroup& b) {
  int64_t sum = 0;
  int64_t magnitude = 0;
  int64_t bits = 0;  // its lowest set bit is the largest power of two that divides all the products
  for (size_t index = 0; index < kGroup; ++index) {
    const int64_t product = int64_t{a.mantissa[index]} * b.mantissa[index];
    sum += product;
    magnitude += product < 0 ? -product : product;
    bits |= product;
  }
  group_was_zero_ = bits == 0;
  if (group_was_zero_) {
    return;
  }
  const int exponent = a.exponent + b.exponent;
  positive_.add(static_cast<uint64_t>(magnitude + sum) / 2, exponent);
  negative_.add(static_cast<uint64_t>(magnitude - sum) / 2, exponent);
  note_product_unit(exponent + std::countr_zero(static_cast<uint64_t>(bits)));
  if (exponent < kLowestNormalExponent && !has_subnormal_product_) {
    for (size_t index = 0; index < kGroup; ++index) {
      const double product = std::fabs(a.value[index] * b.value[index]);
      has_subnormal_product_ = has_subnormal_product_ || (product != 0.0 && product < 0x1p-126);
    }
  }
}

// Product by product: each is exact in double.
void DotAccumulator::add_each(const DecodedGroup& a, const DecodedGroup& b) {
  group_was_zero_ = true;
  for (size_t index = 0; index < kGroup; ++index) {
    const double product = a.value[index] * b.value[index];
    group_was_zero_ = group_was_zero_ && product == 0.0;
    if (std::isnan(product)) {
      nan_ = true;
    } else if (std::isinf(product)) {
      (product > 0.0 ? positive_infinity_ : negative_infinity_) = true;
    } else if (product != 0.0) {
      (product > 0.0 ? positive_ : negative_).add(product);
      note_product_unit(lowest_exponent(product));
      has_subnormal_product_ = has_subnormal_product_ || std::fabs(product) < 0x1p-126;
    }
  }
}

void DotAccumulator::add_zeros(const DecodedGroup& a, const DecodedGroup& b, bool both_fp4) {
  constexpr double kZeroProduct = 0x1p-118;
  if (both_fp4) {
    if (group_was_zero_) {
      zero_products_.add(a.scale * b.scale);
    }
    return;
  }
  int zeros = 0;
  for (size_t index = 0; index < kGroup; ++index) {
    zeros += a.value[index] == 0.0 || b.value[index] == 0.0 ? 1 : 0;
  }
  if (zeros > 0 && std::isfinite(a.scale * b.scale)) {
    zero_products_.add(zeros * kZeroProduct * (a.scale * b.scale));
  }
}

void DotAccumulator::add_group(const DecodedGroup& a, const DecodedGroup& b,
                               const KernelAllowances& allowances, bool both_fp4) {
  outside_scale_limit_ = outside_scale_limit_ || (allowances.limited_scales &&
                                                  (a.outside_scale_limit || b.outside_scale_limit));
  // 16 products of that many bits must fit 63.
  if (a.kind == GroupKind::kIntegers && b.kind == GroupKind::kIntegers &&
      a.bits + b.bits + 4 <= 63) {
    add_integers(a, b);
  } else {
    add_each(a, b);
  }
  if (allowances.zero_products_count) {
    add_zeros(a, b, both_fp4);
  }
}

ExactSum DotAccumulator::magnitude() const {
  ExactSum sum = positive_;
  sum.add(negative_);
  sum.add(zero_products_);
  return sum;
}

ExactDot DotAccumulator::result() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ExactDot dot;
  const ExactSum sum = magnitude();
  dot.magnitude = sum.to_double();
  dot.has_products = has_products_;
  dot.unit_exponent = unit_exponent_;
  dot.overflows = sum.top_exponent() >= 128;
  dot.outside_scale_limit = outside_scale_limit_;
  if (nan_ || (positive_infinity_ && negative_infinity_)) {
    dot.value = std::numeric_limits<double>::quiet_NaN();
    dot.value_f32 = std::numeric_limits<float>::quiet_NaN();
  } else if (has_infinity()) {
    dot.value = positive_infinity_ ? kInfinity : -kInfinity;
    dot.value_f32 = static_cast<float>(dot.value);
  } else {
    const bool is_negative = positive_.compare(negative_) < 0;
    ExactSum distance = is_negative ? negative_ : positive_;
    distance.subtract(is_negative ? positive_ : negative_);
    dot.value = is_negative ? -distance.to_double() : distance.to_double();
    dot.value_f32 = is_negative ? -distance.to_float() : distance.to_float();
    dot.exact_in_any_order =
        !has_subnormal_product_ &&
        (!has_products_ || sum.top_exponent() < kF32Precision + unit_exponent_);
  }
  return dot;
}

}  // namespace mxgemm::internal
