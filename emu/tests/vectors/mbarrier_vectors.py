#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs on mbarriers: predicates of waits and pending counts, as a model of counters has them.

In most forms each lane has an mbarrier of its own, so that nothing depends on the order of lanes;
where warps share one, bar.sync lies between the steps. The 64-bit states are not looked at.
"""

import sys

from forms import Writer
from mbarrier_model import MOST_ARRIVALS, MOST_BYTES, Mbarrier

PROGRAMS, LENGTH = 40, 26
LANES = 32

OWN = """
.shared .align 8 .b64 bars[32];
.reg .b32 bar;
mov.u32 bar, bars;
mad.lo.u32 bar, %lane, 8, bar;
"""


class Program:
    """Lines of PTX with inputs and outputs, and what they do to the mbarriers of all lanes."""

    def __init__(self, random, counts):
        self.random = random
        self.lines = OWN.strip().splitlines()
        self.ins, self.outs, self.out_types = [], [], []
        self.states = []  # register, phases by lane, pending counts by lane or None
        self.init(counts)

    def value(self, values):
        """An input of the program; the values of all lanes."""
        self.ins.append(values)
        return f"$s{len(self.ins) - 1}"

    def output(self, kind, values):
        self.outs.append([int(v) for v in values])
        self.out_types.append(kind)
        return f"$d{len(self.outs) - 1}"

    def init(self, counts):
        self.lines.append(f"mbarrier.init.shared::cta.b64 [bar], {self.value(counts)};")
        self.bars = [Mbarrier(count) for count in counts]
        self.states = []

    def reinit(self, counts):
        self.lines.append("mbarrier.inval.shared::cta.b64 [bar];")
        self.init(counts)

    def arrive(self, kind, counts=None, bytes_=None, keep=True):
        """`kind`: "arrive.noComplete.release.cta" and the like."""
        drop, expects, partial = "drop" in kind, "expect_tx" in kind, "noComplete" in kind
        register = f"state{sum(line.startswith('.reg .b64') for line in self.lines)}"
        self.lines.append(f".reg .b64 {register};")
        operand = ""
        if counts is not None:
            operand = f", {self.value(counts)}"
        elif expects:
            operand = f", {self.value(bytes_)}"
        self.lines.append(f"mbarrier.{kind}.shared::cta.b64 {register}, [bar]{operand};")
        states = [
            bar.arrive(counts[i] if counts else 1, bytes_[i] if expects else 0, drop, not partial)
            for i, bar in enumerate(self.bars)
        ]
        if keep:
            phases, pending = zip(*states, strict=True)
            self.states.append((register, phases, pending if partial else None))

    def expect(self, counts):
        self.lines.append(
            f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], {self.value(counts)};"
        )
        for bar, count in zip(self.bars, counts, strict=True):
            bar.expect(count)
            bar.settle()

    def complete(self, counts):
        self.lines.append(
            f"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], {self.value(counts)};"
        )
        for bar, count in zip(self.bars, counts, strict=True):
            bar.complete(count)

    def wait(self, state, kind="test_wait"):
        register, phases, _ = state
        done = [bar.over(phase) for bar, phase in zip(self.bars, phases, strict=True)]
        assert all(done) or kind.startswith("test_wait"), "try_wait may suspend the warp"
        out = self.output("pred", done)
        self.lines.append(f"mbarrier.{kind}.shared::cta.b64 {out}, [bar], {register};")

    def wait_parity(self, parities, kind="test_wait.parity", hint=""):
        done = [bar.parity_over(parity) for bar, parity in zip(self.bars, parities, strict=True)]
        assert all(done) or kind.startswith("test_wait"), "try_wait may suspend the warp"
        out = self.output("pred", done)
        parity = self.value(parities)
        self.lines.append(f"mbarrier.{kind}.shared::cta.b64 {out}, [bar], {parity}{hint};")

    def pending_count(self, state):
        out = self.output("b32", state[2])
        self.lines.append(f"mbarrier.pending_count.b64 {out}, {state[0]};")

    def write(self, w, name, **more):
        cases = [
            ([column[i] for column in self.ins], [column[i] for column in self.outs])
            for i in range(len(self.bars))
        ]
        ins = ["b32"] * len(self.ins)
        w.form(name, "\n".join(self.lines), self.out_types, ins, cases, 90, **more)


def pick(random, low, high):
    """Often an end of the range."""
    return random.choice([low, high, random.randint(low, high), random.randint(low, high)])


class RandomProgram(Program):
    def counts(self, high):
        return [pick(self.random, 1, high(bar)) for bar in self.bars]

    def some_bytes(self):
        room = [MOST_BYTES - max(bar.bytes, 0) for bar in self.bars]
        return [16 * pick(self.random, 1, max(1, min(r // 16 - 1, 4096))) for r in room]

    def parities(self):
        return [self.random.randrange(2) for _ in self.bars]

    def over_parities(self):
        return [1 - bar.phase % 2 for bar in self.bars]

    def choices(self):
        """Steps that are legal for every lane, by name."""
        bars = self.bars
        steps = {"parity": 3, "try_parity": 1, "reinit": 0.3}
        near = [s for s in self.states if self.is_near(s)]
        if near:
            steps["state"] = 3
        if any(all(b.over(p) for b, p in zip(bars, s[1], strict=True)) for s in near):
            steps["try_state"] = 1
        # An expectation must not be what completes a phase: that has a form of its own.
        if all(bar.pending > 0 or bar.bytes > 0 for bar in bars):
            steps["expect"] = 1
        if all(bar.bytes > -MOST_BYTES + 2**17 for bar in bars):
            steps["complete"] = 1.5
        if any(bar.bytes > 0 for bar in bars) and all(bar.bytes >= 0 for bar in bars):
            steps["complete_all"] = 2
        if all(bar.pending >= 1 for bar in bars):
            steps |= {"arrive": 1, "arrive_count": 2, "arrive_all": 3, "arrive_expect": 1}
            if all(bar.expected >= 2 for bar in bars):
                steps |= {"drop": 0.5, "drop_expect": 0.4}
        if all(bar.pending >= 2 for bar in bars):
            steps["partial"] = 3
            if all(bar.expected >= 2 for bar in bars):
                steps |= {"drop_count": 0.6, "drop_partial": 1}
        return steps

    def is_near(self, state):
        return all(phase >= bar.phase - 1 for bar, phase in zip(self.bars, state[1], strict=True))

    def step(self):
        random = self.random
        steps = self.choices()
        name = random.choices(list(steps), list(steps.values()))[0]
        order = random.choice(["", ".release.cta", ".release.cluster", ".relaxed.cta"])
        acquire = random.choice(["", ".acquire.cta", ".acquire.cluster"])
        near = [s for s in self.states if self.is_near(s)]
        if name == "parity":
            self.wait_parity(self.parities(), f"test_wait.parity{acquire}")
        elif name == "try_parity":
            hint = random.choice(["", ", 1000"])
            self.wait_parity(self.over_parities(), f"try_wait.parity{acquire}", hint)
        elif name == "reinit":
            self.reinit(start_counts(random))
        elif name == "state":
            self.wait(random.choice(near), f"test_wait{acquire}")
        elif name == "try_state":
            over = [s for s in near if all(b.over(p) for b, p in zip(self.bars, s[1], strict=True))]
            self.wait(random.choice(over), f"try_wait{acquire}")
        elif name == "expect":
            self.expect(self.some_bytes())
        elif name == "complete":
            self.complete([16 * pick(random, 1, 4096) for _ in self.bars])
        elif name == "complete_all":
            self.complete([bar.bytes for bar in self.bars])
        elif name == "arrive":
            self.arrive(f"arrive{order}")
        elif name == "arrive_count":
            self.arrive(f"arrive{order}", self.counts(lambda bar: bar.pending))
        elif name == "arrive_all":
            self.arrive(f"arrive{order}", [bar.pending for bar in self.bars])
        elif name == "arrive_expect":
            self.arrive(f"arrive.expect_tx{order}", bytes_=self.some_bytes())
        elif name == "drop":
            self.arrive(f"arrive_drop{order}")
        elif name == "drop_expect":
            self.arrive(f"arrive_drop.expect_tx{order}", bytes_=self.some_bytes())
        elif name == "drop_count":
            self.arrive(
                f"arrive_drop{order}", self.counts(lambda bar: min(bar.pending, bar.expected - 1))
            )
        else:
            drop = name == "drop_partial"
            kind = "arrive_drop.noComplete" if drop else "arrive.noComplete"
            order = random.choice(["", ".release.cta"])
            self.arrive(
                f"{kind}{order}",
                self.counts(
                    lambda bar: min(bar.pending, bar.expected if drop else bar.pending) - 1
                ),
            )
            self.pending_count(self.states[-1])


def start_counts(random):
    return [
        random.choice([1, 2, 3, 32, 1000, MOST_ARRIVALS, random.randint(1, MOST_ARRIVALS)])
        for _ in range(LANES)
    ]


def random_programs(w):
    for index in range(PROGRAMS):
        # Half of the programs begin with counts above 1: drops and partial arrivals are legal.
        counts = [max(c, 2 + index % 2 * 40) for c in start_counts(w.random)]
        if index % 4 == 0:
            counts = start_counts(w.random)
        program = RandomProgram(w.random, counts)
        for _ in range(LENGTH):
            program.step()
        program.wait_parity([0] * LANES)
        program.wait_parity([1] * LANES)
        program.write(w, f"mbarrier program {index}")


def wrapping_phases(w):
    """Twelve phases of two arrivals and some bytes each; a state is good for two phases."""
    program = Program(w.random, [2] * LANES)
    for phase in range(12):
        program.arrive("arrive.expect_tx", bytes_=[16 * (i + 1) for i in range(LANES)])
        state = program.states[-1]
        program.wait_parity([phase % 2] * LANES)
        program.arrive("arrive", keep=False)
        program.wait(state)
        program.complete([16 * (i + 1) for i in range(LANES)])
        program.wait(state)
        program.wait_parity([phase % 2] * LANES, "try_wait.parity")
    program.write(w, "mbarrier phases")


def bytes_before_expectation(w):
    """Bytes that come first make the count negative; arrivals alone then do not complete."""
    program = Program(w.random, [1] * LANES)
    amounts = [pick(w.random, 1, MOST_BYTES) for _ in range(LANES)]
    program.complete(amounts)
    program.wait_parity([0] * LANES)
    program.arrive("arrive.expect_tx", bytes_=amounts)
    program.wait_parity([0] * LANES)
    program.wait_parity([1] * LANES)
    program.write(w, "mbarrier bytes before arrive.expect_tx")
    program = Program(w.random, [2] * LANES)
    program.arrive("arrive")
    program.complete(amounts)
    program.arrive("arrive")
    program.wait_parity([0] * LANES)
    program.expect(amounts)
    program.wait_parity([0] * LANES)
    program.write(w, "mbarrier expect_tx that completes a phase")


def shared_by_warps(w):
    """One mbarrier, 128 threads with counts of their own, two phases; then half of them drop."""
    threads = 128
    counts = [w.random.randint(1, 8000) for _ in range(threads)]
    code = """
    .shared .align 8 .b64 bar;
    .reg .b32 last;
    .reg .b64 first, second, third;
    .reg .pred leads, odd, p;
    setp.eq.u32 leads, %lane, 0;
    and.b32 last, %lane, 1;
    setp.ne.u32 odd, last, 0;
    @leads mbarrier.init.shared::cta.b64 [bar], $s0;
    bar.sync 0;
    mbarrier.arrive.shared::cta.b64 first, [bar], $s1;
    bar.sync 0;
    mbarrier.test_wait.shared::cta.b64 $d0, [bar], first;
    mbarrier.test_wait.parity.shared::cta.b64 $d1, [bar], 1;
    bar.sync 0;
    @odd mbarrier.arrive_drop.shared::cta.b64 second, [bar], $s1;
    bar.sync 0;
    mbarrier.test_wait.parity.shared::cta.b64 $d2, [bar], 1;
    bar.sync 0;
    @!odd mbarrier.arrive.shared::cta.b64 second, [bar], $s1;
    bar.sync 0;
    mbarrier.test_wait.shared::cta.b64 $d3, [bar], second;
    mbarrier.test_wait.parity.shared::cta.b64 $d4, [bar], 0;
    bar.sync 0;
    @!odd mbarrier.arrive.shared::cta.b64 third, [bar], $s1;
    bar.sync 0;
    mbarrier.try_wait.parity.shared::cta.b64 $d5, [bar], 0;
    mbarrier.test_wait.parity.shared::cta.b64 $d6, [bar], 1;
    """
    bar = Mbarrier(sum(counts))
    first = [bar.arrive(count)[0] for count in counts]
    outputs = [[int(bar.over(phase)) for phase in first], [int(bar.parity_over(1))] * threads]
    second = [bar.arrive(c, drop=True)[0] for i, c in enumerate(counts) if i % 2]
    outputs.append([int(bar.parity_over(1))] * threads)
    second += [bar.arrive(c)[0] for i, c in enumerate(counts) if i % 2 == 0]
    assert len(set(second)) == 1
    outputs += [[int(bar.over(second[0]))] * threads, [int(bar.parity_over(0))] * threads]
    for i, count in enumerate(counts):
        if i % 2 == 0:
            bar.arrive(count)
    outputs += [[int(bar.parity_over(0))] * threads, [int(bar.parity_over(1))] * threads]
    cases = [([sum(counts), counts[i]], [column[i] for column in outputs]) for i in range(threads)]
    w.form("mbarrier of four warps", code, ["pred"] * 7, ["b32"] * 2, cases, target=90, warps=4)


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream, 80)
        random_programs(w)
        wrapping_phases(w)
        shared_by_warps(w)
        bytes_before_expectation(w)


if __name__ == "__main__":
    main()
