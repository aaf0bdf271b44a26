# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that run the program `mxgemm`."""

from __future__ import annotations

import json
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest

# The independent statement of the formats is shared with the tests of the Python package.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

PROGRAM = os.environ["MXGEMM_PROGRAM"]
COVERAGE_COMPLAINTS = ("profiling:", "libgcov profiling error:")


class Outcome:
    """What a run of the program left."""

    def __init__(self, process: subprocess.CompletedProcess[bytes]):
        self.code = process.returncode
        self.out = process.stdout.decode()
        # What the coverage build says where it cannot write its counts is not the program's.
        lines = process.stderr.decode().splitlines(keepends=True)
        self.err = "".join(line for line in lines if not line.startswith(COVERAGE_COMPLAINTS))

    @property
    def json(self):
        """Standard output, which must be one JSON text without NaN or Infinity."""

        def refuse(name):
            raise AssertionError(f"{name} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def mxgemm(tmp_path):
    """mxgemm("inspect", path, code=4): runs the program in tmp_path and checks its exit code; any
    is right with code=None."""

    def run(*arguments, code=0, **keywords):
        command = [PROGRAM, *map(str, arguments)]
        process = subprocess.run(
            command, cwd=tmp_path, capture_output=True, timeout=120, check=False, **keywords
        )
        outcome = Outcome(process)
        if code is None:
            return outcome
        assert outcome.code == code, (command, outcome.code, outcome.out, outcome.err)
        if code == 4 or code == 3:
            assert outcome.out == "", "a failure prints no result"
            assert outcome.err.startswith(f"mxgemm {arguments[0]}: "), outcome.err
            assert outcome.err.count("\n") == 1, outcome.err
        if code == 2:
            assert outcome.err != ""
        return outcome

    return run


def raw_safetensors(path, tensors, metadata=None, *, header=None):
    """Writes {name: (dtype, shape, bytes)} without a library; `header` replaces the JSON text."""
    table, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        table[name] = {
            "dtype": dtype,
            "shape": list(shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    if metadata is not None:
        table["__metadata__"] = metadata
    text = json.dumps(table).encode() if header is None else header
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def read_raw(path):
    """({name: (dtype, shape, bytes)}, metadata) of a safetensors file, without a library."""
    content = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__", None)
    data = content[8 + length :]
    tensors = {
        name: (t["dtype"], t["shape"], data[t["data_offsets"][0] : t["data_offsets"][1]])
        for name, t in header.items()
    }
    return tensors, metadata


def normal(shape, seed=0, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def names_in(directory):
    """Every name in a directory, hidden ones too."""
    return sorted(entry.name for entry in pathlib.Path(directory).iterdir())
