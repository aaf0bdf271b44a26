# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of this folder against a built program: what the CTest test `cli_commands` does.

    run_file_commands.py --program build/bin/mxgemm --stubs build/tests/stubs [pytest arguments]

Exit code 77, which CTest counts as skipped, where a Python package is not installed.
"""

import argparse
import importlib.util
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
NEEDED = ("ml_dtypes", "numpy", "pytest", "safetensors")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument(
        "--stubs", type=pathlib.Path, required=True, help="GPU libraries that need none"
    )
    parser.add_argument("--cache-dir", type=pathlib.Path)
    options, pytest_arguments = parser.parse_known_args()
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"SKIPPED: not installed for {sys.executable}: {', '.join(missing)}")
        return SKIPPED
    environment = os.environ | {
        "MXGEMM_PROGRAM": str(options.program.resolve()),
        "MXGEMM_STUBS": str(options.stubs.resolve()),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    folder = pathlib.Path(__file__).resolve().parent
    command = [sys.executable, "-m", "pytest", str(folder), *pytest_arguments]
    if options.cache_dir:
        command += ["-o", f"cache_dir={options.cache_dir.resolve() / 'pytest'}"]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
