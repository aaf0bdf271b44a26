// SPDX-License-Identifier: Apache-2.0
// bfloat16: the upper half of an fp32.
#pragma once

#include <cstdint>

#include "formats/small_float.hpp"

namespace mxgemm::internal {

constexpr int kBf16MantissaBits = 7;
constexpr int kBf16Bias = 127;
constexpr uint16_t kBf16Infinity = 0x7F80;
constexpr uint16_t kBf16SignBit = 0x8000;

MXGEMM_FORMAT_FN double bf16_decode(uint16_t code) {
  return decode_ieee<kBf16MantissaBits, kBf16Bias, kBf16Infinity, kBf16SignBit>(code);
}

// Nearest even; overflow gives an infinity of the same sign; NaN stays a (quiet) NaN.
MXGEMM_FORMAT_FN uint16_t bf16_encode(double value) {
  return static_cast<uint16_t>(
      encode_ieee<kBf16MantissaBits, kBf16Bias, kBf16Infinity, kBf16SignBit>(value));
}

}  // namespace mxgemm::internal
