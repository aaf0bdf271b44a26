# SPDX-License-Identifier: Apache-2.0
"""Devices and arrays in their memory.

Arrays of others that say where they lie by __cuda_array_interface__ (torch's and cupy's do) are
taken as they are; what mxgemm makes on a GPU is a DeviceArray, which says the same of itself.
"""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from . import _native
from .errors import InvalidArgument

try:
    import ml_dtypes

    BF16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    BF16 = np.dtype(np.uint16)  # the bits

# DLPack's number for CUDA devices, which __dlpack_device__ answers.
_DLPACK_CUDA = 2
# How the array interface spells two bytes that numpy has no name for: torch's bfloat16.
_TWO_BYTES = "V2"


class SupportsCudaArrayInterface(Protocol):
    """An array of another library in a GPU's memory."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Device:
    """Kind and index as the C ABI takes them."""

    kind: int
    index: int

    def __str__(self) -> str:
        return "cpu" if self.on_cpu else f"cuda:{self.index}"

    @property
    def on_cpu(self) -> bool:
        return self.kind == _native.DEVICE_KINDS["cpu"]


CPU = Device(_native.DEVICE_KINDS["cpu"], 0)


def parse_device(value: object, name: str = "device") -> Device:
    """ "cpu" or "cuda:N"."""
    if value == "cpu":
        return CPU
    if isinstance(value, str) and value.startswith("cuda:") and value.isascii():
        digits = value.removeprefix("cuda:")
        if digits.isdigit() and int(digits) < 2**31:
            return Device(_native.DEVICE_KINDS["cuda"], int(digits))
    raise InvalidArgument(f"{name} is {value!r}; allowed: 'cpu' or 'cuda:N'")


def stream_handle(value: object) -> int | None:
    """A cudaStream_t as an integer; None is the default stream."""
    if value is None:
        return None
    # ctypes would take a text's address, and cut what is too large.
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        handle = int(value)
        if 0 <= handle < 2**64:
            return handle
    raise InvalidArgument(f"stream is {value!r}; it must be a cudaStream_t as an integer, or None")


class Memory:
    """Bytes of a device, freed with this."""

    def __init__(self, device: Device, nbytes: int) -> None:
        self.device = device
        self.nbytes = nbytes
        self.pointer = 0
        pointer = ctypes.c_void_p()
        _native.call("device_alloc", device.kind, device.index, nbytes, ctypes.byref(pointer))
        self.pointer = pointer.value or 0

    def __del__(self) -> None:
        # After a failed allocation, or when the interpreter has already given up its modules, there
        # is nothing to free or nobody to do it.
        if getattr(self, "pointer", 0) and _native is not None:
            _native.free_quietly(self.device.kind, self.device.index, self.pointer)

    def __reduce__(self) -> NoReturn:
        raise TypeError("memory of a device has one owner; copy or pickle the DeviceArray")


class DeviceArray:
    """An array in the memory of a GPU: one that mxgemm made, or a view of another library's.

    shape, dtype, strides (in bytes), device ("cuda:0"), pointer. `numpy()` copies it to the host;
    torch.as_tensor, cupy.asarray and others take it without a copy.
    """

    def __init__(
        self,
        owner: object,
        pointer: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        device: Device,
        strides: tuple[int, ...] | None = None,
        readonly: bool = False,
    ) -> None:
        self.owner = owner  # keeps the memory alive
        self.pointer = pointer
        self.shape = shape
        self.dtype = dtype
        self.place = device
        self.strides = strides if strides is not None else dense_strides(shape, dtype.itemsize)
        self.readonly = readonly

    @property
    def device(self) -> str:
        return str(self.place)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def is_dense(self) -> bool:
        return self.size == 0 or self.strides == dense_strides(self.shape, self.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, self.readonly),
            "strides": None if self.is_dense else self.strides,
            "stream": None,
        }

    def __reduce__(self) -> tuple[object, ...]:
        # Copied and pickled by its elements: the pointer means nothing to another process, and two
        # owners would both free it.
        return upload, (self.numpy(), self.place)

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}, shape={self.shape}, {self.device})"

    def with_shape(self, shape: tuple[int, ...]) -> DeviceArray:
        """The same dense memory in another shape."""
        return DeviceArray(
            self.owner, self.pointer, shape, self.dtype, self.place, None, self.readonly
        )

    def with_dtype(self, dtype: np.dtype[Any]) -> DeviceArray:
        """The same bytes as another type of that size."""
        return DeviceArray(
            self.owner, self.pointer, self.shape, dtype, self.place, self.strides, self.readonly
        )

    def numpy(self, stream: int | None = None) -> npt.NDArray[Any]:
        """A copy on the host, after what `stream` holds."""
        stream = stream_handle(stream)
        if self.size == 0:
            return np.empty(self.shape, self.dtype)
        if min(self.strides) < 0:
            raise InvalidArgument(f"strides are {self.strides}; numpy() takes none below 0")
        steps = zip(self.strides, self.shape, strict=True)
        span = sum(step * (extent - 1) for step, extent in steps) + self.itemsize
        host = np.empty(span, np.uint8)
        copy_bytes(CPU, host.ctypes.data, self.place, self.pointer, span, stream)
        return np.ndarray(self.shape, self.dtype, host.data, strides=self.strides).copy()


def dense_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def copy_bytes(
    to: Device, target: int, source: Device, origin: int, nbytes: int, stream: int | None
) -> None:
    _native.call(
        "device_copy", to.kind, to.index, target, source.kind, source.index, origin, nbytes, stream
    )


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], device: Device) -> DeviceArray:
    memory = Memory(device, math.prod(shape) * dtype.itemsize)
    return DeviceArray(memory, memory.pointer, shape, dtype, device)


def upload(array: npt.NDArray[Any], device: Device, stream: int | None = None) -> DeviceArray:
    """A dense copy of a host array."""
    dense = np.ascontiguousarray(array).reshape(array.shape)
    result = empty(dense.shape, dense.dtype, device)
    if dense.nbytes:
        copy_bytes(device, result.pointer, CPU, dense.ctypes.data, dense.nbytes, stream)
    return result


def _index_of(value: Any, name: str) -> int:
    """Which GPU a foreign array lies on: its interface does not tell, DLPack's question does."""
    ask = getattr(value, "__dlpack_device__", None)
    if ask is not None:
        kind, index = ask()
        if int(kind) == _DLPACK_CUDA:
            return int(index)
    raise InvalidArgument(
        f"{name} is a {type(value).__name__} that does not tell its CUDA device (__dlpack_device__)"
    )


