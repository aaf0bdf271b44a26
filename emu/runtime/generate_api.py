#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the emulated runtime takes from the toolkit's headers.

  generate_api.py INCLUDE_DIR OUTPUT_DIR

stubs.cpp        every function of cuda_runtime_api.h, weak, returning "not supported": what the
                 runtime's own sources define takes its place
per_thread.cpp   the _ptsz and _ptds names: the same function with the thread's default stream
error_texts.inc  numbers, names and texts of the errors
"""

import pathlib
import re
import sys

# Functions that return something other than an error; the runtime must define these itself.
DEFINED_ELSEWHERE = {"cudaGetErrorName", "cudaGetErrorString", "cudaCreateChannelDesc"}

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// Written by generate_api.py; do not change.\n"
# The header marks some as deprecated; they are emulated all the same.
DEPRECATED = '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n'


def without_comments(text: str) -> str:
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def prototypes(text: str) -> dict[str, tuple[str, str]]:
    """Name -> (return type, parameters as written)."""
    found = {}
    pattern = re.compile(r"extern\s+([\w\s*]*?)\s*CUDARTAPI\s+(\w+)\s*\(([^;]*)\)\s*;")
    for match in pattern.finditer(text):
        returned = re.sub(r"\b__\w+__\b|\b__CUDA_DEPRECATED\b", "", match.group(1)).strip()
        found.setdefault(match.group(2), (returned, " ".join(match.group(3).split())))
    return found


def split_parameters(text: str) -> list[str]:
    """One string per parameter, without default values."""
    text = re.sub(r"__dv\([^)]*\)", "", text)
    if text.strip() in ("", "void"):
        return []
    return [re.sub(r"=.*$", "", part).strip() for part in text.split(",")]


def argument_name(parameter: str) -> str:
    return re.search(r"(\w+)\s*(?:\[\w*\])?$", parameter).group(1)


def stubs(functions: dict[str, tuple[str, str]]) -> str:
    lines = [
        HEAD,
        '#include "runtime/not_emulated.hpp"\n\n',
        'extern "C" {\n\n',
    ]
    for name, (returned, _) in sorted(functions.items()):
        if returned != "cudaError_t":
            if name not in DEFINED_ELSEWHERE:
                raise SystemExit(f"generate_api.py: {name} returns {returned}: define it by hand")
            continue
        lines.append(
            f"__attribute__((weak)) int {name}() {{\n"
            f'  return emu::runtime::not_emulated("{name}");\n}}\n\n'
        )
    lines.append('}  // extern "C"\n')
    return "".join(lines)


def per_thread(functions: dict[str, tuple[str, str]], header: str) -> str:
    lines = [HEAD, DEPRECATED, '#include "runtime/session.hpp"\n\n', 'extern "C" {\n\n']
    suffixes = dict(
        (name, f"_{kind.lower()}")
        for name, kind in re.findall(r"#define\s+(\w+)\s+__CUDART_API_(PTDS|PTSZ)\(\1\)", header)
    )
    if not suffixes:
        raise SystemExit("generate_api.py: the header names no per-thread functions")
    for name, suffix in sorted(suffixes.items()):
        if name not in functions:
            continue  # declared in a header of another library
        parameters = split_parameters(functions[name][1])
        arguments = ", ".join(argument_name(parameter) for parameter in parameters)
        lines.append(
            f"cudaError_t {name}{suffix}({', '.join(parameters)}) {{\n"
            f"  const emu::runtime::PerThreadDefault scope;\n"
            f"  return {name}({arguments});\n}}\n\n"
        )
    lines.append('}  // extern "C"\n')
    return "".join(lines)


def error_texts(types: str) -> str:
    body = re.search(r"enum\s+__device_builtin__\s+cudaError\s*\{(.*?)\};", types, flags=re.S)
    if body is None:
        raise SystemExit("generate_api.py: driver_types.h has no enum cudaError")
    lines = []
    for name in re.findall(r"\b(cuda\w+)\s*=", body.group(1)):
        words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", re.sub("^cuda(Error)?", "", name))
        text = "no error" if name == "cudaSuccess" else " ".join(words).lower()
        lines.append(f'{{{name}, "{name}", "{text}"}},\n')
    return HEAD + "".join(lines)


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    include, output = map(pathlib.Path, sys.argv[1:])
    header = (include / "cuda_runtime_api.h").read_text()
    clean = without_comments(header)
    functions = prototypes(clean)
    types = without_comments((include / "driver_types.h").read_text())
    output.mkdir(parents=True, exist_ok=True)
    (output / "stubs.cpp").write_text(stubs(functions))
    (output / "per_thread.cpp").write_text(per_thread(functions, clean))
    (output / "error_texts.inc").write_text(error_texts(types))


if __name__ == "__main__":
    main()
