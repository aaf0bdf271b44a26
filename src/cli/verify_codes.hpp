// SPDX-License-Identifier: Apache-2.0
// Codes of elements and block scales for test data.
#pragma once

#include <cstdint>
#include <cstring>

#include "cli/random.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::cli {

// Codes of a format's elements that data is made of; 0 where the format lacks one.
struct CodeFacts {
  uint32_t sign;
  uint32_t max;  // largest finite
  uint32_t infinity;
  uint32_t nan;
};

constexpr CodeFacts code_facts(internal::Format format) {
  using internal::Format;
  switch (format) {
    case Format::kMxf4:
    case Format::kNvf4:
      return {internal::kE2m1SignBit, internal::kE2m1MaxCode, 0, 0};
    case Format::kMxf8E4m3:
      return {internal::kE4m3SignBit, internal::kE4m3MaxCode, 0, internal::kE4m3Nan};
    case Format::kMxf8E5m2:
      return {internal::kE5m2SignBit, internal::kE5m2MaxCode, internal::kE5m2Infinity,
              internal::kE5m2Infinity + 2u};
    case Format::kBf16:
      return {internal::kBf16SignBit, internal::kBf16Infinity - 1u, internal::kBf16Infinity,
              internal::kBf16Infinity + (1u << (internal::kBf16MantissaBits - 1))};
    case Format::kF16:
      return {internal::kF16SignBit, internal::kF16Infinity - 1u, internal::kF16Infinity,
              internal::kF16Infinity + (1u << (internal::kF16MantissaBits - 1))};
    default:
      return {internal::kF32SignBit, internal::kF32Infinity - 1u, internal::kF32Infinity,
              internal::kF32Infinity + (1u << (internal::kF32MantissaBits - 1))};
  }
}

// Nearest code of a value.
constexpr uint32_t element_code(internal::Format format, double value) {
  using internal::Format;
  switch (format) {
    case Format::kMxf4:
    case Format::kNvf4:
      return internal::e2m1_encode(value);
    case Format::kMxf8E4m3:
      return internal::e4m3_encode(value);
    case Format::kMxf8E5m2:
      return internal::e5m2_encode(value);
    case Format::kBf16:
      return internal::bf16_encode(value);
    case Format::kF16:
      return internal::f16_encode(value);
    default:
      return internal::f32_encode(value);
  }
}

// Puts a code where element k of a row lies.
inline void store_element(internal::Format format, uint8_t* row, int64_t k, uint32_t code) {
  switch (internal::find_format(format)->element_bits) {
    case 4:
      row[k / 2] = k % 2 == 0 ? internal::pack_nibbles(static_cast<uint8_t>(code), row[k / 2] >> 4)
                              : internal::pack_nibbles(row[k / 2], static_cast<uint8_t>(code));
      break;
    case 8:
      row[k] = static_cast<uint8_t>(code);
      break;
    case 16: {
      const auto narrow = static_cast<uint16_t>(code);
      std::memcpy(row + 2 * k, &narrow, sizeof narrow);
      break;
    }
    default:
      std::memcpy(row + 4 * k, &code, sizeof code);
  }
}

// A finite code from 64 random bits: any code of a format of up to 16 bits that has at most 31
// binades; exponents -20 … 20 of bf16 and f32, whose full range would overflow every sum.
constexpr uint32_t wide_code(internal::Format format, uint64_t bits) {
  const CodeFacts facts = code_facts(format);
  const uint32_t sign = (bits & 1) != 0 ? facts.sign : 0;
  const auto high = static_cast<uint32_t>(bits >> 32);
  if (format == internal::Format::kBf16 || format == internal::Format::kF32) {
    const int mantissa_bits = internal::find_format(format)->mantissa_bits;
    const auto exponent = 127 - 20 + static_cast<uint32_t>((uint64_t{high} * 41) >> 32);
    const auto mantissa = static_cast<uint32_t>(bits >> 1) & ((1u << mantissa_bits) - 1);
    return sign | exponent << mantissa_bits | mantissa;
  }
  return sign | static_cast<uint32_t>((uint64_t{high} * (facts.max + 1)) >> 32);
}

}  // namespace mxgemm::cli
