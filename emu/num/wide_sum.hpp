// SPDX-License-Identifier: Apache-2.0
// A sum of numbers m * 2^e without any rounding.
#pragma once

#include <array>
#include <cstdint>

#include "float_format.hpp"

namespace emu::num {

// Fixed point, two's complement. The range covers every term of a matrix instruction: products of
// two bf16 reach down to 2^-266, scaled 8-bit products from 2^-286 to 2^286.
class WideSum {
 public:
  void add(int64_t significand, int exponent) {
    const int position = exponent - kLowest;
    const int limb = position / 64;
    const int shift = position % 64;
    const auto wide = static_cast<unsigned __int128>(static_cast<__int128>(significand)) << shift;
    const uint64_t extension = significand < 0 ? ~uint64_t{0} : 0;
    unsigned carry = 0;
    for (int i = limb; i < kLimbs; ++i) {
      const uint64_t addend = i == limb       ? static_cast<uint64_t>(wide)
                              : i == limb + 1 ? static_cast<uint64_t>(wide >> 64)
                                              : extension;
      const auto sum = static_cast<unsigned __int128>(limbs_[i]) + addend + carry;
      limbs_[i] = static_cast<uint64_t>(sum);
      carry = static_cast<unsigned>(sum >> 64);
    }
  }

  uint64_t round(const FloatFormat& format, EncodeOptions options) const {
    std::array<uint64_t, kLimbs> magnitude = limbs_;
    const bool negative = limbs_[kLimbs - 1] >> 63 != 0;
    if (negative) {
      bool carry = true;
      for (uint64_t& limb : magnitude) {
        limb = ~limb + (carry ? 1 : 0);
        carry = carry && limb == 0;
      }
    }
    int top = kLimbs - 1;
    while (top > 0 && magnitude[top] == 0) {
      --top;
    }
    // The leading 64 bits, and whether anything lies below them.
    const int empty = magnitude[top] == 0 ? 0 : std::countl_zero(magnitude[top]);
    uint64_t significand = magnitude[top] << empty;
    bool sticky = false;
    if (top > 0) {
      if (empty > 0) {
        significand |= magnitude[top - 1] >> (64 - empty);
      }
      sticky = magnitude[top - 1] << empty != 0;
      for (int i = 0; i < top - 1; ++i) {
        sticky = sticky || magnitude[i] != 0;
      }
    }
    return encode_exact(format, negative, significand, kLowest + top * 64 - empty, sticky, options);
  }

 private:
  static constexpr int kLowest = -384;
  static constexpr int kLimbs = 12;
  std::array<uint64_t, kLimbs> limbs_{};
};

}  // namespace emu::num
