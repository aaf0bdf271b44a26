# SPDX-License-Identifier: Apache-2.0
"""gemm, pack and explain."""

from __future__ import annotations

import ctypes
from ctypes import c_uint64, c_void_p
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native
from .arrays import (
    DTYPES,
    Array,
    block_format,
    check_dtype,
    enum_value,
    float32,
    float_format,
    input_rows,
    integer,
    ndarray,
    output_rows,
    plain_format,
)
from .errors import InvalidArgument
from .tensors import (
    MAX_EXTENT,
    PACKED_ALIGNMENT,
    PackedWeights,
    QuantizedTensor,
    aligned_bytes,
    operand_of,
)

_CPU = (_native.DEVICE_CPU, 0)
# What the C ABI asks of a workspace.
_WORKSPACE_ALIGNMENT = 256

Keep: TypeAlias = tuple[Array, ...]


def gemm(
    a: QuantizedTensor | Array,
    b: QuantizedTensor | PackedWeights,
    *,
    bias: Array | None = None,
    c: Array | None = None,
    alpha: float = 1.0,
    beta: float | None = None,
    activation: str = "none",
    out_dtype: npt.DTypeLike | str = "bf16",
    out: Array | None = None,
    kernel: str | None = None,
    a_format: str | None = None,
) -> Array:
    """D = activation(alpha * A · Bᵀ + bias + beta * C), accumulated in float32, rounded once to
    out_dtype.

    a           [..., K]: a QuantizedTensor, or an array of float32, float16 or bfloat16 (ml_dtypes;
                or uint16 bits with a_format="bf16"). Leading dimensions count as rows.
    b           [N, K]: a QuantizedTensor or PackedWeights, the weights as they lie in a linear
                layer
    bias        [N], of D's dtype or float32
    c           [..., N] of D's dtype; needs beta. With beta=0.0 it is not read. It may be `out`
                itself, not a part of it.
    alpha, beta a float or a numpy scalar, used as float32
    activation  "none", "relu", "gelu" (erf form), "gelu_tanh", "silu"
    out_dtype   of D: "bf16", "f16", "f32" or their numpy dtypes. bf16 is ml_dtypes.bfloat16 where
                that package is installed, else uint16 bits; given bf16 arrays (bias, c, out) may be
                uint16 in either case.
    out         array of D's shape and dtype to write to (rows may be strided)
    kernel      full id of the kernel to use, such as "ref:any"; None chooses (see `explain` and
                `info`)

    Returns D [..., N] (`out`, where given). K = 0 gives activation(bias + beta * C); empty outputs
    are fine.

    Raises InvalidArgument (a ValueError) for shapes, dtypes, layouts or options that do not fit,
    naming the argument, and Unsupported where no kernel takes the problem, with each kernel's
    reason.
    """
    desc, args, keep = _operands(a, b, a_format)
    format_d = plain_format(out_dtype, "out_dtype")
    shape = (*_shape_of(a)[:-1], desc.n)
    desc.format_d = _native.FORMATS[format_d]
    desc.activation = enum_value(activation, "activation", _native.ACTIVATIONS)
    args.alpha = float32(alpha, "alpha")

    if out is None:
        result = np.empty(shape, DTYPES[format_d])
    else:
        result = ndarray(out, "out")
        check_dtype(result, "out", (format_d,))
    d = output_rows(result, "out", shape)
    args.d, args.d_bytes, args.ldd = d.pointer, d.nbytes, d.ld
    if bias is not None:
        keep += _set_bias(desc, args, bias, format_d)
    if c is not None:
        keep += _set_c(desc, args, c, beta, format_d, shape)
    elif beta is not None and float32(beta, "beta") != 0:
        raise InvalidArgument(f"beta is {beta!r} but c is None; give c, or leave beta out")

    if kernel is None:
        _native.call("gemm", ctypes.byref(desc), ctypes.byref(args), None)
    else:
        _run_kernel(desc, args, kernel)
    del keep
    return result


