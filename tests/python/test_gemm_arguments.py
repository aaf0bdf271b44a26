# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments of gemm, pack and explain: refused by name before anything is computed."""

import ml_dtypes
import mxgemm
import numpy as np
import pytest

A = mxgemm.quantize(np.ones((4, 64), np.float32), "mxf4")
B = mxgemm.quantize(np.ones((6, 64), np.float32), "mxf4")
X = np.ones((4, 64), np.float32)
SWIZZLED = mxgemm.swizzle_scales(B)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        # Bug kind 33.
        (dict(alpha=np.ones((4, 1))), r"^alpha is an array of float64 with shape \(4, 1\)"),
        (dict(alpha=np.ones(1, np.float32)), r"^alpha is an array of float32 with shape \(1,\)"),
        (dict(alpha=np.ones(())), r"^alpha is an array of float64 with shape \(\)"),
        (dict(alpha="1"), r"^alpha is '1'; it must be a number"),
        (dict(alpha=True), r"^alpha is True; it must be a number"),
        (dict(alpha=1j), r"^alpha is a complex; it must be a number"),
        (dict(alpha=None), r"^alpha is a NoneType"),
        (dict(alpha=1e39), r"^alpha is 1e\+39, beyond float32"),
        (dict(alpha=10**400), r"^alpha is beyond float32"),
        (dict(beta=0.5), r"^beta is 0.5 but c is None"),
        (dict(beta=np.ones(1)), r"^beta is an array"),
        (dict(c=np.ones((4, 6), ml_dtypes.bfloat16)), r"^beta is None but c is given"),
        (dict(bias=np.ones(5, np.float32)), r"^bias has shape \(5,\); it must be \(6,\)"),
        (dict(bias=np.ones((1, 6), np.float32)), r"^bias has shape \(1, 6\)"),
        (dict(bias=np.ones(6, np.float64)), r"^bias has dtype float64; it must be bfloat16 or"),
        (dict(bias=np.ones(6, np.float16)), r"^bias has dtype float16; it must be bfloat16 or"),
        (dict(bias=np.ones(6, ">f4")), r"^bias has dtype >f4 \(swapped bytes\)"),
        (dict(bias=1.0), r"^bias is 1.0; it must be a numpy array"),
        (dict(c=np.ones((4, 6), np.float32), beta=1), r"^c has dtype float32; it must be bfloat16"),
        (dict(c=np.ones((4, 5), np.float16), beta=1, out_dtype="f16"), r"^c has shape \(4, 5\)"),
        (dict(c=np.ones((4, 6), ">f4"), beta=1, out_dtype="f32"), r"^c has dtype >f4"),
        (dict(out=np.ones((4, 6), np.float32)), r"^out has dtype float32; it must be bfloat16"),
        (dict(out=np.ones((6, 4), np.float16), out_dtype="f16"), r"^out has shape \(6, 4\)"),
        (dict(out=np.ones((4, 6), ">f4"), out_dtype="f32"), r"^out has dtype >f4"),
        (dict(out_dtype="mxf4"), r"^out_dtype is 'mxf4'; allowed: 'bf16', 'f16' or 'f32'"),
        (dict(out_dtype=np.float64), r"^out_dtype is .*float64"),
        (dict(out_dtype="float32"), r"^out_dtype is 'float32'"),
        (dict(activation="swish"), r"^activation is 'swish'; allowed: 'none', 'relu'"),
        (dict(activation=None), r"^activation is None; allowed"),
        (dict(kernel=3), r"^kernel is 3; it must be the full id"),
        (dict(kernel="\ud800"), r"^kernel is '\\ud800'; it must be the full id"),
        (dict(kernel=""), r"^kernel is ''; it must be the full id"),
        (dict(kernel="cpu:none:such"), r"cpu:none:such"),
        (dict(a=X.astype(np.float64)), r"^a has dtype float64; allowed: float32, float16"),
        (dict(a=X.astype(">f4")), r"^a has dtype >f4 \(swapped bytes\)"),
        (dict(a=X.astype(np.uint16)), r"^a has dtype uint16; say that its format is 'bf16'"),
        (dict(a=X, a_format="f16"), r"^a has dtype float32, which is not format 'f16'"),
        (dict(a_format="bf16"), r"^a_format is 'bf16'; a QuantizedTensor knows its format"),
        (dict(a=X.tolist()), r"^a is a list; it must be a QuantizedTensor or a numpy array"),
        (dict(a=mxgemm.pack(B)), r"^a is a PackedWeights"),
        (dict(a=np.ones((), np.float32)), r"^a has no dimension"),
        (dict(a=np.ones((4, 32), np.float32)), r"^b has shape \(6, 64\), so K = 64; a has K = 32"),
        (dict(b=np.ones((6, 64), np.float32)), r"^b is a ndarray; it must be a QuantizedTensor or"),
        (dict(b=mxgemm.quantize(np.ones((2, 6, 64), np.float32), "mxf4")), r"^b has shape \(2, 6"),
        (dict(b=mxgemm.quantize(np.ones(64, np.float32), "mxf4")), r"^b has shape \(64,\)"),
    ],
)
def test_refused(arguments: dict[str, object], message: str) -> None:
    out = np.full((4, 6), 7, ml_dtypes.bfloat16)
    if not {"out", "out_dtype"} & arguments.keys():
        arguments = {"out": out} | arguments
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.gemm(**{"a": A, "b": B} | arguments)
    assert (out == 7).all()


