// SPDX-License-Identifier: Apache-2.0
// Floating-point formats of PTX as data, and the one routine that rounds an exact number to any of
// them. Everything here is a pure function of its arguments.
#pragma once

#include <bit>
#include <cstdint>

namespace emu::num {

enum class Rounding : uint8_t {
  kNearestEven,
  kTowardZero,
  kUp,
  kDown,
  kNearestAway,  // ties away from zero: cvt.rna
};

// What the codes with the largest exponent mean.
enum class Specials : uint8_t {
  kNone,     // ordinary numbers (e2m1, e2m3, e3m2)
  kNanOnly,  // all ones is NaN, the rest are numbers (e4m3)
  kIeee,     // infinity and NaN (e5m2, f16, bf16, f32, f64)
};

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  Specials specials;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int min_exponent() const { return 1 - bias(); }
  constexpr int width() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr uint64_t sign_bit() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
  constexpr uint64_t infinity() const {
    return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
  // Largest finite code without its sign.
  constexpr uint64_t max_code() const {
    if (specials == Specials::kIeee) {
      return infinity() - 1;
    }
    return sign_bit() - 1 - (specials == Specials::kNanOnly ? 1 : 0);
  }
  // The one NaN that arithmetic and conversions of this format produce.
  constexpr uint64_t canonical_nan() const { return sign_bit() - 1; }
  constexpr bool is_nan(uint64_t code) const {
    const uint64_t magnitude = code & (sign_bit() - 1);
    switch (specials) {
      case Specials::kNone:
        return false;
      case Specials::kNanOnly:
        return magnitude == sign_bit() - 1;
      case Specials::kIeee:
        return magnitude > infinity();
    }
    return false;
  }
  constexpr bool is_infinity(uint64_t code) const {
    return specials == Specials::kIeee && (code & (sign_bit() - 1)) == infinity();
  }
};

inline constexpr FloatFormat kE2m1{2, 1, Specials::kNone};
inline constexpr FloatFormat kE2m3{2, 3, Specials::kNone};
inline constexpr FloatFormat kE3m2{3, 2, Specials::kNone};
inline constexpr FloatFormat kE4m3{4, 3, Specials::kNanOnly};
inline constexpr FloatFormat kE5m2{5, 2, Specials::kIeee};
inline constexpr FloatFormat kF16{5, 10, Specials::kIeee};
inline constexpr FloatFormat kBf16{8, 7, Specials::kIeee};
inline constexpr FloatFormat kTf32{8, 10, Specials::kIeee};
inline constexpr FloatFormat kF32{8, 23, Specials::kIeee};
inline constexpr FloatFormat kF64{11, 52, Specials::kIeee};

// Overflow and infinity become the largest finite number where it is true.
struct EncodeOptions {
  Rounding rounding = Rounding::kNearestEven;
  bool satfinite = false;
};

// The number (-1)^negative * (significand + something in (0,1) if sticky) * 2^exponent, rounded
// once. With `sticky` the significand must hold at least two bits more than the format.
uint64_t encode_exact(const FloatFormat& format, bool negative, uint64_t significand, int exponent,
                      bool sticky, EncodeOptions options);

// Any double, NaN and infinity included: infinity where the format lacks it is the largest number,
// NaN where the format lacks it is the positive largest number.
uint64_t encode(const FloatFormat& format, double value, EncodeOptions options = {});

// The value of a code; exact, since every format but f64 is narrower than double.
double decode(const FloatFormat& format, uint64_t code);

// --- Block scales -----------------------------------------------------------------------------

inline constexpr uint8_t kUe8m0Nan = 0xFF;

// 2^(code-127); code 255 is NaN.
double decode_ue8m0(uint8_t code);
// As e4m3 with the sign bit ignored.
double decode_ue4m3(uint8_t code);
// |value| rounded to a power of two: down with kTowardZero, up with kUp. Below 2^-127 the result is
// 2^-127, there being no zero; above 2^127 (and infinity) the largest scale with satfinite, else
// NaN.
uint8_t encode_ue8m0(double value, Rounding rounding, bool satfinite);

// --- Bits ---------------------------------------------------------------------------------------

inline float float_of(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline uint32_t bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}
inline double double_of(uint64_t bits) {
  return std::bit_cast<double>(bits);
}
inline uint64_t bits_of(double value) {
  return std::bit_cast<uint64_t>(value);
}

inline constexpr uint32_t kF32Nan = 0x7FFFFFFF;
inline constexpr uint16_t kF16Nan = 0x7FFF;

inline float bf16_to_float(uint16_t code) {
  return float_of(uint32_t{code} << 16);
}

// Any half-precision code as float. The magnitude, moved to a float's fields, is off by the
// difference of the biases only: one exact multiplication mends it, subnormals included.
inline float f16_to_float(uint16_t code) {
  const uint32_t magnitude = code & 0x7FFFu;
  const uint32_t sign = uint32_t{code & 0x8000u} << 16;
  if (magnitude >= 0x7C00u) {
    return float_of(sign | 0x7F800000u | (magnitude & 0x3FFu) << 13);
  }
  return float_of(bits_of(float_of(magnitude << 13) * 0x1p112f) | sign);
}

}  // namespace emu::num
