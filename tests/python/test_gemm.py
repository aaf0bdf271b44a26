# SPDX-License-Identifier: Apache-2.0
"""gemm and pack: results against the independent oracle and the values of docs/formats.md."""

import copy
import math
import pickle

import ml_dtypes
import mxgemm
import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

PLAIN = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
OUT = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
KINDS_A = (*oracle.FORMATS, *PLAIN)


def integers(rng: np.random.Generator, rows: int, cols: int) -> np.ndarray:
    """Small integers: every product and sum of them is exact, in any order."""
    return rng.integers(-3, 4, (rows, cols)).astype(np.float32)


def operand(x: np.ndarray, kind: str, layout: str = "row_major") -> object:
    if kind in PLAIN:
        return x.astype(PLAIN[kind])
    options = {"global_scale": 1.0} if kind == "nvf4" else {}
    return mxgemm.quantize(x, kind, scale_layout=layout, **options)


def exact(q: object) -> np.ndarray:
    """The operand's values in float64."""
    if isinstance(q, np.ndarray):
        return q.astype(np.float64)
    if q.scale_layout != "row_major":
        q = mxgemm.unswizzle_scales(q)
    return oracle.decode(q.qdata, q.scale, q.format, q.global_scale)


def assert_same(got: np.ndarray, want: np.ndarray) -> None:
    """Equal numbers, NaN in the same places."""
    np.testing.assert_array_equal(got.astype(np.float64), want)


@pytest.mark.parametrize("out", OUT)
@pytest.mark.parametrize("layout", ["row_major", "swizzle_32_4_4"])
@pytest.mark.parametrize("kind_b", oracle.FORMATS)
@pytest.mark.parametrize("kind_a", KINDS_A)
def test_exact_products(
    rng: np.random.Generator, kind_a: str, kind_b: str, layout: str, out: str
) -> None:
    a, b = integers(rng, 13, 96), integers(rng, 10, 96)
    qa, qb = operand(a, kind_a, layout), operand(b, kind_b, layout)
    want = oracle.round_to(exact(qa) @ exact(qb).T, out)
    got = mxgemm.gemm(qa, qb, out_dtype=out)
    assert (got.shape, got.dtype) == ((13, 10), OUT[out])
    assert_same(got, want)
    assert_same(mxgemm.gemm(qa, mxgemm.pack(qb), out_dtype=OUT[out]), want)


@pytest.mark.parametrize("kind_b", oracle.FORMATS)
@pytest.mark.parametrize("kind_a", KINDS_A)
def test_random_products_stay_within_the_bound(
    rng: np.random.Generator, kind_a: str, kind_b: str
) -> None:
    m, n, k = 33, 17, 512
    qa = operand(rng.standard_normal((m, k)).astype(np.float32), kind_a)
    qb = operand(rng.standard_normal((n, k)).astype(np.float32), kind_b)
    bias = rng.standard_normal(n).astype(np.float32)
    got = mxgemm.gemm(qa, qb, bias=bias, alpha=0.75, out_dtype="f32")
    want = 0.75 * (exact(qa) @ exact(qb).T) + bias
    s = np.abs(exact(qa)) @ np.abs(exact(qb)).T
    bound = 0.75 * k * (2.0**-23 * s + 2.0**-126) + 2.0**-22 * (0.75 * s + np.abs(bias))
    assert np.isfinite(got).all()
    assert (np.abs(got - want) <= bound).all()


@given(
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 5),
    st.sampled_from(KINDS_A),
    st.sampled_from(list(oracle.FORMATS)),
    st.integers(0, 2**32),
)
def test_any_small_shape(m: int, n: int, blocks: int, kind_a: str, kind_b: str, seed: int) -> None:
    """Empty extents too: K = 0 leaves the bias, M = 0 or N = 0 nothing."""
    rng = np.random.default_rng(seed)
    qa = operand(integers(rng, m, 32 * blocks), kind_a)
    qb = operand(integers(rng, n, 32 * blocks), kind_b)
    bias = integers(rng, 1, n)[0]
    got = mxgemm.gemm(qa, qb, bias=bias, out_dtype="f32")
    assert got.shape == (m, n)
    assert_same(got, exact(qa) @ exact(qb).T + bias)


def activated(x: np.ndarray, name: str) -> np.ndarray:
    erf = np.vectorize(math.erf, otypes=[float])
    return {
        "none": lambda: x,
        "relu": lambda: np.maximum(x, 0),
        "gelu": lambda: x * 0.5 * (1 + erf(x / math.sqrt(2))),
        "gelu_tanh": lambda: (
            0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        ),
        "silu": lambda: x / (1 + np.exp(-x)),
    }[name]()


