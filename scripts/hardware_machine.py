# SPDX-License-Identifier: Apache-2.0
"""The machine that scripts/hardware runs on: what it has, how to build for it, how to run programs
there."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

# No part of the tests takes so long unless it hangs.
LONGEST_RUN = 600.0


class CannotRun(Exception):
    """The build or a program did not run: exit code 4."""


@dataclasses.dataclass
class Context:
    root: pathlib.Path
    build: pathlib.Path
    out: pathlib.Path

    def program(self, name: str) -> pathlib.Path:
        path = self.build / "bin" / name
        if not path.is_file():
            raise CannotRun(f"{path} is not there: build it, or leave its part out with --only")
        return path

    @functools.cached_property
    def environment(self) -> dict[str, str]:
        """Libraries of the build first; the CUDA runtime beside nvcc if no other is known."""
        folders = [str(self.build / "lib")]
        nvcc = find_nvcc()
        if nvcc is not None:
            folders.append(str(nvcc.resolve().parent.parent / "lib64"))
        old = os.environ.get("LD_LIBRARY_PATH")
        return os.environ | {
            "LD_LIBRARY_PATH": ":".join(folders + ([old] if old else [])),
            "MXGEMM_LIBRARY": str(self.build / "lib" / "libmxgemm.so"),
            "PYTHONPATH": f"{self.root / 'python'}:{self.root / 'bench' / 'peers'}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }


def find_nvcc() -> pathlib.Path | None:
    found = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    return pathlib.Path(found) if found else None


def execute(command, context: Context, **changes: str) -> dict:
    """One program: exit code, output, seconds. A program that hangs has the exit code 124."""
    start = time.monotonic()
    words = [str(word) for word in command]
    try:
        process = subprocess.run(
            words,
            env=context.environment | changes,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_RUN,
            check=False,
        )
        code, out, err = process.returncode, process.stdout, process.stderr
    except subprocess.TimeoutExpired as error:
        code, out, err = 124, (error.stdout or b"").decode(errors="replace"), "timed out"
    except OSError as error:
        raise CannotRun(f"{words[0]}: {error}") from error
    return {
        "exit_code": code,
        "out": out,
        "err": err,
        "seconds": time.monotonic() - start,
    }


def tail(run: dict) -> str:
    return (run["out"] + run["err"])[-3000:]


def describe_machine() -> dict:
    fields = ("name", "compute_cap", "driver_version", "memory.total", "clocks.max.sm")
    gpus, reason = [], ""
    try:
        text = subprocess.run(
            ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for line in text.splitlines():
            name, capability, driver, memory, clock = (word.strip() for word in line.split(","))
            gpus.append(
                {
                    "name": name,
                    "capability": capability,
                    "driver": driver,
                    "memory": memory,
                    "highest_clock": clock,
                }
            )
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        reason = f"nvidia-smi: {error}"
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "gpus": gpus,
        "no_gpu": reason or ("" if gpus else "nvidia-smi lists none"),
        "processors": os.cpu_count(),
        "python": sys.version.split()[0],
    }


def build_for(
    capability: str, targets: tuple[str, ...], say: Callable[[str], None]
) -> pathlib.Path:
    """Builds `targets` and the libraries that such a GPU uses."""
    root = pathlib.Path(__file__).resolve().parent.parent
    major = int(capability.split(".")[0])
    if capability == "9.0":
        folder, configure = root / "build-h200", ["cmake", "--preset", "h200"]
    else:
        archs = {10: "sm100f;sm80", 12: "sm120f;sm80"}.get(major, "sm80")
        folder = root / "build-hardware"
        configure = ["cmake", "-S", str(root), "-B", str(folder), "-G", "Ninja"]
        configure += ["-DCMAKE_BUILD_TYPE=Release", "-DMXGEMM_CUDA=ON"]
        configure += [f"-DMXGEMM_CUDA_ARCHS={archs}"]
    build = ["cmake", "--build", str(folder), "--target", *targets]
    for command in ([str(root / "scripts" / "setup"), "--test"], configure, build):
        say(" ".join(command))
        try:
            code = subprocess.run(command, cwd=root, stdout=sys.stderr, check=False).returncode
        except OSError as error:
            raise CannotRun(f"{command[0]}: {error}") from error
        if code != 0:
            raise CannotRun(f"{' '.join(command)} failed with exit code {code}")
    return folder
