#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Approximate functions: for each input the range that PTX ISA allows, not a result."""

import sys
from fractions import Fraction

from approximate_model import (
    PI,
    Function,
    by_table,
    cosine,
    exponential,
    logarithm,
    power_of_two,
    quotient_special,
    sine,
    square_root,
    tangent,
)
from exact import BF16, F16, F32, decode, encode_value
from float_model import EDGES
from forms import Writer

CASES = 256  # of a form
SMALL_CIRCLE, LARGE_CIRCLE = Fraction(2 * PI), Fraction(100 * PI)


def any_code(w, fmt):
    return w.random.getrandbits(fmt.width)


def between(w, fmt, low, high):
    return encode_value(fmt, Fraction(w.random.uniform(low, high)))


def filled(w, fmt, edges, make):
    codes = list(edges) + [make() for _ in range(CASES - len(edges))]
    return [(code,) for code in codes[:CASES]]


def half_and_half(w, fmt, low, high):
    """Any bits, and numbers of a range in which something happens."""
    edges = EDGES[fmt] + [encode_value(fmt, Fraction(2) ** e) for e in range(-14, 15)]
    return filled(
        w,
        fmt,
        edges,
        lambda: any_code(w, fmt) if w.random.random() < 0.5 else between(w, fmt, low, high),
    )


def circle_inputs(w):
    edges = [c for c in EDGES[F32] if decode(F32, c)[2] < LARGE_CIRCLE]
    edges += [encode_value(F32, Fraction(PI) * n / 4) for n in range(-16, 17)]
    return filled(
        w,
        F32,
        edges,
        lambda: between(w, F32, *((-6.28, 6.28) if w.random.random() < 0.7 else (-314, 314))),
    )


def circle_bound(x):
    # Only inputs up to LARGE_CIRCLE are made: PTX ISA promises nothing beyond.
    assert abs(x) <= LARGE_CIRCLE
    return ("absolute", power_of_two("-20.5" if abs(x) <= SMALL_CIRCLE else "-14.7"))


def logarithm_bound(x):
    inside = Fraction(1, 2) < x < 2
    return ("absolute" if inside else "relative", Fraction(1, 2**22))


def quotient_inputs(w, approx):
    rows = [(a, b) for a in EDGES[F32] for b in EDGES[F32]]
    large = [0x7E800000, 0x7E800001, 0xFE812345, 0x7F000000, 0x7F7FFFFF]  # 2^126 and up
    rows += [(a, b) for a in (0x3F800000, 0x7F000000, 0xFF800000, 0, 0x7F7FFFFF) for b in large]
    rows += [(any_code(w, F32), any_code(w, F32)) for _ in range(2 * CASES)]
    # For a divisor below 2^-126 nothing is promised of div.approx.
    kept = [
        (a, b) for a, b in rows if not approx or b & 0x7FFFFFFF == 0 or b & 0x7FFFFFFF >= 1 << 23
    ]
    return kept[: 2 * CASES]


def write(w, opcode, function, registers, cases, kind, target=80):
    """`kind`: how the bounds' codes lie in a result, "f32" or "bf16x2"."""
    width = function.fmt.width
    packed = kind.endswith("x2")
    rows = []
    for case in cases:
        halves = [case] + ([(w.random.choice(cases)[0],)] if packed else [])
        ranges = [function.range(*half) for half in halves]
        inputs = [
            sum(half[i] << width * h for h, half in enumerate(halves)) for i in range(len(case))
        ]
        outputs = [sum(r[end] << width * h for h, r in enumerate(ranges)) for end in (0, 1)]
        rows.append((inputs, outputs))
    sources = ", ".join(f"$s{i}" for i in range(len(registers)))
    w.form(opcode, f"{opcode} $d0, {sources};", registers[:1], registers, rows, target, bounds=kind)


def single(w):
    nonnegative = by_table("nan", "+inf", ("+0", "-0"), "nan")
    functions = {
        "rcp": (lambda x: 1 / x, ("ulp", 1), by_table("-0", "+0", ("+inf", "-inf"))),
        "sqrt": (square_root, ("relative", Fraction(1, 2**23)), nonnegative),
        "rsqrt": (
            lambda x: 1 / square_root(x),
            ("relative", power_of_two("-22.9")),
            by_table("nan", "+0", ("+inf", "-inf"), "nan"),
        ),
        "lg2": (logarithm, logarithm_bound, by_table("nan", "+inf", ("-inf", "-inf"), "nan")),
        "ex2": (exponential, ("ulp", 2), by_table("+0", "+inf", ("+1", "+1"))),
        "sin": (sine, circle_bound, by_table("nan", "nan", ("+0", "-0"))),
        "cos": (cosine, circle_bound, by_table("nan", "nan", ("+1", "+1"))),
    }
    ranges = {"lg2": (0.4, 2.1), "ex2": (-152, 129)}
    for name, (exact, bound, special) in functions.items():
        for ftz in ("", ".ftz"):
            if name in ("sin", "cos"):
                cases = circle_inputs(w)
            else:
                cases = half_and_half(w, F32, *ranges.get(name, (-4, 4)))
            function = Function(exact, bound, special, ftz=ftz != "")
            write(w, f"{name}.approx{ftz}.f32", function, ["b32"], cases, "f32")
    table = by_table("-1", "+1", ("+0", "-0"))
    function = Function(tangent, ("relative", Fraction(1, 2**11)), table)
    write(w, "tanh.approx.f32", function, ["b32"], half_and_half(w, F32, -6, 6), "f32")


def division(w):
    for name, approx in [("div.approx", True), ("div.full", False)]:
        for ftz in ("", ".ftz"):
            function = Function(
                lambda a, b: a / b, ("ulp", 2), quotient_special(approx), ftz=ftz != ""
            )
            cases = quotient_inputs(w, approx)
            write(w, f"{name}{ftz}.f32", function, ["b32", "b32"], cases, "f32")


def halves(w):
    ex2 = by_table("+0", "+inf", ("+1", "+1"))
    tanh = by_table("-1", "+1", ("+0", "-0"))
    for fmt, name, target, ftz in [(F16, "f16", 80, ""), (BF16, "bf16", 90, ".ftz")]:
        ex2_error = power_of_two("-9.9") if fmt is F16 else Fraction(1, 2**7)
        tanh_error = power_of_two("-10.987") if fmt is F16 else Fraction(1, 2**8)
        functions = [
            (
                f"ex2.approx{ftz}",
                Function(exponential, ("relative", ex2_error), ex2, fmt, ftz != ""),
            ),
            ("tanh.approx", Function(tangent, ("absolute", tanh_error), tanh, fmt)),
        ]
        for opcode, function in functions:
            cases = half_and_half(w, fmt, -16, 16)
            write(w, f"{opcode}.{name}", function, ["b16"], cases, name, target)
            write(w, f"{opcode}.{name}x2", function, ["b32"], cases, f"{name}x2", target)


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream, 70)
        single(w)
        division(w)
        halves(w)


if __name__ == "__main__":
    main()