def _shape_of(a: QuantizedTensor | Array) -> tuple[int, ...]:
    return tuple(a.shape)


def _operands(
    a: QuantizedTensor | Array, b: QuantizedTensor | PackedWeights, a_format: str | None
) -> tuple[_native.GemmDesc, _native.GemmArgs, Keep]:
    """Descriptor and arguments with A and B filled in, and what must outlive them."""
    desc, args = _native.GemmDesc(), _native.GemmArgs()
    if isinstance(a, QuantizedTensor):
        if a_format is not None:
            raise InvalidArgument(f"a_format is {a_format!r}; a QuantizedTensor knows its format")
        args.a, keep = operand_of(a, "a")
        desc.format_a = _native.FORMATS[a.format]
        desc.scale_layout_a = _native.SCALE_LAYOUTS[a.scale_layout]
        rows = 1
        for extent in a.shape[:-1]:
            rows *= extent
        desc.m, desc.k = rows, a.shape[-1]
    elif isinstance(a, np.ndarray):
        desc.format_a = _native.FORMATS[float_format(ndarray(a, "a"), "a", a_format)]
        source = input_rows(a, "a")
        args.a = _native.Operand(
            data=source.pointer, data_bytes=source.nbytes, ld=source.ld, global_scale=1.0
        )
        desc.m, desc.k = source.rows, source.cols
        keep = (source.array,)
    else:
        raise InvalidArgument(
            f"a is a {type(a).__name__}; it must be a QuantizedTensor or a numpy array"
        )
    args.b, keep_b = _operand_b(b, desc)
    return desc, args, keep + keep_b


def _operand_b(
    b: QuantizedTensor | PackedWeights, desc: _native.GemmDesc
) -> tuple[_native.Operand, Keep]:
    if not isinstance(b, QuantizedTensor | PackedWeights):
        raise InvalidArgument(
            f"b is a {type(b).__name__}; it must be a QuantizedTensor or PackedWeights"
        )
    if len(b.shape) != 2:
        raise InvalidArgument(f"b has shape {b.shape}; it must have two dimensions, (N, K)")
    if b.shape[1] != desc.k:
        raise InvalidArgument(
            f"b has shape {b.shape}, so K = {b.shape[1]}; a has K = {desc.k}. b is stored (N, K): "
            "one row per output column"
        )
    desc.n = b.shape[0]
    desc.format_b = _native.FORMATS[b.format]
    if isinstance(b, PackedWeights):
        desc.flags |= _native.PACKED_B
        packed = _native.Operand(
            data=b.data.ctypes.data, data_bytes=b.data.nbytes, global_scale=b.global_scale
        )
        return packed, (b.data,)
    desc.scale_layout_b = _native.SCALE_LAYOUTS[b.scale_layout]
    return operand_of(b, "b")


def _set_bias(desc: _native.GemmDesc, args: _native.GemmArgs, bias: Array, format_d: str) -> Keep:
    array = ndarray(bias, "bias")
    format = check_dtype(array, "bias", tuple(dict.fromkeys((format_d, "f32"))))
    if array.shape != (desc.n,):
        raise InvalidArgument(
            f"bias has shape {array.shape}; it must be ({desc.n},), one per row of b"
        )
    desc.format_bias = _native.FORMATS[format]
    source = input_rows(array, "bias")
    args.bias, args.bias_bytes = source.pointer, source.nbytes
    return (source.array,)


def _set_c(
    desc: _native.GemmDesc,
    args: _native.GemmArgs,
    c: Array,
    beta: float | None,
    format_d: str,
    shape: tuple[int, ...],
) -> Keep:
    array = ndarray(c, "c")
    check_dtype(array, "c", (format_d,))
    if array.shape != shape:
        raise InvalidArgument(f"c has shape {array.shape}; it must be {shape}")
    if beta is None:
        raise InvalidArgument("beta is None but c is given; give beta, the factor of c")
    args.beta = float32(beta, "beta")
    desc.flags |= _native.USE_C
    source = input_rows(array, "c")
    args.c, args.c_bytes, args.ldc = source.pointer, source.nbytes, source.ld
    return (source.array,)


