// SPDX-License-Identifier: Apache-2.0
// The inner loops of the matrix arithmetic, eight columns side by side, compiled for more than one
// instruction set. Nothing but these loops is: an inline function compiled twice could leak the
// wider instructions into code for every machine.
#pragma once

#include <cstdint>

namespace emu::num {

inline constexpr int kMaxLaneK = 64;

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

struct LaneFunctions {
  void (*sum_terms)(const TermRow& row, TermSums& result);
  void (*sum_groups)(const GroupRow& row, GroupTerms& terms, TermSums& result);
  // One row of integers: a [k], b [k][8] -> sums [8].
  void (*sum_products)(int k, const int32_t* a, const int32_t* b, int32_t* sums);
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
