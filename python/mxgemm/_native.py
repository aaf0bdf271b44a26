# SPDX-License-Identifier: Apache-2.0
"""The C ABI by ctypes: finds and loads the library, declares its structs and functions, turns
statuses into exceptions.

Struct fields, enum values and signatures are those of mxgemm/mxgemm.h in the same order; a test
compares them.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
from ctypes import (
    POINTER,
    byref,
    c_char,
    c_char_p,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any, TypeVar

from .errors import error_from_status

ABI_VERSION = 1

FORMATS = {
    "mxf4": 1,
    "nvf4": 2,
    "mxf8e4m3": 3,
    "mxf8e5m2": 4,
    "bf16": 16,
    "f16": 17,
    "f32": 18,
}
FORMAT_NONE = 0
SCALE_LAYOUTS = {"row_major": 0, "swizzle_32_4_4": 1}
ACTIVATIONS = {"none": 0, "relu": 1, "gelu": 2, "gelu_tanh": 3, "silu": 4}
DEVICE_KINDS = {"cpu": 0, "cuda": 1}
ISAS = {"scalar": 0, "avx2": 1, "avx512": 2, "amx": 3}
SCALE_RULES = {"floor": 1, "ceil": 2, "even": 3, "rceil": 4, "nearest": 5, "mse": 6}
NONFINITE_MODES = {"nan": 0, "saturate": 1}
ROUNDINGS = {"nearest_even": 0, "stochastic": 1}
GLOBAL_SCALE_DEFAULT, GLOBAL_SCALE_COMPUTE, GLOBAL_SCALE_GIVEN = 0, 2, 3
PRESETS = {"ocp": 1, "torchao": 2, "cuda": 3}

USE_C = 1 << 0
PACKED_B = 1 << 6

DEVICE_CPU = 0


class Struct(ctypes.Structure):
    """A struct of the C ABI with `struct_size` set; everything else is zero unless given."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **fields)


class DeviceInfo(Struct):
    _fields_ = (
        ("struct_size", c_uint32),
        ("device_kind", c_int32),
        ("device_index", c_int32),
        ("capability_major", c_int32),
        ("capability_minor", c_int32),
        ("isa", c_int32),
        ("isa_offered", c_int32),
        ("num_threads", c_int32),
        ("memory_bytes", c_uint64),
        ("l2_bytes", c_uint64),
        ("name", c_char * 128),
        ("arch", c_char * 32),
    )


class KernelInfo(Struct):
    _fields_ = (
        ("struct_size", c_uint32),
        ("device_kind", c_int32),
        ("formats_a", c_uint64),
        ("formats_b", c_uint64),
        ("formats_d", c_uint64),
        ("isa", c_int32),
        ("available", c_int32),
        ("tile_m", c_int32),
        ("tile_n", c_int32),
        ("tile_k", c_int32),
        ("id", c_char * 128),
        ("reason", c_char * 128),
        ("allowances", c_uint32),
    )


class LibraryInfo(Struct):
    _fields_ = (
        ("struct_size", c_uint32),
        ("loaded", c_int32),
        ("num_kernels", c_int32),
        ("reserved", c_int32),
        ("arch", c_char * 32),
        ("capabilities", c_char * 64),
        ("build_info", c_char * 128),
        ("path", c_char * 256),
        ("reason", c_char * 256),
    )


class GemmDesc(Struct):
    _fields_ = (
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("device_kind", c_int32),
        ("device_index", c_int32),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("format_a", c_int32),
        ("format_b", c_int32),
        ("format_d", c_int32),
        ("format_bias", c_int32),
        ("scale_layout_a", c_int32),
        ("scale_layout_b", c_int32),
        ("activation", c_int32),
        ("reserved", c_int32),
    )


class Operand(Struct):
    _fields_ = (
        ("struct_size", c_uint32),
        ("global_scale", c_float),
        ("data", c_void_p),
        ("data_bytes", c_uint64),
        ("ld", c_int64),
        ("scale", c_void_p),
        ("scale_bytes", c_uint64),
        ("scale_ld", c_int64),
        ("global_scale_ptr", c_void_p),
    )


