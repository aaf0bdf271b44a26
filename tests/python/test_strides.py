# SPDX-License-Identifier: Apache-2.0
"""Bug kind 32: inputs of any strides give the bits of contiguous ones, or are refused by name."""

import ml_dtypes
import mxgemm
import numpy as np
import oracle
import pytest


def views() -> dict[str, np.ndarray]:
    """Arrays of every kind of strides, all values distinct, last extents multiples of 32."""
    base = np.arange(96 * 128, dtype=np.float32).reshape(96, 128) - 5000
    base3d = base.reshape(12, 8, 128)
    record = np.zeros((8,), np.dtype([("tag", "u1"), ("row", "f4", (64,))]))
    record["row"] = base[:8, :64]
    column_major = np.asfortranarray(base)
    windows = np.lib.stride_tricks.sliding_window_view(base[0], 64)
    misaligned = np.frombuffer(b"x" + base[:4].tobytes(), np.uint8)[1:].view(np.float32)
    return {
        "transposed": base.T,
        "every second column": base[:, ::2],
        "every third row": base[1::3],
        "middle of three": base3d[:, 1, :],
        "left half": base[:, :64],
        "left half in 3d": base3d[:, :, :64],
        "some of each": base3d[2:7, 3:5, :96],
        "one row of each": base3d[:, 1:2, :],
        "rows reversed": base[::-1],
        "columns reversed": base[:, ::-1],
        "axes swapped": base3d.swapaxes(0, 1),
        "broadcast": np.broadcast_to(base[3], (5, 128)),
        "fields of records": record["row"],
        "column major": column_major,
        "sliding windows": windows,
        "misaligned": misaligned.reshape(4, 128),
        "one strided vector": base[0, ::2],
        "one column": base[:, :1].T,
        "read-only": np.frombuffer(base.tobytes(), np.float32).reshape(96, 128),
    }


VIEWS = views()


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("name", oracle.FORMATS)
def test_quantize(name: str, kind: str) -> None:
    view = VIEWS[kind]
    got = mxgemm.quantize(view, name)
    want = mxgemm.quantize(np.array(view, order="C"), name)
    assert got.shape == view.shape
    assert got.qdata.tobytes() == want.qdata.tobytes()
    assert got.scale.tobytes() == want.scale.tobytes()
    assert got.global_scale == want.global_scale


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_gemm_a(rng: np.random.Generator, kind: str, dtype: type) -> None:
    a = VIEWS[kind].astype(dtype, order="K", copy=False)
    k = a.shape[-1]
    b = mxgemm.quantize(rng.standard_normal((7, k)).astype(np.float32), "mxf4")
    got = mxgemm.gemm(a, b, out_dtype="f32")
    assert got.shape == (*a.shape[:-1], 7)
    assert got.tobytes() == mxgemm.gemm(np.array(a, order="C"), b, out_dtype="f32").tobytes()


def strided_twin(q: mxgemm.QuantizedTensor) -> mxgemm.QuantizedTensor:
    """The same tensor in the middle of wider, poisoned memory."""
    rows = q.shape[0]
    qdata = np.full((rows, q.qdata.shape[1] + 6), 0x7F, np.uint8)
    scale = np.full((rows, q.scale.shape[1] + 3), 0xFF, np.uint8)
    qdata[:, 2:-4], scale[:, 1:-2] = q.qdata, q.scale
    return mxgemm.QuantizedTensor(
        qdata[:, 2:-4], scale[:, 1:-2], q.format, q.shape, q.scale_layout, q.global_scale
    )


@pytest.mark.parametrize("name_a", oracle.FORMATS)
@pytest.mark.parametrize("name_b", oracle.FORMATS)
def test_gemm_strided_operands(rng: np.random.Generator, name_a: str, name_b: str) -> None:
    a = mxgemm.quantize(rng.standard_normal((9, 96)).astype(np.float32), name_a)
    b = mxgemm.quantize(rng.standard_normal((5, 96)).astype(np.float32), name_b)
    want = mxgemm.gemm(a, b, out_dtype="f32")
    got = mxgemm.gemm(strided_twin(a), strided_twin(b), out_dtype="f32")
    assert got.tobytes() == want.tobytes()
    flipped = mxgemm.QuantizedTensor(
        b.qdata[::-1], b.scale[::-1], name_b, b.shape, global_scale=b.global_scale
    )
    got = mxgemm.gemm(a, flipped, out_dtype="f32")
    assert got.tobytes() == np.ascontiguousarray(want[:, ::-1]).tobytes()
    assert mxgemm.pack(strided_twin(b)).data.tobytes() == mxgemm.pack(b).data.tobytes()


def test_gemm_strided_out_c_and_bias(rng: np.random.Generator) -> None:
    a = mxgemm.quantize(rng.standard_normal((6, 64)).astype(np.float32), "mxf8")
    b = mxgemm.quantize(rng.standard_normal((5, 64)).astype(np.float32), "mxf4")
    c = rng.standard_normal((6, 5)).astype(np.float32)
    bias = rng.standard_normal(5).astype(np.float32)
    want = mxgemm.gemm(a, b, c=c, beta=0.5, bias=bias, out_dtype="f32")

    memory = np.full((6, 9), 7, np.float32)
    out = memory[:, 2:7]
    spread = np.repeat(bias, 3)[::3]
    for source in (c, np.asfortranarray(c), np.repeat(c, 2, axis=0)[::2], c[::-1][::-1]):
        out[:] = np.nan
        got = mxgemm.gemm(a, b, c=source, beta=0.5, bias=spread, out_dtype="f32", out=out)
        assert got is out
        np.testing.assert_array_equal(out, want)
        assert (memory[:, :2] == 7).all() and (memory[:, 7:] == 7).all()
    out[:] = c  # in place: C and D are the same memory
    mxgemm.gemm(a, b, c=out, beta=0.5, bias=bias, out_dtype="f32", out=out)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize(
    "out",
    [
        np.empty((5, 6), np.float32).T,
        np.empty((6, 10), np.float32)[:, ::2],
        np.empty((6, 5), np.float32)[::-1],
        np.empty((6, 5), np.float32)[:, ::-1],
        np.frombuffer(bytearray(121), np.uint8)[1:].view(np.float32).reshape(6, 5),
    ],
)
def test_gemm_out_refused(out: np.ndarray) -> None:
    a = mxgemm.quantize(np.ones((6, 64), np.float32), "mxf8")
    b = mxgemm.quantize(np.ones((5, 64), np.float32), "mxf4")
    with pytest.raises(mxgemm.InvalidArgument, match=r"^out has byte strides"):
        mxgemm.gemm(a, b, out_dtype="f32", out=out)


def test_overlapping_out_is_refused() -> None:
    b = mxgemm.quantize(np.ones((64, 64), np.float32), "mxf4")
    memory = np.ones((8, 64), np.float32)
    with pytest.raises(mxgemm.InvalidArgument, match=r"overlap"):
        mxgemm.gemm(memory, b, out_dtype="f32", out=memory)
    c = np.ones((9, 64), np.float32)
    with pytest.raises(mxgemm.InvalidArgument, match=r"overlap"):
        mxgemm.gemm(memory, b, c=c[1:], beta=1.0, out_dtype="f32", out=c[:-1])
