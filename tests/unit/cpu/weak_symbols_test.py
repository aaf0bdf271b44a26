# SPDX-License-Identifier: Apache-2.0
"""No object file of an ISA level defines a weak or unique symbol.

An inline function compiled with AVX-512 flags is weak; the linker keeps one copy of it for the
whole library, and where that is the one, a processor without AVX-512 meets an illegal instruction.

    weak_symbols_test.py NM OBJECT...                the test
    weak_symbols_test.py --expect-weak NM OBJECT...  negative control: succeeds where one is found
"""

import subprocess
import sys


def weak_symbols(nm: str, path: str) -> list[str]:
    lines = subprocess.run(
        [nm, "-C", path], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    # Type letters: W and V weak with a definition, u unique. Lower-case w and v are references.
    return [
        line
        for line in lines
        if len(line.split(maxsplit=2)) == 3 and line.split(maxsplit=2)[1] in ("W", "V", "u")
    ]


def main() -> int:
    arguments = sys.argv[1:]
    expect_weak = arguments[0] == "--expect-weak"
    nm, *objects = arguments[1:] if expect_weak else arguments
    if not objects:
        print("no object files")
        return 1
    found = {path: symbols for path in objects if (symbols := weak_symbols(nm, path))}
    for path, symbols in found.items():
        print(path, *symbols, sep="\n  ")
    print(f"{len(objects)} object files, {len(found)} with weak symbols")
    return 0 if bool(found) == expect_weak else 1


if __name__ == "__main__":
    sys.exit(main())
