# SPDX-License-Identifier: Apache-2.0
"""dequantize, and what a QuantizedTensor accepts."""

import dataclasses
import pickle

import ml_dtypes
import mxgemm
import numpy as np
import oracle
import pytest

DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def every_code(name: str, scales: np.ndarray) -> mxgemm.QuantizedTensor:
    """Rows of all element codes, one row per scale byte."""
    fmt = oracle.FORMATS[name]
    codes = np.resize(np.arange(len(fmt.values), dtype=np.uint8), 256)
    qdata = np.tile(oracle.pack(codes, fmt), (len(scales), 1))
    scale = np.repeat(scales[:, None], 256 // fmt.block, axis=1)
    return mxgemm.QuantizedTensor(qdata, scale, name, (len(scales), 256))


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("name", oracle.FORMATS)
def test_all_codes_and_scales(name: str, target: str) -> None:
    """The exact product rounded once: overflow to infinity with its sign, subnormals kept."""
    q = every_code(name, np.arange(256, dtype=np.uint8))
    for g in (1.0,) if name != "nvf4" else (1.0, 0.1, 2.0**-120, 3e38):
        got = mxgemm.dequantize(dataclasses.replace(q, global_scale=g), target)
        assert got.dtype == DTYPES[target]
        want = oracle.round_to(oracle.decode(q.qdata, q.scale, name, g), target)
        np.testing.assert_array_equal(got.astype(np.float64), want)
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number])


@pytest.mark.parametrize("name", oracle.FORMATS)
def test_swizzled_scales(rng: np.random.Generator, name: str) -> None:
    x = rng.standard_normal((3, 50, 96)).astype(np.float32)
    plain = mxgemm.quantize(x, name)
    swizzled = mxgemm.quantize(x, name, scale_layout="swizzle_32_4_4")
    np.testing.assert_array_equal(mxgemm.dequantize(swizzled), mxgemm.dequantize(plain))
    np.testing.assert_array_equal(
        swizzled.scale, oracle.swizzle(plain.scale.reshape(150, plain.scale.shape[-1]))
    )


def test_out(rng: np.random.Generator) -> None:
    q = mxgemm.quantize(rng.standard_normal((4, 64)).astype(np.float32), "mxf8")
    memory = np.full((4, 70), 7, np.float16)
    out = memory[:, :64]
    assert mxgemm.dequantize(q, np.float16, out=out) is out
    np.testing.assert_array_equal(out, mxgemm.dequantize(q, "f16"))
    assert (memory[:, 64:] == 7).all()
    bits = np.zeros((4, 64), np.uint16)
    mxgemm.dequantize(q, "bf16", out=bits)
    assert bits.tobytes() == mxgemm.dequantize(q, ml_dtypes.bfloat16).tobytes()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty((4, 63), np.float32), r"^out has shape \(4, 63\); it must be \(4, 64\)"),
        (np.empty((64, 4), np.float32).T, r"^out has byte strides"),
        (np.empty((4, 64), np.float16), r"^out has dtype float16; it must be float32"),
        (np.empty((4, 64), ">f4"), r"^out has dtype >f4 \(swapped bytes\)"),
        (np.broadcast_to(np.float32(0), (4, 64)), r"^out is read-only"),
        ([0.0], r"^out is a list"),
    ],
)
def test_out_refused(out: object, message: str) -> None:
    q = mxgemm.quantize(np.ones((4, 64), np.float32), "mxf8")
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.dequantize(q, out=out)


@pytest.mark.parametrize("dtype", ["f64", "mxf4", np.float64, None, 5])
def test_dtype_refused(dtype: object) -> None:
    q = mxgemm.quantize(np.ones((4, 64), np.float32), "mxf8")
    with pytest.raises(mxgemm.InvalidArgument, match=r"^dtype is .*; allowed: 'bf16', 'f16' or"):
        mxgemm.dequantize(q, dtype)


def test_not_a_tensor() -> None:
    with pytest.raises(mxgemm.InvalidArgument, match=r"^q is a ndarray; it must be a Quantized"):
        mxgemm.dequantize(np.zeros((4, 64), np.uint8))


