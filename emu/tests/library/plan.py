# SPDX-License-Identifier: Apache-2.0
"""A pairwise plan of problems for the kernels of one GPU library.

Every kernel gets each value of each factor that it accepts at least once, and over all kernels of
the library every pair of values of two factors comes up at least once.
"""

import itertools
import random

M = [1, 3, 127, 128, 129, 133, 300]
N = [8, 40, 132, 136, 528]
K = [32, 64, 96, 160, 512, 528, 2880]

# Name of the factor -> its spellings in a problem string; "" is the plain case. Scale padding holds
# NaN unless pad=zero is said.
OPTIONS = {
    "scales": ["", "scales=rowmajor"],
    "pad": ["", "pad=zero"],
    "rows": ["", "lda=+32:ldb=+64:ldd=+8"],
    "offset": ["", "off=16"],
    "alpha": ["", "alpha=-0.5", "alpha=dev"],
    "bias": ["", "bias", "bias=f32"],
    "beta": ["", "beta=0.5"],
    "act": ["", "act=relu", "act=gelu", "act=gelu_tanh", "act=silu"],
}
# Sizes to vary one factor from: the first that a kernel accepts (some are for few rows only).
PLAIN = [{"m": m, "n": 136, "k": k} for k in (512, 528) for m in (128, 3, 1)]


class Kernel:
    """A kernel, and what it accepts of each factor while the others are plain."""

    def __init__(self, name: str, a: list[str], b: list[str], d: list[str]):
        self.name = name
        # One pair of operand formats per kernel; the generic one takes all of them.
        self.formats = list(itertools.product(a, b))
        self.d = d
        self.accepted: dict[str, list] = {}
        self.base = PLAIN[0]
        self.alignment = 16  # bytes, of every operand and row

    def candidates(self) -> dict[str, list]:
        return {"formats": self.formats, "d": self.d, "m": M, "n": N, "k": K, **OPTIONS}

    def fits(self, row: dict) -> bool:
        """The pitch of a single row is its own length, whatever was said."""
        bytes_per_row = row["n"] * (4 if row["d"] == "f32" else 2)
        return self.alignment <= 16 or row["m"] > 1 or bytes_per_row % self.alignment == 0

    def plain(self) -> dict:
        row = {"formats": self.formats[0], "d": self.d[0], **self.base}
        row.update(dict.fromkeys(OPTIONS, ""))
        return row


def problem(kernel: Kernel, row: dict) -> str:
    """The problem string; rows and offsets are made larger where the kernel wants them aligned."""
    a, b = row["formats"]
    options = {name: row[name] for name in OPTIONS}
    if kernel.alignment > 16:
        if options["offset"]:
            options["offset"] = f"off={kernel.alignment}"
        elements = kernel.alignment // (4 if row["d"] == "f32" else 2)
        padding = -row["n"] % elements + (elements if options["rows"] else 0)
        options["rows"] = options["rows"].rpartition(":ldd")[0]
        if padding:
            options["rows"] += f":ldd=+{padding}" + (f":ldc=+{padding}" if options["beta"] else "")
    text = "".join(":" + value.strip(":") for value in options.values() if value)
    return f"m{row['m']}n{row['n']}k{row['k']}:{a}:{b}:{row['d']}{text}"


def pairs(row: dict) -> set:
    return {
        (first, row[first], second, row[second])
        for first, second in itertools.combinations(sorted(row), 2)
    }


def singles(kernel: Kernel) -> set:
    return {(factor, value) for factor, values in kernel.accepted.items() for value in values}


class Planner:
    """Adds rows, each the best of some random ones, until nothing is left to cover."""

    # More candidates per row make the plan a few rows shorter and the planning slower.
    CANDIDATES = 60

    def __init__(self, kernels: list[Kernel], accepts, seed: int = 1):
        self.kernels = kernels
        self.accepts = accepts  # (kernel, row) -> bool
        self.random = random.Random(seed)
        self.missing_pairs: set = set()
        for kernel in kernels:
            factors = sorted(kernel.accepted)
            for first, second in itertools.combinations(factors, 2):
                for x in kernel.accepted[first]:
                    for y in kernel.accepted[second]:
                        self.missing_pairs.add((first, x, second, y))

    def random_row(self, kernel: Kernel) -> dict:
        return {factor: self.random.choice(v) for factor, v in kernel.accepted.items()}

    def best_row(self, kernel: Kernel, missing: set, wanted: tuple | None = None) -> dict | None:
        best, best_gain = None, 0
        for _ in range(self.CANDIDATES):
            row = self.random_row(kernel)
            if missing:
                factor, value = self.random.choice(sorted(missing, key=str))
                row[factor] = value
            if wanted is not None:
                row[wanted[0]], row[wanted[2]] = wanted[1], wanted[3]
            gain = 10 * len(missing & set(row.items())) + len(self.missing_pairs & pairs(row))
            if gain > best_gain and self.accepts(kernel, row):
                best, best_gain = row, gain
        return best

    def plan(self) -> tuple[list[tuple[Kernel, dict]], list[str]]:
        """Rows, and what no row could be found for."""
        rows, impossible = [], []
        for kernel in self.kernels:
            missing = singles(kernel)
            while missing:
                row = self.best_row(kernel, missing)
                if row is None or not missing & set(row.items()):
                    impossible += [f"{kernel.name}: {f}={v}" for f, v in sorted(missing, key=str)]
                    break
                missing -= set(row.items())
                self.missing_pairs -= pairs(row)
                rows.append((kernel, row))
        rows += self.rows_for_pairs()
        return rows, impossible

    def rows_for_pairs(self) -> list[tuple[Kernel, dict]]:
        rows = []
        while self.missing_pairs:
            wanted = min(self.missing_pairs, key=str)
            able = [
                k
                for k in self.kernels
                if wanted[1] in k.accepted[wanted[0]] and wanted[3] in k.accepted[wanted[2]]
            ]
            row = None
            self.random.shuffle(able)
            for kernel in able:
                row = self.best_row(kernel, set(), wanted)
                if row is not None:
                    rows.append((kernel, row))
                    self.missing_pairs -= pairs(row)
                    break
            # Two values that exclude each other (K = 528 and a block of 32) are no pair.
            self.missing_pairs.discard(wanted)
        return rows
