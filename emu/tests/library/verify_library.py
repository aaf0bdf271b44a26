#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every kernel of one GPU library on an emulated device and compares it with the reference.

    verify_library.py <mxgemm> <folder of the emulated libcudart> <library> <capability>
        [--portfolio small|all] [--list]

Without --portfolio the pairwise plan runs once, in the plain schedule. With it, one problem per
kernel (small) or the whole plan (all) runs under every schedule of the portfolio. --list prints the
problems and runs nothing.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import plan

# Specification 6.3: policy and number of seeds.
PORTFOLIO = [
    ("plain", 1),
    ("random", 4),
    ("late", 2),
    ("pct", 4),
    ("late+pct", 3),
    ("early+pct", 3),
]
# One of each loop count that a pipeline tells apart, more than one tile in both directions.
SMALL_PROBLEM = {"m": 133, "n": 136, "k": 512, "bias": "bias", "act": "act=relu"}


class Device:
    """The command line program on one emulated device."""

    def __init__(self, program: str, runtime: str, capability: str):
        self.program = program
        self.environment = dict(os.environ)
        for name in [n for n in self.environment if n.startswith(("EMU_", "MXGEMM_"))]:
            if name not in ("EMU_COVERAGE", "MXGEMM_PLUGIN_DIR"):
                del self.environment[name]
        self.environment.update(
            LD_LIBRARY_PATH=runtime, EMU_DEVICES=capability, EMU_ABORT="0", EMU_SEED="1"
        )
        self.accepted: dict[str, set[str]] = {}

    def run(self, arguments: list[str], settings: dict[str, str] | None = None):
        done = subprocess.run(
            [self.program, *arguments],
            env={**self.environment, **(settings or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def kernels(self, library: str) -> list[plan.Kernel]:
        code, out, err = self.run(["info", "--json"])
        if code != 0:
            sys.exit(f"verify_library: mxgemm info failed:\n{err}")
        found = [
            k for k in json.loads(out)["kernels"] if k["kernel"].startswith(f"cuda:{library}:")
        ]
        if not found or not all(k["available"] for k in found):
            sys.exit(f"verify_library: {library} offers no kernels on this device:\n{out}{err}")
        return [plan.Kernel(k["kernel"], k["a"], k["b"], k["d"]) for k in found]

    def takers(self, text: str) -> set[str]:
        """The kernels that accept a problem."""
        if text not in self.accepted:
            _, out, _ = self.run(["explain", text, "--device", "cuda:0", "--json"])
            names = set()
            if out.startswith("{"):
                for explanation in json.loads(out)["explanations"]:
                    names |= {k["kernel"] for k in explanation["kernels"] if k["accepts"]}
            self.accepted[text] = names
        return self.accepted[text]

    def alignment(self, kernel: plan.Kernel) -> int:
        """Bytes of which data and rows must be multiples, as the kernel says when they are not."""
        arguments = ["--device", "cuda:0", "--kernel", kernel.name, "--data", "exact"]
        text = plan.problem(kernel, {**kernel.plain(), "n": 8, "m": 1})
        _, out, err = self.run(["verify", text, *arguments])
        demand = re.search(r"needs multiples of (\d+) bytes", out + err)
        return int(demand.group(1)) if demand else kernel.alignment

    def accepts(self, kernel: plan.Kernel, row: dict) -> bool:
        return kernel.fits(row) and kernel.name in self.takers(plan.problem(kernel, row))


def find_base(device: Device, kernel: plan.Kernel) -> None:
    for sizes in plan.PLAIN:
        kernel.base = sizes
        if device.accepts(kernel, kernel.plain()):
            kernel.alignment = device.alignment(kernel)
            return
    sys.exit(f"verify_library: {kernel.name} accepts none of the plain sizes")


def find_accepted_values(device: Device, kernels: list[plan.Kernel]) -> None:
    for kernel in kernels:
        find_base(device, kernel)
        for factor, values in kernel.candidates().items():
            kernel.accepted[factor] = [
                value
                for value in values
                if device.accepts(kernel, {**kernel.plain(), factor: value})
            ]
            if not kernel.accepted[factor]:
                sys.exit(f"verify_library: {kernel.name} accepts no value of {factor}")


def run_rows(device: Device, kernel: plan.Kernel, rows: list[dict], settings: dict, data: str):
    """Failures as text; one process for all rows of a kernel."""
    problems = [plan.problem(kernel, row) for row in rows]
    arguments = ["verify", *problems, "--device", "cuda:0", "--kernel", kernel.name]
    code, out, err = device.run([*arguments, "--data", data, "--json"], settings)
    shown = " ".join(f"{k}={v}" for k, v in settings.items())
    again = f"{shown} mxgemm {' '.join(arguments)} --data {data}"
    if not out.startswith("{"):
        return [f"{kernel.name} ended with {code}:\n{out}{err}\n  again: {again}"], 0
    result = json.loads(out)
    failures = [
        f"{kernel.name} {e.get('problem')}: {e['message']}\n{err}\n  again: {again}"
        for e in result["errors"]
    ]
    for row in result["rows"]:
        if not row["passed"]:
            failures.append(f"{json.dumps(row)}\n{err}\n  again: {shown} {row['again']}")
    if code != 0 and not failures:
        failures.append(f"{kernel.name} ended with {code}:\n{err}\n  again: {again}")
    expected = len(problems) * len(data.split(","))
    if not failures and len(result["rows"]) != expected:
        failures.append(f"{kernel.name}: {len(result['rows'])} rows, {expected} expected")
    return failures, len(result["rows"])


def jobs_of(rows, portfolio: str | None):
    """(kernel, rows, settings, data) of every process."""
    by_kernel: dict = {}
    for kernel, row in rows:
        by_kernel.setdefault(kernel, []).append(row)
    if portfolio is None:
        return [
            (kernel, its, {"EMU_SCHED": "plain"}, "exact,normal")
            for kernel, its in by_kernel.items()
        ]
    jobs = []
    for kernel, its in by_kernel.items():
        for policy, seeds in PORTFOLIO:
            for seed in range(1, seeds + 1):
                jobs.append((kernel, its, {"EMU_SCHED": policy, "EMU_SEED": str(seed)}, "exact"))
        # The race detector, once per kernel.
        jobs.append(
            (kernel, its, {"EMU_SCHED": "random", "EMU_SEED": "1", "EMU_RACE": "1"}, "exact")
        )
    return jobs


def small_rows(device: Device, kernels: list[plan.Kernel]):
    """One problem per kernel: the most of SMALL_PROBLEM that it accepts."""
    rows = []
    for kernel in kernels:
        find_base(device, kernel)
        row = kernel.plain()
        for factor, value in SMALL_PROBLEM.items():
            if device.accepts(kernel, {**row, factor: value}):
                row[factor] = value
        rows.append((kernel, row))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("mxgemm")
    parser.add_argument("runtime")
    parser.add_argument("library")
    parser.add_argument("capability")
    parser.add_argument("--portfolio", choices=["small", "all"])
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    device = Device(arguments.mxgemm, arguments.runtime, arguments.capability)
    kernels = device.kernels(arguments.library)
    if arguments.portfolio == "small":
        rows, impossible = small_rows(device, kernels), []
    else:
        find_accepted_values(device, kernels)
        rows, impossible = plan.Planner(kernels, device.accepts).plan()
    if arguments.list:
        for kernel, row in rows:
            print(kernel.name, plan.problem(kernel, row))
    for line in impossible:
        print("no problem found with", line)
    if arguments.list or impossible:
        return 1 if impossible else 0
    failures, count = [], 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = jobs_of(rows, arguments.portfolio)
        for found, ran in pool.map(lambda job: run_rows(device, *job), jobs):
            failures += found
            count += ran
    for failure in failures:
        print("FAILED", failure)
    print(f"{len(kernels)} kernels, {len(rows)} problems, {count} rows, {len(failures)} failures")
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
