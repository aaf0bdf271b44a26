// SPDX-License-Identifier: Apache-2.0
// Element codes as significand and exponent.
#include <algorithm>

#include "matrix.hpp"

namespace emu::num {
namespace {

const FloatFormat& format_of(ElementType type) {
  switch (type) {
    case ElementType::e2m1:
      return kE2m1;
    case ElementType::e2m3:
      return kE2m3;
    case ElementType::e3m2:
      return kE3m2;
    case ElementType::e4m3:
      return kE4m3;
    case ElementType::e5m2:
      return kE5m2;
    case ElementType::f16:
      return kF16;
    case ElementType::bf16:
      return kBf16;
    case ElementType::tf32:
      return kTf32;
  }
  return kTf32;
}

constexpr int kNarrowTypes = 5;  // the types of at most 8 bits come first in ElementType

}  // namespace

int mantissa_bits(ElementType type) {
  return format_of(type).mantissa_bits;
}

SplitElement split(ElementType type, uint32_t code) {
  const FloatFormat& format = format_of(type);
  const bool negative = (code & format.sign_bit()) != 0;
  const auto magnitude = static_cast<int32_t>(code & (format.sign_bit() - 1));
  if (format.is_nan(code)) {
    return {1, kNanExponent};
  }
  if (format.is_infinity(code)) {
    return {negative ? -1 : 1, kInfinityExponent};
  }
  if (magnitude == 0) {
    return {0, kZeroExponent};
  }
  const int32_t fraction = magnitude & ((1 << format.mantissa_bits) - 1);
  const int32_t biased = magnitude >> format.mantissa_bits;
  const int32_t significand = biased == 0 ? fraction : fraction | 1 << format.mantissa_bits;
  return {negative ? -significand : significand, std::max(biased, 1) - format.bias()};
}

const std::array<SplitElement, 256>& split_table(ElementType type) {
  static const auto tables = [] {
    std::array<std::array<SplitElement, 256>, kNarrowTypes> all{};
    for (int index = 0; index < kNarrowTypes; ++index) {
      const auto narrow = static_cast<ElementType>(index);
      const uint64_t mask = 2 * format_of(narrow).sign_bit() - 1;
      for (uint32_t code = 0; code < 256; ++code) {
        all[index][code] = split(narrow, static_cast<uint32_t>(code & mask));
      }
    }
    return all;
  }();
  return tables[static_cast<int>(type)];
}

void split(ElementType type, int right_shift, std::span<const uint32_t> codes,
           int32_t* significands, int32_t* exponents) {
  const FloatFormat& format = format_of(type);
  const SplitFields fields{format.exponent_bits,
                           format.mantissa_bits,
                           format.bias(),
                           right_shift,
                           format.specials == Specials::kIeee,
                           format.specials == Specials::kNanOnly};
  lane_functions().split_codes(fields, static_cast<int>(codes.size()), codes.data(), significands,
                               exponents);
}

void unpack_e2m1(std::span<const uint32_t> packed, float* values) {
  lane_functions().unpack_e2m1(static_cast<int>(packed.size()), packed.data(), values);
}

}  // namespace emu::num
