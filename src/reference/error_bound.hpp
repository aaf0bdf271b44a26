// SPDX-License-Identifier: Apache-2.0
// How far an output may lie from the exact result: the derived bound of docs/formats.md, as a set
// of allowed values.
#pragma once

#include <cstdint>

#include "formats/activation.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::internal {

// Values that D_f32 may have: an interval and, apart from it, infinities and NaN (where an
// intermediate of the prescribed fp32 chain may overflow, or an input is not finite).
struct AllowedValues {
  bool finite = false;
  double lower = 0.0;
  double upper = 0.0;
  bool positive_infinity = false;
  bool negative_infinity = false;
  bool nan = false;

  bool only_nan() const { return nan && !finite && !positive_infinity && !negative_infinity; }
};

// act of a double, from accurate libm; NaN passes. At -Inf silu and both gelus give NaN, as their
// formulas do.
double exact_activation(Activation activation, double x);

// Everything the bound depends on.
struct BoundTerms {
  int64_t k = 0;
  double alpha = 0.0;      // |alpha'|
  double magnitude = 0.0;  // S
  double beta_c = 0.0;     // |beta * C|
  double bias = 0.0;       // |bias|
  double argument = 0.0;   // |x|, the exact argument of the activation
  Activation activation = Activation::kNone;
};

// L (|alpha'| K (2^-23 S + 2^-126) + 2^-22 (|alpha'| S + |beta C| + |bias|) + 2^-149)
//   + 2^-21 |x| + 2^-149;
// L = 1 and no second line for none and relu, 1.13 (the steepest slope of the three, rounded up)
// for the others.
double error_bound(const BoundTerms& terms);

// Codes of plain formats (bf16, f16, f32), as stored in memory.
uint32_t load_code(Format format, const void* row, int64_t index);
double decode_code(Format format, uint32_t code);
uint32_t encode_code(Format format, double value);
// Equal bits, zeros of either sign, or two NaNs.
bool same_value(Format format, uint32_t code, uint32_t other);

// Whether some allowed value rounds to `code`.
bool within_rounding(const AllowedValues& allowed, Format format, uint32_t code);
// Distance from `exact` to the nearest number that rounds to `code`, over `bound`: at most 1
// exactly where within_rounding(exact - bound … exact + bound). Infinite where a NaN or an infinity
// is wrong.
double error_over_bound(double exact, double bound, const AllowedValues& allowed, Format format,
                        uint32_t code);

}  // namespace mxgemm::internal
