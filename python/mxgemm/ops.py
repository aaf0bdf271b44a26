# SPDX-License-Identifier: Apache-2.0
"""gemm, pack and explain."""

from __future__ import annotations

import ctypes
import threading
from ctypes import c_uint64, c_void_p
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native, devices
from .arrays import (
    DTYPES,
    UINT8,
    AnyArray,
    Output,
    Placed,
    block_format,
    check_dtype,
    device_of,
    enum_value,
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
    PACKED_ALIGNMENT,
    PackedWeights,
    QuantizedTensor,
    aligned_bytes,
    operand_of,
)

# What the C ABI asks of a workspace.
_WORKSPACE_ALIGNMENT = 256

Keep: TypeAlias = tuple[object, ...]


# Workspaces on GPUs, by device and stream: kept, for freeing memory there waits for the device.
# Calls on one stream run one after the other and may share one; threads do not share theirs.
class _Workspaces(threading.local):
    def __init__(self) -> None:
        self.kept: dict[tuple[Device, int], DeviceArray] = {}


_workspaces = _Workspaces()


def gemm(
    a: QuantizedTensor | AnyArray,
    b: QuantizedTensor | PackedWeights,
    *,
    bias: AnyArray | None = None,
    c: AnyArray | None = None,
    alpha: float = 1.0,
    beta: float | None = None,
    activation: str = "none",
    out_dtype: npt.DTypeLike | str = "bf16",
    out: AnyArray | None = None,
    kernel: str | None = None,
    a_format: str | None = None,
    device: str | None = None,
    stream: int | None = None,
) -> Any:
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
    kernel      full id of the kernel to use, such as "cpu:avx2:gemm_any_any_any_6x16x32"; None
                chooses (see `explain` and `info`)
    device      "cpu" or "cuda:N"; None: where the operands lie. Arrays in a GPU's memory (a
                DeviceArray, torch's, cupy's) are used as they lie, numpy arrays copied there.
    stream      on a GPU: the CUDA stream, as an integer; None is the default stream

    Returns D [..., N] (`out`, where given), on the host if `a` lies there, else as a DeviceArray,
    whose contents are there once `stream` has come so far. K = 0 gives activation(bias + beta * C);
    empty outputs are fine.

    Raises InvalidArgument (a ValueError) for shapes, dtypes, layouts or options that do not fit,
    naming the argument, and Unsupported where no kernel takes the problem, with each kernel's
    reason.
    """
    stream = devices.stream_handle(stream)
    left = a if isinstance(a, QuantizedTensor) else _placed_a(a)
    others = {"bias": bias, "c": c, "out": out}
    arrays = {name: None if x is None else placed(x, name) for name, x in others.items()}
    on_host = device_of(_first(left)) is None
    place = devices.common_device(
        device,
        {"a": device_of(_first(left)), "b": _device_of_b(b)}
        | {name: device_of(array) for name, array in arrays.items()},
    )
    desc, args, keep = _operands(left, b, a_format, place, stream)
    format_d = plain_format(out_dtype, "out_dtype")
    shape = (*left.shape[:-1], desc.n)
    desc.format_d = _native.FORMATS[format_d]
    desc.activation = enum_value(activation, "activation", _native.ACTIVATIONS)
    args.alpha = float32(alpha, "alpha")

    if arrays["out"] is not None:
        check_dtype(arrays["out"], "out", (format_d,))
    output = Output(arrays["out"], "out", shape, DTYPES[format_d], place, on_host)
    args.d, args.d_bytes, args.ldd = output.rows.pointer, output.rows.nbytes, output.rows.ld
    if arrays["bias"] is not None:
        keep += _set_bias(desc, args, arrays["bias"], format_d, place, stream)
    if arrays["c"] is not None:
        keep += _set_c(desc, args, arrays["c"], beta, format_d, shape, place, stream)
    elif beta is not None and float32(beta, "beta") != 0:
        raise InvalidArgument(f"beta is {beta!r} but c is None; give c, or leave beta out")

    if kernel is None and place.on_cpu:
        _native.call("gemm", ctypes.byref(desc), ctypes.byref(args), stream)
    else:
        _run_plan(desc, args, kernel, place, stream)
    del keep
    return output.finish(stream)


def _placed_a(a: object) -> Placed:
    array = devices.as_device_array(a, "a")
    if array is None and not isinstance(a, np.ndarray):
        raise InvalidArgument(
            f"a is a {type(a).__name__}; it must be a QuantizedTensor or a numpy array, or an "
            "array in a GPU's memory (__cuda_array_interface__)"
        )
    return placed(a, "a")


def _first(value: QuantizedTensor | Placed) -> Placed:
    return value.qdata if isinstance(value, QuantizedTensor) else value


def _device_of_b(b: object) -> Device | None:
    return device_of(b.qdata) if isinstance(b, QuantizedTensor) else None


def _operands(
    a: QuantizedTensor | Placed,
    b: QuantizedTensor | PackedWeights,
    a_format: str | None,
    device: Device,
    stream: int | None,
) -> tuple[_native.GemmDesc, _native.GemmArgs, Keep]:
    """Descriptor and arguments with A and B filled in, and what must outlive them."""
    desc, args = _native.GemmDesc(), _native.GemmArgs()
    desc.device_kind, desc.device_index = device.kind, device.index
    if isinstance(a, QuantizedTensor):
        if a_format is not None:
            raise InvalidArgument(f"a_format is {a_format!r}; a QuantizedTensor knows its format")
        args.a, keep = operand_of(a, "a", device, stream)
        desc.format_a = _native.FORMATS[a.format]
        desc.scale_layout_a = _native.SCALE_LAYOUTS[a.scale_layout]
        rows = 1
        for extent in a.shape[:-1]:
            rows *= extent
        desc.m, desc.k = rows, a.shape[-1]
    else:
        desc.format_a = _native.FORMATS[float_format(a, "a", a_format)]
        source = input_rows(a, "a", device, stream)
        args.a = _native.Operand(
            data=source.pointer, data_bytes=source.nbytes, ld=source.ld, global_scale=1.0
        )
        desc.m, desc.k = source.rows, source.cols
        keep = (source.owner,)
    args.b, keep_b = _operand_b(b, desc, device, stream)
    return desc, args, keep + keep_b


def _operand_b(
    b: QuantizedTensor | PackedWeights,
    desc: _native.GemmDesc,
    device: Device,
    stream: int | None,
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
    return operand_of(b, "b", device, stream)


def _set_bias(
    desc: _native.GemmDesc,
    args: _native.GemmArgs,
    array: Placed,
    format_d: str,
    device: Device,
    stream: int | None,
) -> Keep:
    format = check_dtype(array, "bias", tuple(dict.fromkeys((format_d, "f32"))))
    if array.shape != (desc.n,):
        raise InvalidArgument(
            f"bias has shape {array.shape}; it must be ({desc.n},), one per row of b"
        )
    desc.format_bias = _native.FORMATS[format]
    source = input_rows(array, "bias", device, stream)
    args.bias, args.bias_bytes = source.pointer, source.nbytes
    return (source.owner,)


def _set_c(
    desc: _native.GemmDesc,
    args: _native.GemmArgs,
    array: Placed,
    beta: float | None,
    format_d: str,
    shape: tuple[int, ...],
    device: Device,
    stream: int | None,
) -> Keep:
    check_dtype(array, "c", (format_d,))
    if array.shape != shape:
        raise InvalidArgument(f"c has shape {array.shape}; it must be {shape}")
    if beta is None:
        raise InvalidArgument("beta is None but c is given; give beta, the factor of c")
    args.beta = float32(beta, "beta")
    desc.flags |= _native.USE_C
    source = input_rows(array, "c", device, stream)
    args.c, args.c_bytes, args.ldc = source.pointer, source.nbytes, source.ld
    return (source.owner,)


def _workspace(device: Device, stream: int | None, nbytes: int) -> Placed:
    """At least so many bytes; on a GPU they are kept for the next call on the stream."""
    if device.on_cpu:
        return aligned_bytes(nbytes, _WORKSPACE_ALIGNMENT)
    kept: dict[tuple[Device, int], DeviceArray] = _workspaces.kept
    key = (device, stream or 0)
    if key not in kept or kept[key].nbytes < nbytes:
        kept[key] = devices.empty((nbytes,), UINT8, device)
    return kept[key]


def _run_plan(
    desc: _native.GemmDesc,
    args: _native.GemmArgs,
    kernel: object,
    device: Device,
    stream: int | None,
) -> None:
    name = None
    if kernel is not None:
        if not isinstance(kernel, str) or not kernel.isascii() or not kernel or "\0" in kernel:
            raise InvalidArgument(
                f"kernel is {kernel!r}; it must be the full id of a kernel (see info)"
            )
        name = kernel.encode()
    plan = _native.call_for(c_void_p, "plan_create", ctypes.byref(desc), name)
    try:
        nbytes = _native.call_for(c_uint64, "plan_workspace_size", plan).value
        workspace = _workspace(device, stream, nbytes)
        pointer = workspace.pointer if isinstance(workspace, DeviceArray) else workspace.ctypes.data
        args.workspace = pointer if nbytes else None
        args.workspace_bytes = nbytes
        _native.call("run", plan, ctypes.byref(args), stream)
    finally:
        _native.destroy_plan(plan)


def pack(b: QuantizedTensor) -> PackedWeights:
    """Prepares weights b [N, K] for repeated products: `gemm(a, pack(b))` gives what `gemm(a, b)`
    gives, sooner.

    The bytes are opaque and valid for the version of the library that made them; gemm refuses any
    other. For the CPU: a tensor in a GPU's memory is Unsupported.
    """
    if not isinstance(b, QuantizedTensor):
        raise InvalidArgument(f"b is a {type(b).__name__}; it must be a QuantizedTensor")
    if len(b.shape) != 2:
        raise InvalidArgument(f"b has shape {b.shape}; it must have two dimensions, (N, K)")
    place = device_of(b.qdata) or CPU
    problem = (place.kind, place.index, _native.FORMATS[b.format], *b.shape)
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
    device: str = "cpu",
) -> str:
    """Which kernel a GEMM of [m, k] by [n, k] would use, and why not each other one: a line per
    kernel.

    Formats are named as in `gemm`; `bias_dtype` None means no bias. The problem may be one that no
    kernel accepts. `device` is "cpu" or "cuda:N".
    """
    place = devices.parse_device(device)
    desc = _native.GemmDesc(
        device_kind=place.kind,
        device_index=place.index,
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
