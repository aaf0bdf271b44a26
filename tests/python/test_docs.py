# SPDX-License-Identifier: Apache-2.0
"""The Python examples of README.md and docs/ run as they stand."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [
    str(path.relative_to(ROOT))
    for path in (*ROOT.glob("README.md"), *sorted(ROOT.glob("docs/*.md")))
    if "```python" in path.read_text()
]


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in examples(page):  # one after the other, as a reader would type them
        exec(compile(code, page, "exec"), names)


def test_the_python_page_has_examples() -> None:
    """So that the test above cannot come to check nothing."""
    assert len(examples("docs/python.md")) >= 2
