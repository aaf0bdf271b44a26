#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Was every synchronising instruction of the kernels that ran executed at least once?

    coverage.py <folder of coverage files> <library>

Reads <folder>/<library>-*.txt (EMU_COVERAGE) and fails for each synchronising instruction that no
run executed, unless unreachable.txt beside this file names it: kernel part, instruction part and
reason, separated by tabs. An entry that excuses nothing is a failure, too.
"""

import pathlib
import sys
from collections import defaultdict

UNREACHABLE = pathlib.Path(__file__).resolve().parent / "unreachable.txt"


def read(files: list[pathlib.Path]) -> dict:
    """(function, index) -> [count, is synchronising, line, text]"""
    counts: dict = defaultdict(lambda: [0, False, 0, ""])
    for file in files:
        function = ""
        for row in file.read_text().splitlines():
            fields = row.split("\t", 5)
            if fields[0] == "=":
                function = fields[2]
                continue
            entry = counts[function, int(fields[1])]
            entry[0] += int(fields[2])
            entry[1:] = [fields[4] == "sync", int(fields[0]), fields[5]]
    return counts


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
    folder, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    files = sorted(folder.glob(f"{library}-*.txt"))
    counts = read(files)
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
    kernels = len({function for function, _ in counts})
    print(
        f"{library}: {kernels} kernels and functions, {total} synchronising instructions, "
        f"{len(missing)} never executed"
    )
    return 1 if missing or unused or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
