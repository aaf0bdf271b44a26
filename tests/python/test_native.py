# SPDX-License-Identifier: Apache-2.0
"""The layer below: its structs are the header's; it loads what it should, or says why not."""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys

import mxgemm
import pytest
from mxgemm import _native, errors

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = (ROOT / "include/mxgemm/mxgemm.h").read_text()
CODE = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)

C_TYPES = {
    "uint32_t": ctypes.c_uint32,
    "int32_t": ctypes.c_int32,
    "uint64_t": ctypes.c_uint64,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "mxgemm_operand": _native.Operand,
}
STRUCTS = {
    "mxgemm_device_info": _native.DeviceInfo,
    "mxgemm_kernel_info": _native.KernelInfo,
    "mxgemm_library_info": _native.LibraryInfo,
    "mxgemm_gemm_desc": _native.GemmDesc,
    "mxgemm_operand": _native.Operand,
    "mxgemm_gemm_args": _native.GemmArgs,
    "mxgemm_quantize_desc": _native.QuantizeDesc,
    "mxgemm_quantize_args": _native.QuantizeArgs,
}


def header_fields(name: str) -> list[tuple[str, str]]:
    """(field, C type) of a struct of the header: "char[128]" for arrays, "float*" for pointers."""
    body = re.search(rf"typedef struct {name} \{{(.*?)\}}", CODE, re.DOTALL).group(1)
    fields = []
    for line in filter(None, (part.strip() for part in body.split(";"))):
        kind, field = re.fullmatch(r"(.*?[\s*])(\w+(?:\[\d+\])?)", line, re.DOTALL).groups()
        length = re.search(r"\[\d+\]", field)
        fields.append((re.sub(r"\[.*", "", field), kind.strip() + (length[0] if length else "")))
    return fields


def is_pointer(kind: object) -> bool:
    return kind is ctypes.c_void_p or hasattr(kind, "contents")


@pytest.mark.parametrize("name", STRUCTS)
def test_struct_is_the_headers(name: str) -> None:
    ours = list(STRUCTS[name]._fields_)
    theirs = header_fields(name)
    assert [field for field, _ in ours] == [field for field, _ in theirs]
    for (field, kind), (_, c_type) in zip(ours, theirs, strict=True):
        if c_type.endswith("*"):
            assert is_pointer(kind), field
        elif "[" in c_type:
            assert kind is not None and kind._type_ is ctypes.c_char, field
            assert f"char[{kind._length_}]" == c_type, field
        else:
            assert kind is C_TYPES[c_type], field


def header_enum(prefix: str) -> dict[str, int]:
    found = re.findall(rf"\b{prefix}(\w+)\s*=\s*(-?\d+)", CODE)
    return {name.lower(): int(value) for name, value in found}


def test_enums_are_the_headers() -> None:
    formats = {name: value for name, value in header_enum("MXGEMM_").items()}
    assert {name: formats[name] for name in _native.FORMATS} == _native.FORMATS
    layouts = {"row_major": formats["scale_row_major"]}
    layouts["swizzle_32_4_4"] = formats["scale_swizzle_32_4_4"]
    assert layouts == _native.SCALE_LAYOUTS
    assert header_enum("MXGEMM_ACT_") == _native.ACTIVATIONS
    assert header_enum("MXGEMM_DEVICE_(?!UN)") == _native.DEVICE_KINDS
    assert header_enum("MXGEMM_ISA_") == _native.ISAS
    rules = header_enum("MXGEMM_SCALE_RULE_")
    assert rules.pop("default") == 0 and rules == _native.SCALE_RULES
    assert header_enum("MXGEMM_NONFINITE_") == _native.NONFINITE_MODES
    rounding = header_enum("MXGEMM_ROUND_")
    assert rounding == _native.ROUNDINGS
    presets = header_enum("MXGEMM_PRESET_")
    assert presets.pop("default") == 0 and presets == _native.PRESETS
    modes = header_enum("MXGEMM_GLOBAL_SCALE_")
    assert (modes["default"], modes["compute"], modes["given"]) == (
        _native.GLOBAL_SCALE_DEFAULT,
        _native.GLOBAL_SCALE_COMPUTE,
        _native.GLOBAL_SCALE_GIVEN,
    )
    flags = dict(re.findall(r"MXGEMM_(USE_C|PACKED_B)\s*=\s*1u << (\d)", CODE))
    assert (1 << int(flags["USE_C"]), 1 << int(flags["PACKED_B"])) == (
        _native.USE_C,
        _native.PACKED_B,
    )
    assert int(re.search(r"#define MXGEMM_ABI_VERSION\s+(\d+)", CODE)[1]) == _native.ABI_VERSION


def c_kind(parameter: str) -> object:
    """ "pointer" for pointers, else the ctypes type."""
    parameter = parameter.strip().removeprefix("const ")
    return "pointer" if "*" in parameter else C_TYPES[parameter.split()[0]]


def test_signatures_are_the_headers() -> None:
    for name, argtypes in _native.SIGNATURES.items():
        match = re.search(rf"MXGEMM_API mxgemm_status mxgemm_{name}\(([^;]*)\);", CODE)
        assert match, name
        theirs = [c_kind(parameter) for parameter in match[1].split(",")]
        ours = [
            "pointer" if is_pointer(kind) or kind is ctypes.c_char_p else kind for kind in argtypes
        ]
        assert ours == theirs, name


