# SPDX-License-Identifier: Apache-2.0
"""plan_test.py PROGRAM FOLDER: whether make_plan.py's plans in FOLDER cover what they must.

Reads the lines and nothing of the plan's making, except that making it again must give the same.
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

SIZES = {
    "m": {1, 3, 16, 127, 128, 129, 133, 300},
    "n": {8, 40, 132, 136, 528},
    "k": {32, 64, 96, 160, 512, 528, 2880},
}
# What every kernel must meet: the word of the problem string, None = left out.
OPTIONS = {
    "pad": {None, "zero"},
    "scales": {None, "rowmajor"},
    "bias": {None, "", "f32"},
    "beta": {None, "0", "-0.5", "1"},
    "alpha": {None, "-2.5", "dev"},
    "act": {None, "relu", "gelu", "gelu_tanh", "silu"},
    "off": {None, "some"},
    "lda": {None, "some"},
    "ldb": {None, "some"},
}
SCHEDULES = {"plain", "random", "late", "pct", "late+pct", "early+pct", "portfolio", "race"}
DATA = {"exact", "normal", "wide", "edge"}
OF_16 = {"nvf4", "bf16", "f16", "f32"}

Run = dict[str, object]


def parse_problem(text: str) -> Run:
    shape, a, b, d, *options = text.split(":")
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    run: Run = {"m": int(m), "n": int(n), "k": int(k), "a": a, "b": b, "d": d}
    run |= dict.fromkeys(OPTIONS, None)
    for option in options:
        name, _, value = option.partition("=")
        run[name] = "some" if name in ("off", "lda", "ldb") else value
        if name == "off":
            run["offset"] = value
    return run


def read(path: pathlib.Path) -> tuple[list[Run], list[Run]]:
    runs, refusals = [], []
    for line in path.read_text().splitlines()[1:]:
        words = line.split()
        if words[0] == "run":
            _, device, kernel, schedule, _, data, problem = words
            known = {"device": device, "kernel": kernel, "schedule": schedule}
            known |= {"data": data.partition("+")[0], "in_place": data.endswith("+c")}
            runs.append(known | parse_problem(problem))
        else:
            _, device, kernel, problem = words
            refusals.append({"kernel": kernel} | parse_problem(problem))
    return runs, refusals


def least_offset(run: Run) -> str:
    """Bytes, the least that the kernel's pointers may lie off an aligned address."""
    if ":sm80:" in str(run["kernel"]):
        return "4"  # what a number of C or D may need
    return "16" if run["a"] == run["b"] else "32"


def missing_of_kernel(kernel: str, runs: list[Run], refusals: list[Run]) -> list[str]:
    mine = [run for run in runs if run["kernel"] == kernel]
    refused = [run for run in refusals if run["kernel"] == kernel]
    wanted = SIZES | OPTIONS | {"schedule": SCHEDULES, "data": DATA, "in_place": {False, True}}
    of_16 = any(run["a"] in OF_16 and run["b"] == "nvf4" for run in mine)
    without_c = any(run["beta"] is not None for run in refused)
    missing = []
    for factor, values in wanted.items():
        present = {run[factor] for run in mine}
        if factor in SIZES:
            present |= {run[factor] for run in refused}
        for value in sorted(values - present, key=str):
            excluded = (factor, value) == ("k", 528) and not of_16
            if not excluded and not (without_c and factor in ("beta", "in_place")):
                missing.append(f"{kernel}: no run with {factor} = {value}")
    for offset in sorted({least_offset(run) for run in mine} - {run.get("offset") for run in mine}):
        missing.append(f"{kernel}: no run with off = {offset}")
    return missing


def missing_pairs(runs: list[Run]) -> list[str]:
    missing = []
    for (f, values_f), (g, values_g) in itertools.combinations((SIZES | OPTIONS).items(), 2):
        met = {(run[f], run[g]) for run in runs}
        for pair in itertools.product(sorted(values_f, key=str), sorted(values_g, key=str)):
            # One word says both: padding belongs to swizzled scales.
            if pair not in met and not ({f, g} == {"pad", "scales"} and None not in pair):
                missing.append(f"no kernel runs {f} = {pair[0]} with {g} = {pair[1]}")
    return missing


def kernels_of(program: str) -> set[str]:
    answer = subprocess.run([program, "info"], check=True, capture_output=True, text=True)
    first_words = (line.split()[0] for line in answer.stdout.splitlines() if line)
    return {word for word in first_words if word.startswith("cuda:") and word.count(":") == 2}


def same_again(program: str, folder: pathlib.Path) -> list[str]:
    script = pathlib.Path(__file__).with_name("make_plan.py")
    with tempfile.TemporaryDirectory() as again:
        subprocess.run([sys.executable, str(script), program, again], check=True)
        return [
            f"{path.name} is another when it is made again"
            for path in folder.glob("*.plan")
            if path.read_text() != (pathlib.Path(again) / path.name).read_text()
        ]


def main() -> None:
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    runs: list[Run] = []
    refusals: list[Run] = []
    for path in sorted(folder.glob("*.plan")):
        more_runs, more_refusals = read(path)
        runs += more_runs
        refusals += more_refusals
    problems = same_again(program, folder) + missing_pairs(runs)
    kernels = kernels_of(program)
    problems += [] if kernels else [f"{program} info names no kernel of a GPU"]
    for kernel in sorted(kernels):
        problems += missing_of_kernel(kernel, runs, refusals)
    print("\n".join(problems))
    print(f"{len(kernels)} kernels, {len(runs)} runs, {len(refusals)} refusals")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
