# SPDX-License-Identifier: Apache-2.0
"""quantize, dequantize, swizzle_scales, unswizzle_scales."""

from __future__ import annotations

import ctypes
import dataclasses
import math
from typing import overload

import numpy as np
import numpy.typing as npt

from . import _native
from .arrays import (
    DTYPES,
    Array,
    as_bytes,
    block_format,
    check_dtype,
    enum_value,
    flat_bytes,
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
    QuantizedTensor,
    check_global_scale,
    operand_of,
    qdata_bytes,
    scale_bytes,
)

_CPU = (_native.DEVICE_CPU, 0)
_UINT64_MAX = 2**64 - 1


def quantize(
    x: Array,
    format: str,
    *,
    scale_layout: str = "row_major",
    preset: str | None = None,
    scale_rule: str | None = None,
    nonfinite: str | None = None,
    min_block_scale: float | None = None,
    global_scale: float | None = None,
    rounding: str = "nearest_even",
    seed: int | None = None,
    offset: int | None = None,
    src_format: str | None = None,
) -> QuantizedTensor:
    """Quantises x along its last dimension.

    x                [..., K] float32, float16 or bfloat16 (ml_dtypes; or uint16 bits with
                     src_format="bf16"); K a multiple of the block, 32 in MX formats and 16 in nvf4.
                     Leading dimensions count as rows; any strides.
    format           "mxf4", "nvf4", "mxf8e4m3" (or "mxf8"), "mxf8e5m2"
    scale_layout     "row_major": scales [..., K / block]; "swizzle_32_4_4": the tiles that
                     block-scaled hardware reads, padding 0x00
    preset           "ocp", "torchao" or "cuda": the options of that name; options given beside it
                     win
    scale_rule       MX only: "even" (the default), "floor", "ceil", "rceil", "nearest", "mse"
    nonfinite        "nan" (the default): a block with an infinity becomes NaN; "saturate":
                     infinities become the largest code
    min_block_scale  nvf4 only: smallest block scale, 0 to 448 (default 0)
    global_scale     nvf4 only: the per-tensor factor; None computes it from x, 1.0 gives the
                     one-level form
    rounding         "nearest_even" or "stochastic" (Philox4x32-10 by `seed`, which must be given,
                     and `offset`)

    Returns a QuantizedTensor of x's shape that shares no memory with x. The bytes depend on neither
    the CPU nor the number of threads.

    Raises InvalidArgument (a ValueError) for a wrong dtype, a K that is no multiple of the block,
    an unknown option, or one that the format does not use.
    """
    array = ndarray(x, "x")
    name = block_format(format)
    code = float_format(array, "x", src_format)
    rows = input_rows(array, "x")
    # The library's own check, and message, for a K that is no multiple of the block.
    qdata_shape = (*array.shape[:-1], qdata_bytes(name, 1, rows.cols))
    desc = _native.QuantizeDesc(
        format_src=_native.FORMATS[code],
        format=_native.FORMATS[name],
        scale_layout=enum_value(scale_layout, "scale_layout", _native.SCALE_LAYOUTS),
        rows=rows.rows,
        cols=rows.cols,
    )
    if preset is not None:
        preset_code = enum_value(preset, "preset", _native.PRESETS)
        _native.call("quantize_preset", preset_code, ctypes.byref(desc))
    _set_options(desc, scale_rule, nonfinite, min_block_scale)
    _set_rounding(desc, rounding, seed, offset)
    factor = ctypes.c_float(1.0)
    _set_global_scale(desc, name, global_scale, factor)

    qdata = np.empty(qdata_shape, np.uint8)
    if scale_layout == "row_major":
        scale = np.empty(
            (*array.shape[:-1], scale_bytes(name, "row_major", 1, rows.cols)), np.uint8
        )
    else:
        scale = np.empty(scale_bytes(name, scale_layout, rows.rows, rows.cols), np.uint8)
    args = _native.QuantizeArgs(
        src=rows.pointer,
        src_bytes=rows.nbytes,
        src_ld=rows.ld,
        qdata=_pointer(qdata),
        qdata_bytes=qdata.nbytes,
        scale=_pointer(scale),
        scale_bytes=scale.nbytes,
        global_scale=ctypes.pointer(factor) if name == "nvf4" else None,
    )
    _native.call("quantize", ctypes.byref(desc), ctypes.byref(args), None)
    return QuantizedTensor(qdata, scale, name, array.shape, scale_layout, factor.value)


