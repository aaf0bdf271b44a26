# SPDX-License-Identifier: Apache-2.0
"""Between numpy arrays and the row-strided buffers of the C ABI.

An array [..., K] is seen as rows x K with one stride from row to row. Where its last dimension is
contiguous and the leading ones collapse into such rows it is passed as it is, without a copy. Other
inputs are copied first, those in a GPU's memory refused; other outputs are refused.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import devices
from .devices import BF16, CPU, Device, DeviceArray, SupportsCudaArrayInterface
from .errors import InvalidArgument

Array: TypeAlias = npt.NDArray[Any]
# What the functions of this package take where they say "array", and what they see of it.
AnyArray: TypeAlias = Array | DeviceArray | SupportsCudaArrayInterface
Placed: TypeAlias = Array | DeviceArray

UINT8 = np.dtype(np.uint8)
UINT16 = np.dtype(np.uint16)

# One-byte element types that may be handed in instead of uint8.
_BYTE_DTYPES: dict[str, np.dtype[Any]] = {}
try:
    import ml_dtypes
except ImportError:
    pass
else:
    for _code, _name in {"e4m3": "fn", "e5m2": "", "e8m0": "fnu"}.items():
        if _dtype := getattr(ml_dtypes, f"float8_{_code}{_name}", None):  # older ones lack some
            _BYTE_DTYPES[_code] = np.dtype(_dtype)

DTYPES: dict[str, np.dtype[Any]] = {
    "bf16": BF16,
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
}
_FORMAT_BY_DTYPE = {dtype: name for name, dtype in DTYPES.items() if dtype != UINT16}

BLOCK_FORMATS = ("mxf4", "nvf4", "mxf8e4m3", "mxf8e5m2")
_ELEMENT = {"mxf8e4m3": "e4m3", "mxf8e5m2": "e5m2"}
_SCALE = {"mxf4": "e8m0", "nvf4": "e4m3", "mxf8e4m3": "e8m0", "mxf8e5m2": "e8m0"}


def listed(names: Mapping[str, object] | tuple[str, ...]) -> str:
    """'a', 'b' or 'c', for messages."""
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def enum_value(value: object, name: str, values: Mapping[str, int]) -> int:
    if isinstance(value, str) and value in values:
        return values[value]
    raise InvalidArgument(f"{name} is {value!r}; allowed: {listed(values)}")


def block_format(value: object, name: str = "format") -> str:
    """The full name of a block-scaled format ("mxf8" means "mxf8e4m3")."""
    if value == "mxf8":
        return "mxf8e4m3"
    if isinstance(value, str) and value in BLOCK_FORMATS:
        return value
    raise InvalidArgument(f"{name} is {value!r}; allowed: {listed((*BLOCK_FORMATS, 'mxf8'))}")


def plain_format(value: object, name: str) -> str:
    """The name of a plain type that is given by name ("bf16", "f16", "f32") or as a dtype."""
    if isinstance(value, str) and value in DTYPES:
        return value
    if not isinstance(value, str) and value is not None:
        try:
            dtype = np.dtype(value)  # type: ignore[call-overload]
        except TypeError:
            dtype = None
        if dtype in _FORMAT_BY_DTYPE:
            return _FORMAT_BY_DTYPE[dtype]
    raise InvalidArgument(f"{name} is {value!r}; allowed: {listed(DTYPES)} or their numpy dtypes")


def integer(value: object, name: str, low: int, high: int) -> int:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
        if low <= number <= high:
            return number
    raise InvalidArgument(f"{name} is {value!r}; it must be an integer from {low} to {high}")


def float32(value: object, name: str) -> float:
    """A Python or numpy real number that fits float32 (rounded to nearest); arrays are refused."""
    if not isinstance(value, (numbers.Real, np.floating, np.integer)) or isinstance(value, bool):
        raise InvalidArgument(
            f"{name} is {_describe(value)}; it must be a number (a float or a numpy scalar)"
        )
    try:
        wide = float(value)
    except OverflowError:  # an int beyond float64
        raise InvalidArgument(f"{name} is beyond float32") from None
    with np.errstate(over="ignore"):
        narrow = float(np.float32(wide))
    if math.isinf(narrow) and not math.isinf(wide):
        raise InvalidArgument(f"{name} is {value!r}, beyond float32")
    return narrow


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray | DeviceArray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return f"{value!r}" if isinstance(value, (str, int, float)) else f"a {type(value).__name__}"


def placed(value: object, name: str) -> Placed:
    """A numpy array, or an array in a GPU's memory as a DeviceArray."""
    on_device = devices.as_device_array(value, name)
    if on_device is not None:
        return on_device
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        raise InvalidArgument(
            f"{name} is {_describe(value)}; it must be a numpy array, or one in a GPU's memory "
            "(__cuda_array_interface__)"
        )
    return value


