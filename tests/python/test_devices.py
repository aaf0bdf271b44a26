# SPDX-License-Identifier: Apache-2.0
"""device="cuda:N" on machines without a GPU: what is refused and how; and, in a process of its own,
everything around the computation with stub devices."""

import os
import pathlib
import subprocess
import sys

import mxgemm
import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ON_A_GPU = any(device["kind"] == "cuda" for device in mxgemm.info()["devices"])

X = np.ones((4, 64), np.float32)


@pytest.mark.parametrize(
    "device", ["gpu", "cuda", "cuda:", "cuda:-1", "cuda:1x", "cuda:٣", 0, b"cpu"]
)
def test_a_device_of_no_name_is_refused(device: object) -> None:
    q = mxgemm.quantize(X, "mxf4")
    message = r"^device is .*; allowed: 'cpu' or 'cuda:N'$"
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.quantize(X, "mxf4", device=device)
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.dequantize(q, device=device)
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.gemm(X, q, device=device)
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.to_device(X, device)
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.explain(1, 8, 64, "mxf4", "mxf4", device=device)


def test_the_cpu_by_name() -> None:
    q = mxgemm.quantize(X, "mxf4", device="cpu")
    assert q.device == "cpu"
    assert mxgemm.to_device(q, "cpu") is q
    assert mxgemm.to_device(X, "cpu") is X
    assert (mxgemm.gemm(X, q, out_dtype="f32", device="cpu") == 64).all()
    assert (mxgemm.dequantize(q, device="cpu") == X).all()


def test_a_stream_on_the_cpu_is_refused() -> None:
    q = mxgemm.quantize(X, "mxf4")
    for call in (
        lambda: mxgemm.gemm(X, q, stream=16),
        lambda: mxgemm.quantize(X, "mxf4", stream=16),
        lambda: mxgemm.dequantize(q, stream=16),
    ):
        with pytest.raises(
            mxgemm.InvalidArgument, match="stream is 0x10; it must be NULL on the CPU"
        ):
            call()


@pytest.mark.skipif(ON_A_GPU, reason="this machine has a GPU")
def test_without_a_gpu_the_reason_is_given() -> None:
    q = mxgemm.quantize(X, "mxf4")
    for call in (
        lambda: mxgemm.gemm(X, q, device="cuda:0"),
        lambda: mxgemm.quantize(X, "mxf4", device="cuda:0"),
        lambda: mxgemm.dequantize(q, device="cuda:0"),
        lambda: mxgemm.to_device(q, "cuda:0"),
        lambda: mxgemm.explain(1, 8, 64, "mxf4", "mxf4", device="cuda:0"),
    ):
        with pytest.raises(mxgemm.DeviceUnavailable, match="there is no CUDA device"):
            call()


class Elsewhere:
    """An array that tells of a GPU's memory, which nothing here may touch."""

    def __init__(self, **changes: object) -> None:
        interface = {"shape": (4, 64), "typestr": "<f4", "data": (1 << 40, False), "version": 3}
        self.interface = interface | changes

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return self.interface

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 3)


class Untold(Elsewhere):
    __dlpack_device__ = None


class Broken:
    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        raise RuntimeError("this one has a gradient")


def test_foreign_arrays_are_seen_where_they_lie() -> None:
    q = mxgemm.quantize(X, "mxf4")
    x = Elsewhere()
    with pytest.raises(mxgemm.InvalidArgument, match="device is 'cpu', but a lies on cuda:3"):
        mxgemm.gemm(x, q, device="cpu")
    with pytest.raises(mxgemm.InvalidArgument, match="device is 'cuda:1', but x lies on cuda:3"):
        mxgemm.quantize(x, "mxf4", device="cuda:1")
    with pytest.raises(mxgemm.InvalidArgument, match=r"^x is a Untold that does not tell its CUDA"):
        mxgemm.quantize(Untold(), "mxf4")
    with pytest.raises(mxgemm.InvalidArgument, match="x cannot be taken: this one has a gradient"):
        mxgemm.quantize(Broken(), "mxf4")
    with pytest.raises(mxgemm.InvalidArgument, match="a cannot be taken: this one has a gradient"):
        mxgemm.gemm(Broken(), q)
    with pytest.raises(mxgemm.InvalidArgument, match="x has dtype float64"):
        mxgemm.quantize(Elsewhere(typestr="<f8"), "mxf4")
    with pytest.raises(mxgemm.InvalidArgument, match=r"^x has byte strides \(512, 8\)"):
        mxgemm.quantize(Elsewhere(strides=(512, 8)), "mxf4")
    with pytest.raises(mxgemm.InvalidArgument, match="scale lies on cpu; it must lie where qdata"):
        mxgemm.QuantizedTensor(
            Elsewhere(typestr="|u1", shape=(4, 32)), q.scale, "mxf4", shape=(4, 64)
        )


def test_everything_around_the_computation_on_stub_devices() -> None:
    stubs = os.environ.get("MXGEMM_STUBS")
    if stubs is None:
        pytest.skip("no stub libraries were given (run_pytest.py --stubs)")
    environment = os.environ | {
        "MXGEMM_PLUGIN_DIR": str(pathlib.Path(stubs) / "whole"),
        "STUB_DEVICES": "12.0,9.0,9.0",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, HERE / "stub_devices.py"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout


def test_nothing_runs_on_fake_devices() -> None:
    code = (
        "import mxgemm, numpy\n"
        "x = numpy.ones((4, 64), numpy.float32)\n"
        "print(mxgemm.explain(128, 256, 384, 'mxf4', 'mxf4', device='cuda:0'))\n"
        "try:\n"
        "    mxgemm.gemm(x, mxgemm.quantize(x, 'mxf4'), device='cuda:0')\n"
        "except mxgemm.DeviceUnavailable as error:\n"
        "    print(error)\n"
    )
    environment = os.environ | {"MXGEMM_FAKE_DEVICES": "9.0"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "a fake device of MXGEMM_FAKE_DEVICES, on which nothing runs" in done.stdout