def _pointer(array: Array) -> int | None:
    return array.ctypes.data if array.nbytes else None


def _set_options(
    desc: _native.QuantizeDesc,
    scale_rule: str | None,
    nonfinite: str | None,
    min_block_scale: float | None,
) -> None:
    if scale_rule is not None:
        desc.scale_rule = enum_value(scale_rule, "scale_rule", _native.SCALE_RULES)
    if nonfinite is not None:
        desc.nonfinite = enum_value(nonfinite, "nonfinite", _native.NONFINITE_MODES)
    if min_block_scale is not None:
        desc.min_block_scale = float32(min_block_scale, "min_block_scale")
        if desc.format != _native.FORMATS["nvf4"]:
            raise InvalidArgument(f"min_block_scale is {min_block_scale!r}; only nvf4 uses it")


def _set_rounding(
    desc: _native.QuantizeDesc, rounding: str, seed: int | None, offset: int | None
) -> None:
    desc.rounding = enum_value(rounding, "rounding", _native.ROUNDINGS)
    if rounding == "stochastic":
        if seed is None:
            raise InvalidArgument("seed is None; rounding='stochastic' needs an integer")
        desc.seed = integer(seed, "seed", 0, _UINT64_MAX)
        desc.offset = integer(0 if offset is None else offset, "offset", 0, _UINT64_MAX)
        return
    for name, value in (("seed", seed), ("offset", offset)):
        if value is not None:
            raise InvalidArgument(f"{name} is {value!r}; only rounding='stochastic' uses it")


def _set_global_scale(
    desc: _native.QuantizeDesc, format: str, value: float | None, factor: ctypes.c_float
) -> None:
    desc.global_scale_mode = _native.GLOBAL_SCALE_DEFAULT
    if value is None:
        if format == "nvf4":
            desc.global_scale_mode = _native.GLOBAL_SCALE_COMPUTE
        return
    if format != "nvf4":
        raise InvalidArgument(f"global_scale is {value!r}; only nvf4 has one")
    factor.value = check_global_scale(value, format)
    desc.global_scale_mode = _native.GLOBAL_SCALE_GIVEN


def dequantize(
    q: QuantizedTensor, dtype: npt.DTypeLike | str = "f32", *, out: Array | None = None
) -> Array:
    """Decodes q: element * block scale * global scale, the exact product rounded once.

    q      QuantizedTensor [..., K]; its scales in either layout
    dtype  "f32", "f16", "bf16" or their numpy dtypes
    out    array of q's shape and that dtype to write to (rows may be strided; bf16 may be uint16)

    Returns an array of q's shape (`out`, where given).
    """
    tensor = _tensor(q, "q")
    format = plain_format(dtype, "dtype")
    result = np.empty(tensor.shape, DTYPES[format]) if out is None else ndarray(out, "out")
    if out is not None:
        check_dtype(result, "out", (format,))
    rows = output_rows(result, "out", tensor.shape)
    operand, keep = operand_of(tensor, "q")
    _native.call(
        "dequantize",
        *_CPU,
        _native.FORMATS[tensor.format],
        rows.rows,
        rows.cols,
        ctypes.byref(operand),
        _native.SCALE_LAYOUTS[tensor.scale_layout],
        0,
        _native.FORMATS[format],
        rows.pointer,
        rows.nbytes,
        rows.ld,
        None,
    )
    del keep
    return result


def _tensor(value: object, name: str) -> QuantizedTensor:
    if isinstance(value, QuantizedTensor):
        return value
    raise InvalidArgument(f"{name} is a {type(value).__name__}; it must be a QuantizedTensor")


