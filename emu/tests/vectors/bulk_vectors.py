#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cp.async.bulk in both directions and from shared to shared memory, and its reductions.

A CTA is one warp. Global memory is the CTA's own block of input or output slots: lane i's slots,
then lane i + 1's. What a copy must leave alone is looked at as well.
"""

import sys

from forms import Writer

LANES = 32
WORDS = 4  # of 8 bytes, for each lane: 1,024 bytes of data in a CTA
BYTES = LANES * WORDS * 8
FILL = 0xC3C3C3C3C3C3C3C3
DATA = ["b64"] * WORDS
PLACE = ["b32"] * 3  # offset of the source, of the destination, size
SLOTS = WORDS + len(PLACE)

START = """
.shared .align 128 .b8 box[1024];
.shared .align 8 .b64 full;
.reg .pred leads, done;
.reg .b32 at, to;
.reg .b64 block, from, wide;
setp.eq.u32 leads, %lane, 0;
mov.u32 at, box;
mad.lo.u32 at, %lane, 8, at;
"""
LAST = """
bar.sync 0;
ld.shared.b64 $d0, [at];
ld.shared.b64 $d1, [at+256];
ld.shared.b64 $d2, [at+512];
ld.shared.b64 $d3, [at+768];
"""


def block_of(pointer, slots):
    """The first slot of the CTA."""
    return f"mul.wide.u32 wide, %lane, {8 * slots};\nsub.u64 block, {pointer}, wide;\n"


def filled_box(values):
    stores = [f"st.shared.b64 [at+{256 * i}], {value};" for i, value in enumerate(values)]
    return "\n".join(stores) + "\n"


# Fills by ordinary stores come before what the copies write or read.
BARRIER = """
@leads mbarrier.init.shared::cta.b64 [full], 1;
fence.mbarrier_init.release.cluster;
fence.proxy.async;
bar.sync 0;
"""
# The second phase ends with one arrival if and only if no bytes were left over.
WAIT = """
again:
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [full], 0;
@!done bra again;
bar.sync 0;
@leads mbarrier.arrive.shared::cta.b64 _, [full];
bar.sync 0;
mbarrier.test_wait.parity.shared::cta.b64 $d4, [full], 1;
"""


def words_of(data):
    return [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)]


def bytes_of(words):
    return b"".join(word.to_bytes(8, "little") for word in words)


def box_order(lane_words):
    """Shared memory has word i of all lanes, then word i + 1; from lists by lane."""
    return bytes_of(words[i] for i in range(WORDS) for words in lane_words)


def from_box(data):
    words = words_of(data)
    return [[words[i * LANES + lane] for i in range(WORDS)] for lane in range(LANES)]


def places(w, source_bytes):
    """Offsets and sizes, the smallest and the largest among them."""
    rows = [(0, 0, 16), (0, 0, 1024), (16, 32, 48), (source_bytes - 16, 1008, 16)]
    while len(rows) < 16:
        source, to = 16 * w.random.randrange(source_bytes // 16), 16 * w.random.randrange(64)
        most = min(source_bytes - source, BYTES - to) // 16
        rows.append((source, to, 16 * w.random.randint(1, most)))
    return rows


def lanes_of(w, place):
    return [[w.random.getrandbits(64) for _ in range(WORDS)] + list(place) for _ in range(LANES)]


def replaced(old, at, new):
    return old[:at] + new + old[at + len(new) :]


def load(w):
    """Global to shared; `several`: the same bytes in three copies that count on one mbarrier."""
    copy = (
        "@leads cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[to], [from], $s6, [full];\n"
    )
    start = (
        START
        + block_of("%ins", SLOTS)
        + filled_box([f"0x{FILL:x}"] * WORDS)
        + BARRIER
        + "cvt.u64.u32 from, $s4;\nadd.u64 from, from, block;\n"
        + "mov.u32 to, box;\nadd.u32 to, to, $s5;\n"
    )
    expect = "@leads mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {};\n"
    step = "add.u32 to, to, $s6;\ncvt.u64.u32 wide, $s6;\nadd.u64 from, from, wide;\n"
    once = start + expect.format("$s6") + copy + WAIT + LAST
    total = ".reg .b32 total;\nmul.lo.u32 total, $s6, 3;\n" + expect.format("total")
    several = start + total + (copy + step) * 2 + copy + WAIT + LAST
    for name, code, pieces in [("bulk load", once, 1), ("bulk load in pieces", several, 3)]:
        cases = []
        for source, to, size in places(w, LANES * SLOTS * 8):
            size = max(16, size // pieces // 16 * 16)
            source, to = (
                min(source, LANES * SLOTS * 8 - pieces * size),
                min(to, BYTES - pieces * size),
            )
            lanes = lanes_of(w, (source, to, size))
            memory = bytes_of(word for words in lanes for word in words)
            box = bytes_of([FILL] * (LANES * WORDS))
            box = replaced(box, to, memory[source : source + pieces * size])
            cases += [(lane, [*out, 1]) for lane, out in zip(lanes, from_box(box), strict=True)]
        w.form(name, code, [*DATA, "pred"], DATA + PLACE, cases, 90)


# From `source` + $s4 to the box + $s5, with the addresses that `between` leaves in `to` and `bell`.
def shared_code(between="", bell="full", meeting=""):
    return (
        START
        + ".shared .align 128 .b8 source[1024];\n.reg .b32 first;\n"
        + filled_box([f"0x{FILL:x}"] * WORDS)
        + "mov.u32 first, source;\nmad.lo.u32 first, %lane, 8, first;\n"
        + filled_box([f"$s{i}" for i in range(WORDS)]).replace("[at", "[first")
        + BARRIER
        + meeting
        + "mov.u32 first, source;\nadd.u32 first, first, $s4;\n"
        + "mov.u32 to, box;\nadd.u32 to, to, $s5;\n"
        + between
        + "@leads mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], $s6;\n"
        + "@leads cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
        + f"[to], [first], $s6, [{bell}];\n"
        + WAIT
        + LAST
        + meeting
    )


def shared_to_shared(w):
    """A 9.0 takes it in cluster launches only, be the clusters of one CTA."""
    code = shared_code()
    cases = []
    for source, to, size in places(w, BYTES):
        lanes = lanes_of(w, (source, to, size))
        memory = box_order(lanes)
        box = replaced(bytes_of([FILL] * (LANES * WORDS)), to, memory[source : source + size])
        cases += [(lane, [*out, 1]) for lane, out in zip(lanes, from_box(box), strict=True)]
    outs, ins = [*DATA, "pred"], DATA + PLACE
    w.form("bulk shared to shared, clusters of 1", code, outs, ins, cases, 90, cluster=1)
    w.form(
        "bulk shared to shared, no clusters",
        code,
        outs,
        ins,
        cases[:LANES],
        90,
        device=90,
        fault="cudaErrorIllegalInstruction",
    )


MEETING = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
RANK = ".reg .b32 rank, bell;\nmov.u32 rank, %cluster_ctarank;\n"
MAP = "mapa.shared::cluster.u32 to, to, rank;\n"
MAP_BOTH = MAP + "mapa.shared::cluster.u32 bell, full, rank;\n"


def in_clusters(w):
    """From shared to shared memory in clusters of 2: to the CTA itself or to its neighbour."""
    variants = [
        ("plain addresses", "", "full", 0),
        ("mapa of the CTA itself", RANK + MAP_BOTH, "bell", 0),
        ("mapa of the CTA itself and a plain mbarrier", RANK + MAP, "full", 0),
        ("to the neighbour", RANK + "xor.b32 rank, rank, 1;\n" + MAP_BOTH, "bell", 1),
    ]
    for name, between, bell, distance in variants:
        code = shared_code(between, bell, MEETING)
        cases = []
        for source, to, size in places(w, BYTES)[:6]:
            # Each CTA waits for as many bytes as it sends.
            ctas = [lanes_of(w, (source, to, size)) for _ in range(2)]
            for rank, lanes in enumerate(ctas):
                memory = box_order(ctas[rank ^ distance])
                box = bytes_of([FILL] * (LANES * WORDS))
                box = replaced(box, to, memory[source : source + size])
                cases += [(lane, [*out, 1]) for lane, out in zip(lanes, from_box(box), strict=True)]
        name = f"bulk shared to shared, clusters of 2, {name}"
        w.form(name, code, [*DATA, "pred"], DATA + PLACE, cases, 90, cluster=2)


def store_code(opcode, initial):
    """The destination is the CTA's output slots, which hold `initial` before."""
    before = "".join(f"st.global.b64 [%outs+{8 * i}], {v};\n" for i, v in enumerate(initial))
    after = "".join(f"ld.volatile.global.b64 $d{i}, [%outs+{8 * i}];\n" for i in range(WORDS))
    return (
        START
        + block_of("%outs", WORDS)
        + filled_box([f"$s{i}" for i in range(WORDS)])
        + before
        + "fence.proxy.async;\nbar.sync 0;\n"
        + "mov.u32 to, box;\nadd.u32 to, to, $s4;\n"
        + "cvt.u64.u32 from, $s5;\nadd.u64 from, from, block;\n"
        + f"@leads {opcode} [from], [to], $s6;\n"
        + "@leads cp.async.bulk.commit_group;\n@leads cp.async.bulk.wait_group 0;\n"
        + "bar.sync 0;\n"
        + after
    )


