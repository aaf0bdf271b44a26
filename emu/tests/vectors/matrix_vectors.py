#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mma.sync of all kinds, ldmatrix, stmatrix, movmatrix: whole warps with exact answers."""

import sys
from fractions import Fraction

from exact import BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, TF32, decode, encode, encode_value
from forms import Writer
from matrix_forms import fragments
from matrix_model import (
    accumulator_places,
    accumulator_term,
    fragment,
    hardware_sum,
    product_terms,
    signed,
    to_f32_toward_zero,
    unpacked_sum,
)

ROWS, COLUMNS = 16, 8


class Shape:
    """Containers of `bits` along K; `shift` is where a code lies in its container."""

    def __init__(self, k, bits):
        self.k, self.bits = k, bits
        self.a_registers = ROWS * k * bits // 1024
        self.b_registers = COLUMNS * k * bits // 1024
        self.a_places = fragment(bits, self.a_registers, True)
        self.b_places = fragment(bits, self.b_registers, False)

    def words(self, places, registers, matrix, shift, noise):
        """Registers of each lane; bits beside a code are noise, which must not matter."""
        result = [[0] * registers for _ in range(32)]
        for (lane, register, element), (row, k) in places.items():
            code, width = matrix[row][k]
            container = code << shift | noise(self.bits, width, shift)
            result[lane][register] |= container << self.bits * element
        return result


def registers(letter, count, first, kind="s"):
    return "{" + ", ".join(f"${kind}{first + i}" for i in range(count)) + "}"


def instruction(opcode, shape, accumulators, tail=""):
    a, b = shape.a_registers, shape.b_registers
    parts = [
        registers("d", accumulators, 0, "d"),
        registers("a", a, 0),
        registers("b", b, a),
        registers("c", accumulators, a + b),
    ]
    return f"{opcode} {', '.join(parts)}{tail};"


def random_code(w, fmt, narrow):
    """Zeros, subnormals, all exponents, or (narrow) exponents close to each other."""
    choice = w.random.random()
    sign = w.random.getrandbits(1) * fmt.sign_bit
    if choice < 0.1:
        return sign
    if narrow and fmt.exponent_bits > 4:
        exponent = fmt.bias + w.random.randrange(-6, 7)
        return sign | exponent << fmt.mantissa_bits | w.random.getrandbits(fmt.mantissa_bits)
    return sign | w.random.randrange(fmt.largest + 1)


def random_accumulator(w, narrow):
    if w.random.random() < 0.15:
        return 0
    exponent = w.random.randrange(-8, 12) if narrow else w.random.randrange(-60, 60)
    magnitude = Fraction(w.random.getrandbits(23) | 1 << 23, 2**23) * Fraction(2) ** exponent
    return encode(F32, w.random.getrandbits(1), magnitude)


def random_matrix(w, rows, k, make, width):
    return [[(make(), width) for _ in range(k)] for _ in range(rows)]


def codes(row):
    return [code for code, _ in row]


def noise_of(w):
    """Random bits of a container outside a code of `width` bits at `shift`."""

    def noise(bits, width, shift):
        inside = ((1 << width) - 1) << shift
        return w.random.getrandbits(bits) & ~inside & ((1 << bits) - 1)

    return noise


def add_cases(cases, shape, a_words, b_words, c_words, d_words, extra=None):
    for lane in range(32):
        inputs = a_words[lane] + b_words[lane] + c_words[lane]
        cases.append((inputs + (extra[lane] if extra else []), d_words[lane]))


def accumulator_words(matrix):
    places = accumulator_places()
    return [[matrix[places[lane, i]] for i in range(4)] for lane in range(32)]


def pairs(words):
    return [[x[0] | x[1] << 16, x[2] | x[3] << 16] for x in words]


def outputs(c, compute):
    return {place: compute(place[0], place[1], c[place]) for place in c}


def floating(
    w, name, opcode, shape, a_type, b_type, f16=False, target=80, warps=3, device=None, fraction=25
):
    (a_format, a_shift), (b_format, b_shift) = a_type, b_type
    cases = []
    for warp in range(warps):
        narrow = warp > 0
        a = random_matrix(
            w, ROWS, shape.k, lambda n=narrow: random_code(w, a_format, n), a_format.width
        )
        b = random_matrix(
            w, COLUMNS, shape.k, lambda n=narrow: random_code(w, b_format, n), b_format.width
        )
        c = {}
        for place in accumulator_places().values():
            c[place] = random_code(w, F16, True) if f16 else random_accumulator(w, narrow)

        def compute(row, column, start, a=a, b=b):
            if device == 90:
                return unpacked_sum(a_format, b_format, codes(a[row]), codes(b[column]), start)
            terms = product_terms(a_format, b_format, codes(a[row]), codes(b[column]))
            terms.append(accumulator_term(start, F16 if f16 else F32))
            total = hardware_sum(terms, fraction)
            if f16:
                return encode_value(F16, total)
            return to_f32_toward_zero(total, min(fraction, 23))

        c_words = accumulator_words(c)
        d_words = accumulator_words(outputs(c, compute))
        if f16:
            c_words, d_words = pairs(c_words), pairs(d_words)
        a_words = shape.words(shape.a_places, shape.a_registers, a, a_shift, noise_of(w))
        b_words = shape.words(shape.b_places, shape.b_registers, b, b_shift, noise_of(w))
        add_cases(cases, shape, a_words, b_words, c_words, d_words)
    count = 2 if f16 else 4
    ins = ["b32"] * (shape.a_registers + shape.b_registers + count)
    code = instruction(opcode, shape, count)
    w.form(name, code, ["b32"] * count, ins, cases, target, device=device)