def raw(**changes: object) -> mxgemm.QuantizedTensor:
    parts = {
        "qdata": np.zeros((4, 32), np.uint8),
        "scale": np.zeros((4, 2), np.uint8),
        "format": "mxf4",
        "shape": (4, 64),
    }
    return mxgemm.QuantizedTensor(**parts | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(format="f32"), r"^format is 'f32'; allowed"),
        (
            dict(shape=(4, 32)),
            r"^qdata has shape \(4, 32\); for mxf4 of shape \(4, 32\) it must be",
        ),
        (dict(shape=(4, 48)), r"48.*32"),
        (dict(shape=4), r"^shape is 4; it must be a tuple"),
        (dict(shape=()), r"^shape is \(\); it must be a tuple"),
        (dict(shape=(-4, 64)), r"^shape\[0\] is -4; it must be an integer from 0"),
        (dict(shape=(4.0, 64)), r"^shape\[0\] is 4.0"),
        (dict(shape=(2**62, 2**62, 64)), r"^shape is .*"),
        (dict(qdata=np.zeros((4, 32), np.int8)), r"^qdata has dtype int8; the elements of mxf4"),
        (dict(qdata=np.zeros((4, 32), np.float32)), r"^qdata has dtype float32"),
        (dict(scale=np.zeros((4, 2), np.float32)), r"^scale has dtype float32; the scales of mxf4"),
        (dict(scale=np.zeros((4, 1), np.uint8)), r"^scale has shape \(4, 1\)"),
        (dict(scale=np.zeros((2, 4), np.uint8)), r"^scale has shape \(2, 4\)"),
        (dict(scale=np.zeros((4, 2), ml_dtypes.float8_e4m3fn)), r"^scale has dtype float8_e4m3fn"),
        (dict(scale_layout="blocked"), r"^scale_layout is 'blocked'"),
        (dict(scale_layout="swizzle_32_4_4"), r"^scale has 8 bytes; it must have 512"),
        (dict(global_scale=2.0), r"^global_scale is 2.0; only nvf4 has one"),
        (dict(format="nvf4", scale=np.zeros((4, 4), np.uint8), global_scale=-1), r"^global_scale"),
    ],
)
def test_tensor_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        raw(**changes)


def test_float8_views_are_the_same_bytes() -> None:
    """The one-byte dtypes of ml_dtypes are taken as they are."""
    x = np.linspace(-3, 3, 128, dtype=np.float32).reshape(2, 64)
    q = mxgemm.quantize(x, "mxf8")
    twin = mxgemm.QuantizedTensor(
        q.qdata.view(ml_dtypes.float8_e4m3fn),
        q.scale.view(ml_dtypes.float8_e8m0fnu),
        "mxf8",
        (2, 64),
    )
    assert twin.format == "mxf8e4m3"
    np.testing.assert_array_equal(mxgemm.dequantize(twin), mxgemm.dequantize(q))


def test_tensor_is_frozen_and_pickles() -> None:
    q = mxgemm.quantize(np.ones((4, 64), np.float32), "nvf4")
    with pytest.raises(dataclasses.FrozenInstanceError):
        q.scale_layout = "swizzle_32_4_4"
    copy = pickle.loads(pickle.dumps(q))
    np.testing.assert_array_equal(mxgemm.dequantize(copy), mxgemm.dequantize(q))
    assert repr(q).startswith("QuantizedTensor(nvf4, shape=(4, 64), row_major, global_scale=")


def test_strided_rows_are_taken_as_they_are(rng: np.random.Generator) -> None:
    q = mxgemm.quantize(rng.standard_normal((6, 64)).astype(np.float32), "nvf4")
    qdata = np.full((6, 40), 0xAA, np.uint8)
    scale = np.full((6, 9), 0x7F, np.uint8)
    qdata[:, :32], scale[:, :4] = q.qdata, q.scale
    strided = dataclasses.replace(q, qdata=qdata[:, :32], scale=scale[:, :4])
    assert np.shares_memory(strided.qdata, qdata)
    np.testing.assert_array_equal(mxgemm.dequantize(strided), mxgemm.dequantize(q))
    reversed_rows = dataclasses.replace(q, qdata=q.qdata[::-1], scale=q.scale[::-1])
    np.testing.assert_array_equal(mxgemm.dequantize(reversed_rows), mxgemm.dequantize(q)[::-1])
