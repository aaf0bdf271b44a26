#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The complete C and C++ programs of the documentation compile, run, and print what the page says.

docs_examples_test.py CC CXX INCLUDE LIBRARY PAGE.md…: a program is a fenced `c` or `cpp` listing
with a `main`; where the next listing is a `text` one, that is its output.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(text: str) -> list[tuple[str, str, str | None]]:
    """(language, source, expected output or None) of each complete program."""
    listings = FENCE.findall(text)
    found = []
    for index, (language, source) in enumerate(listings):
        if language in ("c", "cpp") and re.search(r"\bint main\(", source):
            following = listings[index + 1] if index + 1 < len(listings) else ("", "")
            found.append((language, source, following[1] if following[0] == "text" else None))
    return found


def run(
    compilers: dict[str, list[str]], include: str, library: pathlib.Path, language: str, source: str
) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, f"example.{language}")
        file.write_text(source)
        program = pathlib.Path(folder, "example")
        strict = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
        link = [str(library), f"-Wl,-rpath,{library.parent}"]
        command = [*compilers[language], *strict, f"-I{include}", str(file), *link]
        subprocess.run([*command, "-o", str(program)], check=True)
        return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


def main() -> int:
    cc, cxx, include, library, *pages = sys.argv[1:]
    compilers = {"c": [cc, "-std=c99"], "cpp": [cxx, "-std=c++20"]}
    count, wrong = 0, 0
    for page in pages:
        found = programs(pathlib.Path(page).read_text())
        if not found:
            print(f"{page}: no complete program found")
            wrong += 1
        for language, source, expected in found:
            output = run(compilers, include, pathlib.Path(library), language, source)
            count += 1
            if expected is not None and output != expected:
                print(f"{page}: a {language} program prints\n{output}instead of\n{expected}")
                wrong += 1
    print(f"{count} programs, {wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
