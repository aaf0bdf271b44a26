# SPDX-License-Identifier: Apache-2.0
r"""Runs tests/python against a built library: what the CTest test `python_tests` does.

    run_pytest.py --source-dir . --library build/lib/libmxgemm.so --stubs build/tests/stubs \
        [pytest arguments]

Exit code 77, which CTest counts as skipped, where numpy or pytest is not installed.
"""

import argparse
import importlib.util
import os
import pathlib
import subprocess
import sys

SKIPPED = 77


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source-dir", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--stubs", type=pathlib.Path, help="GPU libraries that need no GPU")
    parser.add_argument("--cache-dir", type=pathlib.Path)
    options, pytest_arguments = parser.parse_known_args()
    missing = [name for name in ("numpy", "pytest") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"SKIPPED: not installed for {sys.executable}: {', '.join(missing)}")
        return SKIPPED
    environment = os.environ | {
        "MXGEMM_LIBRARY": str(options.library.resolve()),
        "PYTHONPATH": str(options.source_dir.resolve() / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if options.stubs:
        environment["MXGEMM_STUBS"] = str(options.stubs.resolve())
    command = [sys.executable, "-m", "pytest", "tests/python", *pytest_arguments]
    if options.cache_dir:
        cache = options.cache_dir.resolve()
        command += ["-o", f"cache_dir={cache / 'pytest'}"]
        environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(cache / "hypothesis")
    return subprocess.run(command, cwd=options.source_dir, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
