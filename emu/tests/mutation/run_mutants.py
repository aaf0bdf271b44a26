#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs mutants of our GPU kernels under the emulator and tells which of them it finds.

A mutant is a kernel with one synchronising instruction left out or altered, or with an operand of
its products exchanged or shifted (emu/check/mutation.hpp). It is found when `mxgemm verify` fails
under a schedule of the portfolio; the race detector is on. Survivors must be listed, each with its
reason, in survivors.txt beside this file; an unlisted one, or a detection rate of the others below
the target, is a failure.

  run_mutants.py --mxgemm build/bin/mxgemm --emulator build/emu [--kernel <part of a name>]
                 [--count N] [--jobs N]
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

from mutant_cases import KERNELS, LONG, SHORT

TARGET = 0.90  # of the mutants that are not equivalent to the kernel
# A mutant that spins is stopped here: the unchanged kernels take a third to two thirds of it.
MAX_STEPS = 3_000_000
SECONDS_PER_RUN = 300  # more is a failure of this script, whatever the mutant

# Loops are unrolled, and mutants of operands are all found at once: more of one kind would only
# make the rate look better.
OPERAND_CHANGES = (" exchanged: ", " further: ", " apart: ")
OPERAND_MUTANTS = 8


def run(options, case, policy, seed, mutant=None, coverage=None):
    """Exit code and output of one verification; mutant None = the kernel as it is."""
    environment = dict(os.environ)
    environment.update(
        EMU_DEVICES=case.device,
        EMU_SCHED=policy.removesuffix("+lanes"),
        EMU_LANE_SPLIT="1" if policy.endswith("+lanes") else "0",
        EMU_SEED=str(seed),
        EMU_RESIDENT="1",
        EMU_RACE="1",
        EMU_MAX_STEPS=str(MAX_STEPS),
        EMU_ABORT="0",
        LD_LIBRARY_PATH=f"{options.emulator}:{environment.get('LD_LIBRARY_PATH', '')}",
    )
    if mutant is not None:
        environment["EMU_MUTATE"] = f"{case.name}:{mutant}"
    if coverage is not None:
        environment["EMU_COVERAGE"] = coverage
    command = [
        options.mxgemm,
        "verify",
        *case.problems,
        "--device",
        "cuda:0",
        "--kernel",
        case.kernel,
        "--data",
        "exact",
    ]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS_PER_RUN
    )
    return done.returncode, done.stdout + done.stderr


class Rule:
    """A line of survivors.txt: which mutants may survive, why, and how many of one kernel."""

    def __init__(self, line):
        pattern, self.kind, at_most, self.reason = (part.strip() for part in line.split("|", 3))
        if self.kind not in ("equivalent", "blind spot"):
            sys.exit(f"survivors.txt: '{self.kind}' is neither 'equivalent' nor 'blind spot'")
        self.pattern = re.compile(pattern)
        self.at_most = int(at_most)


def read_rules(path):
    lines = path.read_text().splitlines()
    return [Rule(line) for line in lines if line and not line.startswith("#")]


@dataclasses.dataclass(frozen=True, order=True)
class Mutant:
    number: int
    line: int
    code: str  # equal for the same opcodes around the same one
    what: str

    @property
    def source(self) -> tuple[str, str]:
        return self.code, self.what

    def __str__(self) -> str:
        return f"{self.number:4} line {self.line}, {self.what}"


class Unchanged:
    """The kernel as it is must pass wherever a mutant fails."""

    def __init__(self, options, case):
        self.options, self.case = options, case
        self.lock = threading.Lock()
        self.passed = set()

    def must_pass(self, policy, seed, coverage=None):
        with self.lock:
            if coverage is None and (policy, seed) in self.passed:
                return
            code, output = run(self.options, self.case, policy, seed, coverage=coverage)
            if code != 0:
                sys.exit(f"{self.case.title} fails without a mutation:\n{output}")
            self.passed.add((policy, seed))


def try_mutant(options, case, mutant, schedules, unchanged):
    """The schedule that finds the mutant, or None, and the first line of its report."""
    for policy, seed in schedules:
        unchanged.must_pass(policy, seed)
        code, output = run(options, case, policy, seed, mutant.number)
        if code != 0:
            report = re.search(r"^emu: (?!mutant)(?!EMU_SEED)(.*)$", output, re.M)
            return f"{policy}:{seed}", report.group(1) if report else "wrong result"
    return None, ""


