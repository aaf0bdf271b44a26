#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every kernel of one GPU library under every schedule, and once with the race detector.

    portfolio.py <mxgemm> <folder of the emulated libcudart> <library> <capability>

One problem per kernel: several tiles each way, not all of them whole, and more steps along K than
a pipeline has stages.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# Specification 6.3: policy and number of seeds.
SCHEDULES = [
    {"EMU_SCHED": policy, "EMU_SEED": str(seed)}
    for policy, seeds in [
        ("plain", 1),
        ("random", 4),
        ("late", 2),
        ("pct", 4),
        ("late+pct", 3),
        ("early+pct", 3),
    ]
    for seed in range(1, seeds + 1)
]
RACE = {"EMU_SCHED": "random", "EMU_SEED": "1", "EMU_RACE": "1"}
# Some kernels take only whole steps of 128 along K, some only few rows.
SIZES = ["m200n136k1120", "m200n136k1152", "m3n136k1120"]
OPTIONS = ":bias:act=relu"


class Device:
    """The command line program on one emulated device."""

    def __init__(self, program: str, runtime: str, capability: str):
        self.program = program
        self.environment = dict(os.environ)
        for name in [n for n in self.environment if n.startswith("EMU_")]:
            if name != "EMU_COVERAGE":
                del self.environment[name]
        self.environment.update(
            LD_LIBRARY_PATH=runtime, EMU_DEVICES=capability, EMU_ABORT="0", EMU_SEED="1"
        )

    def run(self, arguments: list[str], settings: dict[str, str] | None = None):
        done = subprocess.run(
            [self.program, *arguments],
            env={**self.environment, **(settings or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def kernels(self, library: str) -> list[dict]:
        code, out, err = self.run(["info", "--json"])
        if code != 0:
            sys.exit(f"portfolio: mxgemm info failed:\n{err}")
        prefix = f"cuda:{library}:"
        found = [k for k in json.loads(out)["kernels"] if k["kernel"].startswith(prefix)]
        if not found or not all(k["available"] for k in found):
            sys.exit(f"portfolio: {library} offers no kernels on this device:\n{out}{err}")
        return found

    def problem(self, kernel: dict) -> str:
        formats = f":{kernel['a'][0]}:{kernel['b'][0]}:{kernel['d'][0]}{OPTIONS}"
        for text in [size + formats for size in SIZES]:
            _, out, _ = self.run(["explain", text, "--device", "cuda:0", "--json"])
            if out.startswith("{"):
                rows = json.loads(out)["explanations"][0]["kernels"]
                if any(r["kernel"] == kernel["kernel"] and r["accepts"] for r in rows):
                    return text
        sys.exit(f"portfolio: {kernel['kernel']} takes none of {SIZES} with {formats}")


def failure(device: Device, kernel: str, problem: str, settings: dict[str, str]) -> str:
    """Empty, or what went wrong and how to see it again."""
    arguments = ["verify", problem, "--device", "cuda:0", "--kernel", kernel, "--data", "exact"]
    code, out, err = device.run([*arguments, "--json"], settings)
    rows = json.loads(out)["rows"] if out.startswith("{") else []
    if code == 0 and len(rows) == 1 and rows[0]["passed"]:
        return ""
    shown = " ".join(f"{k}={v}" for k, v in settings.items())
    return f"{kernel} ended with {code}:\n{out}{err}\n  again: {shown} mxgemm {' '.join(arguments)}"


def main() -> int:
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    program, runtime, library, capability = sys.argv[1:]
    device = Device(program, runtime, capability)
    kernels = device.kernels(library)
    jobs = [
        (device, kernel["kernel"], problem, settings)
        for kernel in kernels
        for problem in [device.problem(kernel)]
        for settings in [*SCHEDULES, RACE]
    ]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        failures = [text for text in pool.map(lambda job: failure(*job), jobs) if text]
    for text in failures:
        print("FAILED", text)
    print(f"{len(kernels)} kernels, {len(jobs)} runs, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
