// SPDX-License-Identifier: Apache-2.0
// Compiled once for each namespace EMU_LANES. Includes nothing that has inline functions.
#include "matrix_lanes.hpp"

namespace emu::num::EMU_LANES {
namespace {

using Lanes = int32_t __attribute__((vector_size(32)));
using FloatLanes = float __attribute__((vector_size(32)));
using WideLanes = int64_t __attribute__((vector_size(64)));
using UnsignedWideLanes = uint64_t __attribute__((vector_size(64)));

// Eight terms of less than 2^(fraction + 2) are summed in 32 bits before they are widened; with 25
// fraction bits that fits, and no kind that comes here keeps more.
constexpr int kChunk = 8;

inline void load(const int32_t* from, Lanes& to) {
  __builtin_memcpy(&to, from, sizeof to);
}

// Cut toward zero after the shift, hence on magnitudes.
inline void aligned_term(const Lanes& significand, int left_shift, const Lanes& distance,
                         Lanes& term) {
  const Lanes sign = significand >> 31;
  const Lanes magnitude = ((significand ^ sign) - sign) << left_shift;
  const Lanes amount = distance > 31 ? Lanes{} + 31 : distance;
  term = ((magnitude >> amount) ^ sign) - sign;
}

void sum_terms(const TermRow& row, TermSums& result) {
  Lanes products[kMaxLaneK];
  Lanes exponents[kMaxLaneK];
  Lanes scale;
  Lanes c_exponent;
  Lanes c_significand;
  load(row.scale, scale);
  load(row.c_exponent, c_exponent);
  load(row.c_significand, c_significand);
  Lanes largest = c_exponent;
  for (int k = 0; k < row.k; ++k) {
    Lanes significand;
    Lanes exponent;
    load(row.b_significand + 8 * k, significand);
    load(row.b_exponent + 8 * k, exponent);
    products[k] = significand * row.a_significand[k];
    exponent += scale + row.a_exponent[k];
    const Lanes is_zero = (products[k] == 0) & (exponent < kSplitSpecialExponent);
    exponents[k] = is_zero != 0 ? Lanes{} + kSplitZeroExponent : exponent;
    largest = exponents[k] > largest ? exponents[k] : largest;
  }
  WideLanes sums{};
  for (int start = 0; start < row.k; start += kChunk) {
    Lanes partial{};
    const int end = start + kChunk < row.k ? start + kChunk : row.k;
    for (int k = start; k < end; ++k) {
      Lanes term;
      aligned_term(products[k], row.left_shift, largest - exponents[k], term);
      partial += term;
    }
    sums += __builtin_convertvector(partial, WideLanes);
  }
  // C has 24 bits, so the shift to `fraction_bits` is to the left or to the right.
  const int c_shift = row.fraction_bits - 23;
  Lanes c_term;
  aligned_term(c_significand, c_shift > 0 ? c_shift : 0,
               largest - c_exponent + (c_shift < 0 ? -c_shift : 0), c_term);
  sums += __builtin_convertvector(c_term, WideLanes);
  __builtin_memcpy(result.largest_exponent, &largest, sizeof largest);
  __builtin_memcpy(result.sums, &sums, sizeof sums);
}

// Magnitudes of less than 2^24, moved up by `left_shift` and down by a distance of at least zero.
inline void aligned_wide_term(const Lanes& significand, int left_shift, const Lanes& distance,
                              WideLanes& term) {
  const WideLanes wide = __builtin_convertvector(significand, WideLanes);
  const WideLanes sign =
      -__builtin_convertvector(significand < 0 ? Lanes{} + 1 : Lanes{}, WideLanes);
  const auto magnitude = (UnsignedWideLanes)((wide ^ sign) - sign) << left_shift;
  const Lanes amount = distance > 63 ? Lanes{} + 63 : distance;
  const auto shifted =
      (WideLanes)(magnitude >> (UnsignedWideLanes) __builtin_convertvector(amount, WideLanes));
  term = (shifted ^ sign) - sign;
}

void sum_groups(const GroupRow& row, GroupTerms& terms, TermSums& result) {
  Lanes c_exponent;
  Lanes c_significand;
  load(row.c_exponent, c_exponent);
  load(row.c_significand, c_significand);
  Lanes largest = c_exponent;
  Lanes significands[4];
  Lanes exponents[4];
  for (int group = 0; group < 4; ++group) {
    FloatLanes sum{};
    for (int k = 16 * group; k < 16 * group + 16; ++k) {
      FloatLanes column;
      __builtin_memcpy(&column, row.b + 8 * k, sizeof column);
      sum += column * row.a[k];
    }
    Lanes scale;
    Lanes exponent;
    load(row.b_scale[group], scale);
    load(row.b_exponent[group], exponent);
    const Lanes quarters = __builtin_convertvector(sum * 4.0f, Lanes);
    significands[group] = quarters * (scale * row.a_scale[group]);
    exponents[group] = exponent + row.a_exponent[group];
    largest = exponents[group] > largest ? exponents[group] : largest;
    __builtin_memcpy(terms.significand[group], &significands[group], sizeof(Lanes));
    __builtin_memcpy(terms.exponent[group], &exponents[group], sizeof(Lanes));
  }
  WideLanes sums;
  aligned_wide_term(c_significand, kGroupTermFraction - 23, largest - c_exponent, sums);
  for (int group = 0; group < 4; ++group) {
    WideLanes term;
    aligned_wide_term(significands[group], kGroupTermFraction - kGroupFraction,
                      largest - exponents[group], term);
    sums += term;
  }
  __builtin_memcpy(result.largest_exponent, &largest, sizeof largest);
  __builtin_memcpy(result.sums, &sums, sizeof sums);
}

void sum_products(int k, const int32_t* a, const int32_t* b, int32_t* sums) {
  Lanes sum{};
  for (int i = 0; i < k; ++i) {
    Lanes column;
    load(b + 8 * i, column);
    sum += column * a[i];
  }
  __builtin_memcpy(sums, &sum, sizeof sum);
}

void split_codes(const SplitFields& fields, int count, const uint32_t* codes, int32_t* significands,
                 int32_t* exponents) {
  const int32_t fraction_mask = (1 << fields.mantissa_bits) - 1;
  const int32_t exponent_mask = (1 << fields.exponent_bits) - 1;
  for (int i = 0; i < count; i += 8) {
    Lanes code;
    load(reinterpret_cast<const int32_t*>(codes) + i, code);
    code >>= fields.right_shift;
    const Lanes fraction = code & fraction_mask;
    const Lanes biased = (code >> fields.mantissa_bits) & exponent_mask;
    const Lanes sign = -((code >> (fields.mantissa_bits + fields.exponent_bits)) & 1);
    const Lanes magnitude = biased == 0 ? fraction : fraction | (fraction_mask + 1);
    Lanes exponent = (biased == 0 ? Lanes{} + 1 : biased) - fields.bias;
    exponent = magnitude == 0 ? Lanes{} + kSplitZeroExponent : exponent;
    if (fields.has_infinity) {
      const Lanes special =
          fraction == 0 ? Lanes{} + kSplitInfinityExponent : Lanes{} + kSplitNanExponent;
      exponent = biased == exponent_mask ? special : exponent;
    } else if (fields.has_nan_only) {
      const Lanes all = (biased == exponent_mask) & (fraction == fraction_mask);
      exponent = all != 0 ? Lanes{} + kSplitNanExponent : exponent;
    }
    const Lanes significand = (magnitude ^ sign) - sign;
    __builtin_memcpy(significands + i, &significand, sizeof significand);
    __builtin_memcpy(exponents + i, &exponent, sizeof exponent);
  }
}

void unpack_e2m1(int words, const uint32_t* packed, float* values) {
  const Lanes positions = {0, 4, 8, 12, 16, 20, 24, 28};
  for (int i = 0; i < words; ++i) {
    const Lanes code = (Lanes{} + static_cast<int32_t>(packed[i])) >> positions;
    const Lanes exponent = (code >> 1) & 3;
    const Lanes fraction = code & 1;
    // In halves: 0 1 | 2 3 | 4 6 | 8 12.
    const Lanes halves =
        exponent == 0 ? fraction : (fraction | 2) << (exponent == 0 ? exponent : exponent - 1);
    FloatLanes value = __builtin_convertvector(halves, FloatLanes) * 0.5f;
    value = (code & 8) != 0 ? -value : value;
    __builtin_memcpy(values + 8 * i, &value, sizeof value);
  }
}

}  // namespace

const LaneFunctions kFunctions = {sum_terms, sum_groups, sum_products, split_codes, unpack_e2m1};

}  // namespace emu::num::EMU_LANES
