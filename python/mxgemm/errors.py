# SPDX-License-Identifier: Apache-2.0
"""Exceptions of mxgemm. Each one is also the built-in exception that fits, so plain `except
ValueError` works.

Every exception has `status`, the name of the C status it stands for, such as "INVALID_ARGUMENT".
"""

from __future__ import annotations

__all__ = [
    "CudaError",
    "DeviceUnavailable",
    "Error",
    "FileError",
    "InvalidArgument",
    "OutOfMemory",
    "Unsupported",
]


class Error(Exception):
    """Base class of every exception that mxgemm raises on purpose."""

    status: str = "INTERNAL"

    def __init__(self, *args: object, status: str | None = None) -> None:
        super().__init__(*args)
        if status is not None:
            self.status = status


class InvalidArgument(Error, ValueError):
    """An argument is wrong; the message names it, its value and what is allowed."""

    status = "INVALID_ARGUMENT"


class Unsupported(Error, NotImplementedError):
    """A valid problem that no kernel accepts here; the message lists each kernel's reason."""

    status = "UNSUPPORTED"


class OutOfMemory(Error, MemoryError):
    """Memory could not be had."""

    status = "OUT_OF_MEMORY"


class DeviceUnavailable(Error):
    """There is no such device, or it cannot be used on this machine."""

    status = "DEVICE_UNAVAILABLE"


class CudaError(Error):
    """A CUDA call failed; the message keeps the CUDA error's name and the call."""

    status = "CUDA_ERROR"


class FileError(Error, OSError):
    """A file could not be read or written, or its content is wrong."""

    status = "IO_ERROR"


# WORKSPACE_TOO_SMALL, PLUGIN_ERROR and INTERNAL have no class of their own: nothing a caller does
# differently.
_CLASS_BY_STATUS: dict[str, type[Error]] = {
    cls.status: cls
    for cls in (InvalidArgument, Unsupported, OutOfMemory, DeviceUnavailable, CudaError, FileError)
}


def error_from_status(status: str, message: str) -> Error:
    """The exception for a failed C call: `status` is its name, `message` the library's text."""
    cls = _CLASS_BY_STATUS.get(status, Error)
    return cls(message or status, status=status)
