#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a GPU library holds: code and PTX of its own target, kernels with a body, few spills.

content_test.py CUOBJDUMP LIBRARY [--wants REGEX]…   each expression must match the PTX
content_test.py CUOBJDUMP LIBRARY [--machine-code REGEX]…   or the machine code

Exit code 77, which CTest counts as skipped, where there is no cuobjdump.
"""

import argparse
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77
MOST_BYTES = 8 << 20
# A kernel whose body was compiled away is a handful of instructions of 16 bytes.
LEAST_CODE_BYTES = 512
SYSTEM = ("libc.so.", "libm.so.", "libstdc++.so.", "libgcc_s.so.", "ld-linux")


def dump(tool: str, library: pathlib.Path, *options: str, folder: str | None = None) -> str:
    command = [tool, *options, str(library)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def code_sections(cubin: bytes) -> dict[str, int]:
    """Bytes of machine code by kernel."""
    (table,) = struct.unpack_from("<Q", cubin, 40)
    entry_bytes, count, names_index = struct.unpack_from("<3H", cubin, 58)
    headers = [struct.unpack_from("<2I4Q", cubin, table + i * entry_bytes) for i in range(count)]
    names = headers[names_index][4]
    result = {}
    for name, _, _, _, _, size in headers:
        end = cubin.index(b"\0", names + name)
        text = cubin[names + name : end].decode()
        if text.startswith(".text."):
            result[text.removeprefix(".text.")] = size
    return result


def check_code(tool: str, library: pathlib.Path, found: list[str]) -> int:
    """Every kernel has code; the number of kernels."""
    kernels = 0
    with tempfile.TemporaryDirectory() as folder:
        dump(tool, library.resolve(), "-xelf", "all", folder=folder)
        cubins = list(pathlib.Path(folder).iterdir())
        for cubin in cubins:
            for kernel, size in code_sections(cubin.read_bytes()).items():
                kernels += 1
                if size < LEAST_CODE_BYTES:
                    found.append(f"{kernel[:200]} has {size} bytes of code")
    if not cubins:
        found.append("there is no machine code")
    return kernels


def check_links(library: pathlib.Path, found: list[str]) -> None:
    """The shared CUDA runtime and the system's libraries, self-binding, and no overriding path."""
    lines = dump("readelf", library, "--dynamic", "--wide").splitlines()
    needed = [line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line]
    if not any(name.startswith("libcudart.so.") for name in needed):
        found.append(f"it needs {needed} and not the shared CUDA runtime")
    strangers = [name for name in needed if not name.startswith((*SYSTEM, "libcudart.so."))]
    if strangers:
        found.append(f"it needs {strangers}")
    if not any("SYMBOLIC" in line for line in lines):
        found.append("it does not bind to its own symbols (-Bsymbolic)")
    if not any("(RUNPATH)" in line for line in lines):
        found.append("it has no RUNPATH, by which it would find the CUDA runtime")
    if any("(RPATH)" in line for line in lines):
        found.append("it has an RPATH, which nobody can override; RUNPATH is wanted")


def check_targets(
    tool: str, library: pathlib.Path, arch: str, most_stack: int, found: list[str]
) -> None:
    """Machine code and PTX are of the library's target, file by file."""
    usage = dump(tool, library, "-res-usage")
    parts = re.split(r"^Fatbin (elf|ptx) code:$", usage, flags=re.MULTILINE)[1:]
    archs: dict[str, list[str]] = {"elf": [], "ptx": []}
    for kind, text in zip(parts[::2], parts[1::2], strict=True):
        archs[kind] += re.findall(r"^arch = (\S+)$", text, flags=re.MULTILINE)
    target = arch.replace("sm", "sm_")
    for kind, listed in archs.items():
        strangers = sorted(set(listed) - {target})
        if strangers:
            found.append(f"{kind} code is for {strangers}, not for {target}")
    if not archs["elf"] or len(archs["elf"]) != len(archs["ptx"]):
        found.append(f"{len(archs['elf'])} parts of machine code and {len(archs['ptx'])} of PTX")
    stacks = re.findall(r"Function (\S+):\s*\n\s*REG:\d+ STACK:(\d+)", usage)
    if not stacks:
        found.append("cuobjdump lists no kernel")
    found += [
        f"{name[:200]} has a stack of {size} bytes"
        for name, size in stacks
        if int(size) > most_stack
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--wants", action="append", default=[])
    parser.add_argument("--machine-code", action="append", default=[])
    parser.add_argument("--most-stack", type=int, default=0, help="bytes, spills included")
    options = parser.parse_args()
    if shutil.which(options.tool) is None:
        print("SKIPPED: there is no cuobjdump (scripts/setup --test installs it)")
        return SKIPPED
    library = options.library
    arch = library.stem.removeprefix("libmxgemm_")
    found: list[str] = []
    size = library.stat().st_size
    if size > MOST_BYTES:
        found.append(f"it has {size} bytes, more than {MOST_BYTES}")
    check_links(library, found)
    check_targets(options.tool, library, arch, options.most_stack, found)
    kernels = check_code(options.tool, library, found)
    texts = {"-ptx": options.wants, "-sass": options.machine_code}
    for option, wanted in texts.items():
        text = dump(options.tool, library, option) if wanted else ""
        found += [f"no {option} line is {each}" for each in wanted if not re.search(each, text)]
        if option == "-ptx" and wanted:
            targets = set(re.findall(r"^\.target (\S+)$", text, flags=re.MULTILINE))
            if targets != {arch.replace("sm", "sm_")}:
                found.append(f"the PTX is for {sorted(targets)}")
    print("\n".join(f"{library.name}: {fault}" for fault in found))
    print(f"{library.name}: {size} bytes, {kernels} kernels")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
