#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line of ptxemu.

ptxemu_test.py PTXEMU LIBRARY     LIBRARY: a shared library with the kernels of kernels.cu
"""

import pathlib
import struct
import subprocess
import sys
import tempfile

PTX = """
.version 9.0
.target sm_80
.address_size 64
.visible .entry triple(.param .u64 out, .param .u64 in, .param .f32 factor) {
  .reg .b32 %r<4>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  ld.param.f32 %f1, [factor];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd5];
  mul.f32 %f3, %f2, %f1;
  st.global.f32 [%rd4], %f3;
  ret;
}
"""


def expect(ptxemu: str, arguments: list[str], code: int, *parts: str) -> str:
    result = subprocess.run([ptxemu, *arguments], capture_output=True, text=True, check=False)
    output = result.stdout + result.stderr
    missing = [part for part in parts if part not in output]
    if result.returncode != code or missing:
        raise SystemExit(
            f"ptxemu {' '.join(arguments)}: exit code {result.returncode}, expected {code}; "
            f"not in the output: {missing}\n{output}"
        )
    return output


def check_libraries(ptxemu: str, library: str, folder: pathlib.Path) -> None:
    listed = expect(ptxemu, ["list", library], 0, "sm_80", "sm_90a", "sm_120f", "PTX ISA", "zstd")
    if listed.count("PTX ISA") != 4:
        raise SystemExit(listed)
    expect(ptxemu, ["census", library], 0, "st.global", "0 instructions are not supported")
    text = expect(ptxemu, ["text", library, "sm_90a"], 0, ".target sm_90a")
    (folder / "kernels.ptx").write_text(text)
    expect(ptxemu, ["census", str(folder / "kernels.ptx")], 0, "0 instructions are not supported")
    expect(ptxemu, ["text", library, "sm_75"], 1, "holds no PTX for sm_75")
    (folder / "nothing").write_bytes(b"no fat binary here")
    expect(ptxemu, ["list", str(folder / "nothing")], 1, "holds no fat binary")


def check_runs(ptxemu: str, folder: pathlib.Path) -> None:
    file = folder / "triple.ptx"
    file.write_text(PTX)
    (folder / "in").write_bytes(struct.pack("4f", 1.0, 2.0, -0.5, 8.0))
    run = ["run", str(file), "triple"]
    numbers = [f"file:{folder / 'in'}", "f32:3"]
    expect(ptxemu, [*run, "--cta", "4", "print:f32:4", *numbers], 0, "0: 3 6 -1.5 24")
    out = folder / "out"
    expect(ptxemu, [*run, "--cta", "4", "--device", "8.6", f"out:16:{out}", *numbers], 0)
    if struct.unpack("4f", out.read_bytes()) != (3.0, 6.0, -1.5, 24.0):
        raise SystemExit(f"out is {out.read_bytes()!r}")
    # One thread too many reads beyond the buffers.
    expect(ptxemu, [*run, "--cta", "5", "zero:16", *numbers], 1, "illegal address")
    expect(ptxemu, [*run, "zero:16", "f32:3"], 2, "has 3 parameters, 2 are given")
    expect(ptxemu, [*run, "f32:1", *numbers], 2, "has 8 bytes, the argument 4")
    expect(ptxemu, [*run, "zero:x", *numbers], 2, "'x' is no number")
    expect(ptxemu, [*run, "ones:4", *numbers], 2, "'ones:4' is not understood")
    expect(ptxemu, [*run, "--cta", "1,1,1,1", "zero:16", *numbers], 2, "three dimensions")
    # 32 bits would make 1 of it.
    for option in ("--grid", "--cta", "--cluster", "--shared"):
        expect(ptxemu, [*run, option, "4294967297", "zero:16", *numbers], 2, "more than 4294967295")
    expect(ptxemu, [*run, "zero:16", numbers[0], "u32:4294967296"], 2, "more than 4294967295")
    expect(ptxemu, [*run, "zero:16", numbers[0], "s32:-2147483649"], 2, "more than 2147483648")
    expect(ptxemu, [*run, "zero:16", numbers[0], "u32: -1"], 2, "' -1' is no number")
    expect(ptxemu, [*run, "zero:16", f"file:{folder}", "f32:3"], 2, f"{folder}: cannot be read")
    expect(ptxemu, [*run, "--size", "4", "zero:16", *numbers], 2, "option --size")
    expect(ptxemu, [*run, "--device", "7.5", "zero:16", *numbers], 2, "8.0, 8.6")
    expect(ptxemu, ["run", str(file), "other"], 1, "has no kernel other")
    file.write_text(PTX.replace("mul.f32", "mul.f99"))
    expect(ptxemu, ["census", str(file)], 1, "mul.f99")
    file.write_text(
        PTX.replace(
            "ret;",
            "",  # a body that never closes
        ).replace("}", "")
    )
    expect(ptxemu, ["census", str(file)], 1, "line")


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    ptxemu, library = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_libraries(ptxemu, library, folder)
        check_runs(ptxemu, folder)
    expect(ptxemu, ["--help"], 0, "ptxemu list FILE", "zero:BYTES")
    expect(ptxemu, [], 2, "ptxemu list FILE")
    expect(ptxemu, ["list"], 2, "ptxemu list FILE")
    expect(ptxemu, ["list", "/nowhere/at/all"], 2, "cannot be read")


if __name__ == "__main__":
    main()
