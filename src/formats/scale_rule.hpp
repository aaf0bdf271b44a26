// SPDX-License-Identifier: Apache-2.0
// How an E8M0 scale follows from a block's amax: one integer addition.
//
// Every rule but `mse` takes floor(log2 amax) - emax and raises it by one where the significand of
// amax lies above (or at) some threshold. In the bits of a positive fp32 the exponent field lies
// above the mantissa, so adding the right constant to the bits carries into the exponent exactly
// there. Subnormal amax needs no case of its own: below 2^-126 every rule asks for an exponent
// under -127 and is clamped, since emax is at least 2.
#pragma once

#include <cstdint>

#include "formats/macros.hpp"

namespace mxgemm::internal {

// Same values as mxgemm_scale_rule.
enum class ScaleRule : int32_t {
  kDefault = 0,  // even for MX formats; nvf4 has no rule to choose
  kFloor = 1,
  kCeil = 2,
  kEven = 3,
  kRceil = 4,
  kNearest = 5,
  kMse = 6
};

constexpr const char* kScaleRuleNames[] = {"default", "floor",   "ceil", "even",
                                           "rceil",   "nearest", "mse"};

// What to add to the bits of amax under `rule` for elements of `mantissa_bits` bits whose largest
// value is element_max (given as fp32 bits). For kMse: floor's, the middle one of its candidates.
MXGEMM_FORMAT_FN uint32_t scale_rule_addend(ScaleRule rule, int mantissa_bits,
                                            uint32_t element_max_bits) {
  constexpr uint32_t kMantissaMask = (1u << 23) - 1;
  switch (rule) {
    case ScaleRule::kCeil:
      return kMantissaMask;  // carries unless the mantissa is 0
    case ScaleRule::kDefault:
    case ScaleRule::kEven:
      return 1u << (22 - mantissa_bits);  // half an element ulp; ties go up
    case ScaleRule::kRceil:
      return kMantissaMask -
             (element_max_bits &
              kMantissaMask);  // carries where the significand exceeds the largest element's
    case ScaleRule::kNearest:
      // Carries from the first significand whose square reaches 2: 11863284 = ceil(sqrt(2^47)) in
      // units of 2^-23.
      return (1u << 24) - 11863284u;
    case ScaleRule::kFloor:
    case ScaleRule::kMse:
      break;
  }
  return 0;
}

// The scale byte for a finite amax, given as fp32 bits without sign. Never above 253: a finite amax
// is below 2^128.
MXGEMM_FORMAT_FN uint8_t scale_from_amax(uint32_t amax_bits, uint32_t addend, int element_emax) {
  const int code = static_cast<int>((amax_bits + addend) >> 23) - element_emax;
  return static_cast<uint8_t>(code < 0 ? 0 : code);
}

}  // namespace mxgemm::internal
