// SPDX-License-Identifier: Apache-2.0
// The hardware model of matrix arithmetic, formulated on values: the tests' second opinion.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "num/matrix.hpp"

namespace emu::num {

// Exponent by which a factor is aligned: ilogb, but not below the format's smallest.
inline int factor_exponent(const FloatFormat& format, double value) {
  return value == 0 ? kZeroExponent : std::max(std::ilogb(value), format.min_exponent());
}

struct ModelTerm {
  double value;
  int exponent;
};

// The hardware model as its description reads, in doubles that hold every intermediate exactly.
inline float model_sum(const std::vector<ModelTerm>& terms, int fraction, int result_fraction) {
  int largest = terms[0].exponent;
  for (const ModelTerm& term : terms) {
    largest = std::max(largest, term.exponent);
  }
  double sum = 0;
  for (const ModelTerm& term : terms) {
    sum += std::trunc(std::ldexp(term.value, fraction - largest));
  }
  if (sum == 0) {
    return 0;
  }
  const int step = std::max(std::ilogb(sum) + largest - fraction, -126) - result_fraction;
  const double cut = std::trunc(std::ldexp(sum, largest - fraction - step));
  return static_cast<float>(std::ldexp(cut, step));
}

}  // namespace emu::num
