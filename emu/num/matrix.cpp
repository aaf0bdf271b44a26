// SPDX-License-Identifier: Apache-2.0
#include "matrix.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "matrix_detail.hpp"
#include "matrix_lanes.hpp"
#include "wide_sum.hpp"

namespace emu::num {
namespace {

// The terms of one output, kept to be summed exactly.
class ExactTerms {
 public:
  void add(int64_t significand, int exponent) {
    if (significand == 0) {
      return;
    }
    terms_[count_++] = {significand, exponent};
    lowest_ = std::min(lowest_, exponent);
    highest_ = std::max(highest_, exponent);
  }

  uint64_t round(const FloatFormat& format) const {
    if (count_ == 0) {
      return 0;
    }
    // Terms have at most 32 bits and there are fewer than 2^7: 39 bits above the highest exponent.
    if (highest_ - lowest_ > 127 - 40) {
      WideSum sum;
      for (int i = 0; i < count_; ++i) {
        sum.add(terms_[i].significand, terms_[i].exponent);
      }
      return sum.round(format, {});
    }
    __int128 sum = 0;
    for (int i = 0; i < count_; ++i) {
      sum += static_cast<__int128>(terms_[i].significand) << (terms_[i].exponent - lowest_);
    }
    return round_sum(format, sum);
  }

 private:
  struct Term {
    int64_t significand;
    int exponent;
  };

  uint64_t round_sum(const FloatFormat& format, __int128 sum) const {
    const bool negative = sum < 0;
    auto magnitude = static_cast<unsigned __int128>(negative ? -sum : sum);
    int exponent = lowest_;
    const auto high = static_cast<uint64_t>(magnitude >> 64);
    bool sticky = false;
    if (high != 0) {
      const auto shift = static_cast<int>(std::bit_width(high));
      sticky = (magnitude & ((static_cast<unsigned __int128>(1) << shift) - 1)) != 0;
      magnitude >>= shift;
      exponent += shift;
    }
    return encode_exact(format, negative, static_cast<uint64_t>(magnitude), exponent, sticky, {});
  }

  std::array<Term, kMaxLaneK + 1> terms_;
  int count_ = 0;
  int lowest_ = std::numeric_limits<int>::max();
  int highest_ = std::numeric_limits<int>::min();
};

bool is_nan_exponent(int32_t exponent) {
  return exponent >= kNanExponent;
}

// Infinities seen so far, and whether the sum is NaN already.
struct SpecialSum {
  bool positive = false;
  bool negative = false;
  bool nan = false;

