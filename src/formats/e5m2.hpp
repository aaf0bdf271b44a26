// SPDX-License-Identifier: Apache-2.0
// E5M2: IEEE-like, bias 15, largest 57344 (0x7B), infinity 0x7C, NaN 0x7D…0x7F, subnormals are
// multiples of 2^-16.
#pragma once

#include <cstdint>

#include "formats/small_float.hpp"

namespace mxgemm::internal {

constexpr int kE5m2MantissaBits = 2;
constexpr int kE5m2Bias = 15;
constexpr uint8_t kE5m2MaxCode = 0x7B;
constexpr uint8_t kE5m2Infinity = 0x7C;
constexpr uint8_t kE5m2SignBit = 0x80;

MXGEMM_FORMAT_FN double e5m2_decode(uint8_t code) {
  return decode_ieee<kE5m2MantissaBits, kE5m2Bias, kE5m2Infinity, kE5m2SignBit>(code);
}

// Nearest, ties to the even code, saturating at 57344 (quantising never writes an infinity), sign
// kept. Not for NaN.
MXGEMM_FORMAT_FN uint8_t e5m2_encode(double value) {
  return encode_saturating<kE5m2MantissaBits, kE5m2Bias, kE5m2MaxCode, kE5m2SignBit>(value);
}

}  // namespace mxgemm::internal
