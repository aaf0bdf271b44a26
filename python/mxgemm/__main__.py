# SPDX-License-Identifier: Apache-2.0
"""`python -m mxgemm` and the console script `mxgemm`: the command line program that belongs to the
loaded library.

`--cmake-dir`, alone, prints the folder to put into CMAKE_PREFIX_PATH or mxgemm_DIR.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from ._native import library_path

# Exit codes of the program: bad files and missing installations are run-time failures.
EXIT_FAILURE = 4


def _fail(message: str) -> NoReturn:
    print(f"mxgemm: {message}", file=sys.stderr)
    sys.exit(EXIT_FAILURE)


def program() -> Path:
    """The program beside the library: <prefix>/bin/mxgemm for <prefix>/lib/libmxgemm.so."""
    return library_path.resolve().parent.parent / "bin" / "mxgemm"


def cmake_dir() -> Path:
    """The folder of mxgemmConfig.cmake."""
    return library_path.resolve().parent / "cmake" / "mxgemm"


def main() -> NoReturn:
    """Runs the program in place of this process with the same arguments."""
    if sys.argv[1:] == ["--cmake-dir"]:
        folder = cmake_dir()
        if not (folder / "mxgemmConfig.cmake").is_file():
            _fail(f"no CMake package in {folder}: {library_path} is not an installed library")
        print(folder)
        sys.exit(0)
    path = program()
    try:
        os.execv(path, [str(path), *sys.argv[1:]])
    except OSError as error:
        _fail(f"cannot run {path}: {error.strerror}")


if __name__ == "__main__":
    main()
