// SPDX-License-Identifier: Apache-2.0
// One dot product of two decoded rows, kept without rounding.
#pragma once

#include "reference/decoded_group.hpp"
#include "reference/exact_sum.hpp"

namespace mxgemm::internal {

class DotAccumulator {
 public:
  void add_group(const DecodedGroup& a, const DecodedGroup& b, const KernelAllowances& allowances,
                 bool both_fp4);
  ExactDot result() const;

  // Exact sum = positive - negative of the finite products; S = their sum and the zeros that
  // count.
  const ExactSum& positive() const { return positive_; }
  const ExactSum& negative() const { return negative_; }
  ExactSum magnitude() const;
  bool has_infinity() const { return positive_infinity_ || negative_infinity_; }
  bool has_opposite_infinities() const { return !nan_ && positive_infinity_ && negative_infinity_; }

 private:
  void add_integers(const DecodedGroup& a, const DecodedGroup& b);
  void add_each(const DecodedGroup& a, const DecodedGroup& b);
  void add_zeros(const DecodedGroup& a, const DecodedGroup& b, bool both_fp4);
  void note_product_unit(int exponent);

  ExactSum positive_;
  ExactSum negative_;
  ExactSum zero_products_;
  int unit_exponent_ = 0;
  bool has_products_ = false;
  bool has_subnormal_product_ = false;
  bool positive_infinity_ = false;
  bool negative_infinity_ = false;
  bool nan_ = false;
  bool outside_scale_limit_ = false;
  bool group_was_zero_ = false;
};

}  // namespace mxgemm::internal