def device_of(value: Placed | None) -> Device | None:
    return value.place if isinstance(value, DeviceArray) else None


def float_format(array: Placed, name: str, format: str | None) -> str:
    """The format of a plain array, from its dtype; `format`, where given, must agree.

    uint16 holds bf16 bits if `format` says so.
    """
    if format is not None and format not in DTYPES:
        raise InvalidArgument(f"the format of {name} is {format!r}; allowed: {listed(DTYPES)}")
    found = _FORMAT_BY_DTYPE.get(array.dtype)
    if array.dtype == UINT16:
        if format == "bf16":
            return format
        raise InvalidArgument(
            f"{name} has dtype uint16; say that its format is 'bf16' if these are bf16 bits"
        )
    if found is None:
        raise InvalidArgument(
            f"{name} has dtype {_dtype_name(array)}; allowed: float32, float16 and bfloat16 "
            "(ml_dtypes, or uint16 bits), in native byte order"
        )
    if format is not None and format != found:
        raise InvalidArgument(f"{name} has dtype {array.dtype}, which is not format {format!r}")
    return found


def _dtype_name(array: Placed) -> str:
    return str(array.dtype) if array.dtype.isnative else f"{array.dtype.str} (swapped bytes)"


def check_dtype(array: Placed, name: str, formats: tuple[str, ...]) -> str:
    """Which of `formats` the array holds; bf16 may be uint16."""
    for format in formats:
        if array.dtype == DTYPES[format] or (format == "bf16" and array.dtype == UINT16):
            return format
    allowed = " or ".join(str(DTYPES[format]) for format in formats)
    raise InvalidArgument(f"{name} has dtype {_dtype_name(array)}; it must be {allowed}")


def as_bytes(value: object, name: str, kind: str, format: str) -> Placed:
    """`value` as uint8: it is that, or the one-byte dtype of `format`'s elements or scales."""
    array = placed(value, name)
    code = (_ELEMENT if kind == "element" else _SCALE).get(format)
    other = _BYTE_DTYPES.get(code) if code else None
    if array.dtype == UINT8:
        return array
    if other is not None and array.dtype == other:
        return array.view(UINT8) if isinstance(array, np.ndarray) else array.with_dtype(UINT8)
    allowed = f"uint8 or {other}" if other is not None else "uint8"
    raise InvalidArgument(
        f"{name} has dtype {_dtype_name(array)}; the {kind}s of {format} are {allowed}"
    )


@dataclass(frozen=True)
class Rows:
    """Memory that holds rows x cols elements: what the C ABI is given. `owner` keeps it alive."""

    owner: object
    address: int
    rows: int
    cols: int
    ld: int  # elements from row to row, 0 = dense
    nbytes: int  # from the first element to the end of the last

    @property
    def pointer(self) -> int | None:
        return self.address if self.nbytes else None


def _address(array: Placed) -> int:
    return array.pointer if isinstance(array, DeviceArray) else array.ctypes.data