def test_scales_of_the_wrong_type_or_size() -> None:
    """Bug kind 33: they cannot even become a tensor."""
    with pytest.raises(ValueError, match=r"^scale has dtype float32"):
        mxgemm.QuantizedTensor(B.qdata, B.scale.astype(np.float32), "mxf4", B.shape)
    with pytest.raises(ValueError, match=r"^scale has 511 bytes; it must have 512"):
        mxgemm.QuantizedTensor(
            SWIZZLED.qdata, SWIZZLED.scale[:-1], "mxf4", B.shape, SWIZZLED.scale_layout
        )


@pytest.mark.parametrize("n", [96, 64])
def test_orientation_of_b(n: int) -> None:
    """Bug kind 34: B given K-major, with N != K / 2 and N = K / 2. Never a number."""
    k = 128
    qdata = np.zeros((n, k // 2), np.uint8)
    scale = np.zeros((n, k // 32), np.uint8)
    with pytest.raises(ValueError, match=r"^(qdata|scale) has shape"):
        mxgemm.QuantizedTensor(np.ascontiguousarray(qdata.T), scale.T, "mxf4", (n, k))
    swapped = mxgemm.quantize(np.ones((k, n), np.float32), "mxf4")
    with pytest.raises(ValueError, match=rf"^b has shape \({k}, {n}\), so K = {n}; a has K = {k}"):
        mxgemm.gemm(np.ones((2, k), np.float32), swapped)


def test_operands_of_different_blocks() -> None:
    """K = 48 is a multiple of nvf4's block but not of mxf4's; a plain A has no block."""
    b = mxgemm.quantize(np.ones((6, 48), np.float32), "nvf4")
    assert (mxgemm.gemm(np.ones((4, 48), np.float32), b) == 48).all()
    with pytest.raises(ValueError, match=r"48.*32"):
        mxgemm.explain(4, 6, 48, "mxf4", "nvf4")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (X, r"^b is a ndarray; it must be a QuantizedTensor"),
        (mxgemm.pack(B), r"^b is a PackedWeights; it must be a QuantizedTensor"),
        (mxgemm.quantize(np.ones(64, np.float32), "mxf4"), r"^b has shape \(64,\)"),
    ],
)
def test_pack_refused(value: object, message: str) -> None:
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.pack(value)


def test_packed_weights_are_checked() -> None:
    packed = mxgemm.pack(B)
    other_shape = mxgemm.PackedWeights(packed.data, "mxf4", (3, 128))
    with pytest.raises(mxgemm.InvalidArgument):
        mxgemm.gemm(np.ones((4, 128), np.float32), other_shape)
    other_format = mxgemm.PackedWeights(packed.data, "nvf4", B.shape)
    with pytest.raises(mxgemm.InvalidArgument):
        mxgemm.gemm(X, other_format)
    broken = mxgemm.PackedWeights(np.zeros_like(packed.data), "mxf4", B.shape)
    with pytest.raises(mxgemm.InvalidArgument):
        mxgemm.gemm(X, broken)
    short = mxgemm.PackedWeights(packed.data[:-1], "mxf4", B.shape)
    with pytest.raises(mxgemm.InvalidArgument):
        mxgemm.gemm(X, short)
    empty = mxgemm.PackedWeights(np.zeros(0, np.uint8), "mxf4", B.shape)
    with pytest.raises(mxgemm.InvalidArgument):
        mxgemm.gemm(X, empty)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(data=np.zeros((2, 64), np.uint8)), r"^data has shape \(2, 64\)"),
        (dict(data=np.zeros(64, np.int8)), r"^data has dtype int8"),
        (dict(data=b"bytes"), r"^data is a bytes; it must be a numpy array"),
        (dict(shape=(64,)), r"^shape is \(64,\); packed weights have two dimensions"),
        (dict(format="f32"), r"^format is 'f32'"),
        (dict(global_scale=3.0), r"^global_scale is 3.0; only nvf4 has one"),
    ],
)
def test_packed_weights_refused(arguments: dict[str, object], message: str) -> None:
    parts = {"data": np.zeros(64, np.uint8), "format": "mxf4", "shape": (6, 64)}
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.PackedWeights(**parts | arguments)


def test_packed_weights_may_be_moved_in_memory() -> None:
    """Loaded from a file they lie anywhere; the package aligns them."""
    packed = mxgemm.pack(B)
    memory = np.empty(packed.nbytes + 1, np.uint8)
    memory[1:] = packed.data
    moved = mxgemm.PackedWeights(memory[1:], packed.format, packed.shape)
    assert moved.data.ctypes.data % 64 == 0
    assert mxgemm.gemm(X, moved).tobytes() == mxgemm.gemm(X, packed).tobytes()
    assert repr(moved) == f"PackedWeights(mxf4, shape=(6, 64), {packed.nbytes} bytes)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(m=-1), r"^m is -1; it must be an integer from 0"),
        (dict(n=2.0), r"^n is 2.0"),
        (dict(k=True), r"^k is True"),
        (dict(k=33), r"\bk\b.*33.*32"),
        (dict(a_format="fp4"), r"^a_format is 'fp4'"),
        (dict(b_format="bf16"), r"^b_format is 'bf16'"),
        (dict(out_dtype="f8"), r"^out_dtype is 'f8'"),
        (dict(bias_dtype="f8"), r"^bias_dtype is 'f8'"),
        (dict(scale_layout_a="x"), r"^scale_layout_a is 'x'"),
        (dict(scale_layout_b="x"), r"^scale_layout_b is 'x'"),
        (dict(activation="x"), r"^activation is 'x'"),
    ],
)
def test_explain_refused(arguments: dict[str, object], message: str) -> None:
    problem = {"m": 4, "n": 6, "k": 64, "a_format": "mxf4", "b_format": "mxf4"}
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.explain(**problem | arguments)
