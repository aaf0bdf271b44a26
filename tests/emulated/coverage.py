#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which synchronising instructions of a library's kernels no run executed.

    coverage.py <folder of coverage files> <library> <its file> <ptxemu> [--all]

Reads <folder>/*.txt (EMU_COVERAGE). Fails for a kernel of the library that no run launched, and
with --all for each synchronising instruction that no run executed, unless unreachable.txt beside
this file names it: library, part of the kernel's name, part of the instruction and reason,
separated by tabs. An entry that excuses nothing is a failure, too. Without --all the instructions
are only told: what a kernel does after a wait that was in vain takes more schedules than CI has
time for.
"""

import pathlib
import re
import subprocess
import sys
from collections import defaultdict

UNREACHABLE = pathlib.Path(__file__).resolve().parent / "unreachable.txt"


def read(files: list[pathlib.Path], library_file: str) -> dict:
    """(function, index) -> [count, is synchronising, line, text] of the library's own PTX."""
    counts: dict = defaultdict(lambda: [0, False, 0, ""])
    for file in files:
        function, mine = "", False
        for row in file.read_text().splitlines():
            fields = row.split("\t", 5)
            if fields[0] == "=":
                function, mine = fields[2], library_file in fields[1]
            elif mine:
                entry = counts[function, int(fields[1])]
                entry[0] += int(fields[2])
                entry[1:] = [fields[4] == "sync", int(fields[0]), fields[5]]
    return counts


def entries(ptxemu: str, library: str, library_file: str) -> set[str]:
    """The kernels in the library's PTX."""
    answer = subprocess.run(
        [ptxemu, "text", library_file, f"sm_{library[2:]}"],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(re.findall(r"\.entry\s+([\w$]+)", answer.stdout))


def excuses(library: str) -> list[list[str]]:
    rows = []
    for row in UNREACHABLE.read_text().splitlines():
        if row and not row.startswith("#"):
            fields = row.split("\t")
            if len(fields) != 4:
                sys.exit(f"coverage: {UNREACHABLE.name}: not library, kernel, text, reason: {row}")
            if fields[0] == library:
                rows.append(fields)
    return rows


def main() -> int:
    folder, library, library_file, ptxemu = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
    every_instruction = "--all" in sys.argv
    counts = read(sorted(folder.glob("*.txt")), library_file)
    kernels = entries(ptxemu, library, library_file)
    idle = kernels - {function for (function, _), entry in counts.items() if entry[0]}
    excused, used, missing, total = excuses(library), set(), [], 0
    for (function, _), (count, synchronising, line, text) in counts.items():
        total += synchronising
        if not synchronising or count:
            continue
        fitting = [i for i, e in enumerate(excused) if e[1] in function and e[2] in text]
        used.update(fitting)
        if not fitting:
            missing.append(f"{function}\n  line {line}: {text}")
    for text in missing:
        print("never executed:", text)
    unused = [e for i, e in enumerate(excused) if i not in used]
    for entry in unused:
        print("excuses nothing:", *entry)
    for kernel in sorted(idle):
        print("never launched:", kernel)
    print(
        f"{library}: {len(kernels)} kernels, {len(idle)} never launched; {total} synchronising "
        f"instructions, {len(missing)} never executed"
    )
    incomplete = every_instruction and (missing or unused)
    return 1 if idle or not kernels or total == 0 or incomplete else 0


if __name__ == "__main__":
    sys.exit(main())
