# SPDX-License-Identifier: Apache-2.0
"""info, explain, version, threads, and the program behind `python -m mxgemm`."""

import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import threading

import mxgemm
import numpy as np
import pytest
from mxgemm import __main__ as program_module
from mxgemm import _native

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_version() -> None:
    header = (ROOT / "include/mxgemm/version.h").read_text()
    version = re.search(r'MXGEMM_VERSION_STRING "(.*)"', header)[1]
    assert mxgemm.version() == mxgemm.__version__ == version


def test_info() -> None:
    info = mxgemm.info()
    assert json.loads(json.dumps(info))["version"] == mxgemm.version()
    assert info["library"] == os.environ["MXGEMM_LIBRARY"]
    cpus = [device for device in info["devices"] if device["kind"] == "cpu"]
    assert len(cpus) == 1
    assert cpus[0]["capability"] is None and cpus[0]["memory_bytes"] > 0
    levels = list(_native.ISAS)
    assert levels.index(cpus[0]["isa"]) <= levels.index(cpus[0]["isa_offered"])
    assert cpus[0]["num_threads"] == mxgemm.get_num_threads()
    kernels = [kernel for kernel in info["kernels"] if kernel["device_kind"] == "cpu"]
    assert kernels
    for kernel in kernels:
        assert kernel["available"] == (kernel["reason"] == "")
        assert "mxf4" in kernel["formats_b"] and "f32" in kernel["formats_d"]
        assert kernel["id"].count(":") >= 1


def test_explain_names_the_kernel_that_runs() -> None:
    text = mxgemm.explain(4, 6, 64, "bf16", "mxf4", "f32", activation="gelu", bias_dtype="f32")
    lines = [line for line in text.splitlines() if line]
    chosen = [line for line in lines if "chosen" in line]
    assert len(chosen) == 1
    cpu = [kernel for kernel in mxgemm.info()["kernels"] if kernel["device_kind"] == "cpu"]
    assert all(any(kernel["id"] in line for line in lines) for kernel in cpu)
    identity = next(kernel["id"] for kernel in cpu if kernel["id"] in chosen[0])
    x = np.full((4, 64), 0x3F80, np.uint16)  # 1.0 as bf16 bits
    b = mxgemm.quantize(np.ones((6, 64), np.float32), "mxf4")
    assert (mxgemm.gemm(x, b, a_format="bf16", out_dtype="f32", kernel=identity) == 64).all()


def test_explain_takes_packed_and_c() -> None:
    assert "chosen" in mxgemm.explain(1, 64, 64, "mxf4", "nvf4", use_c=True, packed=True)


@pytest.mark.parametrize("value", [-1, 1.0, "2", None, True, 2**31])
def test_set_num_threads_refused(value: object) -> None:
    with pytest.raises(mxgemm.InvalidArgument, match=r"^num_threads is"):
        mxgemm.set_num_threads(value)


def test_threads_do_not_change_results(rng: np.random.Generator) -> None:
    a = rng.standard_normal((65, 512)).astype(np.float32)
    b = mxgemm.quantize(rng.standard_normal((257, 512)).astype(np.float32), "mxf4")
    before = mxgemm.get_num_threads()
    try:
        results = set()
        for threads in (1, 2, 3, 7):
            mxgemm.set_num_threads(threads)
            assert mxgemm.get_num_threads() == threads
            results.add(mxgemm.gemm(a, b, out_dtype="f32").tobytes())
        mxgemm.set_num_threads(0)
        assert mxgemm.get_num_threads() >= 1
    finally:
        mxgemm.set_num_threads(before)
    assert len(results) == 1


def test_many_python_threads_at_once(rng: np.random.Generator) -> None:
    """Results and error messages belong to the thread that made the call."""
    b = mxgemm.quantize(rng.standard_normal((40, 64)).astype(np.float32), "mxf4")
    failures: list[str] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        x = np.full((number + 1, 64), number + 1, np.float32)
        want = mxgemm.gemm(x, b, out_dtype="f32")
        start.wait()
        for _ in range(50):
            if mxgemm.gemm(x, b, out_dtype="f32").tobytes() != want.tobytes():
                failures.append(f"thread {number} got other numbers")
            try:
                mxgemm.gemm(x, b, kernel=f"cpu:no_such:{number}")
            except mxgemm.Error as error:
                if f"cpu:no_such:{number}" not in str(error):
                    failures.append(f"thread {number} got the message {error}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def _product_in_child(queue: "multiprocessing.Queue[bytes]") -> None:
    x = np.ones((70, 128), np.float32)
    queue.put(mxgemm.gemm(x, mxgemm.quantize(x, "mxf4"), out_dtype="f32").tobytes())


def test_survives_fork() -> None:
    """The child of a process whose thread pool runs starts its own."""
    x = np.ones((70, 128), np.float32)
    want = mxgemm.gemm(x, mxgemm.quantize(x, "mxf4"), out_dtype="f32").tobytes()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_product_in_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=60) == want
        child.join(timeout=60)
        assert child.exitcode == 0
    finally:
        child.kill()


needs_program = pytest.mark.skipif(
    not program_module.program().is_file(), reason="this build has no command line program"
)


def module(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mxgemm", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@needs_program
def test_module_is_the_program() -> None:
    done = module("--version")
    assert done.returncode == 0 and mxgemm.version() in done.stdout
    assert module("no-such-command").returncode == 2


def test_module_without_installation() -> None:
    """A build's library has no CMake package beside it: said, not invented."""
    done = module("--cmake-dir")
    assert done.returncode == 4
    assert "no CMake package in" in done.stderr and not done.stdout


def test_missing_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(program_module, "library_path", pathlib.Path("/nowhere/lib/libmxgemm.so"))
    monkeypatch.setattr(sys, "argv", ["mxgemm", "info"])
    with pytest.raises(SystemExit) as caught:
        program_module.main()
    assert caught.value.code == 4
    assert "cannot run /nowhere/bin/mxgemm: No such file" in capsys.readouterr().err
