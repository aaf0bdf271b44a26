// SPDX-License-Identifier: Apache-2.0
// E4M3: bias 7, largest 448 (0x7E), NaN 0x7F / 0xFF, no infinity, subnormals are multiples of 2^-9.
// The element of MXFP8 E4M3 and, with its sign bit ignored, the block scale of NVFP4.
#pragma once

#include <cstdint>

#include "formats/small_float.hpp"

namespace mxgemm::internal {

constexpr int kE4m3MantissaBits = 3;
constexpr int kE4m3Bias = 7;
constexpr uint8_t kE4m3MaxCode = 0x7E;
constexpr uint8_t kE4m3Nan = 0x7F;
constexpr uint8_t kE4m3SignBit = 0x80;

MXGEMM_FORMAT_FN bool e4m3_is_nan(uint8_t code) {
  return (code & 0x7F) == kE4m3Nan;
}

MXGEMM_FORMAT_FN double e4m3_decode(uint8_t code) {
  if (e4m3_is_nan(code)) {
    return __builtin_nan("");
  }
  const double magnitude = decode_magnitude<kE4m3MantissaBits, kE4m3Bias>(code & 0x7Fu);
  return (code & kE4m3SignBit) != 0 ? -magnitude : magnitude;
}

// Nearest, ties to the even code, saturating at 448, sign kept. `value` must not be NaN.
MXGEMM_FORMAT_FN uint8_t e4m3_encode(double value) {
  return encode_saturating<kE4m3MantissaBits, kE4m3Bias, kE4m3MaxCode, kE4m3SignBit>(value);
}

// A block scale: the sign bit does not count.
MXGEMM_FORMAT_FN double e4m3_scale_decode(uint8_t code) {
  return e4m3_decode(code & 0x7F);
}

}  // namespace mxgemm::internal
