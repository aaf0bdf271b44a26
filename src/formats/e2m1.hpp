// SPDX-License-Identifier: Apache-2.0
// E2M1, the 4-bit element of MXFP4 and NVFP4: codes 0…7 are 0, 0.5, 1, 1.5, 2, 3, 4, 6; bit 3 is
// the sign (8 is -0). No infinity, no NaN.
#pragma once

#include <cstdint>

#include "formats/small_float.hpp"

namespace mxgemm::internal {

constexpr int kE2m1MantissaBits = 1;
constexpr int kE2m1Bias = 1;
constexpr uint8_t kE2m1MaxCode = 7;
constexpr uint8_t kE2m1SignBit = 8;

// Bits above the low four are ignored.
MXGEMM_FORMAT_FN double e2m1_decode(uint8_t code) {
  const double magnitude = decode_magnitude<kE2m1MantissaBits, kE2m1Bias>(code & kE2m1MaxCode);
  return (code & kE2m1SignBit) != 0 ? -magnitude : magnitude;
}

// Nearest, ties to the even code, saturating at 6, sign kept. `value` must not be NaN.
MXGEMM_FORMAT_FN uint8_t e2m1_encode(double value) {
  return encode_saturating<kE2m1MantissaBits, kE2m1Bias, kE2m1MaxCode, kE2m1SignBit>(value);
}

}  // namespace mxgemm::internal
