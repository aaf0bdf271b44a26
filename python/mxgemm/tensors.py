# SPDX-License-Identifier: Apache-2.0
"""The two things that a GEMM multiplies besides plain arrays: quantised tensors and packed
weights."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from ctypes import c_uint64
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from . import _native, devices
from .arrays import (
    AnyArray,
    Array,
    Placed,
    as_bytes,
    block_format,
    device_of,
    enum_value,
    flat_bytes,
    float32,
    input_rows,
    integer,
    placed,
)
from .devices import CPU, Device, DeviceArray
from .errors import InvalidArgument

# The library takes sizes as int64.
MAX_EXTENT = 2**63 - 1


def qdata_bytes(format: str, rows: int, cols: int) -> int:
    """Bytes of rows x cols dense elements; refuses `cols` that is no multiple of the block."""
    code = _native.FORMATS[format]
    return _native.call_for(c_uint64, "qdata_size", code, rows, cols).value


def scale_bytes(format: str, scale_layout: str, rows: int, cols: int) -> int:
    """Bytes of the scales of rows x cols elements."""
    code, layout = _native.FORMATS[format], _native.SCALE_LAYOUTS[scale_layout]
    return _native.call_for(c_uint64, "scale_size", code, layout, rows, cols).value


def check_shape(shape: object, name: str = "shape") -> tuple[int, ...]:
    if isinstance(shape, Sequence) and not isinstance(shape, str) and shape:
        extents = tuple(
            integer(extent, f"{name}[{i}]", 0, MAX_EXTENT) for i, extent in enumerate(shape)
        )
        if math.prod(extents[:-1]) <= MAX_EXTENT:
            return extents
    raise InvalidArgument(
        f"{name} is {shape!r}; it must be a tuple of at least one extent, each >= 0"
    )


def check_global_scale(value: object, format: str) -> float:
    number = float32(value, "global_scale")
    if format != "nvf4" and number != 1.0:
        raise InvalidArgument(f"global_scale is {number}; only nvf4 has one (1.0 elsewhere)")
    if not (math.isfinite(number) and number > 0):
        raise InvalidArgument(f"global_scale is {number}; it must be finite and > 0 as float32")
    return number


@dataclass(frozen=True, eq=False)
class QuantizedTensor:
    """A tensor in a block-scaled format: packed elements, one scale per block of the last
    dimension, and what they mean.

    value = element * block scale * global_scale

    qdata         uint8, [..., K / 2] for mxf4 and nvf4 (two elements a byte, even k in the low
                  nibble), [..., K] for mxf8e4m3 and mxf8e5m2 (there also the float8 dtypes of
                  ml_dtypes). Rows may be strided.
    scale         uint8 (or float8_e8m0fnu; float8_e4m3fn for nvf4). row_major: [..., K / block],
                  rows may be strided. swizzle_32_4_4: all bytes of the 128 x 4 tiles, any shape;
                  kept as one dimension. The rows are those of the flattened leading dimensions.
    format        "mxf4", "nvf4", "mxf8e4m3" (or "mxf8") or "mxf8e5m2"
    shape         the logical shape [..., K], never guessed from sizes
    scale_layout  "row_major" or "swizzle_32_4_4"; it says what `scale` holds, so nothing can be
                  swizzled twice
    global_scale  nvf4's per-tensor factor (the multiplier, not its reciprocal); 1.0 elsewhere

    qdata and scale may lie in a GPU's memory, then both in the same: as a DeviceArray, or as
    another library's uint8 array, which is kept as a DeviceArray that views it.

    Making one checks all of this and raises InvalidArgument. The arrays are kept, not copied
    (non-contiguous swizzled scales excepted). Two tensors compare by identity.
    """

    qdata: Placed
    scale: Placed
    format: str
    shape: tuple[int, ...]
    scale_layout: str = "row_major"
    global_scale: float = 1.0

    def __post_init__(self) -> None:
        format = block_format(self.format)
        shape = check_shape(self.shape)
        enum_value(self.scale_layout, "scale_layout", _native.SCALE_LAYOUTS)
        qdata = as_bytes(self.qdata, "qdata", "element", format)
        scale = as_bytes(self.scale, "scale", "scale", format)
        if device_of(qdata) != device_of(scale):
            raise InvalidArgument(
                f"scale lies on {device_of(scale) or CPU}; it must lie where qdata does: "
                f"{device_of(qdata) or CPU}"
            )
        rows, cols = math.prod(shape[:-1]), shape[-1]
        expected = (*shape[:-1], qdata_bytes(format, 1, cols))
        if qdata.shape != expected:
            raise InvalidArgument(
                f"qdata has shape {qdata.shape}; for {format} of shape {shape} it must be "
                f"{expected}"
            )
        if self.scale_layout == "row_major":
            expected = (*shape[:-1], scale_bytes(format, "row_major", 1, cols))
            if scale.shape != expected:
                raise InvalidArgument(
                    f"scale has shape {scale.shape}; row_major scales of {format} of shape {shape} "
                    f"have shape {expected}"
                )
        else:
            scale = flat_bytes(scale, "scale", scale_bytes(format, self.scale_layout, rows, cols))
        checked = {
            "qdata": qdata,
            "scale": scale,
            "format": format,
            "shape": shape,
            "global_scale": check_global_scale(self.global_scale, format),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        scale = f", global_scale={self.global_scale!r}" if self.format == "nvf4" else ""
        return f"QuantizedTensor({self.format}, shape={self.shape}, {self.scale_layout}{scale})"

    @property
    def device(self) -> str:
        """Where it lies: "cpu" or "cuda:N"."""
        return str(device_of(self.qdata) or CPU)

    @property
    def nbytes(self) -> int:
        """Bytes of elements and scales together."""
        return self.qdata.nbytes + self.scale.nbytes


# mxgemm_pack writes to, and a run reads from, memory aligned like this.
PACKED_ALIGNMENT = 64


@dataclass(frozen=True, eq=False)
class PackedWeights:
    """An operand B [N, K] prepared by `pack`; opaque bytes, valid for the library version that made
    them.

    data          uint8, one dimension
    format, shape, global_scale   as in the QuantizedTensor it was made from
    """

    data: Array
    format: str
    shape: tuple[int, ...]
    global_scale: float = 1.0

    def __post_init__(self) -> None:
        format = block_format(self.format)
        shape = check_shape(self.shape)
        if len(shape) != 2:
            raise InvalidArgument(f"shape is {shape}; packed weights have two dimensions, (N, K)")
        data = as_bytes(self.data, "data", "byte", "")
        if isinstance(data, DeviceArray):
            raise InvalidArgument(
                f"data lies on {data.device}; packed weights are for the CPU and lie there"
            )
        if data.ndim != 1:
            raise InvalidArgument(f"data has shape {data.shape}; it must have one dimension")
        object.__setattr__(self, "data", aligned(data))
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "global_scale", check_global_scale(self.global_scale, format))

    def __reduce__(self) -> tuple[object, ...]:
        # Through __post_init__: copies and unpickled arrays lie at any address.
        return type(self), (self.data, self.format, self.shape, self.global_scale)

    def __repr__(self) -> str:
        return f"PackedWeights({self.format}, shape={self.shape}, {self.data.nbytes} bytes)"

    @property
    def nbytes(self) -> int:
        return int(self.data.nbytes)


def aligned_bytes(nbytes: int, alignment: int) -> Array:
    """Uninitialised uint8 memory whose first byte lies on a multiple of `alignment`."""
    memory = np.empty(nbytes + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    return memory[start : start + nbytes]


def aligned(data: Array) -> Array:
    """`data` itself, or an aligned copy (unpickled, or read from a file)."""
    if data.flags.c_contiguous and data.ctypes.data % PACKED_ALIGNMENT == 0:
        return data
    copy = aligned_bytes(data.size, PACKED_ALIGNMENT)
    copy[:] = data
    return copy


def operand_of(
    tensor: QuantizedTensor, name: str, device: Device = CPU, stream: int | None = None
) -> tuple[_native.Operand, tuple[object, ...]]:
    """The C operand of a quantised tensor on `device`, and what must outlive it."""
    qdata = input_rows(tensor.qdata, f"{name}.qdata", device, stream)
    elements_per_byte = 2 if tensor.shape[-1] != tensor.qdata.shape[-1] else 1
    scale = input_rows(tensor.scale, f"{name}.scale", device, stream)
    operand = _native.Operand(
        data=qdata.pointer,
        data_bytes=qdata.nbytes,
        ld=qdata.ld * elements_per_byte,
        scale=scale.pointer,
        scale_bytes=scale.nbytes,
        scale_ld=scale.ld if tensor.scale_layout == "row_major" else 0,
        global_scale=tensor.global_scale,
    )
    return operand, (qdata.owner, scale.owner)


@overload
def to_device(value: QuantizedTensor, device: str) -> QuantizedTensor: ...
@overload
def to_device(value: AnyArray, device: str) -> Any: ...
def to_device(value: QuantizedTensor | AnyArray, device: str) -> Any:
    """`value` on `device`, "cpu" or "cuda:N": itself if it lies there, else a copy.

    value  a QuantizedTensor, a numpy array, or an array in a GPU's memory. On the host arrays are
           numpy arrays, on a GPU DeviceArrays.
    """
    place = devices.parse_device(device)
    if isinstance(value, QuantizedTensor):
        if value.device == device:
            return value
        qdata, scale = _moved(value.qdata, "qdata", place), _moved(value.scale, "scale", place)
        return dataclasses.replace(value, qdata=qdata, scale=scale)
    return _moved(value, "value", place)


def _moved(value: object, name: str, place: Device) -> Placed:
    array = placed(value, name)
    if (device_of(array) or CPU) == place:
        return array
    host = array.numpy() if isinstance(array, DeviceArray) else array
    if host.dtype.hasobject:
        raise InvalidArgument(f"{name} has dtype {host.dtype}; objects cannot lie on a device")
    return host if place.on_cpu else devices.upload(host, place)
