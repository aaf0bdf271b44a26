# SPDX-License-Identifier: Apache-2.0
"""Number formats with exact arithmetic, written from the specification, not from the handlers.

A decoded number is (kind, sign, magnitude): kind "number", "inf" or "nan", sign 0 or 1, magnitude
a Fraction. Codes are plain integers.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    exponent_bits: int
    mantissa_bits: int
    specials: str  # "none", "nan" (all ones only) or "ieee"

    @property
    def width(self):
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self):
        return 2 ** (self.exponent_bits - 1) - 1

    @property
    def sign_bit(self):
        return 1 << (self.width - 1)

    @property
    def infinity(self):
        return (2**self.exponent_bits - 1) << self.mantissa_bits

    @property
    def nan(self):
        return self.sign_bit - 1

    @property
    def largest(self):
        return {"none": self.sign_bit - 1, "nan": self.sign_bit - 2, "ieee": self.infinity - 1}[
            self.specials
        ]


E2M1 = Format(2, 1, "none")
E2M3 = Format(2, 3, "none")
E3M2 = Format(3, 2, "none")
E4M3 = Format(4, 3, "nan")
E5M2 = Format(5, 2, "ieee")
F16 = Format(5, 10, "ieee")
BF16 = Format(8, 7, "ieee")
TF32 = Format(8, 10, "ieee")
F32 = Format(8, 23, "ieee")
F64 = Format(11, 52, "ieee")


def decode(fmt, code):
    sign = 1 if code & fmt.sign_bit else 0
    rest = code & (fmt.sign_bit - 1)
    if fmt.specials == "nan" and rest == fmt.sign_bit - 1:
        return ("nan", sign, Fraction(0))
    if fmt.specials == "ieee" and rest >= fmt.infinity:
        return ("inf" if rest == fmt.infinity else "nan", sign, Fraction(0))
    exponent = rest >> fmt.mantissa_bits
    fraction = Fraction(rest % 2**fmt.mantissa_bits, 2**fmt.mantissa_bits)
    if exponent == 0:
        return ("number", sign, fraction * Fraction(2) ** (1 - fmt.bias))
    return ("number", sign, (1 + fraction) * Fraction(2) ** (exponent - fmt.bias))


def value(fmt, code):
    """The code's value as a signed Fraction; it must be a number."""
    kind, sign, magnitude = decode(fmt, code)
    assert kind == "number"
    return -magnitude if sign else magnitude


def floor_log2(magnitude):
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if Fraction(2) ** guess <= magnitude else guess - 1


def rounded_integer(x, mode):
    """A Fraction as an integer: rn, rz, rm (down), rp (up), rna (ties away)."""
    floor = x.numerator // x.denominator
    part = x - floor
    if part == 0:
        return floor
    if mode == "rm":
        return floor
    if mode == "rp":
        return floor + 1
    if mode == "rz":
        return floor if x >= 0 else floor + 1
    if part != Fraction(1, 2):
        return floor if part < Fraction(1, 2) else floor + 1
    if mode == "rna":
        return floor + 1 if x >= 0 else floor
    return floor if floor % 2 == 0 else floor + 1


def encode(fmt, sign, magnitude, mode="rn", satfinite=False):
    """The number (-1)^sign * magnitude rounded once."""
    sign_code = fmt.sign_bit if sign else 0
    if magnitude == 0:
        return sign_code
    step_exponent = max(floor_log2(magnitude), 1 - fmt.bias) - fmt.mantissa_bits
    step = Fraction(2) ** step_exponent
    signed = -magnitude if sign else magnitude
    units = abs(rounded_integer(signed / step, mode))
    if units == 0:
        return sign_code
    result = units * step
    if result > decode(fmt, fmt.largest)[2]:
        toward_zero = mode == "rz" or (mode == "rm" and not sign) or (mode == "rp" and sign)
        if satfinite or fmt.specials == "none" or toward_zero:
            return sign_code | fmt.largest
        return sign_code | (fmt.infinity if fmt.specials == "ieee" else fmt.nan)
    top = floor_log2(result)
    if top < 1 - fmt.bias:
        return sign_code | units
    mantissa = result / Fraction(2) ** top - 1
    return sign_code | (top + fmt.bias) << fmt.mantissa_bits | int(mantissa * 2**fmt.mantissa_bits)


def encode_value(fmt, number, mode="rn", satfinite=False, zero_sign=0):
    """A signed Fraction; `zero_sign` is the sign of an exact zero."""
    sign = zero_sign if number == 0 else int(number < 0)
    return encode(fmt, sign, abs(number), mode, satfinite)


def convert(target, decoded, mode="rn", satfinite=False, relu=False):
    kind, sign, magnitude = decoded
    if kind == "nan":
        return target.largest if target.specials == "none" else target.nan
    if kind == "inf":
        if satfinite or target.specials != "ieee":
            code = (target.sign_bit if sign else 0) | target.largest
        else:
            code = (target.sign_bit if sign else 0) | target.infinity
    else:
        code = encode(target, sign, magnitude, mode, satfinite)
    return 0 if relu and sign else code


def ue8m0_from(decoded, mode, satfinite):
    kind, _, magnitude = decoded
    if kind == "nan":
        return 255
    if kind == "inf":
        return 254 if satfinite else 255
    if magnitude <= Fraction(2) ** -127:
        return 0
    exponent = floor_log2(magnitude)
    if mode == "rp" and Fraction(2) ** exponent != magnitude:
        exponent += 1
    if exponent > 127:
        return 254 if satfinite else 255
    return exponent + 127
