// SPDX-License-Identifier: Apache-2.0
// What both files of cvt share.
#pragma once

#include "isa/decode.hpp"
#include "num/float_format.hpp"

namespace emu {

// Instr::mode of cvt.
struct ConvertMode {
  num::Rounding rounding = num::Rounding::kNearestEven;
  bool ftz = false;
  bool sat = false;        // integers: clamp; floats: to [0, 1]
  bool satfinite = false;  // overflow and infinity to the largest number
  bool relu = false;       // negative to +0
  bool integral = false;   // .rni and the like: to an integer, whatever the type

  uint8_t pack() const;
  static ConvertMode unpack(uint8_t mode);
  num::EncodeOptions encoding() const { return {rounding, satfinite}; }
};

// One number rounded to a format, with .relu.
inline uint64_t convert_to(const num::FloatFormat& format, double value, const ConvertMode& mode) {
  const uint64_t code = num::encode(format, value, mode.encoding());
  const bool negative = (code & format.sign_bit()) != 0;
  return mode.relu && negative && !format.is_nan(code) ? 0 : code;
}

// Conversions to and from pairs: f16x2, bf16x2, e4m3x2 and so on. False if this is none of them.
bool decode_packed_cvt(DecodeContext& d, const ConvertMode& mode);

}  // namespace emu
