# SPDX-License-Identifier: Apache-2.0
"""quantize, dequantize, swizzle_scales, unswizzle_scales."""

from __future__ import annotations

import ctypes
import dataclasses
import math
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from . import _native, devices
from .arrays import (
    DTYPES,
    UINT8,
    AnyArray,
    Array,
    Output,
    Placed,
    as_bytes,
    block_format,
    check_dtype,
    device_of,
    enum_value,
    flat_bytes,
    float32,
    float_format,
    input_rows,
    integer,
    placed,
    plain_format,
)
from .devices import CPU, Device, DeviceArray
from .errors import InvalidArgument
from .tensors import (
    MAX_EXTENT,
    QuantizedTensor,
    check_global_scale,
    operand_of,
    qdata_bytes,
    scale_bytes,
)

_UINT64_MAX = 2**64 - 1


def quantize(
    x: AnyArray,
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
    device: str | None = None,
    stream: int | None = None,
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
    device, stream   as in gemm: "cpu", "cuda:N", None = where x lies. On a GPU not with scale_rule
                     "mse" nor stochastic rounding.

    Returns a QuantizedTensor of x's shape, where x lies, that shares no memory with x. The bytes
    depend on neither the device nor the number of threads.

    Raises InvalidArgument (a ValueError) for a wrong dtype, a K that is no multiple of the block,
    an unknown option, or one that the format does not use.
    """
    array = placed(x, "x")
    place = devices.common_device(device, {"x": device_of(array)})
    name = block_format(format)
    code = float_format(array, "x", src_format)
    stream = devices.stream_handle(stream)
    rows = input_rows(array, "x", place, stream)
    # The library's own check, and message, for a K that is no multiple of the block.
    qdata_shape = (*array.shape[:-1], qdata_bytes(name, 1, rows.cols))
    desc = _native.QuantizeDesc(
        device_kind=place.kind,
        device_index=place.index,
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

    if scale_layout == "row_major":
        scale_shape = (*array.shape[:-1], scale_bytes(name, "row_major", 1, rows.cols))
    else:
        scale_shape = (scale_bytes(name, scale_layout, rows.rows, rows.cols),)
    on_host = device_of(array) is None
    qdata = Output(None, "qdata", qdata_shape, UINT8, place, on_host)
    scale = Output(None, "scale", scale_shape, UINT8, place, on_host)
    args = _native.QuantizeArgs(
        src=rows.pointer,
        src_bytes=rows.nbytes,
        src_ld=rows.ld,
        qdata=qdata.rows.pointer,
        qdata_bytes=qdata.rows.nbytes,
        scale=scale.rows.pointer,
        scale_bytes=scale.rows.nbytes,
    )
    value = _run_quantize(desc, args, factor if name == "nvf4" else None, place, stream)
    return QuantizedTensor(
        qdata.finish(stream), scale.finish(stream), name, array.shape, scale_layout, value
    )


def _run_quantize(
    desc: _native.QuantizeDesc,
    args: _native.QuantizeArgs,
    factor: ctypes.c_float | None,
    device: Device,
    stream: int | None,
) -> float:
    """Runs it; the global scale, which a call on a GPU reads and leaves there."""
    if factor is not None:
        args.global_scale = ctypes.pointer(factor)
    if device.on_cpu:
        _native.call("quantize", ctypes.byref(desc), ctypes.byref(args), stream)
        return 1.0 if factor is None else factor.value
    size = _native.call_for(ctypes.c_uint64, "quantize_workspace_size", ctypes.byref(desc)).value
    workspace = devices.empty((size,), UINT8, device)
    args.workspace, args.workspace_bytes = workspace.pointer or None, size
    if factor is None:
        _native.call("quantize", ctypes.byref(desc), ctypes.byref(args), stream)
        return 1.0
    there = devices.upload(np.array([factor.value], np.float32), device, stream)
    args.global_scale = ctypes.cast(there.pointer, ctypes.POINTER(ctypes.c_float))
    _native.call("quantize", ctypes.byref(desc), ctypes.byref(args), stream)
    return float(there.numpy(stream)[0])


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
    q: QuantizedTensor,
    dtype: npt.DTypeLike | str = "f32",
    *,
    out: AnyArray | None = None,
    device: str | None = None,
    stream: int | None = None,
) -> Any:
    """Decodes q: element * block scale * global scale, the exact product rounded once.

    q      QuantizedTensor [..., K]; its scales in either layout
    dtype  "f32", "f16", "bf16" or their numpy dtypes
    out    array of q's shape and that dtype to write to (rows may be strided; bf16 may be uint16)
    device, stream   as in gemm: "cpu", "cuda:N", None = where q lies

    Returns an array of q's shape (`out`, where given) where q lies.
    """
    tensor = _tensor(q, "q")
    given = None if out is None else placed(out, "out")
    place = devices.common_device(device, {"q": device_of(tensor.qdata), "out": device_of(given)})
    format = plain_format(dtype, "dtype")
    if given is not None:
        check_dtype(given, "out", (format,))
    on_host = device_of(tensor.qdata) is None
    output = Output(given, "out", tensor.shape, DTYPES[format], place, on_host)
    stream = devices.stream_handle(stream)
    operand, keep = operand_of(tensor, "q", place, stream)
    _native.call(
        "dequantize",
        place.kind,
        place.index,
        _native.FORMATS[tensor.format],
        output.rows.rows,
        output.rows.cols,
        ctypes.byref(operand),
        _native.SCALE_LAYOUTS[tensor.scale_layout],
        0,
        _native.FORMATS[format],
        output.rows.pointer,
        output.rows.nbytes,
        output.rows.ld,
        stream,
    )
    del keep
    return output.finish(stream)


def _tensor(value: object, name: str) -> QuantizedTensor:
    if isinstance(value, QuantizedTensor):
        return value
    raise InvalidArgument(f"{name} is a {type(value).__name__}; it must be a QuantizedTensor")


@overload
def swizzle_scales(scales: QuantizedTensor) -> QuantizedTensor: ...
@overload
def swizzle_scales(scales: Array) -> Array: ...
@overload
def swizzle_scales(scales: AnyArray) -> Placed: ...
def swizzle_scales(scales: AnyArray | QuantizedTensor) -> Placed | QuantizedTensor:
    """Row-major scales in the layout swizzle_32_4_4 of block-scaled hardware; the padding is 0x00.

    scales  QuantizedTensor with row_major scales -> the same tensor (sharing qdata) with swizzled
            scales. uint8 [..., C] (rows may be strided) -> uint8 [ceil(R / 128) * ceil(C / 4) *
            512], R = the product of the leading extents.

    The result's scales are new memory, where the old ones lie (on a GPU, the default stream's). A
    tensor whose scales are swizzled already is refused with
    InvalidArgument; an array carries no such tag, so prefer tensors.
    """
    if isinstance(scales, QuantizedTensor):
        _require_layout(scales, "row_major", "swizzled")
        swizzled = _swizzled(scales.scale)
        return dataclasses.replace(scales, scale=swizzled, scale_layout="swizzle_32_4_4")
    return _swizzled(_scale_array(scales, 2))


def _scale_array(value: object, least_dimensions: int) -> Placed:
    array = placed(value, "scales")
    # The float8 types of ml_dtypes.
    if isinstance(array, np.ndarray) and array.dtype.itemsize == 1 and array.dtype.kind == "V":
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


def _swizzled(array: Placed) -> Placed:
    place = device_of(array) or CPU
    rows = input_rows(array, "scales", place)
    # One byte an element and one scale an element: the size rule of the layout alone.
    tiles = -(-rows.rows // 128) * -(-rows.cols // 4)
    output = Output(None, "scales", (tiles * 512,), UINT8, place, place.on_cpu)
    _native.call(
        "swizzle_scales",
        place.kind,
        place.index,
        rows.rows,
        rows.cols,
        rows.pointer,
        rows.nbytes,
        rows.ld,
        output.rows.pointer,
        output.rows.nbytes,
        None,
    )
    return output.finish()


@overload
def unswizzle_scales(scales: QuantizedTensor) -> QuantizedTensor: ...
@overload
def unswizzle_scales(scales: Array, rows: int, cols: int) -> Array: ...
@overload
def unswizzle_scales(scales: AnyArray, rows: int, cols: int) -> Placed: ...
def unswizzle_scales(
    scales: AnyArray | QuantizedTensor, rows: int | None = None, cols: int | None = None
) -> Placed | QuantizedTensor:
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
        plain = _unswizzled(scales.scale, count, width)
        shape = (*scales.shape[:-1], width)
        plain = plain.with_shape(shape) if isinstance(plain, DeviceArray) else plain.reshape(shape)
        return dataclasses.replace(scales, scale=plain, scale_layout="row_major")
    array = _scale_array(scales, 1)
    count, width = integer(rows, "rows", 0, MAX_EXTENT), integer(cols, "cols", 0, MAX_EXTENT)
    tiles = -(-count // 128) * -(-width // 4)
    return _unswizzled(flat_bytes(array, "scales", tiles * 512), count, width)


def _unswizzled(array: Placed, rows: int, cols: int) -> Placed:
    place = device_of(array) or CPU
    source = input_rows(array, "scales", place)
    output = Output(None, "scales", (rows, cols), UINT8, place, place.on_cpu)
    _native.call(
        "unswizzle_scales",
        place.kind,
        place.index,
        rows,
        cols,
        source.pointer,
        source.nbytes,
        output.rows.pointer,
        output.rows.nbytes,
        0,
        None,
    )
    return output.finish()