def _row_stride(array: Placed) -> int | None:
    """Elements from row to row if `array` [..., K] is rows x K as it lies in memory, else None."""
    item = array.itemsize
    cols: int = array.shape[-1]
    if _address(array) % item or (cols > 1 and array.strides[-1] != item):
        return None
    stride: int | None = None
    extent = 0  # bytes that the dimensions seen so far span as one run of rows
    for length, step in zip(reversed(array.shape[:-1]), reversed(array.strides[:-1]), strict=True):
        if length == 1:
            continue
        if stride is None:
            stride = step
            extent = step * length
        elif step != extent:
            return None
        else:
            extent = step * length
    if stride is None:
        return cols
    if stride % item or stride < cols * item:
        return None
    return int(stride // item)


def _rows_of(array: Placed, ld: int) -> Rows:
    cols = array.shape[-1]
    rows = math.prod(array.shape[:-1])
    count = (rows - 1) * ld + cols if rows and cols else 0
    return Rows(array, _address(array), rows, cols, 0 if ld == cols else ld, count * array.itemsize)


def input_rows(array: Placed, name: str, device: Device = CPU, stream: int | None = None) -> Rows:
    """An input [..., K] as rows on `device`; copied where its memory is no such thing."""
    if array.ndim == 0:
        raise InvalidArgument(f"{name} has no dimension; it must have at least one")
    if isinstance(array, np.ndarray) and not device.on_cpu:
        array = devices.upload(array, device, stream)
    if array.size == 0:
        return _rows_of(array, array.shape[-1])
    ld = _row_stride(array)
    if ld is None:
        if isinstance(array, DeviceArray):
            raise InvalidArgument(_unfit_strides(array, name))
        array = array.copy(order="C")  # always a copy: a contiguous array may be misaligned
        ld = array.shape[-1]
    return _rows_of(array, ld)


def _unfit_strides(array: Placed, name: str) -> str:
    return (
        f"{name} has byte strides {array.strides} for shape {array.shape}; its last dimension must "
        "be contiguous and the leading ones evenly spaced rows"
    )


def output_rows(array: Placed, name: str, shape: tuple[int, ...]) -> Rows:
    """An output of the given shape as rows; refused where its memory is no such thing."""
    if array.shape != shape:
        raise InvalidArgument(f"{name} has shape {array.shape}; it must be {shape}")
    is_readonly = array.readonly if isinstance(array, DeviceArray) else not array.flags.writeable
    if is_readonly:
        raise InvalidArgument(f"{name} is read-only; it must be writeable")
    if array.size == 0:
        return _rows_of(array, shape[-1])
    ld = _row_stride(array)
    if ld is None:
        raise InvalidArgument(_unfit_strides(array, name))
    return _rows_of(array, ld)


def flat_bytes(array: Placed, name: str, nbytes: int) -> Placed:
    """A uint8 array of any shape and exactly `nbytes` bytes as one contiguous run."""
    if array.size != nbytes:
        raise InvalidArgument(f"{name} has {array.size} bytes; it must have {nbytes}")
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(array).reshape(-1)
    if not array.is_dense:
        raise InvalidArgument(f"{name} has byte strides {array.strides}; it must be contiguous")
    return array.with_shape((nbytes,))


class Output:
    """Where a call writes: the caller's array or a fresh one and, for a host array of a call on a
    GPU, memory there that `finish` copies from."""

    def __init__(
        self,
        out: Placed | None,
        name: str,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        device: Device,
        to_host: bool,
    ) -> None:
        if out is not None:
            self.result: Placed = out
        elif to_host:
            self.result = np.empty(shape, dtype)
        else:
            self.result = devices.empty(shape, dtype, device)
        self.rows = output_rows(self.result, name, shape)
        self._staged: DeviceArray | None = None
        if isinstance(self.result, np.ndarray) and not device.on_cpu:
            self._staged = devices.empty(shape, self.result.dtype, device)
            self.rows = output_rows(self._staged, name, shape)

    def finish(self, stream: int | None = None) -> Placed:
        if self._staged is not None and isinstance(self.result, np.ndarray):
            self.result[...] = self._staged.numpy(stream)
        return self.result
