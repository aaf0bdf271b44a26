# SPDX-License-Identifier: Apache-2.0
"""cvt to and from pairs of 16-bit, 8-bit, 6-bit and 4-bit numbers and of scales."""

from fractions import Fraction

from exact import (
    BF16,
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E5M2,
    F16,
    F32,
    F64,
    convert,
    decode,
    encode,
    ue8m0_from,
)
from float_model import BF16_EDGES, F16_EDGES, F32_EDGES, close


def float_inputs(w, fmt, scale_bits=70):
    edges = {
        F32: F32_EDGES,
        F16: F16_EDGES,
        BF16: BF16_EDGES,
        F64: [0, 1 << 63, 0x7FF0000000000000, 0xFFF0000000000000, 1, 0x7FEFFFFFFFFFFFFF],
    }[fmt]
    values = list(edges)
    for _ in range(90):
        halves = Fraction(
            w.random.getrandbits(w.random.randrange(1, scale_bits)), 2 ** w.random.randrange(0, 4)
        )
        values.append(encode(fmt, w.random.getrandbits(1), halves))
    return [(x,) for x in values]


def wide_inputs(w, fmt):
    """Codes of f32 or f64 around the range of the narrower formats, many of them half way."""
    rows = []
    for _ in range(120):
        exponent = w.random.choice(
            [-140, -133, -127, -126, -26, -25, -24, -15, -14, -8, -7, -3, 0, 2, 8, 15, 16, 127, 128]
        )
        mantissa = Fraction(w.random.getrandbits(12) | 1 << 12, 2**12)
        if w.random.random() < 0.3:
            mantissa += Fraction(1, 2**fmt.mantissa_bits)
        rows.append((encode(fmt, w.random.getrandbits(1), mantissa * Fraction(2) ** exponent),))
    return rows + float_inputs(w, fmt)


def pairs_from(w, codes, count=256):
    return [(w.random.choice(codes), w.random.choice(codes)) for _ in range(count)]


def midpoints(fmt):
    """f32 codes of all values of a narrow format, of the points half way, and next to those."""
    result = []
    for code in range(fmt.largest):
        low, high = decode(fmt, code)[2], decode(fmt, code + 1)[2]
        for x in (low, (low + high) / 2):
            f32 = encode(F32, 0, x)
            result += [f32, f32 | 1 << 31, f32 + 1, max(f32 - 1, 0)]
    return (
        result
        + F32_EDGES
        + [
            encode(F32, s, Fraction(v))
            for v in (449, 464, 465, 500, 60000, 61440, 70000)
            for s in (0, 1)
        ]
    )


def narrow(w):
    for name, fmt, target, bits in [
        ("f16x2", F16, 80, 16),
        ("bf16x2", BF16, 80, 16),
        ("e4m3x2", E4M3, 89, 8),
        ("e5m2x2", E5M2, 89, 8),
        ("e2m3x2", E2M3, 100, 8),
        ("e3m2x2", E3M2, 100, 8),
    ]:
        wide = fmt in (F16, BF16)
        codes = midpoints(fmt) if not wide else [r[0] for r in wide_inputs(w, F32)]
        # Every code on both sides, so that nothing depends on luck.
        rows = list(zip(codes, codes[1:] + codes[:1], strict=True))
        out = "b32" if wide else "b16"
        modes = ["rn", "rz"] if wide else ["rn.satfinite"]
        for mode in modes:
            for relu in ["", ".relu"]:

                def packed(a, b, fmt=fmt, mode=mode, relu=relu, bits=bits):
                    high, low = (
                        convert(fmt, decode(F32, x), mode[:2], "satfinite" in mode, relu != "")
                        for x in (a, b)
                    )
                    return high << bits | low

                w.op(
                    f"cvt.{mode}{relu}.{name}.f32 $d0, $s0, $s1;",
                    out,
                    ["b32"] * 2,
                    packed,
                    rows,
                    target=target,
                )
        if not wide:

            def unpacked(x, fmt=fmt):
                mask = 2 * fmt.sign_bit - 1
                high, low = (convert(F16, decode(fmt, x >> s & mask)) for s in (8, 0))
                return high << 16 | low

            w.op(
                f"cvt.rn.f16x2.{name} $d0, $s0;",
                "b32",
                ["b16"],
                unpacked,
                [(c | (c * 7 + 3 & 2 * fmt.sign_bit - 1) << 8,) for c in range(2 * fmt.sign_bit)],
                target=target,
            )
            if fmt in (E4M3, E5M2):
                sixteen = [convert(F16, decode(F32, x)) for x in codes]

                def from_half(x, fmt=fmt):
                    high, low = (
                        convert(fmt, decode(F16, x >> s & 0xFFFF), satfinite=True) for s in (16, 0)
                    )
                    return high << 8 | low

                w.op(
                    f"cvt.rn.satfinite.{name}.f16x2 $d0, $s0;",
                    "b16",
                    ["b32"],
                    from_half,
                    [(a << 16 | b,) for a, b in pairs_from(w, sixteen)],
                    target=target,
                )
    four_bits(w)
    scales(w)