def integers(w, k, a_kind, b_kind, satfinite):
    shape = Shape(k, 8)

    def number(code, kind):
        return code - 256 if kind == "s8" and code > 127 else code

    cases = []
    for warp in range(3):
        edge = [0x80, 0xFF, 0x7F] if warp == 0 else range(256)
        a = random_matrix(w, ROWS, k, lambda e=edge: w.random.choice(e), 8)
        b = random_matrix(w, COLUMNS, k, lambda e=edge: w.random.choice(e), 8)
        limit = [0x7FFFFF00, 0x80000100, 0] if warp < 2 else [w.random.getrandbits(32)]
        c = {place: w.random.choice(limit) for place in accumulator_places().values()}

        def compute(row, column, start, a=a, b=b):
            total = start - 2**32 if start >> 31 else start
            for x, y in zip(codes(a[row]), codes(b[column]), strict=True):
                total += number(x, a_kind) * number(y, b_kind)
            if satfinite:
                total = max(-(2**31), min(2**31 - 1, total))
            return total % 2**32

        a_words = shape.words(shape.a_places, shape.a_registers, a, 0, noise_of(w))
        b_words = shape.words(shape.b_places, shape.b_registers, b, 0, noise_of(w))
        add_cases(
            cases,
            shape,
            a_words,
            b_words,
            accumulator_words(c),
            accumulator_words(outputs(c, compute)),
        )
    suffix = ".satfinite" if satfinite else ""
    opcode = f"mma.sync.aligned.m16n8k{k}.row.col{suffix}.s32.{a_kind}.{b_kind}.s32"
    ins = ["b32"] * (shape.a_registers + shape.b_registers + 4)
    w.form(opcode, instruction(opcode, shape, 4), ["b32"] * 4, ins, cases)


def wide_types(w):
    for name, fmt in [("f16", F16), ("bf16", BF16)]:
        for k in (8, 16):
            opcode = f"mma.sync.aligned.m16n8k{k}.row.col.f32.{name}.{name}.f32"
            floating(w, opcode, opcode, Shape(k, 16), (fmt, 0), (fmt, 0))
    for k in (8, 16):
        opcode = f"mma.sync.aligned.m16n8k{k}.row.col.f16.f16.f16.f16"
        floating(w, opcode, opcode, Shape(k, 16), (F16, 0), (F16, 0), f16=True)
    for k in (4, 8):
        opcode = f"mma.sync.aligned.m16n8k{k}.row.col.f32.tf32.tf32.f32"
        floating(w, opcode, opcode, Shape(k, 32), (TF32, 13), (TF32, 13))


NARROW = {
    "e4m3": (E4M3, 0),
    "e5m2": (E5M2, 0),
    "e2m3": (E2M3, 0),
    "e3m2": (E3M2, 0),
    "e2m1": (E2M1, 2),
}


def narrow_types(w):
    for a, b in [("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e5m2", "e5m2")]:
        # Three kinds of devices: with 13 fraction bits, without such multipliers, with 25.
        for device, fraction in ((89, 13), (90, 25), (120, 25)):
            opcode = f"mma.sync.aligned.m16n8k32.row.col.f32.{a}.{b}.f32"
            name = f"{opcode}/{device}"
            types = NARROW[a], NARROW[b]
            floating(
                w, name, opcode, Shape(32, 8), *types, target=89, device=device, fraction=fraction
            )
    for a, b in [
        ("e4m3", "e2m1"),
        ("e2m1", "e5m2"),
        ("e2m3", "e3m2"),
        ("e3m2", "e2m1"),
        ("e2m1", "e2m1"),
    ]:
        opcode = f"mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.{a}.{b}.f32"
        floating(w, opcode, opcode, Shape(32, 8), NARROW[a], NARROW[b], target=120)


def scale_words(w, count, make):
    """Random words of four scales for `count` rows or columns."""
    return [[make() for _ in range(4)] for _ in range(count)]


def word(scales):
    return sum(x << 8 * i for i, x in enumerate(scales))


