# SPDX-License-Identifier: Apache-2.0
"""IEEE operations on decoded numbers, and inputs that meet their corners."""

import math
from fractions import Fraction

from exact import BF16, F16, F32, F64, decode, encode, encode_value
from forms import grid

F32_EDGES = [
    0x00000000,
    0x80000000,
    0x3F800000,
    0xBF800000,
    0x3FC00000,
    0x00000001,
    0x807FFFFF,
    0x00800000,
    0x7F7FFFFF,
    0xFF7FFFFF,
    0x7F800000,
    0xFF800000,
    0x7FC00000,
    0x3F7FFFFF,
]
F16_EDGES = [
    0x0000,
    0x8000,
    0x3C00,
    0xBC00,
    0x3E00,
    0x0001,
    0x83FF,
    0x0400,
    0x7BFF,
    0xFBFF,
    0x7C00,
    0xFC00,
    0x7E00,
    0x3BFF,
]
BF16_EDGES = [
    0x0000,
    0x8000,
    0x3F80,
    0xBF80,
    0x3FC0,
    0x0001,
    0x807F,
    0x0080,
    0x7F7F,
    0xFF7F,
    0x7F80,
    0xFF80,
    0x7FC0,
    0x3F7F,
]
EDGES = {
    F32: F32_EDGES,
    F16: F16_EDGES,
    BF16: BF16_EDGES,
    F64: [
        0,
        1 << 63,
        0x3FF0000000000000,
        0xBFF8000000000000,
        1,
        0x7FEFFFFFFFFFFFFF,
        0x0010000000000000,
        0x3FEFFFFFFFFFFFFF,
    ],
}
MODES = ["rn", "rz", "rm", "rp"]
ONE = ("number", 0, Fraction(1))


def close(w, fmt):
    """A random code whose exponent is near the middle, so that sums interact."""
    spread = 12 if fmt is not F16 else 6
    exponent = fmt.bias + w.random.randrange(-spread, spread)
    mantissa = w.random.getrandbits(fmt.mantissa_bits)
    if w.random.random() < 0.3:
        mantissa &= ~((1 << fmt.mantissa_bits * 2 // 3) - 1)
    return w.random.getrandbits(1) << fmt.width - 1 | exponent << fmt.mantissa_bits | mantissa


def finite(fmt, code):
    return decode(fmt, code)[0] == "number"


def rows(w, fmt, count, extra=64):
    base = (
        grid(EDGES[fmt], EDGES[fmt])
        if count == 2
        else [tuple(w.random.choice(EDGES[fmt]) for _ in range(count)) for _ in range(96)]
    )
    if count == 1:
        base = [(x,) for x in EDGES[fmt]]
    base += [tuple(close(w, fmt) for _ in range(count)) for _ in range(extra)]
    return base + [tuple(w.random.getrandbits(fmt.width) for _ in range(count)) for _ in range(32)]


def signed(decoded):
    _, sign, magnitude = decoded
    return -magnitude if sign else magnitude


def zero_sum_sign(signs, mode):
    """The sign of an exact zero sum of terms with these signs."""
    if all(signs):
        return 1
    if not any(signs):
        return 0
    return 1 if mode == "rm" else 0


def add(fmt, x, y, mode, satfinite=False):
    if "nan" in (x[0], y[0]):
        return fmt.nan
    if "inf" in (x[0], y[0]):
        infinite = {z[1] for z in (x, y) if z[0] == "inf"}
        if len(infinite) == 2:
            return fmt.nan
        return (fmt.sign_bit if infinite.pop() else 0) | fmt.infinity
    total = signed(x) + signed(y)
    both_zero = x[2] == 0 and y[2] == 0
    sign = zero_sum_sign([x[1], y[1]], mode) if both_zero else int(mode == "rm")
    return encode_value(fmt, total, mode, satfinite, sign)


def product(x, y):
    """Exact, as a decoded number."""
    sign = x[1] ^ y[1]
    if "nan" in (x[0], y[0]):
        return ("nan", 0, Fraction(0))
    if "inf" in (x[0], y[0]):
        zero = any(z[0] == "number" and z[2] == 0 for z in (x, y))
        return ("nan", 0, Fraction(0)) if zero else ("inf", sign, Fraction(0))
    return ("number", sign, x[2] * y[2])


def mul(fmt, x, y, mode):
    kind, sign, magnitude = product(x, y)
    if kind == "nan":
        return fmt.nan
    if kind == "inf":
        return (fmt.sign_bit if sign else 0) | fmt.infinity
    return encode(fmt, sign, magnitude, mode)


def div(fmt, x, y, mode):
    sign = fmt.sign_bit if x[1] ^ y[1] else 0
    if "nan" in (x[0], y[0]) or (x[0] == y[0] == "inf"):
        return fmt.nan
    if x[0] == "inf":
        return sign | fmt.infinity
    if y[0] == "inf":
        return sign
    if y[2] == 0:
        return fmt.nan if x[2] == 0 else sign | fmt.infinity
    return encode(fmt, x[1] ^ y[1], x[2] / y[2], mode)


def sqrt(fmt, x, mode):
    kind, sign, magnitude = x
    if kind == "nan" or (sign and (kind == "inf" or magnitude != 0)):
        return fmt.nan
    if kind == "inf":
        return fmt.infinity
    if magnitude == 0:
        return fmt.sign_bit if sign else 0
    # A root with far more bits than any format, and a last bit that says "inexact".
    scale = 2**700
    square = magnitude * scale * scale
    root = math.isqrt(square.numerator // square.denominator)
    exact = Fraction(root) ** 2 == square
    return encode(fmt, 0, Fraction(2 * root + (0 if exact else 1), 2 * scale), mode)


def flush(code, fmt=F32):
    return code & fmt.sign_bit if code & fmt.infinity == 0 else code


def saturate(code, fmt=F32):
    decoded = decode(fmt, code)
    if decoded[0] == "nan" or decoded[1]:
        return 0
    return encode(fmt, 0, Fraction(1)) if decoded[0] == "inf" or decoded[2] > 1 else code


def with_modifiers(function, ftz, sat):
    """`function` computes a code from numbers and a rounding mode, which has a default."""

    def run(*codes):
        codes = [flush(c) if ftz else c for c in codes]
        numbers = [decode(F32, c) for c in codes]
        result = function(*numbers)
        # Flushing looks at the exact result, which is below the smallest normal number exactly
        # where its magnitude cut toward zero is.
        if ftz and flush(function(*numbers, "rz")) & ~F32.sign_bit == 0:
            result &= F32.sign_bit
        return saturate(result) if sat else result

    return run


def order(x):
    """Numbers in order, -0 before +0."""
    kind, sign, magnitude = x
    magnitude = Fraction(2) ** 2000 if kind == "inf" else magnitude
    return (-magnitude if sign else magnitude, -sign)


def extreme(fmt, largest, propagate, ftz=False):
    def run(a, b):
        if ftz:
            a, b = flush(a, fmt), flush(b, fmt)
        x, y = decode(fmt, a), decode(fmt, b)
        if "nan" in (x[0], y[0]):
            if propagate or x[0] == y[0]:
                return fmt.nan
            return b if x[0] == "nan" else a
        return a if (order(x) >= order(y)) == largest else b

    return run


def in_halves(function):
    def run(*words):
        low = function(*[x & 0xFFFF for x in words])
        high = function(*[x >> 16 for x in words])
        return low | high << 16

    return run


def doubled(w, base):
    """Rows of 16-bit codes as rows of pairs."""
    return [
        tuple(x | y << 16 for x, y in zip(row, w.random.choice(base), strict=True)) for row in base
    ]
