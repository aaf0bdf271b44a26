# SPDX-License-Identifier: Apache-2.0
"""What the file commands leave on the disk: shards, replaced files, nothing after a failure."""

import json
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import time

import numpy as np
import pytest
from conftest import PROGRAM, names_in, normal
from safetensors.numpy import load_file, save_file

INDEX = "model.safetensors.index.json"
SHARDS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]


def sharded(directory):
    directory.mkdir()
    parts = [
        {"a.weight": normal((8, 64), 1), "a.bias": normal((8,), 2)},
        {"b.weight": normal((8, 64), 3), "norm.weight": normal((64,), 4)},
    ]
    weight_map = {}
    for shard, tensors in zip(SHARDS, parts, strict=True):
        save_file(tensors, directory / shard, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(tensors, shard)
    index = {"metadata": {"total_size": 1, "note": [1, "x"]}, "weight_map": weight_map}
    (directory / INDEX).write_text(json.dumps(index))
    return parts[0] | parts[1]


@pytest.mark.parametrize("target", ["new-directory", "existing", f"existing/{INDEX}", "existing/"])
def test_shards_become_shards(mxgemm, tmp_path, target):
    tensors = sharded(tmp_path / "in")
    (tmp_path / "existing").mkdir()
    mxgemm("quantize", f"in/{INDEX}", target, "--format", "nvf4")
    out = tmp_path / target.split("/")[0]
    assert names_in(out) == sorted([*SHARDS, INDEX])
    index = json.loads((out / INDEX).read_text())
    assert index["metadata"]["note"] == [1, "x"]
    quantised = {"a.weight", "b.weight"}
    kept = set(tensors) - quantised
    parts = {f"{n}.{p}" for n in quantised for p in ("qdata", "scale", "global_scale")}
    assert set(index["weight_map"]) == kept | parts
    total = 0
    for shard in SHARDS:
        loaded = load_file(out / shard)
        total += sum(array.nbytes for array in loaded.values())
        assert {n for n, s in index["weight_map"].items() if s == shard} == set(loaded)
    assert index["metadata"]["total_size"] == total
    assert mxgemm("inspect", out / INDEX, "--json").json["kind"] == "index"

    mxgemm("dequantize", out / INDEX, "back")
    back = {name: a for shard in SHARDS for name, a in load_file(tmp_path / "back" / shard).items()}
    assert {n: a.shape for n, a in back.items()} == {n: a.shape for n, a in tensors.items()}
    for name in kept:
        np.testing.assert_array_equal(back[name], tensors[name])


def test_gemm_takes_a_tensor_of_a_shard(mxgemm, tmp_path):
    sharded(tmp_path / "in")
    mxgemm("quantize", f"in/{INDEX}", "out", "--format", "mxf4")
    np.save(tmp_path / "x.npy", normal((3, 64)))
    mxgemm("gemm", "x.npy", f"out/{INDEX}:b.weight", "--format-a", "mxf4", "-o", "d.npy")
    assert np.load(tmp_path / "d.npy").shape == (3, 8)


def test_shards_are_never_written_over_the_input(mxgemm, tmp_path):
    sharded(tmp_path / "in")
    before = {n: (tmp_path / "in" / n).read_bytes() for n in names_in(tmp_path / "in")}
    for target in ("in", "in/", f"in/{INDEX}", "in/other.json"):
        outcome = mxgemm("quantize", f"in/{INDEX}", target, "--format", "mxf4", "--force", code=2)
        assert "input" in outcome.err
    assert {n: (tmp_path / "in" / n).read_bytes() for n in names_in(tmp_path / "in")} == before


def test_a_failing_shard_leaves_no_directory(mxgemm, tmp_path):
    sharded(tmp_path / "in")
    tensors = load_file(tmp_path / "in" / SHARDS[1])
    save_file(tensors | {"b.weight.scale": np.zeros(1)}, tmp_path / "in" / SHARDS[1])
    outcome = mxgemm("quantize", f"in/{INDEX}", "out", "--format", "mxf4", code=4)
    assert "b.weight.scale" in outcome.err
    assert names_in(tmp_path) == ["in"]


def test_existing_files_are_replaced_only_by_force(mxgemm, tmp_path):
    save_file({"w": normal((4, 32))}, tmp_path / "in.safetensors")
    (tmp_path / "out.safetensors").write_text("precious")
    outcome = mxgemm("quantize", "in.safetensors", "out.safetensors", "--format", "mxf4", code=2)
    assert "--force" in outcome.err
    assert (tmp_path / "out.safetensors").read_text() == "precious"
    mxgemm("quantize", "in.safetensors", "out.safetensors", "--format", "mxf4", "--force")
    assert "w.qdata" in load_file(tmp_path / "out.safetensors")


def test_outputs_that_are_no_files(mxgemm, tmp_path):
    save_file({"w": normal((4, 32))}, tmp_path / "in.safetensors")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link.safetensors").symlink_to("in.safetensors")
    base = ["quantize", "in.safetensors"]
    end = ["--format", "mxf4", "--force"]
    assert "a directory" in mxgemm(*base, "directory", *end, code=2).err
    assert "not a regular file" in mxgemm(*base, "/dev/null", *end, code=2).err
    assert "input" in mxgemm(*base, "in.safetensors", *end, code=2).err
    assert "input" in mxgemm(*base, "link.safetensors", *end, code=2).err
    assert ".json" in mxgemm(*base, "out.json", *end, code=2).err
    assert "No such file" in mxgemm(*base, "no/where.safetensors", *end, code=4).err
    assert os.path.exists("/dev/null")
    assert names_in(tmp_path) == ["directory", "in.safetensors", "link.safetensors"]


def limit_file_size(limit):
    def apply():
        # As a shell does that sets no handler: the signal of a file that grows too large kills.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return apply


@pytest.mark.parametrize("command", ["quantize", "dequantize", "gemm"])
def test_a_full_disk_is_an_error_and_leaves_nothing(mxgemm, tmp_path, command):
    save_file({"w": normal((256, 256))}, tmp_path / "in.safetensors")
    mxgemm("quantize", "in.safetensors", "q.safetensors", "--format", "mxf4")
    arguments = {
        "quantize": ["in.safetensors", "out.safetensors", "--format", "mxf8"],
        "dequantize": ["q.safetensors", "out.safetensors"],
        "gemm": ["q.safetensors:w", "q.safetensors:w", "-o", "out.npy"],
    }[command]
    # A coverage build must not damage its counts when the limit cuts them.
    environment = os.environ | {"GCOV_PREFIX": "/proc/none"}
    limited = {"preexec_fn": limit_file_size(20_000), "env": environment}
    outcome = mxgemm(command, *arguments, code=4, **limited)
    assert "out." in outcome.err
    assert "bytes" in outcome.err
    assert names_in(tmp_path) == ["in.safetensors", "q.safetensors"]


def sparse_model(path, shape, count):
    """F32 tensors of zeros that take no room on the disk."""
    size = 4 * shape[0] * shape[1]
    header = {
        f"t{i}": {"dtype": "F32", "shape": shape, "data_offsets": [i * size, (i + 1) * size]}
        for i in range(count)
    }
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + count * size)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_killed_command_leaves_nothing(tmp_path, number):
    sparse_model(tmp_path / "in.safetensors", [4096, 4096], 64)  # 4 GiB: seconds of work
    command = [PROGRAM, "quantize", "in.safetensors", "out.safetensors", "--format", "mxf4"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while len(names_in(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    during = names_in(tmp_path)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert len(during) == 2, "the temporary file was there"
    assert "out.safetensors" not in during
    assert process.returncode == -number
    assert names_in(tmp_path) == ["in.safetensors"]


def test_memory_does_not_grow_with_the_file(tmp_path):
    def peak(count):
        sparse_model(tmp_path / "in.safetensors", [4096, 4096], count)
        command = [PROGRAM, "quantize", "in.safetensors", "out.safetensors", "--format", "mxf4"]
        # A sanitized build keeps freed memory for a while; only what is in use counts here.
        environment = os.environ | {"ASAN_OPTIONS": "quarantine_size_mb=1"}
        process = subprocess.Popen(
            [*command, "--force"], cwd=tmp_path, stdout=subprocess.DEVNULL, env=environment
        )
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        return usage.ru_maxrss * 1024

    one, eight = peak(1), peak(8)
    assert eight < 200e6, "less than one tensor of 64 MB and its eight fellows"
    assert eight < one + 20e6


def test_the_progress_bar_is_for_terminals(tmp_path):
    sparse_model(tmp_path / "in.safetensors", [4096, 4096], 24)  # 1.5 GiB: longer than one frame
    ours, theirs = pty.openpty()
    command = [PROGRAM, "quantize", "in.safetensors", "out.safetensors", "--format", "mxf4"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:
        pass  # how Linux says that the other end of a terminal was closed
    os.close(ours)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert re.search(rb"\rquantising \[#*\.*\] +\d+ %", shown), shown
    assert shown.endswith(b"\r\x1b[K"), "the bar is wiped"
    assert "%" not in out