def scale_registers(w, a_scales, b_scales, a_thread, b_thread):
    """Every lane's two scale words; lanes that are not looked at hold noise."""
    lanes = [[w.random.getrandbits(32), w.random.getrandbits(32)] for _ in range(32)]
    for row, scales in enumerate(a_scales):
        lanes[4 * (row % 8) + 2 * a_thread + row // 8][0] = word(scales)
    for column, scales in enumerate(b_scales):
        lanes[4 * column + b_thread][1] = word(scales)
    return lanes


def block_scaled(w, kind, vector, a_type, b_type, ue4m3, selectors, warps=2):
    """`vector`: scales along K, 1, 2 or 4. `selectors`: byteA, threadA, byteB, threadB."""
    packed = kind != "mxf8f6f4"
    shape = Shape(64, 4) if packed else Shape(32, 8)
    a_format, a_shift = NARROW[a_type]
    b_format, b_shift = NARROW[b_type]
    if packed:
        a_shift = b_shift = 0
    a_byte, a_thread, b_byte, b_thread = selectors
    cases = []
    for warp in range(warps):
        a = random_matrix(w, ROWS, shape.k, lambda: random_code(w, a_format, False), a_format.width)
        b = random_matrix(
            w, COLUMNS, shape.k, lambda: random_code(w, b_format, False), b_format.width
        )
        c = {p: random_accumulator(w, warp > 0) for p in accumulator_places().values()}

        def scale():
            return w.random.randrange(0x7F) if ue4m3 else w.random.randrange(120, 135)

        a_scales, b_scales = scale_words(w, ROWS, scale), scale_words(w, COLUMNS, scale)

        def compute(row, column, start, a=a, b=b, a_scales=a_scales, b_scales=b_scales):
            x, y = codes(a[row]), codes(b[column])
            sa, sb = a_scales[row][a_byte:], b_scales[column][b_byte:]
            if packed:
                terms = group_terms(x, y, sa, sb, vector, ue4m3)
            else:
                terms = product_terms(a_format, b_format, x, y, sa[0] + sb[0] - 254)
            terms.append(accumulator_term(start))
            return to_f32_toward_zero(hardware_sum(terms, 35 if packed else 25))

        a_words = shape.words(shape.a_places, shape.a_registers, a, a_shift, noise_of(w))
        b_words = shape.words(shape.b_places, shape.b_registers, b, b_shift, noise_of(w))
        add_cases(
            cases,
            shape,
            a_words,
            b_words,
            accumulator_words(c),
            accumulator_words(outputs(c, compute)),
            scale_registers(w, a_scales, b_scales, a_thread, b_thread),
        )
    scale_name = "ue4m3" if ue4m3 else "ue8m0"
    opcode = (
        f"mma.sync.aligned.kind::{kind}.block_scale.scale_vec::{vector}X.m16n8k{shape.k}"
        f".row.col.f32.{a_type}.{b_type}.f32.{scale_name}"
    )
    first = shape.a_registers + shape.b_registers + 4
    tail = f", $s{first}, {{{a_byte}, {a_thread}}}, $s{first + 1}, {{{b_byte}, {b_thread}}}"
    name = f"{opcode}/{a_byte}{a_thread}{b_byte}{b_thread}"
    w.form(
        name,
        instruction(opcode, shape, 4, tail),
        ["b32"] * 4,
        ["b32"] * (first + 2),
        cases,
        target=120,
    )


def scale_value(code, ue4m3):
    """The scale's value and the exponent by which it counts."""
    if not ue4m3:
        return Fraction(2) ** (code - 127), code - 127
    decoded = decode(E4M3, code & 0x7F)
    return decoded[2], max(code >> 3, 1) - 7


def group_terms(x, y, sa, sb, vector, ue4m3):
    """One term for each 16 of K; its exponent is that of the scales, whatever the sum is."""
    terms = []
    for group in range(4):
        total = Fraction(0)
        for k in range(16 * group, 16 * group + 16):
            total += signed(decode(E2M1, x[k])) * signed(decode(E2M1, y[k]))
        a, a_exponent = scale_value(sa[group * vector // 4], ue4m3)
        b, b_exponent = scale_value(sb[group * vector // 4], ue4m3)
        terms.append((total * a * b, a_exponent + b_exponent))
    return terms


def scaled_types(w):
    for a, b in [("e4m3", "e4m3"), ("e4m3", "e2m1"), ("e5m2", "e2m3"), ("e3m2", "e2m1")]:
        block_scaled(w, "mxf8f6f4", 1, a, b, False, (0, 0, 0, 0))
    for selectors in [(1, 1, 2, 3), (3, 0, 1, 1), (2, 1, 3, 2)]:
        block_scaled(w, "mxf8f6f4", 1, "e4m3", "e2m1", False, selectors)
    block_scaled(w, "mxf4", 2, "e2m1", "e2m1", False, (0, 0, 0, 0))
    for selectors in [(0, 0, 0, 0), (2, 1, 0, 3), (0, 1, 2, 2)]:
        block_scaled(w, "mxf4nvf4", 2, "e2m1", "e2m1", False, selectors)
    for selectors in [(0, 0, 0, 0), (0, 1, 0, 3)]:
        block_scaled(w, "mxf4nvf4", 4, "e2m1", "e2m1", True, selectors)


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream, 50)
        wide_types(w)
        narrow_types(w)
        for k in (16, 32):
            for a in ("s8", "u8"):
                for b in ("s8", "u8"):
                    for satfinite in (False, True):
                        integers(w, k, a, b, satfinite)
        scaled_types(w)
        fragments(w)


if __name__ == "__main__":
    main()