  void add_infinity(bool is_negative) { (is_negative ? negative : positive) = true; }
  uint64_t result(const FloatFormat& format) const {
    if (nan || (positive && negative)) {
      return format.canonical_nan();
    }
    return (negative ? format.sign_bit() : 0) | format.infinity();
  }
};

void add_special(SpecialSum& sum, SplitElement a, SplitElement b) {
  if (is_nan_exponent(a.exponent) || is_nan_exponent(b.exponent)) {
    sum.nan = true;
  } else if (a.exponent == kInfinityExponent || b.exponent == kInfinityExponent) {
    if (a.significand == 0 || b.significand == 0) {
      sum.nan = true;
    } else {
      sum.add_infinity((a.significand < 0) != (b.significand < 0));
    }
  }
}

uint32_t special_result(const TermRow& row, int lane, const FloatFormat& format) {
  SpecialSum sum;
  // The scale is a sum of two exponents, one of which may be NaN's and the other negative.
  sum.nan = row.scale[lane] >= kSpecialThreshold || is_nan_exponent(row.c_exponent[lane]);
  if (row.c_exponent[lane] == kInfinityExponent) {
    sum.add_infinity(row.c_significand[lane] < 0);
  }
  for (int k = 0; k < row.k; ++k) {
    add_special(
        sum, {row.a_significand[k], row.a_exponent[k]},
        {row.b_significand[kLaneColumns * k + lane], row.b_exponent[kLaneColumns * k + lane]});
  }
  return static_cast<uint32_t>(sum.result(format));
}

uint32_t exact_result(const TermRow& row, int lane, int product_fraction,
                      const FloatFormat& format) {
  ExactTerms terms;
  terms.add(row.c_significand[lane], row.c_exponent[lane] - 23);
  for (int k = 0; k < row.k; ++k) {
    const int index = kLaneColumns * k + lane;
    terms.add(int64_t{row.a_significand[k]} * row.b_significand[index],
              row.a_exponent[k] + row.b_exponent[index] + row.scale[lane] - product_fraction);
  }
  return static_cast<uint32_t>(terms.round(format));
}

uint32_t hardware_result(const TermSums& sums, int lane, const Accumulation& accumulation) {
  const int exponent = sums.largest_exponent[lane] - accumulation.fraction_bits;
  const int64_t sum = sums.sums[lane];
  if (!accumulation.f16_result) {
    return cut_to_f32(sum, exponent, accumulation.result_fraction);
  }
  const bool negative = sum < 0;
  const uint64_t magnitude = negative ? -static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
  return static_cast<uint32_t>(encode_exact(kF16, negative, magnitude, exponent, false, {}));
}

uint32_t widen_accumulator(uint32_t bits, bool is_f16) {
  return is_f16 ? bits_of(f16_to_float(static_cast<uint16_t>(bits))) : bits;
}

void multiply_lanes(const TermRow& row, const Accumulation& accumulation, int product_fraction,
                    uint32_t* accumulators) {
  const FloatFormat& format = accumulation.f16_result ? kF16 : kF32;
  TermSums sums;
  lane_functions().sum_terms(row, sums);
  for (int lane = 0; lane < kLaneColumns; ++lane) {
    if (sums.largest_exponent[lane] >= kSpecialThreshold) {
      accumulators[lane] = special_result(row, lane, format);
    } else if (accumulation.model == MmaModel::kExact) {
      accumulators[lane] = exact_result(row, lane, product_fraction, format);
    } else {
      accumulators[lane] = hardware_result(sums, lane, accumulation);
    }
  }
}

}  // namespace

void multiply(const SplitProduct& product, const Accumulation& accumulation,
              uint32_t* accumulators) {
  TermRow row;
  row.k = product.k;
  row.fraction_bits = accumulation.fraction_bits;
  row.left_shift = accumulation.fraction_bits - product.product_fraction;
  for (int m = 0; m < product.rows; ++m) {
    row.a_significand = product.a_significand + m * product.k;
    row.a_exponent = product.a_exponent + m * product.k;
    for (int n = 0; n < product.columns; n += kLaneColumns) {
      row.b_significand = product.b_significand + n * product.k;
      row.b_exponent = product.b_exponent + n * product.k;
      uint32_t* lanes = accumulators + m * product.columns + n;
      for (int lane = 0; lane < kLaneColumns; ++lane) {
        row.scale[lane] = (product.a_scale != nullptr ? product.a_scale[m] : 0) +
                          (product.b_scale != nullptr ? product.b_scale[n + lane] : 0);
        const SplitElement c = split_f32(widen_accumulator(lanes[lane], accumulation.f16_result));
        row.c_significand[lane] = c.significand;
        row.c_exponent[lane] = c.exponent;
      }
      multiply_lanes(row, accumulation, product.product_fraction, lanes);
    }
  }
}

void multiply_int8(int rows, int columns, int k, const int32_t* a, const int32_t* b, bool satfinite,
                   uint32_t* accumulators) {
  const auto sum_products = lane_functions().sum_products;
  for (int m = 0; m < rows; ++m) {
    for (int n = 0; n < columns; n += kLaneColumns) {
      // 64 products of 8-bit numbers stay far below 2^31.
      int32_t sums[kLaneColumns];
      sum_products(k, a + m * k, b + n * k, sums);
      uint32_t* lanes = accumulators + m * columns + n;
      for (int lane = 0; lane < kLaneColumns; ++lane) {
        int64_t sum = int64_t{static_cast<int32_t>(lanes[lane])} + sums[lane];
        if (satfinite) {
          sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                                    std::numeric_limits<int32_t>::max());
        }
        lanes[lane] = static_cast<uint32_t>(sum);
      }
    }
  }
}

const LaneFunctions& lane_functions() {
#if EMU_HAS_AVX2_LANES
  static const LaneFunctions& chosen =
      __builtin_cpu_supports("avx2") ? avx2::kFunctions : baseline::kFunctions;
  return chosen;
#else
  return baseline::kFunctions;
#endif
}

}  // namespace emu::num
