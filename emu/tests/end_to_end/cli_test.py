#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program under the emulated runtime.

  cli_test.py PROGRAM ARCHS verify CAPABILITY   the acceptance problems, every kernel
  cli_test.py PROGRAM ARCHS info                two devices and their libraries
  cli_test.py PROGRAM ARCHS fault               a failing launch: exit 4, and the kernel's name

ARCHS is what was built, as "sm80,sm120f". The caller sets LD_LIBRARY_PATH.
"""

import os
import subprocess
import sys

PROBLEMS = [
    "m133n528k512:mxf4:mxf4:bf16",
    "m17n40k96:nvf4:nvf4:bf16",
    "m129n136k256:mxf8:mxf4:bf16",
    "m300n136k2880:mxf4:mxf4:bf16:bias:act=silu:alpha=dev",
]
SMALL_PROBLEM = "m40n136k256:mxf4:mxf4:bf16"
# Capability -> the library that has kernels of its own for it; all others run on sm80.
OWN_LIBRARY = {"10.0": "sm100f", "12.0": "sm120f"}


def run(program: str, arguments: list[str], **variables: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "EMU_SEED": "1", **variables}
    return subprocess.run(
        [program, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def require(condition: bool, what: str, result: subprocess.CompletedProcess) -> None:
    if not condition:
        raise SystemExit(
            f"{what}\nexit code {result.returncode}\n{result.stdout}\n{result.stderr[-4000:]}"
        )


def library_for(capability: str, archs: list[str]) -> str:
    own = OWN_LIBRARY.get(capability, "sm80")
    return own if own in archs else "sm80"


def verify(program: str, archs: list[str], capability: str) -> None:
    kernel = f"cuda:{library_for(capability, archs)}:"
    for problem in PROBLEMS:
        result = run(program, ["verify", problem, "--device", "cuda:0"], EMU_DEVICES=capability)
        require(result.returncode == 0, "verify fails", result)
        require(kernel in result.stdout, f"no kernel {kernel} is listed", result)
        require(" 0 failed" in result.stdout, "not everything passed", result)


def info(program: str, archs: list[str]) -> None:
    result = run(program, ["info"], EMU_DEVICES="12.0,10.0")
    require(result.returncode == 0, "info fails", result)
    for index, capability in enumerate(["12.0", "10.0"]):
        name = f"Emulated {capability} device {index}"
        lines = [line for line in result.stdout.splitlines() if name in line]
        require(len(lines) == 1 and lines[0].startswith(f"cuda:{index} "), name, result)
        require(f"kernels {library_for(capability, archs)}" in lines[0], name, result)


def fault(program: str, _archs: list[str]) -> None:
    result = run(
        program,
        ["verify", SMALL_PROBLEM, "--device", "cuda:0", "--data", "exact"],
        EMU_DEVICES="8.6",
        EMU_FAULT="launch-once:1",
    )
    require(result.returncode == 4, "the failure is not exit code 4", result)
    message = result.stdout + result.stderr
    require("cudaErrorLaunchOutOfResources" in message, "the error has no name", result)
    require("cuda:sm80:gemm_" in message, "the kernel has no name", result)


def main() -> None:
    scenarios = {"verify": verify, "info": info, "fault": fault}
    if len(sys.argv) < 4 or sys.argv[3] not in scenarios:
        raise SystemExit(__doc__)
    program, archs, scenario, *rest = sys.argv[1:]
    scenarios[scenario](program, archs.split(","), *rest)


if __name__ == "__main__":
    main()
