#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What text refers to exists: links between the repository's Markdown pages, and files that pages
and comments name by their paths from the root.

That the examples in README.md and docs work is tested by docs_examples and python_tests.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
FOLDERS = ("bench", "cmake", "docs", "emu", "include", "python", "scripts", "src", "tests")
SUFFIXES = ("c", "cmake", "cpp", "cu", "cuh", "h", "hpp", "md", "py", "txt")
NAMED = re.compile(
    rf"(?<![\w./*<{{}}$-])((?:{'|'.join(FOLDERS)})/[\w./-]+\.(?:{'|'.join(SUFFIXES)}))(?![\w*<])"
)
# Its self-test names files that are not there.
INVENTED = ("tests/layering_test.py",)
# Fewer than these mean that the search itself is broken.
LEAST_PAGES = 25
LEAST_NAMES = 100


def files() -> list[pathlib.Path]:
    found = [p for p in ROOT.iterdir() if p.suffix in (".md", ".txt", ".json")]
    for folder in FOLDERS:
        found += (p for p in (ROOT / folder).rglob("*") if p.suffix[1:] in SUFFIXES)
        found += (p for p in (ROOT / folder).iterdir() if p.is_file() and not p.suffix)
    return sorted(set(found))


def dead_links(page: pathlib.Path) -> list[str]:
    targets = [t for t in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in t]
    return [
        f"{page.relative_to(ROOT)} links to {target}, which does not exist"
        for target in targets
        if not (page.parent / target).exists()
    ]


def names_in(file: pathlib.Path) -> list[str]:
    return NAMED.findall(file.read_text(encoding="utf-8"))


def exists(name: str, file: pathlib.Path) -> bool:
    """From the root, or from the file's folder or one above it, as in `#include "tests/…"`."""
    return any(
        (folder / name).exists() for folder in file.parents if ROOT in (folder, *folder.parents)
    )


def main() -> int:
    every = files()
    pages = [f for f in every if f.suffix == ".md"]
    found = [fault for page in pages for fault in dead_links(page)]
    count = 0
    for file in every:
        if str(file.relative_to(ROOT)) in INVENTED:
            continue
        for name in names_in(file):
            count += 1
            if not exists(name, file):
                found.append(f"{file.relative_to(ROOT)} names {name}, which does not exist")
    if len(pages) < LEAST_PAGES or count < LEAST_NAMES:
        found.append(f"only {len(pages)} pages and {count} names of files found")
    print("\n".join(found) or f"links: {len(pages)} pages and {count} names lead somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