class GemmArgs(Struct):
    _fields_ = (
        ("struct_size", c_uint32),
        ("alpha", c_float),
        ("beta", c_float),
        ("reserved", c_uint32),
        ("alpha_ptr", c_void_p),
        ("a", Operand),
        ("b", Operand),
        ("c", c_void_p),
        ("c_bytes", c_uint64),
        ("ldc", c_int64),
        ("d", c_void_p),
        ("d_bytes", c_uint64),
        ("ldd", c_int64),
        ("bias", c_void_p),
        ("bias_bytes", c_uint64),
        ("workspace", c_void_p),
        ("workspace_bytes", c_uint64),
    )


class QuantizeDesc(Struct):
    _fields_ = (
        ("struct_size", c_uint32),
        ("device_kind", c_int32),
        ("device_index", c_int32),
        ("format_src", c_int32),
        ("format", c_int32),
        ("scale_layout", c_int32),
        ("rows", c_int64),
        ("cols", c_int64),
        ("scale_rule", c_int32),
        ("nonfinite", c_int32),
        ("rounding", c_int32),
        ("global_scale_mode", c_int32),
        ("min_block_scale", c_float),
        ("reserved", c_uint32),
        ("seed", c_uint64),
        ("offset", c_uint64),
    )


class QuantizeArgs(Struct):
    _fields_ = (
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("src", c_void_p),
        ("src_bytes", c_uint64),
        ("src_ld", c_int64),
        ("qdata", c_void_p),
        ("qdata_bytes", c_uint64),
        ("qdata_ld", c_int64),
        ("scale", c_void_p),
        ("scale_bytes", c_uint64),
        ("scale_ld", c_int64),
        ("global_scale", POINTER(c_float)),
        ("workspace", c_void_p),
        ("workspace_bytes", c_uint64),
    )


_TEXT_OUT = (c_char_p, c_size_t, POINTER(c_size_t))
_DEVICE = (c_int32, c_int32)

# Functions that return a status: name without its prefix -> argument types.
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "device_count": (c_int32, POINTER(c_int32)),
    "device_info_get": (*_DEVICE, POINTER(DeviceInfo)),
    "kernel_count": (POINTER(c_int32),),
    "kernel_info_get": (c_int32, POINTER(KernelInfo)),
    "library_count": (POINTER(c_int32),),
    "library_info_get": (c_int32, POINTER(LibraryInfo)),
    "qdata_size": (c_int32, c_int64, c_int64, POINTER(c_uint64)),
    "scale_size": (c_int32, c_int32, c_int64, c_int64, POINTER(c_uint64)),
    "plan_create": (POINTER(GemmDesc), c_char_p, POINTER(c_void_p)),
    "plan_workspace_size": (c_void_p, POINTER(c_uint64)),
    "plan_name": (c_void_p, *_TEXT_OUT),
    "explain": (POINTER(GemmDesc), *_TEXT_OUT),
    "run": (c_void_p, POINTER(GemmArgs), c_void_p),
    "gemm": (POINTER(GemmDesc), POINTER(GemmArgs), c_void_p),
    "pack_size": (*_DEVICE, c_int32, c_int64, c_int64, POINTER(c_uint64)),
    "pack": (
        *_DEVICE,
        *(c_int32, c_int64, c_int64),
        *(POINTER(Operand), c_int32, c_void_p, c_uint64, c_void_p),
    ),
    "quantize_preset": (c_int32, POINTER(QuantizeDesc)),
    "quantize_workspace_size": (POINTER(QuantizeDesc), POINTER(c_uint64)),
    "quantize": (POINTER(QuantizeDesc), POINTER(QuantizeArgs), c_void_p),
    "dequantize": (
        *_DEVICE,
        *(c_int32, c_int64, c_int64, POINTER(Operand), c_int32, c_int32),
        *(c_int32, c_void_p, c_uint64, c_int64, c_void_p),
    ),
    "swizzle_scales": (
        *_DEVICE,
        *(c_int64, c_int64, c_void_p, c_uint64, c_int64, c_void_p, c_uint64, c_void_p),
    ),
    "unswizzle_scales": (
        *_DEVICE,
        *(c_int64, c_int64, c_void_p, c_uint64, c_void_p, c_uint64, c_int64, c_void_p),
    ),
    "device_alloc": (*_DEVICE, c_uint64, POINTER(c_void_p)),
    "device_free": (*_DEVICE, c_void_p),
    "device_copy": (*_DEVICE, c_void_p, *_DEVICE, c_void_p, c_uint64, c_void_p),
    "device_synchronize": _DEVICE,
    "set_num_threads": (c_int32,),
    "get_num_threads": (POINTER(c_int32),),
}


