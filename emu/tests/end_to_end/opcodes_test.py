#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opcodes in the PTX of our GPU libraries against opcodes.txt, one list for all.

  opcodes_test.py PTXEMU LIBRARY LIST            fails where the library has an opcode that the
                                                 list or the emulator lacks
  opcodes_test.py PTXEMU LIBRARY LIST --update   writes the list

A list names what some version of the library has used; an opcode that is gone does no harm. A new
one comes from a changed kernel or another compiler, and wants a look at how the emulator treats it.
"""

import pathlib
import re
import subprocess
import sys


def census(ptxemu: str, library: str) -> tuple[set[str], str]:
    result = subprocess.run(
        [ptxemu, "census", library], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"{library}: {result.stdout[-3000:]}{result.stderr}")
    return set(re.findall(r"^ +\d+  (\S+)$", result.stdout, flags=re.M)), result.stdout


def main() -> None:
    if len(sys.argv) not in (4, 5) or sys.argv[4:] not in ([], ["--update"]):
        raise SystemExit(__doc__)
    ptxemu, library, file = sys.argv[1:4]
    found, output = census(ptxemu, library)
    if len(found) < 50 or "0 instructions are not supported" not in output:
        raise SystemExit(f"{library}: {output[-3000:]}")
    path = pathlib.Path(file)
    known = set(path.read_text().split())
    if sys.argv[4:] == ["--update"]:
        path.write_text("".join(f"{opcode}\n" for opcode in sorted(found | known)))
        return
    fresh = found - known
    if fresh:
        raise SystemExit(
            f"{library} has opcodes that {path.name} does not list: {' '.join(sorted(fresh))}\n"
            "See that the emulator does what they mean, then add them with --update."
        )


if __name__ == "__main__":
    main()
