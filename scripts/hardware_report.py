# SPDX-License-Identifier: Apache-2.0
"""What scripts/hardware found, as JSON and as tables."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile


def json_of(result: dict) -> str:
    return json.dumps(result, indent=1, ensure_ascii=False) + "\n"


def write_whole(path: pathlib.Path, text: str) -> None:
    """The whole text or nothing: what was there before stays until this is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp lets nobody else read
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def table(titles: list[str], rows: list[list[str]]) -> list[str]:
    """Columns as wide as their widest cell; numbers to the right."""
    if not rows:
        return ["(nothing)"]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    right = [
        all(c[:1].isdigit() or c in ("", "-") for c in column) for column in zip(*rows, strict=True)
    ]

    def line(cells: list[str]) -> str:
        columns = zip(cells, widths, right, strict=True)
        padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in columns)
        return "  ".join(padded).rstrip()

    return [line(titles), *map(line, rows)]


def duration(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.2f} us"


def verdict(passed: bool) -> str:
    return "passed" if passed else "FAILED"


def libraries_text(part: dict) -> list[str]:
    rows = [
        [r["library"], "yes" if r["loaded"] else "no", "yes" if r["serves"] else "no", r["says"]]
        for r in part["rows"]
    ]
    return table(["library", "loaded", "serves", "says"], rows)


def tests_text(part: dict) -> list[str]:
    rows = [
        [
            r.get("tool", ""),
            r["test"],
            str(r["tests_passed"]),
            str(r["tests_skipped"]),
            f"{r['seconds']:.0f} s",
            verdict(r["passed"]),
        ]
        for r in part["rows"]
    ]
    lines = table(["tool", "test", "passed", "skipped", "time", "verdict"], rows)
    for row in part["rows"]:
        if not row["passed"]:
            lines += [f"-- {row['test']}: exit code {row['exit_code']}", row["output"]]
    return lines


def verify_text(part: dict) -> list[str]:
    lines = [
        f"{part['problems']} problems, {len(part['kernels'])} kernels: "
        f"{part['rows_passed']} rows passed, {part['rows_failed']} failed"
    ]
    for row in part["failures"]:
        lines.append(f"-- {row['problem']} {row['kernel']} {row['data']}: {row['failures']}")
    return lines + ([part["output"]] if "output" in part else [])


def bench_text(part: dict) -> list[str]:
    lines = []
    for name, suite in part["suites"].items():
        rows = [
            [
                row["problem"],
                row["kernel"].removeprefix("cuda:"),
                duration(row["median_seconds"]),
                f"{row['gflops'] * 1e-3:.1f}",
                f"{row['gbytes_per_second']:.0f}",
                "-"
                if row["peak_percent"] is None
                else f"{row['peak_percent']:.1f}% {row['peak_limit']}",
                row["shape"],
            ]
            for row in suite["rows"]
        ]
        titles = ["problem", "kernel", "median", "TFLOP/s", "GB/s", "of peak", "shape"]
        lines += [f"-- {name}", *table(titles, rows)]
        lines += [suite["error"]] if "error" in suite else []
    return lines


def peers_text(part: dict) -> list[str]:
    ours = {r["case"]: r for r in part["rows"] if r["contender"] == "mxgemm"}
    rows = [
        [
            r["case"],
            r["contender"],
            duration(r["median_seconds"]),
            duration(r["min_seconds"]),
            f"{r['tflops']:.1f}",
            f"{r['median_seconds'] / ours[r['case']]['median_seconds']:.2f}",
            r["kernel"],
        ]
        for r in part["rows"]
    ]
    titles = ["case", "contender", "median", "min", "TFLOP/s", "time / mxgemm's", "kernel"]
    return [part["says"], *table(titles, rows)]


TEXTS = {
    "libraries": libraries_text,
    "control": lambda part: [f"the uncured kernel says: {part['says']}"],
    "tests": tests_text,
    "verify": verify_text,
    "bench": bench_text,
    "data": lambda part: [part["text"].rstrip()],
    "peers": peers_text,
    "sanitize": tests_text,
}


def text_of(result: dict) -> str:
    machine = result["machine"]
    lines = [f"mxgemm {result['mxgemm']['version']}, {machine['date']}"]
    for gpu in machine["gpus"]:
        lines.append(
            f"{gpu['name']}, compute capability {gpu['capability']}, driver {gpu['driver']}, "
            f"{gpu['memory']}, up to {gpu['highest_clock']}"
        )
    for library in result["mxgemm"]["libraries"]:
        lines.append(f"{library['library']}: {library['build_info'] or library['reason']}")
    for name, part in result["parts"].items():
        lines += ["", f"== {name}: {verdict(part['passed'])}, {part['seconds']:.0f} s"]
        lines += TEXTS[name](part)
    lines += ["", verdict(result["passed"])]
    return "\n".join(lines) + "\n"
