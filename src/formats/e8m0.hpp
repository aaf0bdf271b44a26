// SPDX-License-Identifier: Apache-2.0
// E8M0, the block scale of MX formats: byte e is 2^(e-127) for e = 0…254 (byte 0 is 2^-127, an fp32
// subnormal); 255 is NaN and makes its whole block NaN. There is no zero, no infinity and no sign.
#pragma once

#include <cstdint>

#include "formats/small_float.hpp"

namespace mxgemm::internal {

constexpr int kE8m0Bias = 127;
constexpr uint8_t kE8m0MaxCode = 254;
constexpr uint8_t kE8m0Nan = 255;

MXGEMM_FORMAT_FN double e8m0_decode(uint8_t code) {
  return code == kE8m0Nan ? __builtin_nan("") : power_of_two(static_cast<int>(code) - kE8m0Bias);
}

// The byte of 2^exponent, clamped to what exists.
MXGEMM_FORMAT_FN uint8_t e8m0_from_exponent(int exponent) {
  const int code = exponent + kE8m0Bias;
  return static_cast<uint8_t>(code < 0 ? 0 : code > kE8m0MaxCode ? kE8m0MaxCode : code);
}

}  // namespace mxgemm::internal
