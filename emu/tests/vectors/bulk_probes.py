#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bulk copies from shared to shared memory that ask a GPU which of them it takes.

With plain addresses and those of mapa, with and without a cluster, to the CTA itself and to its
neighbour. They are no golden data, and no answers are expected.
"""

import sys

from bulk_vectors import (
    BARRIER,
    DATA,
    FILL,
    LANES,
    LAST,
    PLACE,
    START,
    WORDS,
    filled_box,
    lanes_of,
)
from forms import Writer

# As WAIT there, but a copy that never ends makes $d4 false.
WAIT = """
.reg .b32 looks;
.reg .pred more;
mov.u32 looks, 0;
again:
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [full], 0;
add.u32 looks, looks, 1;
setp.lt.u32 more, looks, 100000;
@done bra over;
@more bra again;
over:
bar.sync 0;
and.pred more, leads, done;
@more mbarrier.arrive.shared::cta.b64 _, [full];
bar.sync 0;
mbarrier.test_wait.parity.shared::cta.b64 $d4, [full], 1;
and.pred $d4, $d4, done;
"""
PLACES = [(0, 0, 16), (16, 32, 48), (0, 0, 1024), (256, 512, 512)]
CLUSTER_BARRIER = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"


def code_of(rank, signal="mbarrier::complete_tx::bytes", local_barrier=False):
    """`rank`: PTX that puts the destination's CTA into a register, or None for plain addresses."""
    code = START + ".shared .align 128 .b8 source[1024];\n.reg .b32 first, rank, bell;\n"
    code += (
        filled_box([f"0x{FILL:x}"] * WORDS)
        + "mov.u32 first, source;\nmad.lo.u32 first, %lane, 8, first;\n"
    )
    code += (
        filled_box([f"$s{i}" for i in range(WORDS)]).replace("[at", "[first")
        + BARRIER
        + CLUSTER_BARRIER
    )
    code += "mov.u32 first, source;\nadd.u32 first, first, $s4;\n"
    code += "mov.u32 to, box;\nadd.u32 to, to, $s5;\n"
    code += "mov.u32 bell, full;\n"
    if rank is not None:
        code += rank + "mapa.shared::cluster.u32 to, to, rank;\n"
        code += "" if local_barrier else "mapa.shared::cluster.u32 bell, bell, rank;\n"
    code += "@leads mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], $s6;\n"
    code += (
        f"@leads cp.async.bulk.shared::cluster.shared::cta.{signal} [to], [first], $s6, [bell];\n"
    )
    return code + WAIT + LAST + CLUSTER_BARRIER


SELF = "mov.u32 rank, %cluster_ctarank;\n"
PEER = SELF + "xor.b32 rank, rank, 1;\n"


def forms(w):
    variants = [
        ("plain", None, None, False),
        ("plain, cluster of 1", None, 1, False),
        ("plain, cluster of 2", None, 2, False),
        ("mapa of itself", SELF, None, False),
        ("mapa of itself, cluster of 1", SELF, 1, False),
        ("mapa of itself, cluster of 2", SELF, 2, False),
        ("mapa of itself with a plain mbarrier, cluster of 2", SELF, 2, True),
        ("mapa of the neighbour, cluster of 2", PEER, 2, False),
    ]
    for name, rank, cluster, local in variants:
        # One form for each place: a fault says which.
        for place in PLACES:
            # Both CTAs of a cluster copy as many bytes, since each waits for its own.
            cases = [(lane, None) for _ in range(cluster or 1) for lane in lanes_of(w, place)]
            assert len(cases) == LANES * (cluster or 1)
            size = " ".join(str(n) for n in place)
            w.form(
                f"{name}: {size}",
                code_of(rank, local_barrier=local),
                [*DATA, "pred"],
                DATA + PLACE,
                cases,
                90,
                cluster=cluster,
            )


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        forms(Writer(stream, 91))


if __name__ == "__main__":
    main()
