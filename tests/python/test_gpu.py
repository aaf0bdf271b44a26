# SPDX-License-Identifier: Apache-2.0
"""On a CUDA device: the CPU's bits, where the numbers leave no choice, and arrays of torch."""

import mxgemm
import numpy as np
import oracle
import pytest

DEVICES = [f"cuda:{d['index']}" for d in mxgemm.info()["devices"] if d["kind"] == "cuda"]
DEVICE = DEVICES[0] if DEVICES else ""
pytestmark = pytest.mark.skipif(not DEVICES, reason="this machine has no CUDA device")

try:
    import torch

    HAS_TORCH = torch.cuda.is_available()
except ImportError:
    HAS_TORCH = False
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="there is no torch with CUDA here")


def integers(rng: np.random.Generator, rows: int, cols: int) -> np.ndarray:
    return rng.integers(-6, 7, (rows, cols)).astype(np.float32)


def equal_tensors(left: mxgemm.QuantizedTensor, right: mxgemm.QuantizedTensor) -> bool:
    left, right = mxgemm.to_device(left, "cpu"), mxgemm.to_device(right, "cpu")
    return (
        left.qdata.tobytes() == right.qdata.tobytes()
        and left.scale.tobytes() == right.scale.tobytes()
        and left.global_scale == right.global_scale
    )


@pytest.mark.parametrize("layout", ["row_major", "swizzle_32_4_4"])
@pytest.mark.parametrize("name", oracle.FORMATS)
def test_quantize_and_dequantize(rng: np.random.Generator, name: str, layout: str) -> None:
    x = rng.standard_normal((130, 288)).astype(np.float32)
    want = mxgemm.quantize(x, name, scale_layout=layout)
    got = mxgemm.quantize(x, name, scale_layout=layout, device=DEVICE)
    there = mxgemm.quantize(mxgemm.to_device(x, DEVICE), name, scale_layout=layout)
    assert equal_tensors(got, want) and equal_tensors(there, want)
    for dtype in ("f32", "f16", "bf16"):
        decoded = mxgemm.dequantize(want, dtype)
        assert mxgemm.dequantize(want, dtype, device=DEVICE).tobytes() == decoded.tobytes()
        assert mxgemm.dequantize(there, dtype).numpy().tobytes() == decoded.tobytes()


@pytest.mark.parametrize("rule", ["even", "floor", "ceil", "rceil", "nearest"])
def test_every_scale_rule(rng: np.random.Generator, rule: str) -> None:
    x = (rng.standard_normal((33, 64)) * 2.0 ** rng.integers(-20, 20, (33, 1))).astype(np.float32)
    for name in ("mxf4", "mxf8e4m3", "mxf8e5m2"):
        got = mxgemm.quantize(x, name, scale_rule=rule, device=DEVICE)
        assert equal_tensors(got, mxgemm.quantize(x, name, scale_rule=rule))


@pytest.mark.parametrize("name_b", oracle.FORMATS)
@pytest.mark.parametrize("name_a", [*oracle.FORMATS, None])
def test_gemm(rng: np.random.Generator, name_a: str | None, name_b: str) -> None:
    x, w = integers(rng, 19, 96), integers(rng, 40, 96)
    a = x if name_a is None else mxgemm.quantize(x, name_a, scale_layout="swizzle_32_4_4")
    b = mxgemm.quantize(w, name_b)
    bias = rng.integers(-4, 5, 40).astype(np.float32)
    c = integers(rng, 19, 40)
    options = {"bias": bias, "c": c, "beta": 0.5, "alpha": 2.0, "activation": "relu"}
    want = mxgemm.gemm(a, b, out_dtype="f32", **options)
    assert mxgemm.gemm(a, b, out_dtype="f32", device=DEVICE, **options).tobytes() == want.tobytes()
    there = mxgemm.gemm(
        mxgemm.to_device(a, DEVICE), mxgemm.to_device(b, DEVICE), out_dtype="f32", **options
    )
    assert there.numpy().tobytes() == want.tobytes()


def test_swizzled_scales_and_back(rng: np.random.Generator) -> None:
    q = mxgemm.quantize(integers(rng, 130, 288), "mxf4")
    there = mxgemm.swizzle_scales(mxgemm.to_device(q, DEVICE))
    assert equal_tensors(there, mxgemm.swizzle_scales(q))
    assert equal_tensors(mxgemm.unswizzle_scales(there), q)


@needs_torch
def test_arrays_of_torch_are_used_as_they_lie(rng: np.random.Generator) -> None:
    x = torch.from_numpy(integers(rng, 8, 64)).cuda()
    b = mxgemm.quantize(integers(rng, 24, 64), "mxf4")
    want = mxgemm.gemm(x.cpu().numpy(), b, out_dtype="f32")
    there = mxgemm.to_device(b, DEVICE)
    stream = torch.cuda.current_stream().cuda_stream
    d = mxgemm.gemm(x, there, out_dtype="f32", stream=stream)
    assert (torch.as_tensor(d, device="cuda").cpu().numpy() == want).all()
    out = torch.full((8, 24), torch.nan, device="cuda")
    result = mxgemm.gemm(x, there, out=out, out_dtype="f32", stream=stream)
    assert result.pointer == out.data_ptr() and (out.cpu().numpy() == want).all()
    q = mxgemm.quantize(x, "mxf4", stream=stream)
    assert equal_tensors(q, mxgemm.quantize(x.cpu().numpy(), "mxf4"))
    with pytest.raises(mxgemm.InvalidArgument, match="a cannot be taken"):
        mxgemm.gemm(x.clone().requires_grad_(), there)


@needs_torch
def test_bfloat16_of_torch(rng: np.random.Generator) -> None:
    x = torch.from_numpy(integers(rng, 8, 64)).cuda()
    b = mxgemm.to_device(mxgemm.quantize(integers(rng, 24, 64), "mxf4"), DEVICE)
    want = mxgemm.gemm(x, b, out_dtype="f32").numpy()
    got = mxgemm.gemm(x.bfloat16(), b, out_dtype="f32", a_format="bf16")
    assert got.numpy().tobytes() == want.tobytes()