def library_candidates() -> list[Path]:
    """The files to try, in order: MXGEMM_LIBRARY alone where it is set, else the wheel's."""
    chosen = os.environ.get("MXGEMM_LIBRARY", "")
    if chosen:
        return [Path(chosen)]
    folder = Path(__file__).parent / "lib"
    return sorted(folder.glob("libmxgemm.so*")) or [folder / "libmxgemm.so"]


def _load() -> tuple[ctypes.CDLL, Path]:
    tried = []
    for path in library_candidates():
        try:
            return ctypes.CDLL(str(path)), path
        except OSError as error:
            tried.append(f"  {path}: {error}")
    raise ImportError(
        "the library libmxgemm.so could not be loaded; tried:\n"
        + "\n".join(tried)
        + "\nInstall the wheel, or set MXGEMM_LIBRARY to the libmxgemm.so of a build."
    )


def _package_version() -> str | None:
    """The version of the distribution that this very package belongs to, None for a source tree."""
    try:
        distribution = importlib.metadata.distribution("mxgemm")
    except importlib.metadata.PackageNotFoundError:
        return None
    here = Path(__file__).parent
    owns_us = Path(str(distribution.locate_file("mxgemm"))).resolve() == here.resolve()
    return distribution.version if owns_us else None


def _declare(lib: ctypes.CDLL, path: Path) -> None:
    try:
        lib.mxgemm_abi_version.restype = c_uint32
        for text in ("version", "last_error", "status_string"):
            getattr(lib, f"mxgemm_{text}").restype = c_char_p
        lib.mxgemm_status_string.argtypes = (c_int32,)
        lib.mxgemm_plan_destroy.argtypes = (c_void_p,)
        lib.mxgemm_plan_destroy.restype = None
        for name, argtypes in SIGNATURES.items():
            function = getattr(lib, f"mxgemm_{name}")
            function.argtypes = argtypes
            function.restype = c_int32
    except AttributeError as error:
        raise ImportError(f"{path} is not the library that this package needs: {error}") from error


def _check_versions(lib: ctypes.CDLL, path: Path) -> str:
    abi = int(lib.mxgemm_abi_version())
    version = str(lib.mxgemm_version().decode())
    if abi != ABI_VERSION:
        raise ImportError(
            f"{path} (version {version}) has ABI version {abi}; this package needs {ABI_VERSION}"
        )
    package = _package_version()
    if package is not None and package != version:
        raise ImportError(f"{path} has version {version}; this package has version {package}")
    return version


_lib, library_path = _load()
_declare(_lib, library_path)
library_version = _check_versions(_lib, library_path)


def call(name: str, *args: Any) -> None:
    """Calls mxgemm_<name>, without the GIL, and raises the exception that its status stands for."""
    status = getattr(_lib, f"mxgemm_{name}")(*args)
    if status != 0:
        message = _lib.mxgemm_last_error().decode(errors="replace")
        raise error_from_status(_lib.mxgemm_status_string(status).decode(), message)


_T = TypeVar("_T", c_int32, c_uint64, c_void_p)


def call_for(result: type[_T], name: str, *args: Any) -> _T:
    """Calls mxgemm_<name>(args…, &value) with a fresh `result` and returns that value."""
    value = result()
    call(name, *args, byref(value))
    return value


def text_from(name: str, *args: Any) -> str:
    """Calls mxgemm_<name>(args…, buffer, capacity, &needed) with a buffer that is large enough."""
    needed = c_size_t()
    call(name, *args, None, 0, byref(needed))
    buffer = ctypes.create_string_buffer(needed.value)
    call(name, *args, buffer, needed.value, byref(needed))
    return buffer.value.decode(errors="replace")


def free_quietly(kind: int, index: int, pointer: int) -> None:
    """Frees device memory from a destructor, which has nobody to tell of a failure."""
    _lib.mxgemm_device_free(kind, index, pointer)


def destroy_plan(plan: c_void_p) -> None:
    _lib.mxgemm_plan_destroy(plan)