@overload
def swizzle_scales(scales: QuantizedTensor) -> QuantizedTensor: ...
@overload
def swizzle_scales(scales: Array) -> Array: ...
def swizzle_scales(scales: Array | QuantizedTensor) -> Array | QuantizedTensor:
    """Row-major scales in the layout swizzle_32_4_4 of block-scaled hardware; the padding is 0x00.

    scales  QuantizedTensor with row_major scales -> the same tensor (sharing qdata) with swizzled
            scales. uint8 [..., C] (rows may be strided) -> uint8 [ceil(R / 128) * ceil(C / 4) *
            512], R = the product of the leading extents.

    The result's scales are new memory. A tensor whose scales are swizzled already is refused with
    InvalidArgument; an array carries no such tag, so prefer tensors.
    """
    if isinstance(scales, QuantizedTensor):
        _require_layout(scales, "row_major", "swizzled")
        swizzled = _swizzled(scales.scale)
        return dataclasses.replace(scales, scale=swizzled, scale_layout="swizzle_32_4_4")
    return _swizzled(_scale_array(scales, 2))


def _scale_array(value: object, least_dimensions: int) -> Array:
    array = ndarray(value, "scales")
    if array.dtype.itemsize == 1 and array.dtype.kind == "V":  # the float8 types of ml_dtypes
        array = array.view(np.uint8)
    array = as_bytes(array, "scales", "scale", "")
    if array.ndim < least_dimensions:
        raise InvalidArgument(
            f"scales has shape {array.shape}; it must have at least {least_dimensions} dimensions"
        )
    return array


def _require_layout(tensor: QuantizedTensor, layout: str, verb: str) -> None:
    if tensor.scale_layout != layout:
        raise InvalidArgument(
            f"scales is a tensor whose scale_layout is {tensor.scale_layout!r}; only "
            f"{layout!r} can be {verb}"
        )


def _swizzled(array: Array) -> Array:
    rows = input_rows(array, "scales")
    # One byte an element and one scale an element: the size rule of the layout alone.
    tiles = -(-rows.rows // 128) * -(-rows.cols // 4)
    result = np.empty(tiles * 512, np.uint8)
    _native.call(
        "swizzle_scales",
        *_CPU,
        rows.rows,
        rows.cols,
        rows.pointer,
        rows.nbytes,
        rows.ld,
        _pointer(result),
        result.nbytes,
        None,
    )
    return result


@overload
def unswizzle_scales(scales: QuantizedTensor) -> QuantizedTensor: ...
@overload
def unswizzle_scales(scales: Array, rows: int, cols: int) -> Array: ...
def unswizzle_scales(
    scales: Array | QuantizedTensor, rows: int | None = None, cols: int | None = None
) -> Array | QuantizedTensor:
    """The inverse of swizzle_scales; the padding is not looked at.

    scales      QuantizedTensor with swizzle_32_4_4 scales -> the same tensor (sharing qdata) with
                row_major scales. uint8 array of any shape -> uint8 [rows, cols]
    rows, cols  of the row-major scales; with an array only, where both are needed
    """
    if isinstance(scales, QuantizedTensor):
        if rows is not None or cols is not None:
            raise InvalidArgument("rows and cols must be left out: the tensor knows its shape")
        _require_layout(scales, "swizzle_32_4_4", "unswizzled")
        count = math.prod(scales.shape[:-1])
        width = scale_bytes(scales.format, "row_major", 1, scales.shape[-1])
        plain = _unswizzled(scales.scale, count, width).reshape(*scales.shape[:-1], width)
        return dataclasses.replace(scales, scale=plain, scale_layout="row_major")
    array = _scale_array(scales, 1)
    count, width = integer(rows, "rows", 0, MAX_EXTENT), integer(cols, "cols", 0, MAX_EXTENT)
    tiles = -(-count // 128) * -(-width // 4)
    return _unswizzled(flat_bytes(array, "scales", tiles * 512), count, width)


def _unswizzled(array: Array, rows: int, cols: int) -> Array:
    result = np.empty((rows, cols), np.uint8)
    _native.call(
        "unswizzle_scales",
        *_CPU,
        rows,
        cols,
        _pointer(array),
        array.nbytes,
        _pointer(result),
        result.nbytes,
        0,
        None,
    )
    return result
