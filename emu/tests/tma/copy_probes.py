#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies that ask a GPU what it refuses: coordinates, and places in shared memory, near every rule
that might be. They are no golden data; what comes out is written into the emulator by hand."""

import sys

from copy_vectors import BF16, F16, F32, F64, LOAD, STORE, U8, U32, Writer, box_row

WIDTH = {U8: 176, F16: 88, F32: 44, F64: 22}


def inner_coordinates(w):
    """Dimension 0 only, with each size of an element."""
    rows = {
        U8: [
            -64,
            -48,
            -32,
            -17,
            -16,
            -15,
            -8,
            -4,
            -3,
            -2,
            -1,
            1,
            2,
            3,
            4,
            8,
            12,
            15,
            16,
            24,
            112,
            120,
            128,
            160,
        ],
        F16: [-16, -8, -7, -4, -3, -2, -1, 1, 2, 3, 4, 7, 8, 12, 60, 64],
        F32: [-8, -4, -3, -2, -1, 1, 2, 3, 4, 6, 8, 30, 32],
        F64: [-4, -2, -1, 1, 2, 3, 4, 15, 16],
    }
    for type_, places in rows.items():
        for x in places:
            w.both(
                f"inner {x} of type {type_}",
                type_,
                [WIDTH[type_], 21],
                [box_row(type_, 0), 9],
                [x, 5],
                pad=16,
            )


def outer_coordinates(w):
    for y in (-9, -8, -3, -2, -1, 1, 15, 20, 21):
        w.both(f"outer {y}", U8, [176, 21], [64, 9], [0, y], pad=16)
    for z in (-2, -1, 1, 2):
        w.both(f"third {z}", F32, [44, 21, 2], [16, 5, 2], [0, 3, z], pad=16)
    w.both("corner", U8, [176, 21], [64, 9], [-16, -2], pad=16)


def swizzled(w):
    for mode in (1, 2, 3):
        columns = box_row(F16, mode)
        for x in (-8, -3, 4, 8):
            w.both(
                f"swizzle {mode} inner {x}",
                F16,
                [2 * columns + 24, 21],
                [columns, 9],
                [x, 5],
                swizzle=mode,
                pad=16,
            )


def one_dimension(w):
    for x in (-17, -16, 8, 16):
        w.both(f"1d {x}", U8, [4000], [256], [x])


def far_outside(w):
    for x in (-(2**31), -(2**30), -(2**30) + 4, 40, 44, 48, 2**30, 2**31 - 4, 2**31 - 1):
        w.both(f"far {x}", F32, [40, 20], [16, 8], [x, 3])


def steps(w):
    for x in (-4, -1, 3, 4):
        w.both(f"steps inner {x}", F32, [44, 20], [16, 9], [x, 2], steps=[1, 3], open=True)
    w.both("steps of dimension 0", U32, [64, 20], [16, 9], [4, 2], steps=[4, 3], open=True)


def places_in_shared_memory(w):
    for mode in range(4):
        for offset in (1024, 1024 + 16, 1024 + 32, 1024 + 64, 1024 + 128):
            w.both(
                f"shared {offset} swizzle {mode}",
                BF16,
                [88, 21],
                [16, 9],
                [8, 5],
                swizzle=mode,
                offset=offset,
            )


def other(w):
    w.copy("largest inner", LOAD, F32, [44, 21], [16, 9], [-16, 0], pad=16)
    w.copy("largest inner", STORE, F32, [44, 21], [16, 9], [-16, 0], pad=16)


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream)
        for part in (
            inner_coordinates,
            outer_coordinates,
            swizzled,
            one_dimension,
            far_outside,
            steps,
            places_in_shared_memory,
            other,
        ):
            part(w)


if __name__ == "__main__":
    main()