def test_every_status_has_an_exception() -> None:
    body = re.search(r"typedef enum mxgemm_status \{(.*?)\}", CODE, re.DOTALL)[1]
    statuses = re.findall(r"MXGEMM_(\w+)\s*=\s*(\d+)", body)
    assert len(statuses) == 10
    classes = {
        "INVALID_ARGUMENT": (mxgemm.InvalidArgument, ValueError),
        "UNSUPPORTED": (mxgemm.Unsupported, NotImplementedError),
        "DEVICE_UNAVAILABLE": (mxgemm.DeviceUnavailable, mxgemm.Error),
        "OUT_OF_MEMORY": (mxgemm.OutOfMemory, MemoryError),
        "CUDA_ERROR": (mxgemm.CudaError, mxgemm.Error),
        "IO_ERROR": (mxgemm.FileError, OSError),
    }
    for status, _ in statuses[1:]:
        error = errors.error_from_status(status, "the message")
        own, builtin = classes.get(status, (mxgemm.Error, mxgemm.Error))
        assert type(error) is own
        assert isinstance(error, builtin) and isinstance(error, mxgemm.Error)
        assert (error.status, str(error)) == (status, "the message")
    assert str(errors.error_from_status("INTERNAL", "")) == "INTERNAL"


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_missing_library() -> None:
    done = python("import mxgemm", MXGEMM_LIBRARY="/nowhere/libmxgemm.so")
    assert done.returncode == 1
    last = done.stderr[done.stderr.index("ImportError") :]
    assert "/nowhere/libmxgemm.so: cannot open shared object file" in last
    assert "set MXGEMM_LIBRARY" in last


def test_source_tree_without_library() -> None:
    """Neither a wheel nor MXGEMM_LIBRARY: the message names the place that was looked at."""
    done = python("import mxgemm", MXGEMM_LIBRARY="")
    assert done.returncode == 1
    assert str(ROOT / "python/mxgemm/lib/libmxgemm.so") in done.stderr


def test_another_library() -> None:
    done = python("import mxgemm", MXGEMM_LIBRARY="libm.so.6")
    assert done.returncode == 1
    assert "ImportError" in done.stderr
    assert "is not the library that this package needs" in done.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_library_of_another_abi(tmp_path: pathlib.Path) -> None:
    """Every function is there, only the number differs."""
    names = [*_native.SIGNATURES, "last_error", "status_string", "plan_destroy"]
    source = "".join(f"int mxgemm_{name}(void) {{ return 0; }}\n" for name in names)
    source += "unsigned mxgemm_abi_version(void) { return 99; }\n"
    source += 'const char* mxgemm_version(void) { return "9.8.7"; }\n'
    (tmp_path / "other.c").write_text(source)
    library = tmp_path / "libother.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", library, tmp_path / "other.c"], check=True, timeout=60
    )
    done = python("import mxgemm", MXGEMM_LIBRARY=str(library))
    assert done.returncode == 1
    message = done.stderr[done.stderr.index("ImportError") :]
    assert "(version 9.8.7) has ABI version 99; this package needs 1" in message


def test_version_of_another_distribution(tmp_path: pathlib.Path) -> None:
    """A library that is older or newer than the installed package is refused."""
    shutil.copytree(ROOT / "python/mxgemm", tmp_path / "mxgemm")
    metadata = tmp_path / "mxgemm-0.0.7.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mxgemm\nVersion: 0.0.7\n")
    done = python("import mxgemm", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    version = re.escape(mxgemm.version())
    assert re.search(rf"has version {version}; this package has version 0\.0\.7", done.stderr)


BLOCKED_IMPORT = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ImportError(name + " is hidden by the test")
sys.meta_path.insert(0, Blocker())
import numpy as np
import mxgemm
"""


def test_without_torch_and_cuda() -> None:
    code = BLOCKED_IMPORT.format(names=("torch", "cuda", "cupy", "nvidia")) + (
        "q = mxgemm.quantize(np.ones((2, 32), np.float32), 'mxf4')\n"
        "assert (mxgemm.gemm(q, q, out_dtype='f32') == 32).all()\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_without_ml_dtypes() -> None:
    """bf16 is then uint16: the same bits, in and out."""
    code = BLOCKED_IMPORT.format(names=("ml_dtypes",)) + (
        "x = np.full((2, 32), 0x3F80, np.uint16)\n"
        "q = mxgemm.quantize(x, 'mxf4', src_format='bf16')\n"
        "d = mxgemm.gemm(x, q, a_format='bf16')\n"
        "assert d.dtype == np.uint16 and (d == 0x4200).all(), d\n"
        "assert mxgemm.dequantize(q, 'bf16').tolist() == x.tolist()\n"
        "bias = np.full(2, 0x3F80, np.uint16)\n"
        "assert (mxgemm.gemm(x, q, a_format='bf16', bias=bias) == 0x4204).all()\n"
        "for wrong in (np.uint16, 'uint16'):\n"
        "    try: mxgemm.dequantize(q, wrong)\n"
        "    except mxgemm.InvalidArgument as error: assert 'dtype is' in str(error)\n"
        "    else: raise AssertionError(wrong)\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr
