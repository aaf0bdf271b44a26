# SPDX-License-Identifier: Apache-2.0
"""The approximate functions: exact values to 60 digits and the codes that PTX ISA allows for them.

A bound is ("ulp", n): n codes around the correctly rounded result; ("relative", e) or
("absolute", e): e around the exact value.
"""

from decimal import Decimal, getcontext
from fractions import Fraction

from exact import F32, decode, encode_value

getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620900")
LN2 = Decimal(2).ln()


def decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def power_of_two(exponent):
    """2 to a decimal exponent, as a Fraction."""
    return Fraction((Decimal(exponent) * LN2).exp())


def taylor(x, index):
    """sin (index 1) or cos (index 0) of a decimal within a few units of 0."""
    term = x if index else Decimal(1)
    total = term
    while abs(term) > Decimal(10) ** -55:
        term = -term * x * x / ((index + 1) * (index + 2))
        index += 2
        total += term
    return total


def circular(index):
    def run(x):
        reduced = decimal(x)
        reduced -= (reduced / (2 * PI)).to_integral_value() * 2 * PI
        return Fraction(taylor(reduced, index))

    return run


sine, cosine = circular(1), circular(0)


def exponential(x):
    # Far outside the range any value there does.
    return power_of_two(decimal(min(max(x, Fraction(-400)), Fraction(400))))


def logarithm(x):
    return Fraction(decimal(x).ln() / LN2)


def square_root(x):
    return Fraction(decimal(x).sqrt())


def tangent(x):
    if abs(x) < Fraction(1, 2**40):
        return x - x**3 / 3
    doubled = (2 * decimal(min(max(x, Fraction(-60)), Fraction(60)))).exp()
    return Fraction((doubled - 1) / (doubled + 1))


# --- codes in the order of their values: -inf ... -0, +0 ... +inf


def key(fmt, code):
    magnitude = code & (fmt.sign_bit - 1)
    return -1 - magnitude if code & fmt.sign_bit else magnitude


def code_of(fmt, number):
    return fmt.sign_bit | (-1 - number) if number < 0 else number


def flushed(fmt, code):
    small = code & (fmt.sign_bit - 1) < 1 << fmt.mantissa_bits
    return code & fmt.sign_bit if small else code


def around(fmt, exact, bound, zero_sign):
    """The lowest and the highest code allowed for an exact value."""
    kind, size = bound
    if kind == "ulp":
        middle = key(fmt, encode_value(fmt, exact, zero_sign=zero_sign))
        low, high = middle - size, middle + size
        low, high = (max(low, 0), high) if middle >= 0 else (low, min(high, -1))
        top = fmt.infinity
        return code_of(fmt, max(low, -1 - top)), code_of(fmt, min(high, top))
    error = size * abs(exact) if kind == "relative" else size
    low, high = exact - error, exact + error
    # A subnormal result is a rounded one: both its neighbours will do.
    inward = abs(exact) >= Fraction(2) ** (1 - fmt.bias)
    codes = [
        encode_value(fmt, low, "rp" if inward else "rm", zero_sign=zero_sign),
        encode_value(fmt, high, "rm" if inward else "rp", zero_sign=zero_sign),
    ]
    for index, end in enumerate((low, high)):
        nearest = encode_value(fmt, end, zero_sign=zero_sign)
        if nearest & (fmt.sign_bit - 1) == fmt.infinity:
            codes[index] = nearest if (end > 0) == (index == 1) else codes[index]
    codes.sort(key=lambda code: key(fmt, code))
    return tuple(codes)


class Function:
    """`special` maps a decoded input that has no exact value, or one that PTX ISA lists, to a code
    or None; the code fmt.nan stands for any NaN."""

    def __init__(self, exact, bound, special=None, fmt=F32, ftz=False):
        self.exact, self.bound, self.special = exact, bound, special
        self.fmt, self.ftz = fmt, ftz

    def range(self, *codes):
        if self.ftz:
            codes = [flushed(self.fmt, code) for code in codes]
        inputs = [decode(self.fmt, code) for code in codes]
        if any(kind == "nan" for kind, _, _ in inputs):
            return self.fmt.nan, self.fmt.nan
        if self.special is not None:
            code = self.special(self.fmt, *inputs)
            if code is not None:
                return code, code
        values = [-magnitude if sign else magnitude for _, sign, magnitude in inputs]
        sign = 0
        for _, one, _ in inputs:
            sign ^= one
        bound = self.bound(*values) if callable(self.bound) else self.bound
        low, high = around(self.fmt, self.exact(*values), bound, sign)
        if self.ftz:
            low, high = flushed(self.fmt, low), flushed(self.fmt, high)
        return low, high


def by_table(minus_infinity, infinity, zero=None, negative=None):
    """Results as the tables of PTX ISA list them: "-inf", "+0", "nan"...; `zero`: by sign."""

    def code(fmt, name):
        rest = {"0": 0, "inf": fmt.infinity, "1": fmt.bias << fmt.mantissa_bits, "nan": fmt.nan}
        return rest[name.lstrip("+-")] | (fmt.sign_bit if name[0] == "-" else 0)

    def special(fmt, decoded):
        kind, sign, magnitude = decoded
        if kind == "inf":
            return code(fmt, minus_infinity if sign else infinity)
        if magnitude == 0 and zero is not None:
            return code(fmt, zero[sign])
        if sign and magnitude != 0 and negative is not None:
            return code(fmt, negative)
        return None

    return special


def quotient_special(approx):
    """IEEE 754 for infinities and zeros; div.approx beyond |b| = 2^126 as PTX ISA has it."""

    def special(fmt, a, b):
        sign = (a[1] ^ b[1]) * fmt.sign_bit
        if (a[0] == "inf" and b[0] == "inf") or (a[0] == b[0] == "number" and a[2] == b[2] == 0):
            return fmt.nan
        if approx and b[0] == "number" and b[2] > Fraction(2) ** 126:
            return fmt.nan if a[0] == "inf" else sign
        if a[0] == "inf" or (b[0] == "number" and b[2] == 0):
            return sign | fmt.infinity
        if b[0] == "inf" or a[2] == 0:
            return sign
        return None

    return special