def as_device_array(value: Any, name: str) -> DeviceArray | None:
    """`value` seen as a DeviceArray if it lies in a GPU's memory, else None."""
    if isinstance(value, DeviceArray):
        return value
    if isinstance(value, np.ndarray):
        return None
    try:
        interface = value.__cuda_array_interface__
    except AttributeError:
        return None
    except Exception as error:  # torch: of a type that the interface lacks, or with a gradient
        raise InvalidArgument(f"{name} cannot be taken: {error}") from error
    try:
        typestr = interface["typestr"]
        dtype = BF16 if typestr.endswith(_TWO_BYTES) else np.dtype(typestr)
        address, readonly = interface["data"]
        pointer = operator.index(address or 0)
        shape = tuple(operator.index(extent) for extent in interface["shape"])
        strides = interface.get("strides")
        if strides is not None:
            strides = tuple(operator.index(step) for step in strides)
        if min(shape, default=0) < 0 or not 0 <= pointer < 2**64:
            raise ValueError(f"shape {shape}, data {interface['data']}")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidArgument(
            f"{name} has a malformed __cuda_array_interface__: {error!r}"
        ) from error
    device = Device(_native.DEVICE_KINDS["cuda"], _index_of(value, name))
    if interface.get("stream") is not None:
        # Written on a stream of its owner's, which the interface asks us to wait for.
        _native.call("device_synchronize", device.kind, device.index)
    return DeviceArray(
        value,
        pointer,
        shape,
        dtype,
        device,
        strides,
        bool(readonly),
    )


def common_device(asked: object, operands: dict[str, Device | None]) -> Device:
    """The device of a call: the one asked for, or where its operands lie; None = on the host."""
    wanted = None if asked is None else parse_device(asked)
    first = ""
    found: Device | None = None
    for name, device in operands.items():
        if device is None:
            continue
        if found is None:
            first, found = name, device
        elif device != found:
            raise InvalidArgument(
                f"{name} lies on {device}; it must lie where {first} does: {found}"
            )
    if wanted is not None and found is not None and wanted != found:
        raise InvalidArgument(f"device is '{wanted}', but {first} lies on {found}")
    return wanted or found or CPU
