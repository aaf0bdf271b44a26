// SPDX-License-Identifier: Apache-2.0
// The 4-bit kinds with K = 64: one term per group of 16 products, scaled as a whole.
#include "matrix.hpp"
#include "matrix_detail.hpp"
#include "matrix_lanes.hpp"
#include "wide_sum.hpp"

namespace emu::num {
namespace {

static_assert(kGroupTermFraction == kFp4Fraction);

uint32_t exact_sum(const GroupRow& row, const GroupTerms& terms, int lane) {
  WideSum sum;
  sum.add(row.c_significand[lane], row.c_exponent[lane] - 23);
  for (int group = 0; group < kFp4Groups; ++group) {
    sum.add(terms.significand[group][lane], terms.exponent[group][lane] - kGroupFraction);
  }
  return static_cast<uint32_t>(sum.round(kF32, {}));
}

void load_column_scales(const SplitScale* scales, GroupRow& row) {
  for (int lane = 0; lane < kLaneColumns; ++lane) {
    for (int group = 0; group < kFp4Groups; ++group) {
      row.b_scale[group][lane] = scales[lane * kFp4Groups + group].significand;
      row.b_exponent[group][lane] = scales[lane * kFp4Groups + group].exponent;
    }
  }
}

void load_row_scales(const SplitScale* scales, GroupRow& row) {
  for (int group = 0; group < kFp4Groups; ++group) {
    row.a_scale[group] = scales[group].significand;
    row.a_exponent[group] = scales[group].exponent;
  }
}

void multiply_row(GroupRow& row, MmaModel model, uint32_t* lanes) {
  for (int lane = 0; lane < kLaneColumns; ++lane) {
    const SplitElement c = split_f32(lanes[lane]);
    row.c_significand[lane] = c.significand;
    row.c_exponent[lane] = c.exponent;
  }
  GroupTerms terms;
  TermSums sums;
  lane_functions().sum_groups(row, terms, sums);
  for (int lane = 0; lane < kLaneColumns; ++lane) {
    const int32_t largest = sums.largest_exponent[lane];
    if (largest >= kSpecialThreshold) {
      // The products are finite, so an infinite C stays as it is unless a scale is NaN.
      const bool infinite = largest == kInfinityExponent;
      lanes[lane] = infinite ? lanes[lane] : kF32Nan;
    } else if (model == MmaModel::kExact) {
      lanes[lane] = exact_sum(row, terms, lane);
    } else {
      lanes[lane] = cut_to_f32(sums.sums[lane], largest - kFp4Fraction, 23);
    }
  }
}

}  // namespace

SplitScale split_ue8m0(uint8_t code) {
  return code == kUe8m0Nan ? SplitScale{0, kNanExponent} : SplitScale{8, int{code} - 127};
}

SplitScale split_ue4m3(uint8_t code) {
  const int magnitude = code & 0x7F;
  if (magnitude == 0x7F) {
    return {0, kNanExponent};
  }
  const int biased = magnitude >> 3;
  return biased == 0 ? SplitScale{magnitude, -6} : SplitScale{8 + (magnitude & 7), biased - 7};
}

const std::array<float, 16>& e2m1_values() {
  static const std::array<float, 16> values = [] {
    std::array<float, 16> table{};
    for (unsigned code = 0; code < table.size(); ++code) {
      table[code] = static_cast<float>(decode(kE2m1, code));
    }
    return table;
  }();
  return values;
}

void multiply_fp4(const Fp4Product& product, MmaModel model, uint32_t* accumulators) {
  GroupRow row;
  for (int n = 0; n < product.columns; n += kLaneColumns) {
    row.b = product.b + n * kFp4K;
    load_column_scales(product.b_scale + n * kFp4Groups, row);
    for (int m = 0; m < product.rows; ++m) {
      row.a = product.a + m * kFp4K;
      load_row_scales(product.a_scale + m * kFp4Groups, row);
      multiply_row(row, model, accumulators + m * product.columns + n);
    }
  }
}

}  // namespace emu::num
