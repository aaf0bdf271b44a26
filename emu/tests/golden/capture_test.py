#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs capture.sh on an emulated 9.0: the files are whole, and tests of golden files take them."""

import pathlib
import subprocess
import sys
import tempfile

LARGEST = 4_000_000  # bytes of a capture, to be kept in the repository


def fail(why, text=""):
    sys.exit(f"capture_test: {why}\n{text}")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    kit, vector_test = map(pathlib.Path, sys.argv[1:])
    names = sorted(path.stem for path in kit.glob("*.txt"))
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        code, text = run(kit / "capture.sh", kit, out)
        if code != 0:
            fail("capture.sh failed", text)
        forms = [out / f"sm_90a_{name}.txt" for name in names if name != "copies"]
        copies, gemm = out / "copies_90a.txt", out / "hopper_gemm.txt"
        for file in [*forms, copies, gemm]:
            if not file.is_file():
                fail(f"no {file.name}", text)
            if "# GPU: Emulated 9.0" not in file.read_text(encoding="ascii"):
                fail(f"{file.name} does not say where it comes from")
        size = sum(file.stat().st_size for file in out.glob("*.txt"))
        if size > LARGEST:
            fail(f"{size} bytes")
        # Each program ends with its tally; the emulator differs from no expectation.
        if text.count(" 0 differ ") != len(names):
            fail("differences", text)
        code, text = run(vector_test, *forms)
        if code != 0:
            fail("emu_vector_test does not take the files", text)
        code, text = run(kit / "tensor_copies", copies)
        if code != 0:
            fail("tensor_copies does not take its file", text)


if __name__ == "__main__":
    main()
