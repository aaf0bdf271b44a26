#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Floating-point arithmetic and comparison: vectors from fractions, rounded once."""

import sys

from exact import BF16, F16, F32, F64, decode
from float_model import (
    MODES,
    ONE,
    add,
    div,
    doubled,
    extreme,
    finite,
    flush,
    in_halves,
    mul,
    order,
    product,
    rows,
    saturate,
    sqrt,
    with_modifiers,
)
from forms import Writer


def f32(w):
    for mode in MODES:
        for ftz in (False, True):
            for sat in (False, True):
                if mode != "rn" and ftz and sat:
                    continue
                suffix = f".{mode}{'.ftz' if ftz else ''}{'.sat' if sat else ''}.f32"
                for name, function in [
                    ("add", lambda x, y, m=mode: add(F32, x, y, m)),
                    ("mul", lambda x, y, m=mode: mul(F32, x, y, m)),
                ]:
                    w.op(
                        f"{name}{suffix} $d0, $s0, $s1;",
                        "b32",
                        ["b32"] * 2,
                        with_modifiers(function, ftz, sat),
                        rows(w, F32, 2),
                    )
                w.op(
                    f"sub{suffix} $d0, $s0, $s1;",
                    "b32",
                    ["b32"] * 2,
                    with_modifiers(
                        lambda x, y, m=mode: add(F32, x, (y[0], 1 - y[1], y[2]), m), ftz, sat
                    ),
                    rows(w, F32, 2),
                )
                w.op(
                    f"fma{suffix} $d0, $s0, $s1, $s2;",
                    "b32",
                    ["b32"] * 3,
                    with_modifiers(lambda x, y, z, m=mode: add(F32, product(x, y), z, m), ftz, sat),
                    rows(w, F32, 3, 128),
                )
            suffix = f".{mode}{'.ftz' if ftz else ''}.f32"
            w.op(
                f"div{suffix} $d0, $s0, $s1;",
                "b32",
                ["b32"] * 2,
                with_modifiers(lambda x, y, m=mode: div(F32, x, y, m), ftz, False),
                rows(w, F32, 2),
            )
            w.op(
                f"rcp{suffix} $d0, $s0;",
                "b32",
                ["b32"],
                with_modifiers(lambda x, m=mode: div(F32, ONE, x, m), ftz, False),
                rows(w, F32, 1),
            )
            w.op(
                f"sqrt{suffix} $d0, $s0;",
                "b32",
                ["b32"],
                with_modifiers(lambda x, m=mode: sqrt(F32, x, m), ftz, False),
                rows(w, F32, 1),
            )
    for name, function in [("add", add), ("mul", mul)]:  # without a rounding mode: .rn
        w.op(
            f"{name}.f32 $d0, $s0, $s1;",
            "b32",
            ["b32"] * 2,
            with_modifiers(lambda x, y, f=function: f(F32, x, y, "rn"), False, False),
            rows(w, F32, 2),
        )


def extremes_and_signs(w):
    for name, largest in [("min", False), ("max", True)]:
        for ftz in ["", ".ftz"]:
            for nan in ["", ".NaN"]:
                w.op(
                    f"{name}{ftz}{nan}.f32 $d0, $s0, $s1;",
                    "b32",
                    ["b32"] * 2,
                    extreme(F32, largest, nan != "", ftz != ""),
                    rows(w, F32, 2),
                )
        for fmt, suffix in [(F16, "f16"), (BF16, "bf16")]:
            for nan in ["", ".NaN"]:
                run = extreme(fmt, largest, nan != "")
                w.op(
                    f"{name}{nan}.{suffix} $d0, $s0, $s1;", "b16", ["b16"] * 2, run, rows(w, fmt, 2)
                )
                w.op(
                    f"{name}{nan}.{suffix}x2 $d0, $s0, $s1;",
                    "b32",
                    ["b32"] * 2,
                    in_halves(run),
                    doubled(w, rows(w, fmt, 2)),
                )
    for name, function in [("abs", lambda a: a & 0x7FFFFFFF), ("neg", lambda a: a ^ 1 << 31)]:
        # What happens to the sign of a NaN is not promised.
        numbers = [r for r in rows(w, F32, 1) if decode(F32, r[0])[0] != "nan"]
        w.op(f"{name}.f32 $d0, $s0;", "b32", ["b32"], function, numbers)
        w.op(
            f"{name}.ftz.f32 $d0, $s0;", "b32", ["b32"], lambda a, f=function: f(flush(a)), numbers
        )
    w.op(
        "copysign.f32 $d0, $s0, $s1;",
        "b32",
        ["b32"] * 2,
        lambda a, b: b & 0x7FFFFFFF | a & 1 << 31,
        rows(w, F32, 2),
    )