def _run_kernel(desc: _native.GemmDesc, args: _native.GemmArgs, kernel: object) -> None:
    if not isinstance(kernel, str) or not kernel.isascii() or not kernel or "\0" in kernel:
        raise InvalidArgument(
            f"kernel is {kernel!r}; it must be the full id of a kernel (see info)"
        )
    plan = _native.call_for(c_void_p, "plan_create", ctypes.byref(desc), kernel.encode())
    try:
        nbytes = _native.call_for(c_uint64, "plan_workspace_size", plan).value
        workspace = aligned_bytes(nbytes, _WORKSPACE_ALIGNMENT)
        args.workspace = workspace.ctypes.data if nbytes else None
        args.workspace_bytes = nbytes
        _native.call("run", plan, ctypes.byref(args), None)
    finally:
        _native.destroy_plan(plan)


def pack(b: QuantizedTensor) -> PackedWeights:
    """Prepares weights b [N, K] for repeated products: `gemm(a, pack(b))` gives what `gemm(a, b)`
    gives, sooner.

    The bytes are opaque and valid for the version of the library that made them; gemm refuses any
    other.
    """
    if not isinstance(b, QuantizedTensor):
        raise InvalidArgument(f"b is a {type(b).__name__}; it must be a QuantizedTensor")
    if len(b.shape) != 2:
        raise InvalidArgument(f"b has shape {b.shape}; it must have two dimensions, (N, K)")
    problem = (*_CPU, _native.FORMATS[b.format], *b.shape)
    nbytes = _native.call_for(c_uint64, "pack_size", *problem).value
    data = aligned_bytes(nbytes, PACKED_ALIGNMENT)
    operand, keep = operand_of(b, "b")
    layout = _native.SCALE_LAYOUTS[b.scale_layout]
    pointer = data.ctypes.data
    _native.call("pack", *problem, ctypes.byref(operand), layout, pointer, nbytes, None)
    del keep
    return PackedWeights(data, b.format, b.shape, b.global_scale)


def explain(
    m: int,
    n: int,
    k: int,
    a_format: str,
    b_format: str,
    out_dtype: npt.DTypeLike | str = "bf16",
    *,
    activation: str = "none",
    bias_dtype: npt.DTypeLike | str | None = None,
    use_c: bool = False,
    packed: bool = False,
    scale_layout_a: str = "row_major",
    scale_layout_b: str = "row_major",
) -> str:
    """Which kernel a GEMM of [m, k] by [n, k] would use, and why not each other one: a line per
    kernel.

    Formats are named as in `gemm`; `bias_dtype` None means no bias. The problem may be one that no
    kernel accepts.
    """
    desc = _native.GemmDesc(
        m=integer(m, "m", 0, MAX_EXTENT),
        n=integer(n, "n", 0, MAX_EXTENT),
        k=integer(k, "k", 0, MAX_EXTENT),
        format_a=_native.FORMATS[
            a_format if a_format in DTYPES else block_format(a_format, "a_format")
        ],
        format_b=_native.FORMATS[block_format(b_format, "b_format")],
        format_d=_native.FORMATS[plain_format(out_dtype, "out_dtype")],
        activation=enum_value(activation, "activation", _native.ACTIVATIONS),
        scale_layout_a=enum_value(scale_layout_a, "scale_layout_a", _native.SCALE_LAYOUTS),
        scale_layout_b=enum_value(scale_layout_b, "scale_layout_b", _native.SCALE_LAYOUTS),
        flags=(_native.USE_C if use_c else 0) | (_native.PACKED_B if packed else 0),
    )
    if bias_dtype is not None:
        desc.format_bias = _native.FORMATS[plain_format(bias_dtype, "bias_dtype")]
    return _native.text_from("explain", ctypes.byref(desc))
