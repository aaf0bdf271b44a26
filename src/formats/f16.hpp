// SPDX-License-Identifier: Apache-2.0
// IEEE binary16.
#pragma once

#include <cstdint>

#include "formats/small_float.hpp"

namespace mxgemm::internal {

constexpr int kF16MantissaBits = 10;
constexpr int kF16Bias = 15;
constexpr uint16_t kF16Infinity = 0x7C00;
constexpr uint16_t kF16SignBit = 0x8000;

MXGEMM_FORMAT_FN double f16_decode(uint16_t code) {
  return decode_ieee<kF16MantissaBits, kF16Bias, kF16Infinity, kF16SignBit>(code);
}

// Nearest even; overflow gives an infinity of the same sign; NaN stays a (quiet) NaN.
MXGEMM_FORMAT_FN uint16_t f16_encode(double value) {
  return static_cast<uint16_t>(
      encode_ieee<kF16MantissaBits, kF16Bias, kF16Infinity, kF16SignBit>(value));
}

}  // namespace mxgemm::internal
