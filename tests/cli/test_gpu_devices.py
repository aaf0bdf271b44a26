# SPDX-License-Identifier: Apache-2.0
"""--device cuda:N without a GPU: stub libraries whose devices are host memory, and fake devices.

The stub kernels write a mark, no product, and the stub quantiser writes ones: what is tested here
is what the commands do around them. On a GPU, scripts/hardware runs the same commands for real.
"""

from __future__ import annotations

import os
import pathlib
import shutil

import numpy as np
import pytest
from conftest import normal
from safetensors.numpy import load_file, save_file

STUBS = pathlib.Path(os.environ["MXGEMM_STUBS"])
STUB_L2 = 1 << 20  # what stub_runtime.cpp says


@pytest.fixture
def on_stubs(mxgemm):
    """The program with two stub devices, of capability 12.0 and 9.0."""
    environment = os.environ | {
        "MXGEMM_PLUGIN_DIR": str(STUBS / "whole"),
        "STUB_DEVICES": "12.0,9.0",
    }

    def run(*arguments, **keywords):
        return mxgemm(*arguments, env=environment, **keywords)

    return run


@pytest.fixture
def on_fakes(mxgemm):
    """The program with two fake devices; their libraries are stubs, which every build has."""
    environment = os.environ | {
        "MXGEMM_PLUGIN_DIR": str(STUBS / "whole"),
        "MXGEMM_FAKE_DEVICES": "12.0,9.0",
    }

    def run(*arguments, **keywords):
        return mxgemm(*arguments, env=environment, **keywords)

    return run


def test_info_lists_devices_libraries_and_kernels(on_stubs):
    outcome = on_stubs("info")
    for text in (
        "cuda:0  stub device 0, compute capability 12.0, kernels sm120f",
        "cuda:1  stub device 1, compute capability 9.0, kernels sm80",
        "cuda:sm100f:gemm_mxf4_mxf4_bf16_128x128x128",
        "no device here has compute capability 10.0, 10.3",
    ):
        assert text in outcome.out
    report = on_stubs("info", "--json").json
    assert [d["l2_bytes"] for d in report["devices"][1:]] == [STUB_L2, STUB_L2]
    assert {library["library"] for library in report["libraries"]} == {
        "cuda",
        "sm120f",
        "sm100f",
        "sm80",
    }


def test_bench_cycles_copies_that_exceed_twice_the_l2(on_stubs):
    command = ["bench", "m512n512k512:mxf4:mxf4:bf16", "--device", "cuda:1", "--repeat", "3"]
    report = on_stubs(*command, "--json").json
    (row,) = report["rows"]
    assert report["l2_bytes"] == STUB_L2 and report["peaks"] is None
    assert row["copies"] == 2 * STUB_L2 // row["bytes"] + 1
    assert row["copies"] * row["bytes"] > 2 * STUB_L2 and row["l2_cold"]
    assert row["peak_percent"] is None and row["runs"] == 3 and row["launches_per_run"] > 1
    (row,) = on_stubs(*command, "--json", "--warm").json["rows"]
    assert row["copies"] == 1 and not row["l2_cold"]
    # More than the cache in one copy already.
    command[1] = "m1024n1024k4096:bf16:mxf4:bf16"
    (row,) = on_stubs(*command, "--json").json["rows"]
    assert row["copies"] == 1 and row["l2_cold"]
    outcome = on_stubs(*command)
    assert "TFLOP/s" in outcome.out and "of peak" in outcome.out
    assert "no peaks of it are known" in outcome.err


def test_verify_leaves_out_kernels_that_refuse_unaligned_data(on_stubs):
    """The stub kernel of sm120f wants 16 bytes; that is no failure of it, and sm80's takes it."""
    command = ["verify", "m8n8k128:mxf4:mxf4:bf16:off=4", "--device", "cuda:0", "--json"]
    outcome = on_stubs(*command, code=1)  # stubs compute nothing
    assert {row["kernel"] for row in outcome.json["rows"]} == {
        "cuda:sm80:gemm_any_any_any_64x64x32"
    }
    forced = on_stubs(
        *command, "--kernel", "cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128", code=None
    )
    assert forced.code == 3 and "needs multiples of 16 bytes" in forced.err


@pytest.mark.parametrize("command", ["verify", "bench", "explain"])
def test_a_library_that_was_not_loaded_is_named_where_no_kernel_is_left(mxgemm, tmp_path, command):
    for name in ("cuda", "sm120f", "sm80"):
        shutil.copy(STUBS / "whole" / f"libmxgemm_{name}.so", tmp_path)
    broken = tmp_path / "libmxgemm_sm80.so"
    broken.write_text("not a library")
    environment = os.environ | {"MXGEMM_PLUGIN_DIR": str(tmp_path), "STUB_DEVICES": "9.0"}
    problem = "m8n8k128:mxf4:mxf4:bf16"
    outcome = mxgemm(command, problem, "--device", "cuda:0", env=environment, code=None)
    assert outcome.code == 3
    assert f"cuda:sm80: not loaded: {broken}: no ELF file" in outcome.err