@pytest.mark.parametrize("activation", ["none", "relu", "gelu", "gelu_tanh", "silu"])
def test_epilogue(rng: np.random.Generator, activation: str) -> None:
    qa, qb = operand(integers(rng, 9, 32) / 8, "bf16"), operand(integers(rng, 11, 32), "mxf4")
    c, bias = integers(rng, 9, 11), integers(rng, 1, 11)[0]
    x = 0.5 * (exact(qa) @ exact(qb).T) + bias - 0.25 * c
    got = mxgemm.gemm(
        qa, qb, c=c, bias=bias, alpha=0.5, beta=-0.25, activation=activation, out_dtype="f32"
    )
    want = activated(x, activation)
    if activation in ("none", "relu"):
        assert_same(got, want)
    else:
        assert (np.abs(got - want) <= 2.0**-21 * np.abs(x)).all()
        assert not np.array_equal(got, mxgemm.gemm(qa, qb, out_dtype="f32"))


def ones(rows: int, k: int, kind: str = "mxf4", g: float = 1.0) -> mxgemm.QuantizedTensor:
    """Codes of 1.0 (2 in E2M1) under scales of 1.0 (127 in E8M0, 0x38 in E4M3)."""
    block, scale = (16, 0x38) if kind == "nvf4" else (32, 127)
    return mxgemm.QuantizedTensor(
        np.full((rows, k // 2), 0x22, np.uint8),
        np.full((rows, k // block), scale, np.uint8),
        kind,
        (rows, k),
        global_scale=g,
    )


def test_alpha_is_not_ignored() -> None:
    """Bug kind 39."""
    a, b = ones(64, 64), ones(64, 64)
    assert (mxgemm.gemm(a, b) == 64).all()
    for half in (0.5, np.float32(0.5), np.float64(0.5), np.float16(0.5)):
        assert (mxgemm.gemm(a, b, alpha=half) == 32).all()
    assert (mxgemm.gemm(a, b, alpha=np.int64(2)) == 128).all()


C = np.full((64, 64), 2, np.float32)


@pytest.mark.parametrize(
    ("options", "value"),
    [
        (dict(bias=np.full(64, 3, np.float32)), 67),
        (dict(c=C, beta=0.5), 65),
        (dict(c=C, beta=np.float32(-1)), 62),
        (dict(alpha=-1.0), -64),
        (dict(alpha=-1.0, activation="relu"), 0),
        (dict(alpha=0.0), 0),
        (dict(alpha=0), 0),
        (dict(c=np.full((64, 64), np.nan, np.float32), beta=0.0), 64),
    ],
)
def test_each_option_does_what_it_says(options: dict[str, object], value: float) -> None:
    """Bug kind 39: each optional argument once away from its default."""
    assert (mxgemm.gemm(ones(64, 64), ones(64, 64), out_dtype="f32", **options) == value).all()


def test_global_scales_multiply() -> None:
    a, b = ones(4, 64, "nvf4", g=0.25), ones(4, 64, "nvf4", g=0.5)
    assert (mxgemm.gemm(a, b) == 8).all()
    assert (mxgemm.gemm(a, mxgemm.pack(b)) == 8).all()
    assert (mxgemm.gemm(ones(4, 64, "nvf4"), b) == 32).all()
    assert (mxgemm.gemm(a, ones(4, 64), alpha=2.0) == 32).all()
    assert (mxgemm.dequantize(b) == 0.5).all()


@pytest.mark.parametrize("bias", [1.00390625, 3 * 2.0**-18])
def test_f32_bias_and_output(bias: float) -> None:
    """Bug kind 40: neither the bias nor the output passes through bf16."""
    got = mxgemm.gemm(ones(3, 32), ones(5, 32), bias=np.full(5, bias, np.float32), out_dtype="f32")
    assert (got == np.float32(32 + bias)).all()


@pytest.mark.parametrize("out", OUT)
def test_bias_of_either_type(out: str) -> None:
    for dtype in {np.float32, OUT[out]}:
        bias = np.arange(5).astype(dtype)
        got = mxgemm.gemm(ones(3, 32), ones(5, 32), bias=bias, out_dtype=out)
        assert_same(got, np.tile(32.0 + np.arange(5), (3, 1)))


def test_nvf4_shape_of_a_real_model() -> None:
    """Bug kind 27: N a multiple of 64 but not of 128."""
    b = mxgemm.swizzle_scales(ones(1856, 2688, "nvf4"))
    assert b.scale.nbytes == 322_560
    assert (mxgemm.gemm(mxgemm.swizzle_scales(ones(1, 2688, "nvf4")), b) == 2688).all()


def test_padded_scales_tell_nothing_about_the_format() -> None:
    """Bug kind 29: 90 scale columns, padded to 92."""
    b = mxgemm.swizzle_scales(ones(2880, 2880))
    assert b.scale.nbytes == 270_848
    assert (mxgemm.gemm(mxgemm.swizzle_scales(ones(3, 2880)), b) == 2880).all()


@pytest.mark.parametrize("kind", oracle.FORMATS)
def test_padding_may_hold_anything(rng: np.random.Generator, kind: str) -> None:
    """Bug kinds 18 and 20: 0xFF (NaN) in the padding must not reach a result."""
    a = operand(integers(rng, 5, 96), "bf16")
    plain = operand(integers(rng, 7, 96), kind)
    swizzled = mxgemm.swizzle_scales(plain)
    real = mxgemm.swizzle_scales(np.ones(plain.scale.shape, np.uint8)) == 1
    hostile = np.where(real, swizzled.scale, 0xFF).astype(np.uint8)
    b = mxgemm.QuantizedTensor(swizzled.qdata, hostile, kind, plain.shape, swizzled.scale_layout)
    want = exact(a) @ exact(plain).T
    assert_same(mxgemm.gemm(a, b, out_dtype="f32"), want)
    assert_same(mxgemm.gemm(a, mxgemm.pack(b), out_dtype="f32"), want)


def test_nan_scale_reaches_its_outputs_and_no_other(rng: np.random.Generator) -> None:
    a, b = operand(integers(rng, 4, 64), "mxf8"), operand(integers(rng, 6, 64), "mxf4")
    b.scale[2, 1] = 255
    got = mxgemm.gemm(a, b, out_dtype="f32", alpha=0.0)
    assert np.isnan(got[:, 2]).all()
    assert (np.delete(got, 2, axis=1) == 0).all()


def test_leading_dimensions(rng: np.random.Generator) -> None:
    x = integers(rng, 24, 64)
    b = operand(integers(rng, 5, 64), "mxf4")
    want = mxgemm.gemm(x, b, out_dtype="f32")
    for shape in ((2, 3, 4, 64), (24, 1, 64), (1, 24, 64)):
        got = mxgemm.gemm(x.reshape(shape), b, out_dtype="f32")
        assert got.shape == (*shape[:-1], 5)
        assert got.tobytes() == want.tobytes()
        a = mxgemm.quantize(x.reshape(shape), "mxf8", scale_layout="swizzle_32_4_4")
        assert mxgemm.gemm(a, b, out_dtype="f32").tobytes() == want.tobytes()
    vector = mxgemm.gemm(x[3], b, out_dtype="f32")
    assert vector.shape == (5,)
    np.testing.assert_array_equal(vector, want[3])
    assert mxgemm.gemm(np.empty((2, 0, 64), np.float32), b).shape == (2, 0, 5)


def test_k_zero(rng: np.random.Generator) -> None:
    a, b = ones(3, 0), ones(5, 0)
    c, bias = integers(rng, 3, 5), integers(rng, 1, 5)[0]
    got = mxgemm.gemm(a, b, c=c, beta=2.0, bias=bias, alpha=np.nan, out_dtype="f32")
    assert_same(got, 2.0 * c + bias)
    assert (mxgemm.gemm(a, b) == 0).all()
    assert (mxgemm.gemm(a, mxgemm.pack(b)) == 0).all()


def test_bf16_as_bits(rng: np.random.Generator) -> None:
    x = integers(rng, 4, 32).astype(ml_dtypes.bfloat16)
    b = operand(integers(rng, 6, 32), "mxf4")
    bits = np.zeros((4, 6), np.uint16)
    bias = np.ones(6, ml_dtypes.bfloat16)
    got = mxgemm.gemm(x.view(np.uint16), b, a_format="bf16", out=bits, bias=bias.view(np.uint16))
    assert got is bits
    assert bits.tobytes() == mxgemm.gemm(x, b, bias=bias).tobytes()


def test_kernel_by_id(rng: np.random.Generator) -> None:
    """Every available CPU kernel that takes the problem gives the same exact result."""
    a, b = operand(integers(rng, 9, 64), "mxf4"), operand(integers(rng, 7, 64), "mxf4")
    want = exact(a) @ exact(b).T
    taken = 0
    for kernel in mxgemm.info()["kernels"]:
        takes = "mxf4" in kernel["formats_a"] and "mxf4" in kernel["formats_b"]
        if kernel["device_kind"] != "cpu" or not kernel["available"] or not takes:
            continue
        try:
            got = mxgemm.gemm(a, b, out_dtype="f32", kernel=kernel["id"])
        except mxgemm.Unsupported as error:
            assert kernel["id"] in str(error)
            continue
        assert_same(got, want)
        taken += 1
    assert taken >= 1


def test_inputs_are_not_changed(rng: np.random.Generator) -> None:
    x, c, bias = integers(rng, 4, 64), integers(rng, 4, 5), integers(rng, 1, 5)[0]
    b = operand(integers(rng, 5, 64), "nvf4")
    before = [array.tobytes() for array in (x, c, bias, b.qdata, b.scale)]
    d = mxgemm.gemm(x, b, c=c, beta=1.0, bias=bias, out_dtype="f32")
    assert not any(np.shares_memory(d, array) for array in (x, c, bias))
    d[:] = 0
    assert before == [array.tobytes() for array in (x, c, bias, b.qdata, b.scale)]


def test_copies_of_packed_weights_are_aligned() -> None:
    """Whatever the address that the copy's bytes come to lie at."""
    a = np.ones((2, 64), np.float32)
    packed = mxgemm.pack(mxgemm.quantize(np.ones((5, 64), np.float32), "mxf4"))
    text = pickle.dumps(packed)
    copies = [pickle.loads(text) for _ in range(16)] + [copy.deepcopy(packed) for _ in range(16)]
    assert all(twin.data.ctypes.data % 64 == 0 for twin in copies)
    for twin in copies:
        np.testing.assert_array_equal(mxgemm.gemm(a, twin, out_dtype="f32"), 64)
