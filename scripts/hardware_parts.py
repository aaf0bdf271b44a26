# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/hardware. Each takes a Context and returns what it found:
{"passed": …, "seconds": …, and its own figures}."""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence

from hardware_machine import CannotRun, Context, execute, tail

DEVICE = "cuda:0"
# The tests compare with a reference on the CPU: several at a time keep GPU and CPU busy. Nothing
# is timed meanwhile.
TESTS_AT_A_TIME = 4

# Programs of build/bin and their arguments; {lib} is the library of this GPU's architecture.
TESTS = {
    "cuda_runtime_test": (),
    "cuda_streams_test": (),
    "cuda_data_test": ("{lib}",),
    "cuda_gemm_test": (),
    "quantize_cases_test": ("--gtest_filter=*cuda*",),
    "gemm_cases_test": ("--gtest_filter=*cuda*",),
    "epilogue_test": ("--gtest_filter=*cuda*",),
    "alignment_test": ("--gtest_filter=*cuda*",),
    "sqnr_test": (),
}
# What the parts run.
TARGETS = (
    "mxgemm_cli",
    "mxgemm_gpu_libraries",
    *TESTS,
    "cuda_data_timing",
    "cuda_control_test",
    "control_registered",
    "control_unregistered",
)
# All at once: each waits for its GPU most of the time.
SANITIZED_AT_A_TIME = 8
# Under the sanitizer, with small sizes. racecheck looks at shared memory only, which the others of
# these tests exercise no further.
SANITIZED = {
    "memcheck": ("cuda_data_test", "quantize_cases_test", "alignment_test", "cuda_gemm_test"),
    "initcheck": ("cuda_data_test", "cuda_gemm_test"),
    "racecheck": ("cuda_data_test", "cuda_gemm_test"),
}
# Has shapes that were reported for what memcheck sees, and is small otherwise.
SANITIZED_WHOLE = ("alignment_test",)
SANITIZER_EXIT_CODE = 86
# Without it racecheck does not see that a warp is in step when one lane arrives at an mbarrier for
# all of it (__syncwarp before), and reports what the barrier orders.
INDIRECT_BARRIERS = "--racecheck-indirect-barrier-dependencies"

# What tests with MXGEMM_TEST_LARGE=1 need on the device, and as much on the host.
LARGE_MIB = 24 * 1024

# One that the FP4 kernels of every architecture take.
FP4_PROBLEM = "m128n256k384:mxf4:mxf4:bf16"

FORMATS_A = ("mxf4", "nvf4", "mxf8e4m3", "mxf8e5m2", "bf16", "f16", "f32")
FORMATS_B = ("mxf4", "nvf4", "mxf8e4m3", "mxf8e5m2")
FORMATS_D = ("bf16", "f16", "f32")
OPTIONS = (
    "",
    ":bias:act=gelu",
    ":beta=0.5:scales=rowmajor",
    ":lda=+6:ldd=+5:alpha=dev",
    ":off=4:bias=f32:act=silu",
)
SHAPES = ("m133n528k544", "m1n264k2880", "m17n40k96", "m300n136k512")

BENCH = {
    "square": ("--suite", "square"),
    "square, bf16 x mxf4": ("--suite", "square", "--formats", "bf16:mxf4:bf16"),
    "llama": ("--suite", "llama", "--formats", "bf16:mxf4:bf16"),
    "gptoss": ("--suite", "gptoss", "--formats", "bf16:mxf4:bf16"),
    "8192 cubed": tuple(
        f"m8192n8192k8192:{pair}:bf16"
        for pair in ("mxf4:mxf4", "nvf4:nvf4", "mxf8:mxf8", "mxf8:mxf4", "bf16:mxf4", "bf16:nvf4")
    ),
    "decode": tuple(
        f"m{m}n8192k8192:{pair}:bf16"
        for m in (1, 16, 64)
        for pair in ("bf16:mxf4", "bf16:nvf4", "bf16:mxf8", "mxf4:mxf4")
    ),
}


def part(function: Callable[[Context], dict]) -> Callable[[Context], dict]:
    """Adds how long a part took."""

    @functools.wraps(function)
    def timed(context: Context) -> dict:
        start = time.monotonic()
        outcome = function(context)
        return outcome | {"seconds": time.monotonic() - start}

    return timed


def program_info(context: Context) -> dict:
    run = execute([context.program("mxgemm"), "info", "--json"], context)
    if run["exit_code"] != 0:
        raise CannotRun(f"mxgemm info: {run['err'].strip()}")
    return json.loads(run["out"])


def device_arch(context: Context) -> str:
    (device,) = [d for d in program_info(context)["devices"] if d["device"] == DEVICE]
    return device["arch"]


@part
def run_libraries(context: Context) -> dict:
    """Every library that was built loads in one process, and those that do not serve this device
    are refused by name."""
    info = program_info(context)
    arch = device_arch(context)
    built = sorted(
        path.name.removeprefix("libmxgemm_").removesuffix(".so")
        for path in (context.build / "lib" / "mxgemm").glob("libmxgemm_sm*.so")
    )
    loaded = {library["library"]: library["loaded"] for library in info["libraries"]}
    rows = []
    for name in built:
        run = execute(
            [context.program("mxgemm"), "explain", FP4_PROBLEM, "--device", DEVICE],
            context,
            MXGEMM_FORCE=name,
        )
        text = run["out"] + run["err"]
        serves = run["exit_code"] == 0
        right = loaded.get(name, False) and name in text and (serves or run["exit_code"] == 3)
        lines = [line.strip() for line in text.splitlines() if f"cuda:{name}" in line]
        rows.append(
            {
                "library": name,
                "loaded": loaded.get(name, False),
                "serves": serves,
                "says": (lines or [text.strip()])[0][:300],
                "passed": right,
            }
        )
    passed = all(row["passed"] for row in rows) and any(r["library"] == arch for r in rows)
    return {"passed": passed, "device_library": arch, "rows": rows}


@part
def run_control(context: Context) -> dict:
    """The uncured kernel of decision 0003 must fail with CUDA error 400, its twin must run."""
    folder = context.build / "tests" / "abi" / "cuda" / "controls"
    run = execute([context.program("cuda_control_test"), folder], context)
    found = re.search(r"uncured: (.*)", run["out"])
    return {
        "passed": run["exit_code"] == 0,
        "says": found.group(1) if found else tail(run),
    }


def run_test(name: str, context: Context, prefix: Sequence[str] = (), **changes: str) -> dict:
    library = context.build / "lib" / "mxgemm" / f"libmxgemm_{device_arch(context)}.so"
    arguments = [argument.format(lib=library) for argument in TESTS[name]]
    run = execute([*prefix, context.program(name), *arguments], context, **changes)
    passed = re.search(r"\[  PASSED  \] (\d+) test", run["out"])
    skipped = re.search(r"\[  SKIPPED \] (\d+) test", run["out"])
    failed = re.findall(r"^\[  FAILED  \] (\S+/\S+|\S+\.\S+)", run["out"], re.MULTILINE)
    count = int(passed.group(1)) if passed else 0
    row = {
        "test": name,
        "tests_passed": count,
        "tests_skipped": int(skipped.group(1)) if skipped else 0,
        "failed": sorted(set(failed)),
        "exit_code": run["exit_code"],
        "seconds": run["seconds"],
        # A program that ran nothing has shown nothing.
        "passed": run["exit_code"] == 0 and count > 0,
    }
    return row if row["passed"] else row | {"output": tail(run)}


def run_python_tests(context: Context) -> dict:
    """tests/python/test_gpu.py, where python3 has what it needs."""
    command = ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    run = execute([*command, context.root / "tests" / "python" / "test_gpu.py"], context)
    count = {
        word: int(number) for number, word in re.findall(r"(\d+) (passed|skipped)", run["out"])
    }
    row = {
        "test": "test_gpu.py",
        "tests_passed": count.get("passed", 0),
        "tests_skipped": count.get("skipped", 0),
        "failed": re.findall(r"^FAILED (\S+)", run["out"], re.MULTILINE),
        "exit_code": run["exit_code"],
        "seconds": run["seconds"],
        "passed": run["exit_code"] == 0 and count.get("passed", 0) > 0,
    }
    return row if row["passed"] else row | {"output": tail(run)}


def has_room(context: Context) -> bool:
    devices = program_info(context)["devices"]
    return all(
        device["memory_bytes"] >= LARGE_MIB << 20
        for device in devices
        if device["device"] in ("cpu", DEVICE)
    )


@part
def run_tests(context: Context) -> dict:
    large = has_room(context)

    def run(name: str) -> dict:
        return run_test(name, context, MXGEMM_TEST_LARGE="1" if large else "0")

    with concurrent.futures.ThreadPoolExecutor(TESTS_AT_A_TIME) as pool:
        in_python = pool.submit(run_python_tests, context)
        rows = list(pool.map(run, TESTS))
        rows.append(in_python.result())
    return {"passed": all(row["passed"] for row in rows), "rows": rows}


def verify_problems() -> list[str]:
    """Every pair with every D; shapes and options by turns."""
    kinds = itertools.product(FORMATS_A, FORMATS_B, FORMATS_D)
    return [
        f"{SHAPES[i % len(SHAPES)]}:{a}:{b}:{d}{OPTIONS[i % len(OPTIONS)]}"
        for i, (a, b, d) in enumerate(kinds)
    ]


@part
def run_verify(context: Context) -> dict:
    problems = verify_problems()
    shares = [problems[i::TESTS_AT_A_TIME] for i in range(min(TESTS_AT_A_TIME, len(problems)))]

    def verify(some: list[str]) -> dict:
        command = [context.program("mxgemm"), "verify", *some, "--device", DEVICE]
        return execute([*command, "--data", "exact,normal,wide,edge", "--json"], context)

    with concurrent.futures.ThreadPoolExecutor(TESTS_AT_A_TIME) as pool:
        runs = list(pool.map(verify, shares))
    rows = [row for run in runs if run["out"] for row in json.loads(run["out"])["rows"]]
    failures = [row for row in rows if not row["passed"]]
    kernels = sorted({row["kernel"] for row in rows})
    codes = [run["exit_code"] for run in runs]
    result = {
        "passed": codes == [0] * len(codes) and bool(rows),
        "problems": len(problems),
        "rows_passed": len(rows) - len(failures),
        "rows_failed": len(failures),
        "kernels": kernels,
        "failures": failures[:20],
    }
    if not result["passed"]:
        result["output"] = "".join(run["err"] for run in runs)[-3000:]
    return result


@part
def run_bench(context: Context) -> dict:
    suites, passed = {}, True
    for name, arguments in BENCH.items():
        command = [context.program("mxgemm"), "bench", *arguments, "--device", DEVICE, "--json"]
        run = execute(command, context)
        ok = run["exit_code"] == 0
        passed = passed and ok
        suites[name] = json.loads(run["out"]) if ok else {"rows": [], "error": tail(run)}
    return {"passed": passed, "suites": suites}


@part
def run_data(context: Context) -> dict:
    library = context.build / "lib" / "mxgemm" / f"libmxgemm_{device_arch(context)}.so"
    run = execute([context.program("cuda_data_timing"), library], context)
    return {"passed": run["exit_code"] == 0, "text": tail(run)}


@part
def run_peers(context: Context) -> dict:
    """cuBLAS and Triton beside mxgemm; a machine without torch compares with nothing."""
    have_torch = subprocess.run(
        ["python3", "-c", "import torch; assert torch.cuda.is_available()"],
        capture_output=True,
        check=False,
    )
    if have_torch.returncode != 0:
        return {"passed": True, "rows": [], "says": "python3 has no torch with CUDA: no peers"}
    context.out.mkdir(parents=True, exist_ok=True)
    file = context.out / "peers.json"
    script = context.root / "bench" / "peers" / "gpu_peers.py"
    run = execute(["python3", script, "--json", file], context)
    if run["exit_code"] != 0:
        return {"passed": False, "rows": [], "says": tail(run)}
    found = json.loads(file.read_text(encoding="utf-8"))
    return {"passed": True, "says": f"torch {found['torch']}", "rows": found["rows"]}


@part
def run_sanitize(context: Context) -> dict:
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    offered = execute([sanitizer, "--help"], context)["out"]
    jobs = [(tool, name) for tool, names in SANITIZED.items() for name in names]

    def check(job: tuple[str, str]) -> dict:
        tool, name = job
        prefix = [sanitizer, "--tool", tool, "--error-exitcode", str(SANITIZER_EXIT_CODE)]
        if tool == "racecheck" and INDIRECT_BARRIERS in offered:
            prefix += [INDIRECT_BARRIERS, "yes"]
        quick = "0" if name in SANITIZED_WHOLE else "1"
        return run_test(name, context, prefix, MXGEMM_TEST_QUICK=quick) | {"tool": tool}

    with concurrent.futures.ThreadPoolExecutor(SANITIZED_AT_A_TIME) as pool:
        rows = list(pool.map(check, jobs))
    return {"passed": all(row["passed"] for row in rows), "rows": rows}