@pytest.mark.parametrize("command", ["verify", "bench"])
def test_packed_b_on_a_gpu_is_refused_in_words(on_stubs, command):
    problem = "m8n8k128:mxf4:mxf4:bf16:packed"
    outcome = on_stubs(command, problem, "--device", "cuda:0", code=None)
    assert outcome.code == 3
    assert "B is packed; prepared weights are for the CPU" in outcome.err


@pytest.mark.parametrize("output", ["bf16", "f32"])
def test_gemm_copies_operands_to_the_device_and_d_back(on_stubs, tmp_path, output):
    for name, shape in {"A": (4, 128), "B": (8, 128), "bias": (1, 8)}.items():
        np.save(tmp_path / f"{name}.npy", normal(shape))
    report = on_stubs(
        *("gemm", "A.npy", "B.npy", "--format-a", "mxf4", "--format-b", "mxf4", "-o", "D.npy"),
        *("--bias", "bias.npy", "--out-format", output, "--device", "cuda:1", "--json"),
    ).json
    assert report["kernel"] == "cuda:sm80:gemm_any_any_any_64x64x32"
    mark = np.load(tmp_path / "D.npy").view(np.uint16).reshape(-1)[0]
    assert mark == 80  # what the stub kernel leaves in D


@pytest.mark.parametrize("format", ["mxf4", "nvf4", "mxf8"])
def test_quantize_and_dequantize_work_on_the_device(on_stubs, tmp_path, format):
    save_file({"w": normal((300, 64))}, tmp_path / "m.safetensors")
    on_stubs(
        *("quantize", "m.safetensors", "q.safetensors"), "--format", format, "--device", "cuda:1"
    )
    tensors = load_file(tmp_path / "q.safetensors")
    assert (tensors["w.qdata"] == 0x22).all() and (tensors["w.scale"] == 127).all()
    on_stubs(*("dequantize", "q.safetensors", "d.safetensors"), "--device", "cuda:1")
    assert load_file(tmp_path / "d.safetensors")["w"][0, 0] == 64  # the mark: D's pitch


def test_what_only_the_cpu_has_is_said(on_stubs, tmp_path):
    save_file({"w": normal((4, 64))}, tmp_path / "m.safetensors")
    command = ["quantize", "m.safetensors", "q.safetensors", "--format", "mxf4"]
    on_gpu = ["--device", "cuda:1"]
    outcome = on_stubs(*command, "--scale-rule", "mse", *on_gpu, code=3)
    assert "mse" in outcome.err and "only the CPU has it" in outcome.err
    outcome = on_stubs(*command, "--stochastic", *on_gpu, code=3)
    assert "stochastic" in outcome.err and "only the CPU has it" in outcome.err
    assert not (tmp_path / "q.safetensors").exists()
    on_stubs(*command, "--scale-rule", "mse", "--stochastic")  # the CPU does both


def test_nothing_runs_on_fake_devices(on_fakes, tmp_path):
    np.save(tmp_path / "A.npy", normal((4, 128)))
    save_file({"w": normal((4, 64))}, tmp_path / "m.safetensors")
    for command in (
        ["bench", "m8n8k128:mxf4:mxf4:bf16"],
        ["gemm", "A.npy", "A.npy", "--format-b", "mxf4", "-o", "D.npy"],
        ["quantize", "m.safetensors", "q.safetensors", "--format", "mxf4"],
    ):
        outcome = on_fakes(*command, "--device", "cuda:1", code=3)
        assert "a fake device of MXGEMM_FAKE_DEVICES, on which nothing runs" in outcome.err


@pytest.mark.parametrize("command", ["bench", "gemm", "quantize", "dequantize"])
def test_one_device_is_asked_for(mxgemm, command):
    files = {
        "bench": ["m8n8k32:mxf4:mxf4:bf16"],
        "gemm": ["A.npy", "B.npy", "-o", "D.npy"],
        "quantize": ["a", "b", "--format", "mxf4"],
        "dequantize": ["a", "b"],
    }[command]
    for device in ("all", "gpu", "cuda", "cuda:-1", "cuda:0x"):
        outcome = mxgemm(command, *files, "--device", device, code=2)
        assert f"'{device}'" in outcome.err and "cuda:N" in outcome.err