def four_bits(w):
    codes = midpoints(E2M1)

    def packed(a, b, relu=False):
        high, low = (convert(E2M1, decode(F32, x), satfinite=True, relu=relu) for x in (a, b))
        return high << 4 | low

    for relu in ["", ".relu"]:
        w.op(
            f""".reg .b8 %byte; cvt.rn.satfinite{relu}.e2m1x2.f32 %byte, $s0, $s1;
                 mov.b16 $d0, {{%byte, 0}};""",
            "b16",
            ["b32"] * 2,
            lambda a, b, r=relu != "": packed(a, b, r),
            list(zip(codes, codes[1:] + codes[:1], strict=True)),
            name=f"cvt.e2m1x2{relu}",
            target=100,
        )

    def unpacked(x):
        high, low = (convert(F16, decode(E2M1, x >> s & 15)) for s in (4, 0))
        return high << 16 | low

    w.op(
        """.reg .b8 %byte, %rest; mov.b16 {%byte, %rest}, $s0;
            cvt.rn.f16x2.e2m1x2 $d0, %byte;""",
        "b32",
        ["b16"],
        unpacked,
        [(x,) for x in range(256)],
        name="cvt.f16x2.e2m1x2",
        target=100,
    )


def scales(w):
    codes = F32_EDGES + [
        encode(F32, s, m * Fraction(2) ** e)
        for e in (-149, -128, -127, -126, -1, 0, 1, 126, 127)
        for s in (0, 1)
        for m in (Fraction(1), Fraction(5, 4), Fraction(2**23 + 1, 2**23))
    ]
    codes += [close(w, F32) for _ in range(32)]
    rows = list(zip(codes, codes[3:] + codes[:3], strict=True))
    for mode in ["rz", "rp"]:
        for satfinite in ["", ".satfinite"]:

            def packed(a, b, mode=mode, sat=satfinite != ""):
                high, low = (ue8m0_from(decode(F32, x), mode, sat) for x in (a, b))
                return high << 8 | low

            w.op(
                f"cvt.{mode}{satfinite}.ue8m0x2.f32 $d0, $s0, $s1;",
                "b16",
                ["b32"] * 2,
                packed,
                rows,
                target=100,
            )

    def unpacked(x):
        high, low = (
            0x7FFF if c == 255 else encode(BF16, 0, Fraction(2) ** (c - 127))
            for c in (x >> 8, x & 255)
        )
        return high << 16 | low

    w.op(
        "cvt.rn.bf16x2.ue8m0x2 $d0, $s0;",
        "b32",
        ["b16"],
        unpacked,
        [(x | (255 - x) << 8,) for x in range(256)],
        target=100,
    )