def executed_lines(case, unchanged):
    """PTX lines of the kernel's module that ran in one of two schedules."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "coverage"
        for policy, seed in SHORT[:2]:
            unchanged.must_pass(policy, seed, coverage=str(file))
        lines, function = set(), ""
        for row in file.read_text().splitlines():
            fields = row.split("\t")
            if fields[0] == "=":
                function = fields[2]
            elif case.name in function and int(fields[2]) > 0:
                lines.add(int(fields[0]))
    return lines


def thin_out(mutants):
    """Of changes to operands at most OPERAND_MUTANTS with one description, evenly spaced."""
    by_what = {}
    for mutant in mutants:
        by_what.setdefault(mutant.what, []).append(mutant)
    kept = []
    for what, same in by_what.items():
        if any(part in what for part in OPERAND_CHANGES) and len(same) > OPERAND_MUTANTS:
            same = [same[i * len(same) // OPERAND_MUTANTS] for i in range(OPERAND_MUTANTS)]
        kept += same
    return sorted(kept)


def mutants_of(options, case, unchanged):
    """The mutants in code that runs, and how many are elsewhere."""
    lines = executed_lines(case, unchanged)
    _, output = run(options, case, "plain", 1, "list")
    told = re.findall(r"^emu: mutant (\d+) of \d+, line (\d+), code (\w+), (.*)$", output, re.M)
    if not told:
        sys.exit(f"{case.title} cannot be mutated:\n{output}")
    mutants = {Mutant(int(number), int(line), code, what) for number, line, code, what in told}
    alive = [mutant for mutant in mutants if mutant.line in lines]
    if not alive:
        sys.exit(f"{case.title}: none of its {len(mutants)} mutants is in code that runs")
    return thin_out(alive), len(mutants) - len(alive)


def survivors_of(options, case, mutants, schedules, unchanged):
    """Those of the mutants that none of the schedules finds."""

    def attempt(mutant):
        return mutant, *try_mutant(options, case, mutant, schedules, unchanged)

    survivors = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for mutant, schedule, report in pool.map(attempt, mutants):
            if schedule is None:
                survivors.append(mutant)
            elif options.verbose:
                print(f"  {mutant}: {schedule}: {report[:120]}", flush=True)
    return survivors


def explain(case, survivors, rules):
    """Each survivor with the rule that excuses it or None. A rule that would have to excuse more
    than it may excuses none."""
    chosen = [
        next((rule for rule in rules if rule.pattern.search(f"{case.title} {mutant}")), None)
        for mutant in survivors
    ]
    return [
        (mutant, rule if rule and chosen.count(rule) <= rule.at_most else None)
        for mutant, rule in zip(survivors, chosen, strict=True)
    ]


def run_case(options, case, mutants, rules, unchanged):
    """Runs the mutants and prints what came of them: found, counted, unexplained."""
    start = time.monotonic()
    survivors = survivors_of(options, case, mutants, SHORT, unchanged)
    unexplained = [m for m, rule in explain(case, survivors, rules) if rule is None]
    found_late = set(unexplained) - set(survivors_of(options, case, unexplained, LONG, unchanged))
    survivors = explain(case, [m for m in survivors if m not in found_late], rules)
    for mutant, rule in survivors:
        print(f"  {mutant}: survives, {rule.kind if rule else 'UNEXPLAINED'}", flush=True)
    kinds = [rule.kind if rule else "" for _, rule in survivors]
    found = len(mutants) - len(survivors)
    counted = len(mutants) - kinds.count("equivalent")
    rate = f"{100 * found / counted:.1f} %" if counted else "none"
    print(
        f"{case.title}: {len(mutants)} mutants, {found} found ({len(found_late)} by the long list "
        f"only), {kinds.count('equivalent')} equivalent, {kinds.count('blind spot')} in known "
        f"blind spots, {kinds.count('')} unexplained; {rate} of those not equivalent; "
        f"{(time.monotonic() - start) / 60:.1f} minutes",
        flush=True,
    )
    return found, counted, kinds.count("")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mxgemm", required=True)
    parser.add_argument("--emulator", required=True, help="folder of libcudart.so.13")
    parser.add_argument("--kernel", default="", help="only kernels whose name contains this")
    parser.add_argument(
        "--count",
        type=int,
        default=0,
        help="so many mutants of each kernel, chosen by --seed; 0 = all",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--numbers", type=int, nargs="*", help="only these mutants")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    rules = read_rules(pathlib.Path(__file__).with_name("survivors.txt"))
    chooser = random.Random(options.seed)
    found = counted = unexplained = 0
    libraries = itertools.groupby(KERNELS, lambda case: case.library)
    for cases in (list(cases) for _, cases in libraries):
        had = set()
        while cases and options.kernel not in cases[-1].title:
            cases.pop()  # nothing after it is wanted
        for case in cases:
            unchanged = Unchanged(options, case)
            mutants, elsewhere = mutants_of(options, case, unchanged)
            new = [mutant for mutant in mutants if mutant.source not in had]
            had |= {mutant.source for mutant in mutants}
            if options.kernel not in case.title:
                continue
            print(
                f"{case.title}: {len(new)} mutants; {len(mutants) - len(new)} more are those of "
                f"kernels before, {elsewhere} in code that these problems do not run",
                flush=True,
            )
            if options.count:
                # What may survive would take all the schedules.
                new = [
                    m for m in new if not any(r.pattern.search(f"{case.title} {m}") for r in rules)
                ]
                new = sorted(chooser.sample(new, min(options.count, len(new))))
            if options.numbers:
                new = [mutant for mutant in mutants if mutant.number in options.numbers]
            results = run_case(options, case, new, rules, unchanged)
            found += results[0]
            counted += results[1]
            unexplained += results[2]
    if not counted:
        sys.exit("no mutant that could be found was tried")
    rate = found / counted
    print(f"all: {found} of {counted} found, {100 * rate:.1f} %")
    # A rate says something of all mutants only; a sample must still show that mutants are found.
    is_sample = options.count or options.numbers or options.kernel
    too_few = found == 0 if is_sample else rate < TARGET
    return 1 if unexplained or too_few else 0


if __name__ == "__main__":
    sys.exit(main())