def store(w):
    code = store_code("cp.async.bulk.global.shared::cta.bulk_group", [f"0x{FILL:x}"] * WORDS)
    cases = []
    for source, to, size in places(w, BYTES):
        lanes = lanes_of(w, (source, to, size))
        memory = box_order(lanes)
        data = replaced(bytes_of([FILL] * (LANES * WORDS)), to, memory[source : source + size])
        words = words_of(data)
        cases += [(lane, words[WORDS * i : WORDS * (i + 1)]) for i, lane in enumerate(lanes)]
    w.form("bulk store", code, DATA, DATA + PLACE, cases, 90)


def signed(x, bits):
    return x - (1 << bits) if x >> bits - 1 else x


REDUCTIONS = {
    ("add", "u32"): lambda a, b: a + b,
    ("add", "s32"): lambda a, b: a + b,
    ("add", "u64"): lambda a, b: a + b,
    ("min", "u32"): min,
    ("max", "u32"): max,
    ("min", "s32"): lambda a, b: min(a, b, key=lambda x: signed(x, 32)),
    ("max", "s32"): lambda a, b: max(a, b, key=lambda x: signed(x, 32)),
    ("min", "u64"): min,
    ("max", "s64"): lambda a, b: max(a, b, key=lambda x: signed(x, 64)),
    ("and", "b32"): lambda a, b: a & b,
    ("or", "b64"): lambda a, b: a | b,
    ("xor", "b32"): lambda a, b: a ^ b,
}


def reductions(w):
    """Into memory that holds the last two data words of a lane, twice."""
    for (operation, kind), function in REDUCTIONS.items():
        opcode = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}.{kind}"
        code = store_code(opcode, ["$s2", "$s3", "$s2", "$s3"])
        width = int(kind[1:]) // 8
        cases = []
        for source, to, size in places(w, BYTES)[1:7]:
            lanes = lanes_of(w, (source, to, size))
            memory = box_order(lanes)
            data = bytearray(bytes_of(lane[2 + i % 2] for lane in lanes for i in range(WORDS)))
            for at in range(0, size, width):
                old = int.from_bytes(data[to + at : to + at + width], "little")
                operand = int.from_bytes(memory[source + at : source + at + width], "little")
                new = function(old, operand) % (1 << 8 * width)
                data[to + at : to + at + width] = new.to_bytes(width, "little")
            words = words_of(bytes(data))
            cases += [(lane, words[WORDS * i : WORDS * (i + 1)]) for i, lane in enumerate(lanes)]
        w.form(opcode, code, DATA, DATA + PLACE, cases, 90)


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream, 90)
        for part in (load, store, shared_to_shared, reductions, in_clusters):
            part(w)


if __name__ == "__main__":
    main()
