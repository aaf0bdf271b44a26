// SPDX-License-Identifier: Apache-2.0
// IEEE binary32, as bits: used where exact double arithmetic must be rounded once.
#pragma once

#include <cstdint>

#include "formats/small_float.hpp"

namespace mxgemm::internal {

constexpr int kF32MantissaBits = 23;
constexpr int kF32Bias = 127;
constexpr uint32_t kF32Infinity = 0x7F800000;
constexpr uint32_t kF32SignBit = 0x80000000;

MXGEMM_FORMAT_FN double f32_decode(uint32_t code) {
  return decode_ieee<kF32MantissaBits, kF32Bias, kF32Infinity, kF32SignBit>(code);
}

// Nearest even; overflow gives an infinity of the same sign; NaN stays a (quiet) NaN.
MXGEMM_FORMAT_FN uint32_t f32_encode(double value) {
  return static_cast<uint32_t>(
      encode_ieee<kF32MantissaBits, kF32Bias, kF32Infinity, kF32SignBit>(value));
}

}  // namespace mxgemm::internal
