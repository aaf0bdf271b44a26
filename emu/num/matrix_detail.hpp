// SPDX-License-Identifier: Apache-2.0
// What both files of the matrix arithmetic need.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "matrix.hpp"

namespace emu::num {

// An exponent at or above it comes from an infinity or a NaN.
inline constexpr int32_t kSpecialThreshold = kSplitSpecialExponent;

// sum * 2^exponent as f32, cut toward zero; overflow is infinity.
inline uint32_t cut_to_f32(int64_t sum, int exponent, int result_fraction) {
  if (sum == 0) {
    return 0;
  }
  const uint32_t sign = sum < 0 ? 0x80000000u : 0;
  const uint64_t magnitude = sum < 0 ? -static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
  const int top = exponent + static_cast<int>(std::bit_width(magnitude)) - 1;
  if (top > 127) {
    return sign | 0x7F800000u;
  }
  const int last = std::max(top, -126) - 23;
  const int shift = last - exponent;
  const uint64_t kept = shift >= 64 ? 0 : shift > 0 ? magnitude >> shift : magnitude << -shift;
  const auto code = static_cast<uint32_t>((static_cast<uint64_t>(last + 149) << 23) + kept);
  return sign | (code & ~((1u << (23 - result_fraction)) - 1));
}

inline SplitElement split_f32(uint32_t bits) {
  const auto fraction = static_cast<int32_t>(bits & 0x7FFFFFu);
  const int32_t biased = static_cast<int32_t>(bits >> 23) & 0xFF;
  const bool negative = bits >> 31 != 0;
  if (biased == 0xFF) {
    return {negative ? -1 : 1, fraction == 0 ? kInfinityExponent : kNanExponent};
  }
  const int32_t significand = biased == 0 ? fraction : fraction | 1 << 23;
  const int32_t exponent = significand == 0 ? kZeroExponent : std::max(biased, 1) - 127;
  return {negative ? -significand : significand, exponent};
}

}  // namespace emu::num
