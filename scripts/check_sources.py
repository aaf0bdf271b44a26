#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of every tracked source file: its licence line, and that it is short enough to read.

Prints one line per fault; exit code 1 if there is any.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENCE = "SPDX-License-Identifier: Apache-2.0"
SOURCE_SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".py", ".cmake"}
# Past these a reader loses the thread; kernels are read top to bottom and may be longer.
MAX_LINES = 400
MAX_KERNEL_LINES = 600
# The C ABI is one header by design, and most of it is documentation.
UNLIMITED = {"include/mxgemm/mxgemm.h"}


def tracked_files() -> list[str]:
    output = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return output.stdout.splitlines()


def is_source(name: str, text: str) -> bool:
    path = pathlib.PurePosixPath(name)
    return path.suffix in SOURCE_SUFFIXES or path.name == "CMakeLists.txt" or text.startswith("#!")


def is_kernel(name: str) -> bool:
    return name.endswith((".cu", ".cuh")) or name.startswith(
        ("src/cpu/scalar/", "src/cpu/avx2/", "src/cpu/avx512/", "src/cpu/amx/")
    )


def faults(name: str) -> list[str]:
    raw = (ROOT / name).read_bytes()
    if b"\0" in raw:
        return []
    text = raw.decode("utf-8", errors="replace")
    if not is_source(name, text):
        return []
    found = []
    lines = text.splitlines()
    if not any(LICENCE in line for line in lines[:3]):
        found.append(f"{name}: the first lines lack '{LICENCE}'")
    limit = MAX_KERNEL_LINES if is_kernel(name) else MAX_LINES
    if len(lines) > limit and name not in UNLIMITED:
        found.append(f"{name}: {len(lines)} lines; at most {limit}: split it along a seam")
    return found


def main() -> int:
    found = [fault for name in tracked_files() for fault in faults(name)]
    print("\n".join(found) if found else "sources: licence lines and sizes are right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
