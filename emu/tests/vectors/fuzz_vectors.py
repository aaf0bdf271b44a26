#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random straight-line programs without answers: a GPU gives those (capture.cpp).

Only instructions whose result is defined bit for bit for every input.
"""

import sys

from forms import Writer

WORDS, WIDES, FLAGS = 6, 3, 3
PROGRAMS, LENGTH = 40, 40

# d: destination, a b c: sources; words unless the letter is doubled (64 bits); p q: predicates.
TEMPLATES = [
    "add.s32 {d}, {a}, {b};",
    "sub.s32 {d}, {a}, {b};",
    "add.sat.s32 {d}, {a}, {b};",
    "mul.lo.s32 {d}, {a}, {b};",
    "mul.hi.u32 {d}, {a}, {b};",
    "mul.hi.s32 {d}, {a}, {b};",
    "mad.lo.s32 {d}, {a}, {b}, {c};",
    "sad.u32 {d}, {a}, {b}, {c};",
    "min.s32 {d}, {a}, {b};",
    "max.u32 {d}, {a}, {b};",
    "and.b32 {d}, {a}, {b};",
    "xor.b32 {d}, {a}, {b};",
    "lop3.b32 {d}, {a}, {b}, {c}, {byte};",
    "shl.b32 {d}, {a}, {b};",
    "shr.s32 {d}, {a}, {small};",
    "shf.l.wrap.b32 {d}, {a}, {b}, {c};",
    "shf.r.clamp.b32 {d}, {a}, {b}, {small};",
    "prmt.b32 {d}, {a}, {b}, {c};",
    "bfe.s32 {d}, {a}, {small}, {small};",
    "bfi.b32 {d}, {a}, {b}, {small}, {small};",
    "popc.b32 {d}, {a};",
    "clz.b32 {d}, {a};",
    "brev.b32 {d}, {a};",
    "bfind.u32 {d}, {a};",
    "dp4a.s32.u32 {d}, {a}, {b}, {c};",
    "add.s64 {dd}, {aa}, {bb};",
    "mul.lo.s64 {dd}, {aa}, {bb};",
    "mul.wide.s32 {dd}, {a}, {b};",
    "mad.wide.u32 {dd}, {a}, {b}, {cc};",
    "shl.b64 {dd}, {aa}, {small};",
    "mov.b64 {dd}, {{{a}, {b}}};",
    "mov.b64 {{{d}, {e}}}, {aa};",
    "setp.lt.s32 {p}, {a}, {b};",
    "setp.gtu.f32 {p}, {a}, {b};",
    "setp.ne.and.s32 {p}, {a}, {b}, {q};",
    "selp.b32 {d}, {a}, {b}, {p};",
    "@{p} xor.b32 {d}, {d}, {a};",
    "@!{p} add.s32 {d}, {d}, {b};",
    "add.rn.f32 {d}, {a}, {b};",
    "mul.rn.f32 {d}, {a}, {b};",
    "fma.rn.f32 {d}, {a}, {b}, {c};",
    "fma.rz.ftz.f32 {d}, {a}, {b}, {c};",
    "min.f32 {d}, {a}, {b};",
    "max.NaN.f32 {d}, {a}, {b};",
    "div.rn.f32 {d}, {a}, {b};",
    "sqrt.rn.f32 {d}, {a};",
    "fma.rn.f16x2 {d}, {a}, {b}, {c};",
    "fma.rn.bf16x2 {d}, {a}, {b}, {c};",
    "min.bf16x2 {d}, {a}, {b};",
    "cvt.rn.f32.s32 {d}, {a};",
    "cvt.rzi.s32.f32 {d}, {a};",
    "cvt.rni.u32.f32 {d}, {a};",
    "cvt.rn.bf16x2.f32 {d}, {a}, {b};",
    "cvt.rn.f16x2.f32 {d}, {a}, {b};",
    "shfl.sync.bfly.b32 {d}, {a}, {lane}, 0x1f, 0xffffffff;",
    "shfl.sync.down.b32 {d}|{p}, {a}, {lane}, 0x1f, 0xffffffff;",
    "vote.sync.ballot.b32 {d}, {p}, 0xffffffff;",
]


def program(random):
    lines = [f".reg .pred %p<{FLAGS}>;", f".reg .b32 %e<{WORDS}>;"]
    lines += [f"setp.lt.u32 %p{i}, $s{i}, $s{i + 1};" for i in range(FLAGS)]
    # Destinations are inputs of later lines, so they start as copies of the inputs.
    lines += [f"mov.b32 $d{i}, $s{i};" for i in range(WORDS)]
    lines += [f"mov.b64 $d{WORDS + i}, $s{WORDS + i};" for i in range(WIDES)]
    for _ in range(LENGTH):
        words = random.sample(range(WORDS), 2)
        names = {
            "d": f"$d{words[0]}",
            "e": f"$d{words[1]}",
            "dd": f"$d{WORDS + random.randrange(WIDES)}",
            "byte": random.randrange(256),
            "small": random.choice([0, 1, 3, 8, 15, 16, 24, 31, 32]),
            "lane": random.randrange(32),
        }
        for letter in "abc":
            names[letter] = f"$d{random.randrange(WORDS)}"
            names[2 * letter] = f"$d{WORDS + random.randrange(WIDES)}"
        flags = random.sample(range(FLAGS), 2)
        names["p"], names["q"] = f"%p{flags[0]}", f"%p{flags[1]}"
        lines.append(random.choice(TEMPLATES).format(**names))
    return "\n".join(lines)


def start_value(random):
    """Bits, small integers, ordinary floats."""
    choice = random.random()
    if choice < 0.4:
        return random.getrandbits(32)
    if choice < 0.6:
        return random.randrange(64)
    return random.getrandbits(1) << 31 | random.randrange(110, 145) << 23 | random.getrandbits(23)


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream, 60)
        for index in range(PROGRAMS):
            registers = ["b32"] * WORDS + ["b64"] * WIDES
            cases = []
            for _ in range(32):
                words = [start_value(w.random) for _ in range(WORDS)]
                cases.append((words + [w.random.getrandbits(64) for _ in range(WIDES)], None))
            w.form(f"program{index}", program(w.random), registers, registers, cases, 80)


if __name__ == "__main__":
    main()