def halves(w):
    for fmt, suffix in [(F16, "f16"), (BF16, "bf16")]:

        def binary(function, fmt=fmt):
            return lambda a, b: function(fmt, decode(fmt, a), decode(fmt, b), "rn")

        def subtract(f, x, y, m):
            return add(f, x, (y[0], 1 - y[1], y[2]), m)

        def fused(a, b, c, fmt=fmt):
            return add(fmt, product(decode(fmt, a), decode(fmt, b)), decode(fmt, c), "rn")

        def relu(a, b, c, fmt=fmt, fused=fused):
            code = fused(a, b, c)
            return 0 if code & fmt.sign_bit else code

        for name, function in [("add", add), ("sub", subtract), ("mul", mul)]:
            run = binary(function)
            w.op(
                f"{name}.rn.{suffix} $d0, $s0, $s1;",
                "b16",
                ["b16"] * 2,
                run,
                rows(w, fmt, 2),
                target=90,
            )
            w.op(
                f"{name}.rn.{suffix}x2 $d0, $s0, $s1;",
                "b32",
                ["b32"] * 2,
                in_halves(run),
                doubled(w, rows(w, fmt, 2)),
                target=90,
            )
        for modifier, run in [("", fused), (".relu", relu)]:
            w.op(
                f"fma.rn{modifier}.{suffix} $d0, $s0, $s1, $s2;",
                "b16",
                ["b16"] * 3,
                run,
                rows(w, fmt, 3, 128),
            )
            w.op(
                f"fma.rn{modifier}.{suffix}x2 $d0, $s0, $s1, $s2;",
                "b32",
                ["b32"] * 3,
                in_halves(run),
                doubled(w, rows(w, fmt, 3, 128)),
            )
    run = with_f16_saturation()
    w.op("add.rn.sat.f16 $d0, $s0, $s1;", "b16", ["b16"] * 2, run, rows(w, F16, 2))


def with_f16_saturation():
    return lambda a, b: saturate(add(F16, decode(F16, a), decode(F16, b), "rn"), F16)


def doubles(w):
    def numbers(count):
        return [r for r in rows(w, F64, count) if all(finite(F64, x) for x in r)]

    for mode in MODES:
        w.op(
            f"add.{mode}.f64 $d0, $s0, $s1;",
            "b64",
            ["b64"] * 2,
            lambda a, b, m=mode: add(F64, decode(F64, a), decode(F64, b), m),
            numbers(2),
        )
        w.op(
            f"mul.{mode}.f64 $d0, $s0, $s1;",
            "b64",
            ["b64"] * 2,
            lambda a, b, m=mode: mul(F64, decode(F64, a), decode(F64, b), m),
            numbers(2),
        )
        w.op(
            f"fma.{mode}.f64 $d0, $s0, $s1, $s2;",
            "b64",
            ["b64"] * 3,
            lambda a, b, c, m=mode: add(
                F64, product(decode(F64, a), decode(F64, b)), decode(F64, c), m
            ),
            numbers(3),
        )
        nonzero = [r for r in numbers(2) if decode(F64, r[1])[2] != 0]
        w.op(
            f"div.{mode}.f64 $d0, $s0, $s1;",
            "b64",
            ["b64"] * 2,
            lambda a, b, m=mode: div(F64, decode(F64, a), decode(F64, b), m),
            nonzero,
        )
        positive = [r for r in numbers(1) if not decode(F64, r[0])[1]]
        w.op(
            f"sqrt.{mode}.f64 $d0, $s0;",
            "b64",
            ["b64"],
            lambda a, m=mode: sqrt(F64, decode(F64, a), m),
            positive,
        )


def comparisons(w):
    ordered = {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    for fmt, suffix, target in [
        (F32, "f32", 80),
        (F64, "f64", 80),
        (F16, "f16", 80),
        (BF16, "bf16", 90),
    ]:
        reg = f"b{fmt.width}"
        inputs = rows(w, fmt, 2, 20)
        names = [(n, False) for n in ordered] + [(n + "u", True) for n in ordered]
        for name, unordered in names:

            def test(a, b, name=name, unordered=unordered, fmt=fmt):
                x, y = decode(fmt, a), decode(fmt, b)
                if "nan" in (x[0], y[0]):
                    return int(unordered)
                return int(ordered[name[:2]](order(x)[0], order(y)[0]))

            w.op(
                f"setp.{name}.{suffix} $d0, $s0, $s1;",
                "pred",
                [reg] * 2,
                test,
                inputs,
                target=target,
            )
        for name, wanted in [("num", 0), ("nan", 1)]:
            w.op(
                f"setp.{name}.{suffix} $d0, $s0, $s1;",
                "pred",
                [reg] * 2,
                lambda a, b, wanted=wanted, fmt=fmt: int(
                    int("nan" in (decode(fmt, a)[0], decode(fmt, b)[0])) == wanted
                ),
                inputs,
                target=target,
            )
    w.op(
        "setp.eq.ftz.f32 $d0, $s0, $s1;",
        "pred",
        ["b32"] * 2,
        lambda a, b: int(
            all(decode(F32, x)[0] != "nan" for x in (a, b))
            and order(decode(F32, flush(a)))[0] == order(decode(F32, flush(b)))[0]
        ),
        rows(w, F32, 2),
    )


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream, 30)
        for part in (f32, extremes_and_signs, halves, doubles, comparisons):
            part(w)


if __name__ == "__main__":
    main()
