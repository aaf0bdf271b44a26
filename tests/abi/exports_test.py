#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shared library exports exactly the functions of exports.txt, which are those of mxgemm.h.

Nothing weak, nothing unique.

exports_test.py NM LIBRARY HEADER EXPORTS.TXT
exports_test.py --only NAME NM LIBRARY…   each exports that function and nothing else
exports_test.py --self-test               that each kind of fault is found
"""

import pathlib
import re
import subprocess
import sys

DECLARATION = re.compile(r"MXGEMM_API\b[^;(]*?\b(mxgemm_\w+)\s*\(")


def header_functions(text: str) -> list[str]:
    return sorted(DECLARATION.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))


def find_faults(nm_output: str, expected: list[str], declared: list[str]) -> list[str]:
    """`nm_output` has lines of "address type name"."""
    symbols = {}
    for line in nm_output.splitlines():
        parts = line.split()
        if len(parts) >= 3:
            symbols[parts[2].split("@")[0]] = parts[1]
    exported, listed, in_header = symbols.keys(), set(expected), set(declared)
    wrong = sorted(name for name, kind in symbols.items() if kind != "T")
    found = [f"{name} is of type {symbols[name]}; only T is allowed" for name in wrong]
    for names, fault in (
        (exported - listed, "is exported and not in exports.txt"),
        (listed - exported, "is in exports.txt and not exported"),
        (in_header - listed, "is in mxgemm.h and not in exports.txt"),
        (listed - in_header, "is in exports.txt and not in mxgemm.h"),
    ):
        found += [f"{name} {fault}" for name in sorted(names)]
    if expected != sorted(set(expected)):
        found.append("exports.txt is not sorted")
    return found


def self_test() -> int:
    good = ["a", "b"]
    listing = "01 T a\n02 T b\n"
    cases = [
        (listing, good, good, 0),
        (listing + "03 W c\n", [*good, "c"], [*good, "c"], 1),
        (listing + "03 u c\n", [*good, "c"], [*good, "c"], 1),
        (listing + "03 T c\n", good, good, 1),
        ("01 T a\n", good, good, 1),
        (listing, good, [*good, "c"], 1),
        (listing, good, ["a"], 1),
        (listing, ["b", "a"], good, 1),
    ]
    wrong = [case for case in cases if len(find_faults(*case[:3])) != case[3]]
    header = "MXGEMM_API int x_y(void);\nMXGEMM_API const char*\n  mxgemm_f(int);"
    if header_functions(header) != ["mxgemm_f"]:
        wrong.append(("header", [], [], 0))
    for case in wrong:
        print(f"self-test: {case}: {find_faults(*case[:3])}")
    return 1 if wrong else 0


def dynamic_symbols(nm: str, library: str) -> str:
    command = [nm, "-D", "--defined-only", library]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_only(name: str, nm: str, *libraries: str) -> int:
    found = [
        f"{pathlib.Path(library).name}: {fault}"
        for library in libraries
        for fault in find_faults(dynamic_symbols(nm, library), [name], [name])
    ]
    print("\n".join(found) or f"{len(libraries)} libraries export {name} alone")
    return 1 if found or not libraries else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1] == "--only":
        return check_only(*sys.argv[2:])
    nm, library, header, exports = sys.argv[1:]
    output = dynamic_symbols(nm, library)
    expected = pathlib.Path(exports).read_text().split()
    found = find_faults(output, expected, header_functions(pathlib.Path(header).read_text()))
    print("\n".join(found) or f"{len(expected)} exports are right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
