# SPDX-License-Identifier: Apache-2.0
"""Files that are damaged or built to harm: exit code 4, a message that says what, no output."""

import json
import pathlib
import struct

import ml_dtypes
import numpy as np
import pytest
from conftest import names_in, raw_safetensors

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "corpus"


NUMPY_TYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8"]


def corpus_files():
    for kind, name in [
        ("safetensors", "x.safetensors"),
        ("index", "model.safetensors.index.json"),
        ("npy", "x.npy"),
    ]:
        for path in sorted((CORPUS / kind).iterdir()):
            # Whether an index is good depends on the shards beside it, which the corpus lacks.
            if not (kind == "index" and path.name.startswith("ok_")):
                yield pytest.param(path, name, id=f"{kind}-{path.name}")


@pytest.mark.parametrize(("path", "name"), list(corpus_files()))
def test_every_command_refuses_every_bad_file(mxgemm, tmp_path, path, name):
    (tmp_path / name).write_bytes(path.read_bytes())
    if path.name.startswith("ok_"):
        mxgemm("inspect", name)
        mxgemm("inspect", name, "--json").json  # noqa: B018 (parsing is the test)
        return
    np.save(tmp_path / "a.npy", np.ones((2, 32), np.float32))
    operand = name if name.endswith(".npy") else f"{name}:w"
    commands = [
        ["inspect", name],
        ["gemm", operand, "a.npy", "--format-b", "mxf4", "-o", "d.npy"],
    ]
    if not name.endswith(".npy"):
        commands += [
            ["quantize", name, "out", "--format", "mxf4"],
            ["dequantize", name, "out"],
        ]
    for command in commands:
        outcome = mxgemm(*command, code=4)
        assert name in outcome.err
        assert outcome.err.isprintable() or outcome.err[:-1].isprintable(), outcome.err
    assert names_in(tmp_path) == sorted([name, "a.npy"])


def test_a_file_cut_in_half_names_the_missing_bytes(mxgemm, tmp_path):
    path = raw_safetensors(tmp_path / "x.safetensors", {"w": ("F32", [8, 32], bytes(1024))})
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    missing = len(content) - len(content) // 2
    outcome = mxgemm("inspect", "x.safetensors", code=4)
    assert "x.safetensors" in outcome.err
    assert "'w'" in outcome.err
    assert f"{missing} bytes are missing" in outcome.err


def test_a_header_of_exactly_100000_bytes_loads(mxgemm, tmp_path):
    entry = {"w": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}
    text = json.dumps(entry).encode().ljust(100_000)
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"abcd")
    (shard,) = mxgemm("inspect", "x.safetensors", "--json").json["shards"]
    assert shard["tensors"][0]["offset"] == 100_008


def test_fp4_and_e8m0(mxgemm, tmp_path):
    tensors = {
        "four": ("F4", [2, 8], bytes(range(8))),
        "scale": ("F8_E8M0", [2, 1], b"\x00\xfe"),
        "w": ("F32", [1, 32], np.ones(32, np.float32).tobytes()),
    }
    raw_safetensors(tmp_path / "x.safetensors", tensors)
    (shard,) = mxgemm("inspect", "x.safetensors", "--json").json["shards"]
    four = next(t for t in shard["tensors"] if t["name"] == "four")
    assert (four["shape"], four["bytes"]) == ([2, 8], 8)
    # Copied as bytes, never by value.
    mxgemm("quantize", "x.safetensors", "y.safetensors", "--format", "mxf4")
    content = (tmp_path / "y.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    begin, end = header["scale"]["data_offsets"]
    assert header["scale"]["dtype"] == "F8_E8M0"
    assert content[8 + length + begin : 8 + length + end] == b"\x00\xfe"
    begin, end = header["four"]["data_offsets"]
    assert header["four"]["shape"] == [2, 8]
    assert content[8 + length + begin : 8 + length + end] == bytes(range(8))

    raw_safetensors(tmp_path / "z.safetensors", {"odd": ("F4", [3, 5], bytes(8))})
    outcome = mxgemm("inspect", "z.safetensors", code=4)
    assert "'odd'" in outcome.err
    assert "dimension 1 is 5" in outcome.err


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize(
    ("dtype", "shown"),
    [
        *(
            (t, None)
            for t in ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8"]
        ),
        (ml_dtypes.bfloat16, "BF16"),
        (ml_dtypes.float8_e5m2, "F8_E5M2"),
        (ml_dtypes.float8_e4m3fn, "U8"),
    ],
    ids=str,
)
def test_inspect_reads_what_numpy_writes(mxgemm, tmp_path, dtype, shown, version):
    array = np.zeros((3, 5), dtype)
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    result = mxgemm("inspect", "x.npy", "--json").json
    assert result["shape"] == [3, 5]
    assert result["bytes"] == array.nbytes
    assert result["offset"] == (tmp_path / "x.npy").stat().st_size - array.nbytes
    assert result["fortran_order"] is False
    if shown is not None:
        assert result["dtype"] == shown


def test_inspect_lists_text(mxgemm, tmp_path):
    raw_safetensors(
        tmp_path / "x.safetensors",
        {"w": ("F32", [2, 3], bytes(24)), "v": ("F4", [4], b"ab")},
        {"key": "line\nline \x1b[31mred"},
    )
    outcome = mxgemm("inspect", "x.safetensors")
    for word in ["w", "F32", "[2, 3]", "24", "F4", "2 tensors", "line\\x0Aline \\x1B[31mred"]:
        assert word in outcome.out
    assert "\x1b" not in outcome.out


def test_what_is_no_file_at_all(mxgemm, tmp_path):
    (tmp_path / "directory.safetensors").mkdir()
    assert "a directory" in mxgemm("inspect", "directory.safetensors", code=4).err
    assert "No such file" in mxgemm("inspect", "missing.safetensors", code=4).err
    assert "No such file" in mxgemm("inspect", "missing.npy", code=4).err
    assert "not a regular file" in mxgemm("inspect", "/dev/zero", code=4).err
    mxgemm("inspect", code=2)
    mxgemm("inspect", "--wrong", code=2)


@pytest.mark.parametrize("command", ["quantize", "dequantize", "inspect", "gemm"])
def test_help_has_examples(mxgemm, command):
    outcome = mxgemm(command, "--help")
    assert f"  mxgemm {command} " in outcome.out
    assert "--json" in outcome.out
