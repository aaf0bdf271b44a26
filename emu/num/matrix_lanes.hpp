// SPDX-License-Identifier: Apache-2.0
// The inner loops of the matrix arithmetic, eight columns side by side, compiled for more than one
// instruction set. Nothing but these loops is: an inline function compiled twice could leak the
// wider instructions into code for every machine.
#pragma once

#include <cstdint>

namespace emu::num {

inline constexpr int kMaxLaneK = 64;

// Zeros count with this exponent, so that they do not set the alignment: a zero C, and a product
// with a zero factor however large the other factor is.
inline constexpr int32_t kSplitZeroExponent = -126;
// Exponents that mark what is not a number; the significand of an infinity keeps its sign.
inline constexpr int32_t kSplitInfinityExponent = 1 << 20;
inline constexpr int32_t kSplitNanExponent = 1 << 21;
// At or above it a sum of exponents comes from one of them.
inline constexpr int32_t kSplitSpecialExponent = 1 << 19;

struct TermSums {
  alignas(32) int32_t largest_exponent[8];
  int64_t sums[8];  // of the terms, in units of 2^(largest exponent - fraction bits)
};

// The arguments of one row of A against eight columns of B.
struct TermRow {
  int k;
  int left_shift;     // fraction bits less those of a product
  int fraction_bits;  // of C: aligned like a product
  const int32_t* a_significand;
  const int32_t* a_exponent;
  const int32_t* b_significand;  // [k][8]
  const int32_t* b_exponent;
  int32_t scale[8];          // added to every product's exponent
  int32_t c_significand[8];  // in units of 2^-23
  int32_t c_exponent[8];
};

// One row of A against eight columns of B, 4-bit kinds: four group sums with their scales.
struct GroupRow {
  const float* a;      // [64]
  const float* b;      // [64][8]
  int32_t a_scale[4];  // significands in eighths
  int32_t a_exponent[4];
  alignas(32) int32_t b_scale[4][8];
  alignas(32) int32_t b_exponent[4][8];
  int32_t c_significand[8];  // in units of 2^-23
  int32_t c_exponent[8];
};

// The terms before they are aligned, for the exact model.
struct GroupTerms {
  alignas(32) int32_t significand[4][8];  // in units of 2^(exponent - kGroupFraction)
  alignas(32) int32_t exponent[4][8];
};

// A group's sum is a whole number of quarters, each scale's significand one of eighths.
inline constexpr int kGroupFraction = 2 + 3 + 3;
inline constexpr int kGroupTermFraction = 35;

// Fields of a format, for splitting codes into significand and exponent.
struct SplitFields {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  int right_shift;    // of a code in its container, before anything else
  bool has_infinity;  // the largest exponent means infinity and NaN
  bool has_nan_only;  // all ones is NaN
};

struct LaneFunctions {
  void (*sum_terms)(const TermRow& row, TermSums& result);
  void (*sum_groups)(const GroupRow& row, GroupTerms& terms, TermSums& result);
  // One row of integers: a [k], b [k][8] -> sums [8].
  void (*sum_products)(int k, const int32_t* a, const int32_t* b, int32_t* sums);
  // `count` codes, a multiple of 8.
  void (*split_codes)(const SplitFields& fields, int count, const uint32_t* codes,
                      int32_t* significands, int32_t* exponents);
  // Eight e2m1 codes in each word, the first one in the low bits -> their values.
  void (*unpack_e2m1)(int words, const uint32_t* packed, float* values);
};

// For the machine that runs: decided once.
const LaneFunctions& lane_functions();

namespace baseline {
extern const LaneFunctions kFunctions;
}
namespace avx2 {
extern const LaneFunctions kFunctions;
}

}  // namespace emu::num
