#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Integer arithmetic, logic, bit fields, comparison, moves: vectors from Python's own integers."""

import sys

from forms import Writer, grid

EDGES = {
    16: [0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x1234, 0xFF00],
    32: [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678, 0xFFFF0000, 31],
    64: [0, 1, 2**63 - 1, 2**63, 2**64 - 1, 0x123456789ABCDEF0, 0xFFFFFFFF00000000],
}


def ones(width):
    return 2**width - 1


def signed(x, width):
    return x - 2**width if x >> (width - 1) else x


def number(x, kind):
    """The value of a register of type s32, u16, b64 and so on."""
    width = int(kind[1:])
    return signed(x, width) if kind[0] == "s" else x


def pairs(w, width, extra=40):
    edges = EDGES[width]
    rows = grid(edges, edges)
    return rows + [(w.random.getrandbits(width), w.random.getrandbits(width)) for _ in range(extra)]


def triples(w, widths, count=96):
    rows = []
    for _ in range(count):
        rows.append(
            tuple(
                w.random.choice(EDGES[x]) if w.random.random() < 0.4 else w.random.getrandbits(x)
                for x in widths
            )
        )
    return rows


def truncated_quotient(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def arithmetic(w):
    for kind in ["s16", "u16", "s32", "u32", "s64", "u64"]:
        width = int(kind[1:])
        reg = f"b{width}"
        mask = ones(width)

        def binary(opcode, function, kind=kind, width=width, reg=reg, mask=mask, rows=None):
            def expected(left, right, kind=kind, mask=mask, function=function):
                return function(number(left, kind), number(right, kind)) & mask

            code = f"{opcode}.{kind} $d0, $s0, $s1;"
            w.op(code, reg, [reg, reg], expected, rows or pairs(w, width))

        binary("add", lambda a, b: a + b)
        binary("sub", lambda a, b: a - b)
        binary("mul.lo", lambda a, b: a * b)
        binary("mul.hi", lambda a, b, width=width: (a * b) >> width)
        binary("min", min)
        binary("max", max)
        nonzero = [(a, b) for a, b in pairs(w, width) if b]
        binary("div", truncated_quotient, rows=nonzero)
        binary("rem", lambda a, b: a - b * truncated_quotient(a, b), rows=nonzero)
        for part in ["lo", "hi"]:

            def mad(a, b, c, kind=kind, width=width, mask=mask, part=part):
                product = number(a, kind) * number(b, kind)
                return ((product >> (width if part == "hi" else 0)) + c) & mask

            w.op(
                f"mad.{part}.{kind} $d0, $s0, $s1, $s2;",
                reg,
                [reg] * 3,
                mad,
                triples(w, [width] * 3),
            )
        if width < 64:
            wide = f"b{2 * width}"
            w.op(
                f"mul.wide.{kind} $d0, $s0, $s1;",
                wide,
                [reg, reg],
                lambda a, b, kind=kind, width=width: (
                    number(a, kind) * number(b, kind) & ones(2 * width)
                ),
                pairs(w, width),
            )
            w.op(
                f"mad.wide.{kind} $d0, $s0, $s1, $s2;",
                wide,
                [reg, reg, wide],
                lambda a, b, c, kind=kind, width=width: (
                    (number(a, kind) * number(b, kind) + c) & ones(2 * width)
                ),
                triples(w, [width, width, 2 * width]),
            )
        w.op(
            f"sad.{kind} $d0, $s0, $s1, $s2;",
            reg,
            [reg] * 3,
            lambda a, b, c, kind=kind, mask=mask: (
                (c + abs(number(a, kind) - number(b, kind))) & mask
            ),
            triples(w, [width] * 3),
        )
        if kind[0] == "s":
            single = [(x,) for x in EDGES[width]] + [
                (w.random.getrandbits(width),) for _ in range(25)
            ]
            w.op(
                f"neg.{kind} $d0, $s0;",
                reg,
                [reg],
                lambda a, kind=kind, mask=mask: -number(a, kind) & mask,
                single,
            )
            w.op(
                f"abs.{kind} $d0, $s0;",
                reg,
                [reg],
                lambda a, kind=kind, mask=mask: abs(number(a, kind)) & mask,
                single,
            )


def saturating_and_packed(w):
    def clamp(x):
        return max(-(2**31), min(2**31 - 1, x)) & ones(32)

    for opcode, sign in [("add", 1), ("sub", -1)]:
        w.op(
            f"{opcode}.sat.s32 $d0, $s0, $s1;",
            "b32",
            ["b32", "b32"],
            lambda a, b, sign=sign: clamp(signed(a, 32) + sign * signed(b, 32)),
            pairs(w, 32),
        )
    w.op(
        "mad.hi.sat.s32 $d0, $s0, $s1, $s2;",
        "b32",
        ["b32"] * 3,
        lambda a, b, c: clamp((signed(a, 32) * signed(b, 32) >> 32) + signed(c, 32)),
        triples(w, [32] * 3),
    )
    for kind in ["s16", "u16"]:
        for opcode, function in [("add", lambda a, b: a + b), ("min", min), ("max", max)]:

            def packed(a, b, kind=kind, function=function):
                halves = [
                    function(number(a >> s & 0xFFFF, kind), number(b >> s & 0xFFFF, kind)) & 0xFFFF
                    for s in (0, 16)
                ]
                return halves[0] | halves[1] << 16

            w.op(
                f"{opcode}.{kind}x2 $d0, $s0, $s1;",
                "b32",
                ["b32", "b32"],
                packed,
                pairs(w, 32),
                target=90,
            )


def bytes_of(x):
    return [x >> 8 * i & 0xFF for i in range(4)]


def dots(w):
    for ta in ["s32", "u32"]:
        for tb in ["s32", "u32"]:

            def dp4a(a, b, c, ta=ta, tb=tb):
                total = c
                for x, y in zip(bytes_of(a), bytes_of(b), strict=True):
                    total += number(x, ta[0] + "8") * number(y, tb[0] + "8")
                return total & ones(32)

            w.op(
                f"dp4a.{ta}.{tb} $d0, $s0, $s1, $s2;",
                "b32",
                ["b32"] * 3,
                dp4a,
                triples(w, [32] * 3),
            )
            for half in ["lo", "hi"]:

                def dp2a(a, b, c, ta=ta, tb=tb, half=half):
                    parts = bytes_of(b)[0:2] if half == "lo" else bytes_of(b)[2:4]
                    total = c
                    for x, y in zip([a & 0xFFFF, a >> 16], parts, strict=True):
                        total += number(x, ta[0] + "16") * number(y, tb[0] + "8")
                    return total & ones(32)

                w.op(
                    f"dp2a.{half}.{ta}.{tb} $d0, $s0, $s1, $s2;",
                    "b32",
                    ["b32"] * 3,
                    dp2a,
                    triples(w, [32] * 3),
                )


def carries(w):
    # Two words as one number: the only use of the carry flag.
    for kind in ["u32", "u64"]:
        width = int(kind[1:])
        reg = f"b{width}"
        mask = ones(width)
        rows = triples(w, [width] * 4)
        for opcode, sign in [("add", 1), ("sub", -1)]:

            def both(a0, a1, b0, b1, sign=sign, width=width, mask=mask):
                total = (a0 | a1 << width) + sign * (b0 | b1 << width)
                low, high = total & mask, total >> width & mask
                # Subtraction carries where it does not borrow.
                return [low, high, (total >> 2 * width & 1) ^ int(sign < 0)]

            code = f"""{opcode}.cc.{kind} $d0, $s0, $s2;
                       {opcode}c.cc.{kind} $d1, $s1, $s3;
                       addc.u32 $d2, 0, 0;"""
            w.form(
                f"{opcode}.cc.{kind}",
                code,
                [reg, reg, "b32"],
                [reg] * 4,
                [(row, both(*row)) for row in rows],
            )

        def product(a, b, c0, c1, width=width, mask=mask):
            total = a * b + (c0 | c1 << width)
            return [total & mask, total >> width & mask]

        code = f"""mad.lo.cc.{kind} $d0, $s0, $s1, $s2;
                   madc.hi.{kind} $d1, $s0, $s1, $s3;"""
        w.form(
            f"mad.cc.{kind}", code, [reg, reg], [reg] * 4, [(row, product(*row)) for row in rows]
        )


def comparisons(w):
    tests = {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    unsigned = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
    for kind in ["s16", "u16", "b16", "s32", "u32", "b32", "s64", "u64", "b64"]:
        width = int(kind[1:])
        reg = f"b{width}"
        names = list(tests)[:2] if kind[0] == "b" else list(tests)
        if kind[0] == "u":
            names += list(unsigned)
        for name in names:
            test = tests[unsigned.get(name, name)]
            w.op(
                f"setp.{name}.{kind} $d0, $s0, $s1;",
                "pred",
                [reg, reg],
                lambda a, b, kind=kind, test=test: int(test(number(a, kind), number(b, kind))),
                pairs(w, width, 15),
            )
    for combine, function in [
        ("and", lambda t, c: t & c),
        ("or", lambda t, c: t | c),
        ("xor", lambda t, c: t ^ c),
    ]:
        for negate in ["", "!"]:
            cases = []
            for a, b in pairs(w, 32):
                for c in (0, 1):
                    t = int(signed(a, 32) < signed(b, 32))
                    right = c ^ (1 if negate else 0)
                    cases.append(((a, b, c), [function(t, right), function(1 - t, right)]))
            w.form(
                f"setp.lt.{combine}.s32{negate}",
                f"setp.lt.{combine}.s32 $d0|$d1, $s0, $s1, {negate}$s2;",
                ["pred", "pred"],
                ["b32", "b32", "pred"],
                cases,
            )
    for result, yes in [("u32", ones(32)), ("s32", ones(32)), ("f32", 0x3F800000)]:
        w.op(
            f"set.gt.{result}.s32 $d0, $s0, $s1;",
            "b32",
            ["b32", "b32"],
            lambda a, b, yes=yes: yes if signed(a, 32) > signed(b, 32) else 0,
            pairs(w, 32),
        )
    for width in [16, 32, 64]:
        reg = f"b{width}"
        w.op(
            f"selp.b{width} $d0, $s0, $s1, $s2;",
            reg,
            [reg, reg, "pred"],
            lambda a, b, p: a if p else b,
            [(a, b, i % 2) for i, (a, b) in enumerate(pairs(w, width))],
        )
        w.op(
            f"slct.b{width}.s32 $d0, $s0, $s1, $s2;",
            reg,
            [reg, reg, "b32"],
            lambda a, b, c: a if signed(c, 32) >= 0 else b,
            triples(w, [width, width, 32]),
        )


def moves(w):
    w.form(
        "mov.pack.b32",
        "mov.b32 $d0, {$s0, $s1};",
        ["b32"],
        ["b16", "b16"],
        [((a, b), [a | b << 16]) for a, b in pairs(w, 16)],
    )
    w.form(
        "mov.unpack.b32",
        "mov.b32 {$d0, $d1}, $s0;",
        ["b16", "b16"],
        ["b32"],
        [((x,), [x & 0xFFFF, x >> 16]) for x, _ in pairs(w, 32)],
    )
    w.form(
        "mov.pack.b64",
        "mov.b64 $d0, {$s0, $s1};",
        ["b64"],
        ["b32", "b32"],
        [((a, b), [a | b << 32]) for a, b in pairs(w, 32)],
    )
    w.form(
        "mov.unpack.b64",
        "mov.b64 {$d0, $d1}, $s0;",
        ["b32", "b32"],
        ["b64"],
        [((x,), [x & ones(32), x >> 32]) for x, _ in pairs(w, 64)],
    )
    w.form(
        "mov.unpack4.b64",
        "mov.b64 {$d0, $d1, $d2, $d3}, $s0;",
        ["b16"] * 4,
        ["b64"],
        [((x,), [x >> s & 0xFFFF for s in (0, 16, 32, 48)]) for x, _ in pairs(w, 64)],
    )
    w.form(
        "mov.unpack.sink",
        "mov.b64 {_, $d0}, $s0;",
        ["b32"],
        ["b64"],
        [((x,), [x >> 32]) for x, _ in pairs(w, 64)],
    )
    w.form(
        "mov.swap",
        "mov.b64 {$d0, $d1}, $s0; mov.b64 $d2, {$d1, $d0};",
        ["b32", "b32", "b64"],
        ["b64"],
        [((x,), [x & ones(32), x >> 32, x >> 32 | (x & ones(32)) << 32]) for x, _ in pairs(w, 64)],
    )
    w.form(
        "mov.pred",
        ".reg .pred %p1; mov.pred %p1, $s0; not.pred $d0, %p1; mov.pred $d1, %p1;",
        ["pred", "pred"],
        ["pred"],
        [((i % 2,), [1 - i % 2, i % 2]) for i in range(32)],
    )


def main():
    from bit_forms import bit_fields, logic  # the other half of these vectors

    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream, 20)
        for part in (
            arithmetic,
            saturating_and_packed,
            dots,
            carries,
            comparisons,
            moves,
            logic,
            bit_fields,
        ):
            part(w)


if __name__ == "__main__":
    main()
