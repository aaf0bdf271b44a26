#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wgmma with both operands in shared memory, all swizzles, and with A in registers.

Each thread stores one 16-byte chunk of A and one of B where its inputs say; that place is worked
out here.
"""

import sys

from exact import BF16, E4M3, E5M2, F16, F32, TF32
from forms import Writer
from matrix_model import (
    accumulator_term,
    fragment,
    hardware_sum,
    product_terms,
    spread,
    to_f32_toward_zero,
)
from matrix_vectors import random_accumulator, random_code

THREADS, ROWS, COLUMNS, ROW_BYTES, CHUNK = 128, 64, 16, 32, 16
VALUES = COLUMNS // 2  # of D in a thread

# Descriptor's swizzle number: row pitch, and how far each address bit field is moved and masked.
SWIZZLES = {"none": (0, 16, 0), "128B": (1, 128, 7), "64B": (2, 64, 3), "32B": (3, 32, 1)}

CODE = """.shared .align 1024 .b8 buffer[12288];
.reg .b32 %base, %to;
.reg .b64 %wide, %adesc, %bdesc;
.reg .pred %yes;
mov.u32 %base, buffer;
add.u32 %to, %base, $s4;
st.shared.v4.b32 [%to], {$s0, $s1, $s2, $s3};
add.u32 %to, %base, $s9;
st.shared.v4.b32 [%to], {$s5, $s6, $s7, $s8};
fence.proxy.async.shared::cta;
bar.sync 0;
shr.u32 %to, %base, 4;
cvt.u64.u32 %wide, %to;
or.b64 %adesc, %wide, ADESC;
add.u64 %wide, %wide, BSTART;
or.b64 %bdesc, %wide, BDESC;
setp.ne.u32 %yes, $s10, 0;
MOVES
wgmma.fence.sync.aligned;
OPERATION
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
"""
B_START = 8192


def chunk_address(swizzle, rows, row, chunk):
    """Of 16 bytes of a row, within a matrix of so many rows."""
    _, pitch, mask = SWIZZLES[swizzle]
    if swizzle == "none":
        # Eight rows of 16 bytes lie together; the second chunk comes after all rows.
        return row * CHUNK + chunk * rows * CHUNK
    address = row * pitch + chunk * CHUNK
    return address ^ ((address // 128) & mask) * CHUNK


def descriptor(swizzle, rows):
    number, pitch, _ = SWIZZLES[swizzle]
    leading = rows * CHUNK if swizzle == "none" else 16
    stride = 8 * pitch
    return (leading // 16) << 16 | (stride // 16) << 32 | number << 62


def d_places():
    """(thread, value) -> (row, column)."""
    result = {}
    for thread in range(THREADS):
        for value in range(VALUES):
            a = spread(thread, [(4, 0, 2), (8, 1, 0), (4, 16, 0)])
            b = spread(value, [(2, 0, 1), (2, 8, 0), (COLUMNS // 8, 0, 8)])
            result[thread, value] = (a[0] + b[0], a[1] + b[1])
    return result


def chunk_words(row, bits, chunk):
    """Four words of a row of codes."""
    packed = sum(code << bits * i for i, code in enumerate(row))
    part = packed >> 8 * CHUNK * chunk
    return [part >> 32 * i & 0xFFFFFFFF for i in range(4)]


class Case:
    def __init__(self, w, make, k, integers):
        self.a = [[make[0]() for _ in range(k)] for _ in range(ROWS)]
        self.b = [[make[1]() for _ in range(k)] for _ in range(COLUMNS)]
        self.c = {
            place: w.random.getrandbits(31) if integers else random_accumulator(w, True)
            for place in d_places().values()
        }


def one_form(w, name, types, bits, make, compute, swizzle, tail, a_registers=False):
    k = ROW_BYTES * 8 // bits
    integers = types.startswith("s32")
    cases = []
    places = d_places()
    a_fragment = fragment(bits, 4, True)
    for accumulate in (0, 1):
        data = Case(w, make, k, integers)
        for thread in range(THREADS):
            row, chunk = thread // 2, thread % 2
            column = row % COLUMNS
            inputs = chunk_words(data.a[row], bits, chunk)
            if a_registers:  # the words are the fragment; what lies in memory does not matter
                words = [0] * 4
                for (lane, register, element), (r, kk) in a_fragment.items():
                    if lane == thread % 32:
                        code = data.a[thread // 32 * 16 + r][kk]
                        words[register] |= code << bits * element
                inputs = words
            inputs = [*inputs, chunk_address(swizzle, ROWS, row, chunk)]
            inputs += chunk_words(data.b[column], bits, chunk)
            inputs += [B_START + chunk_address(swizzle, COLUMNS, column, chunk), accumulate]
            inputs += [data.c[places[thread, v]] for v in range(VALUES)]
            outputs = []
            for v in range(VALUES):
                r, n = places[thread, v]
                start = data.c[r, n] if accumulate else 0
                outputs.append(compute(data.a[r], data.b[n], start))
            cases.append((inputs, outputs))
    outs = ", ".join(f"$d{v}" for v in range(VALUES))
    a_operand = "{$s0, $s1, $s2, $s3}" if a_registers else "%adesc"
    code = CODE.replace("ADESC", str(descriptor(swizzle, ROWS)))
    code = code.replace("BDESC", str(descriptor(swizzle, COLUMNS)))
    code = code.replace("BSTART", str(B_START // 16))
    code = code.replace("MOVES", "\n".join(f"mov.b32 $d{v}, $s{11 + v};" for v in range(VALUES)))
    operation = f"wgmma.mma_async.sync.aligned.m64n{COLUMNS}k{k}.{types}"
    code = code.replace("OPERATION", f"{operation} {{{outs}}}, {a_operand}, %bdesc, %yes{tail};")
    w.form(name, code, ["b32"] * VALUES, ["b32"] * (11 + VALUES), cases, 90, 4)


def floating(w, name, a_format, b_format, bits, shift, swizzle, tail, signs=(1, 1), **options):
    fraction = 13 if bits == 8 else 25

    def compute(a, b, start):
        a, b = [x >> shift for x in a], [x >> shift for x in b]
        a = [x ^ (a_format.sign_bit if signs[0] < 0 else 0) for x in a]
        b = [x ^ (b_format.sign_bit if signs[1] < 0 else 0) for x in b]
        terms = [*product_terms(a_format, b_format, a, b), accumulator_term(start, F32)]
        return to_f32_toward_zero(hardware_sum(terms, fraction), 13 if bits == 8 else 23)

    make = [lambda f=f: random_code(w, f, True) << shift for f in (a_format, b_format)]
    suffix = f"/{swizzle}/{signs[0]}{signs[1]}{'/registers' if options else ''}"
    one_form(w, f"wgmma.{name}{suffix}", name, bits, make, compute, swizzle, tail, **options)


def integers(w, a_kind, b_kind):
    def number(code, kind):
        return code - 256 if kind == "s8" and code > 127 else code

    def compute(a, b, start):
        total = start
        for x, y in zip(a, b, strict=True):
            total += number(x, a_kind) * number(y, b_kind)
        return total % 2**32

    make = [lambda: w.random.getrandbits(8)] * 2
    types = f"s32.{a_kind}.{b_kind}"
    one_form(w, f"wgmma.{types}", types, 8, make, compute, "128B", "")


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream, 70)
        for swizzle in SWIZZLES:
            floating(w, "f32.bf16.bf16", BF16, BF16, 16, 0, swizzle, ", 1, 1, 0, 0")
        floating(w, "f32.f16.f16", F16, F16, 16, 0, "64B", ", -1, 1, 0, 0", (-1, 1))
        floating(
            w, "f32.bf16.bf16", BF16, BF16, 16, 0, "128B", ", 1, -1, 0", (1, -1), a_registers=True
        )
        floating(w, "f32.tf32.tf32", TF32, TF32, 32, 13, "128B", ", 1, 1")
        floating(w, "f32.e4m3.e4m3", E4M3, E4M3, 8, 0, "128B", ", 1, 1")
        floating(w, "f32.e5m2.e4m3", E5M2, E4M3, 8, 0, "32B", ", 1, 1")
        integers(w, "s8", "s8")
        integers(w, "u8", "s8")


if __name__ == "__main__":
    main()
