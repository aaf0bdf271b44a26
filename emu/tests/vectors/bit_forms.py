# SPDX-License-Identifier: Apache-2.0
"""Logic, shifts and bit fields, bit by bit on Python's integers."""

from forms import grid


def ones(width):
    return 2**width - 1


EDGES = {
    16: [0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x1234],
    32: [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678, 0xFFFF0000],
    64: [0, 1, 2**63 - 1, 2**63, 2**64 - 1, 0x123456789ABCDEF0],
}
COUNTS = [0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0xFFFFFFFF]


def pairs(w, width, extra=30):
    random_rows = [(w.random.getrandbits(width), w.random.getrandbits(width)) for _ in range(extra)]
    return grid(EDGES[width], EDGES[width]) + random_rows


def singles(w, width):
    return [(x,) for x in EDGES[width]] + [
        (w.random.getrandbits(width) >> w.random.randrange(width),) for _ in range(58)
    ]


def bits(x, width):
    """Least significant first."""
    return [x >> i & 1 for i in range(width)]


def number(ones_and_zeros):
    return sum(bit << i for i, bit in enumerate(ones_and_zeros))


def logic(w):
    for width in [16, 32, 64]:
        reg = f"b{width}"
        for name, function in [
            ("and", lambda a, b: a & b),
            ("or", lambda a, b: a | b),
            ("xor", lambda a, b: a ^ b),
        ]:
            w.op(f"{name}.b{width} $d0, $s0, $s1;", reg, [reg, reg], function, pairs(w, width))
        w.op(
            f"not.b{width} $d0, $s0;",
            reg,
            [reg],
            lambda a, width=width: a ^ ones(width),
            singles(w, width),
        )
        w.op(f"cnot.b{width} $d0, $s0;", reg, [reg], lambda a: int(a == 0), singles(w, width))
        rows = [(a, n) for a, _ in pairs(w, width, 4)[::6] for n in COUNTS]
        w.op(
            f"shl.b{width} $d0, $s0, $s1;",
            reg,
            [reg, "b32"],
            lambda a, n, width=width: number(([0] * min(n, width) + bits(a, width))[:width]),
            rows,
        )
        for kind in "us":

            def shifted_right(a, n, width=width, kind=kind):
                top = a >> (width - 1) if kind == "s" else 0
                return number((bits(a, width) + [top] * width)[min(n, width) :][:width])

            w.op(f"shr.{kind}{width} $d0, $s0, $s1;", reg, [reg, "b32"], shifted_right, rows)
    for name, function in [
        ("and", lambda a, b: a & b),
        ("or", lambda a, b: a | b),
        ("xor", lambda a, b: a ^ b),
    ]:
        for negate in ["", "!"]:
            flip = 1 if negate else 0
            w.op(
                f"{name}.pred $d0, $s0, $s1;"
                if not flip
                else f"not.pred $d0, $s0; {name}.pred $d0, $d0, $s1;",
                "pred",
                ["pred", "pred"],
                lambda a, b, function=function, flip=flip: function(a ^ flip, b),
                grid([0, 1], [0, 1]),
                name=f"{name}.pred{negate}",
            )
    for left in (True, False):
        for mode in ["wrap", "clamp"]:

            def funnel(a, b, n, left=left, mode=mode):
                n = n % 32 if mode == "wrap" else min(n, 32)
                both = bits(a, 32) + bits(b, 32)
                moved = [0] * n + both if left else both[n:] + [0] * n
                return number(moved[32:64] if left else moved[0:32])

            w.op(
                f"shf.{'l' if left else 'r'}.{mode}.b32 $d0, $s0, $s1, $s2;",
                "b32",
                ["b32"] * 3,
                funnel,
                [(a, b, n) for a, b in pairs(w, 32, 4)[::7] for n in COUNTS],
            )


def permuted(a, b, selector):
    source = [x >> 8 * i & 0xFF for x in (a, b) for i in range(4)]
    result = 0
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = source[nibble & 7]
        if nibble & 8:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << 8 * i
    return result


def field_numbers(position, length, width):
    """64-bit forms take the whole numbers, 32-bit ones their low bytes."""
    return (position, length) if width == 64 else (position & 0xFF, length & 0xFF)


def field(a, position, length, width, is_signed):
    position, length = field_numbers(position, length, width)
    if length == 0:
        return 0
    source = bits(a, width)
    fill = source[min(position + length - 1, width - 1)] if is_signed else 0
    inside = source[position : position + length]
    return number((inside + [fill] * width)[:width])


def inserted(a, b, position, length, width):
    position, length = field_numbers(position, length, width)
    result = bits(b, width)
    for i in range(min(length, width)):
        if position + i < width:
            result[position + i] = a >> i & 1
    return number(result)


