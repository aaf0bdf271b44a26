#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs mutants of our GPU kernels under the emulator and tells which of them it finds.

A mutant is a kernel with one synchronising instruction left out or altered
(emu/check/mutation.hpp). It is found when `mxgemm verify` fails under a schedule of the portfolio;
the race detector is on. Survivors must be listed, each with its reason, in survivors.txt beside
this file; an unlisted one, or a detection rate of the others below the target, is a failure.

  run_mutants.py --mxgemm build/bin/mxgemm --emulator build/emu [--kernel <part of a name>]
                 [--count N] [--jobs N]
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TARGET = 0.90  # of the mutants that are not equivalent to the kernel
# A mutant that spins is stopped here: several times the steps of the unchanged kernels.
MAX_STEPS = 6_000_000
SECONDS_PER_RUN = 120

# Device, kernel (as mxgemm names it), part of the mangled name, problems: more K tiles than
# pipeline stages, more output tiles than resident CTAs, with and without C; and one K tile, so that
# the producer runs several output tiles ahead.
KERNELS = [
    (
        "8.6",
        "cuda:sm80:gemm_mxf4_mxf4_any_64x128x128_s2",
        "FlatTile",
        ["m130n200k1056:mxf4:mxf4:bf16"],
    ),
    (
        "12.0",
        "cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128_coop",
        "device_kernel",
        [
            "m130n264k768:mxf4:mxf4:bf16",
            "m130n264k768:mxf4:mxf4:bf16:beta=0.5",
            "m520n264k128:mxf4:mxf4:bf16",
        ],
    ),
    (
        "10.0",
        "cuda:sm100f:gemm_mxf4_mxf4_bf16_256x128x256_2sm",
        "device_kernel",
        [
            "m260n264k2048:mxf4:mxf4:bf16",
            "m260n264k2048:mxf4:mxf4:bf16:beta=0.5",
            "m1030n264k256:mxf4:mxf4:bf16",
        ],
    ),
]

# The kinds of mistake that each schedule shows best come first, so that most mutants end after one
# or two runs.
PORTFOLIO = [
    ("random", 1),
    ("late+pct", 1),
    ("early+pct", 1),
    ("plain", 1),
    ("random", 2),
    ("random", 3),
    ("random", 4),
    ("late", 1),
    ("late", 2),
    ("pct", 1),
    ("pct", 2),
    ("pct", 3),
    ("pct", 4),
    ("late+pct", 2),
    ("late+pct", 3),
    ("early+pct", 2),
    ("early+pct", 3),
]


def run(options, case, policy, seed, mutant=None, coverage=None):
    """Exit code and output of one verification; mutant None = the kernel as it is."""
    device, kernel, name, problems = case
    environment = dict(os.environ)
    environment.update(
        EMU_DEVICES=device,
        EMU_SCHED=policy,
        EMU_SEED=str(seed),
        EMU_RACE="1",
        EMU_MAX_STEPS=str(MAX_STEPS),
        EMU_ABORT="0",
        LD_LIBRARY_PATH=f"{options.emulator}:{environment.get('LD_LIBRARY_PATH', '')}",
    )
    if mutant is not None:
        environment["EMU_MUTATE"] = f"{name}:{mutant}"
    if coverage is not None:
        environment["EMU_COVERAGE"] = coverage
    command = [
        options.mxgemm,
        "verify",
        *problems,
        "--device",
        "cuda:0",
        "--kernel",
        kernel,
        "--data",
        "exact",
    ]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS_PER_RUN
        )
    except subprocess.TimeoutExpired:
        return -1, "timed out"
    return done.returncode, done.stdout + done.stderr


class Rule:
    """A line of survivors.txt: which mutants may survive, why, and how many of one kernel."""

    def __init__(self, line):
        pattern, self.kind, at_most, self.reason = (part.strip() for part in line.split("|", 3))
        if self.kind not in ("equivalent", "blind spot"):
            sys.exit(f"survivors.txt: '{self.kind}' is neither 'equivalent' nor 'blind spot'")
        self.pattern = re.compile(pattern)
        self.left = self.at_most = int(at_most)

    def excuses(self, what):
        if self.left == 0 or not self.pattern.search(what):
            return False
        self.left -= 1
        return True


