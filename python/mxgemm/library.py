# SPDX-License-Identifier: Apache-2.0
"""What the loaded library is and has: version, devices, kernels, threads."""

from __future__ import annotations

import ctypes
from ctypes import c_int32
from typing import TypedDict

from . import _native
from .arrays import integer
from .errors import Error


class Device(TypedDict):
    """One device. `isa`, `isa_offered` are None on CUDA, `capability`, `l2_bytes` on the CPU.

    `arch` names the kernels that it uses, "" for none; `num_threads` are multiprocessors on CUDA.
    """

    kind: str
    index: int
    name: str
    arch: str
    capability: tuple[int, int] | None
    isa: str | None
    isa_offered: str | None
    num_threads: int
    memory_bytes: int
    l2_bytes: int | None


class Kernel(TypedDict):
    """One GEMM kernel; `reason` says why it is not available, else it is empty."""

    id: str
    device_kind: str
    formats_a: list[str]
    formats_b: list[str]
    formats_d: list[str]
    available: bool
    reason: str


class Library(TypedDict):
    """One GPU library; `reason` says why it was refused, or why it finds no device."""

    arch: str
    loaded: bool
    reason: str
    capabilities: str
    build_info: str
    path: str


class Info(TypedDict):
    """What `info` returns. `errors` holds, per device kind, why its devices cannot be listed."""

    version: str
    abi_version: int
    library: str
    devices: list[Device]
    kernels: list[Kernel]
    libraries: list[Library]
    errors: dict[str, str]


def version() -> str:
    """The version of the loaded library, "0.1.0"."""
    return _native.library_version


def set_num_threads(num_threads: int) -> None:
    """Threads that the CPU backend uses, the caller's included; 0 = default (affinity and cgroup
    quota).

    Results do not depend on it.
    """
    _native.call("set_num_threads", integer(num_threads, "num_threads", 0, 2**31 - 1))


def get_num_threads() -> int:
    """Threads that the CPU backend uses, the caller's included."""
    return _native.call_for(c_int32, "get_num_threads").value


def info() -> Info:
    """Version, library file, devices, kernels and GPU libraries, in plain dicts and lists, as
    json.dumps takes them."""
    devices: list[Device] = []
    errors: dict[str, str] = {}
    for kind, code in _native.DEVICE_KINDS.items():
        try:
            count = _native.call_for(c_int32, "device_count", code).value
            devices += [_device(kind, code, index) for index in range(count)]
        except Error as error:
            errors[kind] = str(error)
    count = _native.call_for(c_int32, "kernel_count").value
    libraries = _native.call_for(c_int32, "library_count").value
    return Info(
        version=version(),
        abi_version=_native.ABI_VERSION,
        library=str(_native.library_path),
        devices=devices,
        kernels=[_kernel(index) for index in range(count)],
        libraries=[_library(index) for index in range(libraries)],
        errors=errors,
    )


def _name_of(code: int, names: dict[str, int]) -> str:
    return next((name for name, value in names.items() if value == code), str(code))


def _device(kind: str, code: int, index: int) -> Device:
    raw = _native.DeviceInfo()
    _native.call("device_info_get", code, index, ctypes.byref(raw))
    on_cpu = kind == "cpu"
    return Device(
        kind=kind,
        index=index,
        name=raw.name.decode(errors="replace"),
        arch=raw.arch.decode(errors="replace"),
        capability=None if on_cpu else (raw.capability_major, raw.capability_minor),
        isa=_name_of(raw.isa, _native.ISAS) if on_cpu else None,
        isa_offered=_name_of(raw.isa_offered, _native.ISAS) if on_cpu else None,
        num_threads=raw.num_threads,
        memory_bytes=raw.memory_bytes,
        l2_bytes=None if on_cpu else raw.l2_bytes,
    )


def _library(index: int) -> Library:
    raw = _native.LibraryInfo()
    _native.call("library_info_get", index, ctypes.byref(raw))
    return Library(
        arch=raw.arch.decode(errors="replace"),
        loaded=bool(raw.loaded),
        reason=raw.reason.decode(errors="replace"),
        capabilities=raw.capabilities.decode(errors="replace"),
        build_info=raw.build_info.decode(errors="replace"),
        path=raw.path.decode(errors="replace"),
    )


def _kernel(index: int) -> Kernel:
    raw = _native.KernelInfo()
    _native.call("kernel_info_get", index, ctypes.byref(raw))

    def formats(bits: int) -> list[str]:
        return [name for name, code in _native.FORMATS.items() if bits >> code & 1]

    return Kernel(
        id=raw.id.decode(errors="replace"),
        device_kind=_name_of(raw.device_kind, _native.DEVICE_KINDS),
        formats_a=formats(raw.formats_a),
        formats_b=formats(raw.formats_b),
        formats_d=formats(raw.formats_d),
        available=bool(raw.available),
        reason=raw.reason.decode(errors="replace"),
    )
