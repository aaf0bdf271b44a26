#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cvt: vectors from fractions and from Python's integers."""

import sys
from fractions import Fraction

from exact import BF16, F16, F32, F64, TF32, convert, decode, encode, rounded_integer
from float_model import flush, saturate
from forms import Writer
from narrow_forms import float_inputs, narrow, wide_inputs

INTEGERS = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]


def width_of(kind):
    return int(kind[1:])


def register(kind):
    """8-bit integers live in 16-bit registers."""
    return f"b{max(16, width_of(kind))}"


def integer(x, kind):
    width = width_of(kind)
    x %= 2**width
    return x - 2**width if kind[0] == "s" and x >> (width - 1) else x


def in_register(x, kind):
    """A value in its register: extended by its sign."""
    return x % 2 ** max(16, width_of(kind))


def limits(kind):
    width = width_of(kind)
    return (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if kind[0] == "s" else (0, 2**width - 1)


def integer_inputs(w, kind):
    width = max(16, width_of(kind))
    edges = [0, 1, 2**width - 1, 2 ** (width - 1), 2 ** (width - 1) - 1, 0x7F, 0x80, 0xFF, 0x100]
    values = edges + [w.random.getrandbits(width) for _ in range(32)]
    return [(x % 2**width,) for x in values + [1 << i for i in range(width)][:23]]


def between_integers(w):
    for source in INTEGERS:
        for target in INTEGERS:
            if source == target:
                continue
            rows = integer_inputs(w, source)
            w.op(
                f"cvt.{target}.{source} $d0, $s0;",
                register(target),
                [register(source)],
                lambda x, s=source, t=target: in_register(integer(integer(x, s), t), t),
                rows,
            )

            def clamped(x, s=source, t=target):
                low, high = limits(t)
                return in_register(max(low, min(high, integer(x, s))), t)

            low, high = limits(target)
            inside = limits(source)[0] >= low and limits(source)[1] <= high
            if not inside:  # where nothing can be clamped .sat is not allowed
                w.op(
                    f"cvt.sat.{target}.{source} $d0, $s0;",
                    register(target),
                    [register(source)],
                    clamped,
                    rows,
                )


FLOATS = {"f32": F32, "f64": F64, "f16": F16}


def to_and_from_integers(w):
    for name, fmt in FLOATS.items():
        reg = f"b{fmt.width}"
        for kind in INTEGERS:
            for mode in ["rni", "rzi", "rmi", "rpi"]:

                def clamped(x, fmt=fmt, kind=kind, mode=mode):
                    decoded = decode(fmt, x)
                    low, high = limits(kind)
                    if decoded[0] == "nan":
                        narrow = fmt is not F64 and width_of(kind) <= 32
                        return (
                            0
                            if narrow
                            else in_register(integer(2 ** (width_of(kind) - 1), kind), kind)
                        )
                    if decoded[0] == "inf":
                        return in_register(low if decoded[1] else high, kind)
                    signed = -decoded[2] if decoded[1] else decoded[2]
                    return in_register(max(low, min(high, rounded_integer(signed, mode[:2]))), kind)

                w.op(
                    f"cvt.{mode}.{kind}.{name} $d0, $s0;",
                    register(kind),
                    [reg],
                    clamped,
                    float_inputs(w, fmt),
                )
            for mode in ["rn", "rz", "rm", "rp"]:

                def rounded(x, fmt=fmt, kind=kind, mode=mode):
                    number = integer(x, kind)
                    return encode(fmt, int(number < 0), Fraction(abs(number)), mode)

                w.op(
                    f"cvt.{mode}.{name}.{kind} $d0, $s0;",
                    reg,
                    [register(kind)],
                    rounded,
                    integer_inputs(w, kind),
                )


def between_floats(w):
    pairs = [
        (F32, "f32", F16, "f16"),
        (F32, "f32", BF16, "bf16"),
        (F64, "f64", F32, "f32"),
        (F64, "f64", F16, "f16"),
    ]
    for source, source_name, target, target_name in pairs:
        numbers = [r for r in wide_inputs(w, source)]
        modes = ["rn", "rz", "rm", "rp"] if target is not BF16 else ["rn", "rz"]
        for mode in modes:
            w.op(
                f"cvt.{mode}.{target_name}.{source_name} $d0, $s0;",
                f"b{target.width}",
                [f"b{source.width}"],
                lambda x, m=mode, s=source, t=target: convert(t, decode(s, x), m),
                numbers,
                target=90,
            )
    for name, fmt in [("f16", F16), ("bf16", BF16)]:
        w.op(
            f"cvt.rn.relu.{name}.f32 $d0, $s0;",
            "b16",
            ["b32"],
            lambda x, fmt=fmt: convert(fmt, decode(F32, x), relu=True),
            wide_inputs(w, F32),
            target=80,
        )
        w.op(
            f"cvt.f32.{name} $d0, $s0;",
            "b32",
            ["b16"],
            lambda x, fmt=fmt: convert(F32, decode(fmt, x)),
            [(x,) for x in range(0, 0x10000, 37) if decode(fmt, x)[0] != "nan"],
            target=90,
        )
    w.op(
        "cvt.f64.f32 $d0, $s0;",
        "b64",
        ["b32"],
        lambda x: convert(F64, decode(F32, x)),
        [r for r in wide_inputs(w, F32) if decode(F32, r[0])[0] != "nan"],
    )
    w.op(
        "cvt.ftz.f32.f32 $d0, $s0;",
        "b32",
        ["b32"],
        lambda x: convert(F32, decode(F32, flush(x))),
        wide_inputs(w, F32),
    )
    w.op("cvt.sat.f32.f32 $d0, $s0;", "b32", ["b32"], saturate, wide_inputs(w, F32))
    for mode in ["rni", "rzi", "rmi", "rpi"]:

        def integral(x, mode=mode):
            kind, sign, magnitude = decode(F32, x)
            if kind != "number":
                return convert(F32, (kind, sign, magnitude))
            whole = abs(rounded_integer(-magnitude if sign else magnitude, mode[:2]))
            return encode(F32, sign, Fraction(whole))

        w.op(f"cvt.{mode}.f32.f32 $d0, $s0;", "b32", ["b32"], integral, float_inputs(w, F32, 30))
    # The low 13 bits of a tf32 are zero, also of the canonical NaN. .rna keeps the bits of a NaN.
    for mode in ["rna", "rn", "rz"]:

        def tf32(x, mode=mode):
            code = convert(TF32, decode(F32, x), mode)
            return x & ~0x1FFF if mode == "rna" and code == TF32.nan else code << 13

        w.op(f"cvt.{mode}.tf32.f32 $d0, $s0;", "b32", ["b32"], tf32, wide_inputs(w, F32), target=90)


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream, 40)
        for part in (between_integers, to_and_from_integers, between_floats, narrow):
            part(w)


if __name__ == "__main__":
    main()