def highest(a, width, is_signed):
    source = bits(a, width)
    if is_signed and source[-1]:
        source = [1 - x for x in source]
    found = [i for i, x in enumerate(source) if x]
    return found[-1] if found else None


def nth_set(mask, base, n):
    if n == 0:
        return base if mask >> base & 1 else ones(32)
    walk = range(base, 32) if n > 0 else range(base, -1, -1)
    found = [i for i in walk if mask >> i & 1]
    return found[abs(n) - 1] if len(found) >= abs(n) else ones(32)


def bit_fields(w):
    for lut in [0x00, 0x1B, 0x80, 0x96, 0xCA, 0xE8, 0xFE, 0xFF]:
        w.op(
            f"lop3.b32 $d0, $s0, $s1, $s2, {lut:#x};",
            "b32",
            ["b32"] * 3,
            lambda a, b, c, lut=lut: number(
                [
                    lut >> (4 * x + 2 * y + z) & 1
                    for x, y, z in zip(bits(a, 32), bits(b, 32), bits(c, 32), strict=True)
                ]
            ),
            [tuple(w.random.getrandbits(32) for _ in range(3)) for _ in range(32)],
            name=f"lop3.{lut:#x}",
        )
    w.op(
        "prmt.b32 $d0, $s0, $s1, $s2;",
        "b32",
        ["b32"] * 3,
        lambda a, b, s: permuted(a, b, s & 0xFFFF),
        [tuple(w.random.getrandbits(32) for _ in range(3)) for _ in range(128)],
    )
    lengths = [0, 1, 8, 31, 32, 33, 64, 255, 256 + 5]
    for width in [32, 64]:
        reg = f"b{width}"
        values = [x for (x,) in singles(w, width)[:10]]
        rows = grid(values, [0, 1, 7, 31, 32, 60, 63, 64, 255], lengths)
        for kind in "us":
            w.op(
                f"bfe.{kind}{width} $d0, $s0, $s1, $s2;",
                reg,
                [reg, "b32", "b32"],
                lambda a, p, n, width=width, kind=kind: field(a, p, n, width, kind == "s"),
                rows,
            )
        w.op(
            f"bfi.b{width} $d0, $s0, $s1, $s2, $s3;",
            reg,
            [reg, reg, "b32", "b32"],
            lambda a, b, p, n, width=width: inserted(a, b, p, n, width),
            [(a, w.random.getrandbits(width), p, n) for a, p, n in rows],
        )
        w.op(
            f"popc.b{width} $d0, $s0;", "b32", [reg], lambda a: bin(a).count("1"), singles(w, width)
        )
        w.op(
            f"clz.b{width} $d0, $s0;",
            "b32",
            [reg],
            lambda a, width=width: width - a.bit_length(),
            singles(w, width),
        )
        w.op(
            f"brev.b{width} $d0, $s0;",
            reg,
            [reg],
            lambda a, width=width: number(bits(a, width)[::-1]),
            singles(w, width),
        )
        for kind in "us":
            for mode in ["", ".shiftamt"]:

                def found(a, width=width, kind=kind, mode=mode):
                    position = highest(a, width, kind == "s")
                    if position is None:
                        return ones(32)
                    return width - 1 - position if mode else position

                w.op(f"bfind{mode}.{kind}{width} $d0, $s0;", "b32", [reg], found, singles(w, width))
    for mode in ["wrap", "clamp"]:
        small = [0, 1, 5, 31, 32, 33, 40]

        def mask(a, b, mode=mode):
            if mode == "wrap":
                a, b = a % 32, b % 32
            return number([int(a <= i < a + b) for i in range(32)])

        w.op(f"bmsk.{mode}.b32 $d0, $s0, $s1;", "b32", ["b32", "b32"], mask, grid(small, small))
        for kind in "us":

            def extended(a, n, mode=mode, kind=kind):
                n = n % 32 if mode == "wrap" else min(n, 32)
                kept = bits(a, 32)[:n]
                fill = kept[-1] if kept and kind == "s" else 0
                return number(kept + [fill] * (32 - n))

            w.op(
                f"szext.{mode}.{kind}32 $d0, $s0, $s1;",
                "b32",
                ["b32", "b32"],
                extended,
                grid([x for (x,) in singles(w, 32)[:20]], small),
            )
    rows = [
        (
            w.random.getrandbits(32) & w.random.getrandbits(32),
            w.random.randrange(32),
            w.random.randrange(-6, 7),
        )
        for _ in range(96)
    ]
    w.op(
        "fns.b32 $d0, $s0, $s1, $s2;",
        "b32",
        ["b32"] * 3,
        lambda m, b, n: nth_set(m, b, n - 2**32 if n >> 31 else n),
        [(m, b, n & ones(32)) for m, b, n in rows],
    )
