// SPDX-License-Identifier: Apache-2.0
// The element formats seen from fp32: how a magnitude is rounded to a code with one addition. CPU
// kernels do it on vectors, GPU kernels on one number a time.
#pragma once

#include <cstdint>

#include "formats/block_format.hpp"

namespace mxgemm::internal {

// A magnitude v is rounded by adding c = 2^(e + 23 - m), e the exponent of v but at least that of
// the smallest normal: c + v keeps m bits of v below 2^e, rounded to nearest even by the adder
// itself. The difference of the two bit patterns is then the rounded significand, and
//   code = (bits(c + v) - bits(c)) + ((e - least e) << m).
template <Format kFormat, int kMantissa, int kBias, uint32_t kLargestCode, int kSignPosition>
struct ElementRounding {
  static constexpr Format kElementOf = kFormat;
  static constexpr int kMantissaBits = kMantissa;
  static constexpr uint32_t kLeastExponentBits = static_cast<uint32_t>(127 + 1 - kBias) << 23;
  // Added to the bits of 2^e gives the bits of c.
  static constexpr uint32_t kMagicOffset = static_cast<uint32_t>(23 - kMantissa) << 23;
  static constexpr uint32_t kLeastExponentCode = kLeastExponentBits >> (23 - kMantissa);
  static constexpr uint32_t kMaxCode = kLargestCode;
  static constexpr uint32_t kSignBit = 1u << kSignPosition;
  static constexpr int kSignShift =
      31 - kSignPosition;  // from the sign of fp32 to the sign of the code
  static constexpr bool kIsNibble = kSignPosition == 3;
};

using E2m1Rounding = ElementRounding<Format::kMxf4, kE2m1MantissaBits, kE2m1Bias, kE2m1MaxCode, 3>;
using E4m3Rounding =
    ElementRounding<Format::kMxf8E4m3, kE4m3MantissaBits, kE4m3Bias, kE4m3MaxCode, 7>;
using E5m2Rounding =
    ElementRounding<Format::kMxf8E5m2, kE5m2MantissaBits, kE5m2Bias, kE5m2MaxCode, 7>;

}  // namespace mxgemm::internal
