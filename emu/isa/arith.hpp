// SPDX-License-Identifier: Apache-2.0
// Opcodes that integers and floating-point numbers share: the decode function looks at the type and
// hands floating point to its own file.
#pragma once

#include "isa/decode.hpp"

namespace emu {

enum class FloatOp : uint8_t { add, sub, mul, fma, div, min, max, abs, neg };

// f32 and f64; the type has been taken.
void decode_float(DecodeContext& d, FloatOp op);
// f16, bf16 and their packed pairs.
void decode_half(DecodeContext& d, FloatOp op);
// Whichever of the two the type asks for; false if it is an integer.
bool decode_if_float(DecodeContext& d, FloatOp op);
// sqrt and rcp with a rounding mode; the type has been taken.
void decode_rounded_sqrt(DecodeContext& d);
void decode_rounded_rcp(DecodeContext& d);
// div.approx and div.full.
void decode_approximate_division(DecodeContext& d);

}  // namespace emu
