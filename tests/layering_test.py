#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every #include "…" of ours against the table of who may depend on whom.

The table for people is in CONTRIBUTING.md. `layering_test.py` checks the tree, `layering_test.py
--self-test` that a forbidden include is found.
"""

import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder (`*` stands for the rest of its name; the longest match counts) -> prefixes of what its
# files may include, besides the standard library and their own folder. "<x" stands for a system
# header that begins with x.
ALLOWED = {
    "include/mxgemm": ["mxgemm/"],
    "src/base": [],
    "src/formats": ["base/"],
    "src/plugin": [],
    "src/quantize": ["base/", "formats/"],
    "src/reference": ["base/", "formats/"],
    "src/cpu": ["base/", "formats/", "plugin/", "quantize/row_kernels.h", "mxgemm/"],
    "src/cpu/scalar": ["formats/", "cpu/", "quantize/row_kernels.h"],
    "src/cpu/avx2": ["formats/", "cpu/", "quantize/row_kernels.h", "<immintrin.h"],
    "src/cpu/avx512": ["formats/", "cpu/", "quantize/row_kernels.h", "<immintrin.h"],
    "src/cuda/common": ["formats/", "<cuda_bf16.h", "<cuda_fp16.h"],
    "src/cuda/host": ["formats/", "plugin/", "mxgemm/", "cuda/common/", "<cuda", "<cutlass"],
    "src/cuda/runtime": ["plugin/", "mxgemm/", "cuda/host/", "<cuda"],
    # One architecture: of the others nothing.
    "src/cuda/sm*": [
        "formats/",
        "plugin/",
        "mxgemm/",
        "cuda/common/",
        "cuda/host/",
        "<cuda",
        "<cutlass",
        "<cute",
    ],
    "src/core": ["base/", "formats/", "quantize/", "plugin/", "cpu/cpu_backend.hpp", "mxgemm/"],
    "src/cli": ["mxgemm/", "reference/", "formats/", "base/", "bench/", "cli/", "<CLI/", "<fmt/"],
    "src/cli/io": ["base/", "cli/io/", "<nlohmann/"],
    "bench": [
        "mxgemm/",
        "reference/",
        "formats/",
        "base/",
        "cli/",
        "quantize/",
        "cpu/",
        "bench/",
        "<benchmark/",
    ],
}
# Headers that only the folders which list them may include.
RESTRICTED = (
    "<immintrin.h",
    "<nlohmann/",
    "<CLI/",
    "<fmt/",
    "<cuda",
    "<cutlass",
    "<cute",
    "<torch",
    "<dlpack",
)
# ISA folders are compiled with their own flags: of the standard library only what defines no inline
# function.
ISA_FOLDERS = ("src/cpu/avx2", "src/cpu/avx512", "src/cpu/amx")
ISA_STANDARD = {"cstdint", "cstddef", "stdint.h", "stddef.h", "immintrin.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def folder_rule(name: str) -> str | None:
    matches = [folder for folder in ALLOWED if fnmatch.fnmatchcase(name, folder + "/*")]
    return max(matches, key=len) if matches else None


def include_faults(name: str, text: str) -> list[str]:
    """Faults of a file `name` (path in the tree) with that text."""
    folder = folder_rule(name)
    if folder is None:
        return [f"{name}: the table has no row for its folder"]
    parts = name.split("/")[: folder.count("/") + 1]
    own = "/".join(parts).removeprefix("src/") + "/"
    found = []
    for kind, target in INCLUDE.findall(text):
        if kind == '"':
            bad = not target.startswith(tuple(p for p in (own, *ALLOWED[folder]) if p[0] != "<"))
        else:
            tagged = "<" + target
            listed = tagged.startswith(tuple(p for p in ALLOWED[folder] if p[0] == "<") or ("\0",))
            bad = tagged.startswith(RESTRICTED) and not listed
            bad = bad or (folder in ISA_FOLDERS and target not in ISA_STANDARD)
        if bad:
            found.append(f"{name}: {folder} must not include {target}")
    return found


def tree_faults() -> tuple[int, list[str]]:
    count, found = 0, []
    for top in ("include", "src", "bench"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}:
                count += 1
                found += include_faults(str(path.relative_to(ROOT)), path.read_text())
    return count, found


def self_test() -> int:
    must_fail = {
        "src/base/x.cpp": '#include "formats/e2m1.hpp"',
        "src/core/x.cpp": '#include "cpu/gemm_driver.hpp"',
        "src/core/y.cpp": "#include <nlohmann/json.hpp>",
        "src/cpu/avx512/x.cpp": "#include <algorithm>",
        "src/quantize/x.cpp": '#include "mxgemm/mxgemm.h"',
        "src/reference/x.cpp": '#include "cpu/cpu_backend.hpp"',
        "src/cli/x.cpp": "#include <nlohmann/json.hpp>",
        "src/core/z.cpp": "#include <cuda_runtime.h>",
        "src/cuda/common/x.cuh": '#include "cuda/host/cuda_status.hpp"',
        "src/cuda/sm110a/x.cu": '#include "cuda/sm80/gemm_tile.cuh"',
        "src/unknown/x.cpp": "",
    }
    must_pass = {
        "src/base/x.cpp": '#include "base/math.hpp"\n#include <vector>',
        "src/cpu/avx2/x.cpp": '#include <immintrin.h>\n#include "formats/e2m1.hpp"',
        "src/cli/io/x.cpp": "#include <nlohmann/json.hpp>",
        "src/cuda/sm110a/x.cu": '#include "cuda/sm110a/y.cuh"\n#include "cuda/common/decode.cuh"',
    }
    missed = [name for name, text in must_fail.items() if not include_faults(name, text)]
    wrong = [name for name, text in must_pass.items() if include_faults(name, text)]
    for name in missed:
        print(f"self-test: a forbidden include in {name} was not found")
    for name in wrong:
        print(f"self-test: an allowed include in {name} was refused")
    return 1 if missed or wrong else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    count, found = tree_faults()
    if count == 0:
        print("layering: no source file found")
        return 1
    print("\n".join(found) if found else f"layering: {count} files respect the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
