#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links between the repository's Markdown pages lead to files that exist.

That the examples in README.md and docs work is tested by docs_examples and python_tests.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
# Fewer pages than this means that the search itself is broken.
LEAST_PAGES = 15


def dead_links(page: pathlib.Path) -> list[str]:
    targets = [t for t in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in t]
    return [
        f"{page.relative_to(ROOT)} links to {target}, which does not exist"
        for target in targets
        if not (page.parent / target).exists()
    ]


def main() -> int:
    pages = [*ROOT.glob("*.md")]
    for folder in ("bench", "docs", "src", "tests"):
        pages += (ROOT / folder).rglob("*.md")
    if len(pages) < LEAST_PAGES:
        print(f"only {len(pages)} pages found")
        return 1
    found = [fault for page in pages for fault in dead_links(page)]
    print("\n".join(found) if found else f"links: those of {len(pages)} pages lead somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
