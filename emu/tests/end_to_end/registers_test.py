#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the registers that machine code gives our kernels are enough: to be launched, and for
what warps hand over to each other by setmaxnreg.

  registers_test.py CUOBJDUMP PROGRAM LIBRARY CAPABILITY

The caller sets LD_LIBRARY_PATH.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What every kind of kernel takes part in; with C the sm120f library has others.
PROBLEMS = [
    f"m300n136k512:{pair}:{d}{c}"
    for pair in ("mxf4:mxf4", "nvf4:nvf4", "mxf8:mxf8", "mxf8:mxf4", "bf16:mxf4")
    for d, c in (("bf16", ""), ("f32", ":beta=-0.5"))
]


def run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def call(
    program: str, capability: str, registers: pathlib.Path, problems: list[str]
) -> subprocess.CompletedProcess:
    settings = {"EMU_DEVICES": capability, "EMU_REGISTERS": str(registers)}
    return subprocess.run(
        [program, "verify", *problems, "--device", "cuda:0", "--data", "exact"],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def require_failure(program: str, capability: str, registers: pathlib.Path) -> None:
    answer = call(program, capability, registers, PROBLEMS[:1])
    if answer.returncode == 0 or "registers (setmaxnreg)" not in answer.stderr:
        raise SystemExit(f"too few registers are enough:\n{answer.stdout}\n{answer.stderr[-4000:]}")


def main() -> None:
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    tool, program, library, capability = sys.argv[1:]
    usage = run([tool, "-res-usage", library])
    counts = re.findall(r"Function (\S+):\s*\n\s*REG:(\d+)", usage)
    gemms = [(name, int(count)) for name, count in counts if "gemm" in name.lower()]
    if not gemms:
        raise SystemExit("cuobjdump lists no GEMM kernel")
    arch = pathlib.Path(library).stem.removeprefix("libmxgemm_")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "registers.txt"
        file.write_text("".join(f"{name} {count}\n" for name, count in counts), encoding="utf-8")
        answer = call(program, capability, file, PROBLEMS)
        if answer.returncode != 0 or f"cuda:{arch}:" not in answer.stdout:
            raise SystemExit(f"{answer.returncode}\n{answer.stdout}\n{answer.stderr[-4000:]}")
        # Control: with 160 a thread, two warpgroups of a CTA of three cannot go to 232.
        file.write_text("".join(f"{name} 160\n" for name, _ in counts), encoding="utf-8")
        if "setmaxnreg" in run([tool, "-ptx", library]):
            require_failure(program, capability, file)
    print(f"{len(gemms)} kernels of {min(c for _, c in gemms)} to {max(c for _, c in gemms)}")


if __name__ == "__main__":
    main()