def read_rules(path):
    lines = path.read_text().splitlines()
    return [Rule(line) for line in lines if line and not line.startswith("#")]


def try_mutant(options, case, number):
    """The schedule that finds the mutant, or None, and the first line of its report."""
    for policy, seed in PORTFOLIO[: options.schedules]:
        code, output = run(options, case, policy, seed, number)
        if code != 0:
            report = re.search(r"^emu: (?!mutant)(.*)$", output, re.M)
            return f"{policy}:{seed}", report.group(1) if report else "wrong result"
    return None, ""


def executed_lines(options, case):
    """PTX lines of the kernel's module that ran in one of two schedules."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "coverage"
        for policy, seed in PORTFOLIO[:2]:
            code, output = run(options, case, policy, seed, coverage=str(file))
            if code != 0:
                sys.exit(f"{case[1]} fails without a mutation:\n{output}")
        lines, function = set(), ""
        for row in file.read_text().splitlines():
            fields = row.split("\t")
            if fields[0] == "=":
                function = fields[2]
            elif case[2] in function and int(fields[2]) > 0:
                lines.add(int(fields[0]))
    return lines


def mutants_of(options, case):
    """(number, line, description) of each mutant in code that runs, and how many are elsewhere."""
    lines = executed_lines(options, case)
    _, output = run(options, case, "plain", 1, "list")
    told = re.findall(r"^emu: mutant (\d+) of \d+, line (\d+), (.*)$", output, re.M)
    if not told:
        sys.exit(f"{case[1]} cannot be mutated:\n{output}")
    mutants = sorted({(int(number), int(line), what) for number, line, what in told})
    alive = [mutant for mutant in mutants if mutant[1] in lines]
    if not alive:
        sys.exit(f"{case[1]}: none of its {len(mutants)} mutants is in code that runs")
    return alive, len(mutants) - len(alive)


def run_case(options, case, rules, chooser):
    mutants, elsewhere = mutants_of(options, case)
    for rule in rules:
        rule.left = rule.at_most
    chosen = (
        sorted(chooser.sample(mutants, min(options.count, len(mutants))))
        if options.count
        else mutants
    )
    if options.numbers:
        chosen = [mutant for mutant in mutants if mutant[0] in options.numbers]
    found, excused, unexplained = 0, {"equivalent": 0, "blind spot": 0}, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for mutant, schedule, report in pool.map(
            lambda m: (m, *try_mutant(options, case, m[0])), chosen
        ):
            what = f"{mutant[0]:4} line {mutant[1]}, {mutant[2]}"
            if schedule:
                found += 1
                if options.verbose:
                    print(f"  {what}: {schedule}: {report[:120]}", flush=True)
                continue
            rule = next((rule for rule in rules if rule.excuses(f"{case[1]} {what}")), None)
            if rule:
                excused[rule.kind] += 1
            else:
                unexplained.append(what)
            print(f"  {what}: survives, {rule.kind if rule else 'UNEXPLAINED'}", flush=True)
    counted = len(chosen) - excused["equivalent"]
    rate = found / counted if counted else 1.0
    print(
        f"{case[1]}: {len(chosen)} mutants ({elsewhere} more in code that these problems do not "
        f"run), {found} found, {excused['equivalent']} equivalent, {excused['blind spot']} in "
        f"known blind spots, {len(unexplained)} unexplained; {100 * rate:.1f} % of those not "
        "equivalent",
        flush=True,
    )
    return found, counted, unexplained


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
    parser.add_argument(
        "--schedules",
        type=int,
        default=len(PORTFOLIO),
        help="so many of the portfolio's, in its order",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    rules = read_rules(pathlib.Path(__file__).with_name("survivors.txt"))
    chooser = random.Random(options.seed)
    found = counted = 0
    unexplained = []
    for case in KERNELS:
        if options.kernel in case[1]:
            results = run_case(options, case, rules, chooser)
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
