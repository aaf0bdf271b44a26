// SPDX-License-Identifier: Apache-2.0
// Two 4-bit codes in a byte: the element with the even k in the low nibble.
#pragma once

#include <cstdint>

#include "formats/macros.hpp"

namespace mxgemm::internal {

MXGEMM_FORMAT_FN uint8_t pack_nibbles(uint8_t even_code, uint8_t odd_code) {
  return static_cast<uint8_t>((even_code & 0x0F) | (odd_code << 4));
}

// Code of element k of a row.
MXGEMM_FORMAT_FN uint8_t nibble_at(const uint8_t* row, int64_t k) {
  return static_cast<uint8_t>((k & 1) != 0 ? row[k >> 1] >> 4 : row[k >> 1] & 0x0F);
}

}  // namespace mxgemm::internal
