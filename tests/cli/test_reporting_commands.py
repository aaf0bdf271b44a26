# SPDX-License-Identifier: Apache-2.0
"""The commands that report: verify, bench, explain, info; help, exit codes, pipes, docs/cli.md."""

from __future__ import annotations

import json
import pathlib
import re

import pytest
from reporting import SMALL, run

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "cli.md"
COMMANDS = ("info", "quantize", "dequantize", "gemm", "inspect", "verify", "bench", "explain")
LEVELS = ("scalar", "avx2", "avx512", "amx")
ACCEPTANCE = (
    "m133n528k512:mxf4:mxf4:bf16",
    "m1n40k64:nvf4:nvf4:f32",
    "m129n384k256:bf16:mxf4:bf16:bias:act=gelu",
    "m0n8k32:mxf4:mxf4:bf16",
    "m300n7k2880:mxf8:mxf4:f16",
    "m5n9k96:f32:mxf8e5m2:f32:beta=0.5:lda=+3:ldd=+5:off=4:scales=rowmajor",
    "m17n33k0:mxf4:mxf4:f32:bias",
)
INFO = run("info", "--json").json
OFFERED = LEVELS[: LEVELS.index(INFO["devices"][0]["isa_offered"]) + 1]


def kernels_of(level):
    return {k["kernel"] for k in INFO["kernels"] if k["kernel"].startswith(f"cpu:{level}:")}


@pytest.mark.parametrize("level", OFFERED)
def test_the_accepted_problems_pass_at_every_level(level):
    rows = run("verify", *ACCEPTANCE, "--json", level=level).json["rows"]
    assert {row["problem"].split(":")[0] for row in rows} == {p.split(":")[0] for p in ACCEPTANCE}
    for row in rows:
        assert row["passed"], row
        if row["data"] == "exact" and "gelu" not in row["problem"]:
            assert row["exact_required"] == row["outputs"], row
            assert row["exact_mismatches"] == 0, row
        kernel_level = row["kernel"].split(":")[1]
        assert LEVELS.index(kernel_level) <= LEVELS.index(level), row
    # The level's own kernels take part, those made for one pair among them.
    used = {row["kernel"] for row in rows}
    assert kernels_of(level) <= used
    if level == "avx512":
        for pair in ("mxf4:mxf4", "bf16:mxf4"):
            assert any(
                row["kernel"].startswith(f"cpu:avx512:gemm_{pair.replace(':', '_')}_")
                for row in rows
                if f":{pair}:" in row["problem"]
            ), pair


def test_a_level_that_the_cpu_lacks_is_exit_code_3():
    lacking = LEVELS[len(OFFERED) :]
    if not lacking:
        pytest.skip("this machine offers every level")
    for level in lacking:
        for command in (["verify", SMALL], ["info"], ["explain", SMALL], ["bench", SMALL]):
            outcome = run(*command, code=3, level=level)
            assert level in outcome.err and "MXGEMM_MAX_ISA" in outcome.err


def test_a_level_of_no_name_is_a_bad_command_line():
    outcome = run("verify", SMALL, code=2, level="avx1024")
    assert "avx1024" in outcome.err and "scalar" in outcome.err


def test_k_that_is_no_multiple_of_the_block_names_k_and_both_numbers():
    outcome = run("verify", "m8n8k33:mxf4:mxf4:bf16", code=2)
    assert "K is 33" in outcome.err and "32" in outcome.err
    assert outcome.out == ""


def test_a_device_that_is_not_there_is_exit_code_3():
    if INFO["no_cuda"] == "":
        pytest.skip("this machine has a CUDA device")
    for command in ("verify", "explain", "bench"):
        outcome = run(command, SMALL, "--device", "cuda:0", code=3)
        assert "cuda" in outcome.err
    run("verify", SMALL, "--device", "all")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "subcommand"),
        (["frobnicate"], "frobnicate"),
        (["--frobnicate"], "--frobnicate"),
        (["info", "--frobnicate"], "--frobnicate"),
        (["info", "--json", "--matrix"], "--matrix"),
        (["verify"], "PROBLEM"),
        (["verify", "exact"], "'exact'"),
        (["verify", "--data", "exact"], "PROBLEM"),
        (["verify", SMALL, "m1n1k32:mxf4:mxf4:f32:oops"], "'oops'"),
        (["verify", SMALL, "--data", "exact,random"], "'random'"),
        (["verify", SMALL, "--device", "gpu"], "'gpu'"),
        (["verify", SMALL, "--device", "cuda:x"], "'cuda:x'"),
        (["verify", SMALL, "--device", "cuda:"], "'cuda:'"),
        (["verify", SMALL, "--device", "cuda:99999999999"], "'cuda:99999999999'"),
        (["verify", SMALL, "--kernel", "cpu:none:gemm"], "cpu:scalar:gemm_any_any_any"),
        (["verify", SMALL, "--kernel", ""], "--kernel"),
        (["bench", SMALL, "--kernel", ""], "--kernel"),
        (["bench", SMALL, "--threads", "1025"], "1025"),
        (["verify", SMALL, "--seed", "-1"], "-1"),
        (["verify", SMALL, "--seed", "18446744073709551616"], "18446744073709551616"),
        (["explain"], "PROBLEM"),
        (["explain", SMALL, SMALL], SMALL),
        (["bench"], "nothing to time"),
        (["bench", "--suite", "bert"], "'bert'"),
        (["bench", SMALL, "--device", "all"], "'all'"),
        (["bench", SMALL, "--repeat", "-1"], "-1"),
        (["bench", "--suite", "square", "--formats", "mxf4"], "4 parts"),
    ],
)
def test_bad_command_lines_are_exit_code_2(arguments, said):
    outcome = run(*arguments, code=2)
    assert outcome.out == ""
    assert said in outcome.err


@pytest.mark.parametrize("command", ["verify", "bench", "explain"])
def test_a_bad_force_in_the_environment_is_no_failed_row(command):
    outcome = run(command, SMALL, code=2, MXGEMM_FORCE="zzz")
    assert "MXGEMM_FORCE" in outcome.err and '"zzz"' in outcome.err
    assert "FAIL" not in outcome.out


def test_a_kernel_that_refuses_is_exit_code_3_with_its_reason():
    own = sorted(k["kernel"] for k in INFO["kernels"] if len(k["a"]) == 1 and k["available"])
    if not own:
        pytest.skip("every kernel here takes every pair")
    outcome = run("verify", "m1n1k64:f16:nvf4:f32", "--kernel", own[0], code=3)
    assert own[0] in outcome.err and "f16" in outcome.err
    # Other problems of the same line are run.
    outcome = run(
        "verify",
        "m1n1k64:f16:nvf4:f32",
        "m0n1k32:f32:mxf4:f32",
        "--kernel",
        "cpu:scalar:gemm_any_any_any_16x16x32",
    )
    assert "4 rows passed" in outcome.out


def test_what_does_not_fit_into_memory_is_exit_code_4():
    outcome = run("verify", "m134217728n134217728k32:mxf4:mxf4:f32", code=4)
    assert "memory" in outcome.err
    assert "1 problems were not run" in outcome.out
    run("bench", "m134217728n134217728k32:mxf4:mxf4:f32", code=4)


def test_verify_takes_kinds_with_commas_and_blanks():
    for arguments in (
        ["--data", "ones,wide"],
        ["--data", "ones", "wide"],
        ["--data", "ones", "--data", "wide", "--data", "ones"],
    ):
        rows = run("verify", SMALL, *arguments, "--json").json["rows"]
        assert {row["data"] for row in rows} == {"ones", "wide"}
        assert len(rows) % 2 == 0 and len({(r["kernel"], r["data"]) for r in rows}) == len(rows)


def test_the_line_that_repeats_a_row_repeats_it():
    row = run("verify", SMALL, "--data", "edge", "--seed", "5", "--json").json["rows"][0]
    words = row["again"].split()
    assert words[0] == "mxgemm"
    again = run(*words[1:], "--json").json["rows"]
    assert again == [row]


def test_verify_is_the_same_for_every_number_of_threads():
    outcomes = [
        run("verify", ACCEPTANCE[2], SMALL, "--json", MXGEMM_NUM_THREADS=str(n)).out
        for n in (1, 2, 3)
    ]
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_explain_names_the_choice_and_every_reason():
    explanation = run("explain", "m1n64k64:bf16:mxf4:bf16", "--json").json["explanations"][0]
    kernels = {k["kernel"]: k for k in explanation["kernels"]}
    assert set(kernels) == {k["kernel"] for k in INFO["kernels"] if k["kernel"].startswith("cpu:")}
    assert kernels[explanation["chosen"]]["accepts"]
    for kernel in kernels.values():
        assert kernel["accepts"] == (kernel["reason"] == "")
    text = run("explain", "m1n64k64:bf16:mxf4:bf16").out
    assert re.search(re.escape(explanation["chosen"]) + r" +chosen\n", text)
    scalar = run("explain", SMALL, "--json", level="scalar").json["explanations"][0]
    assert scalar["chosen"].startswith("cpu:scalar:")
    for kernel in scalar["kernels"]:
        assert kernel["accepts"] == kernel["kernel"].startswith("cpu:scalar:"), kernel


def test_bench_prints_what_it_measured():
    rows = run(
        "bench",
        SMALL,
        "m8n8k32:bf16:mxf4:f32:packed:bias",
        "--kernel",
        "all",
        "--repeat",
        "5",
        "--json",
    ).json["rows"]
    assert {row["problem"] for row in rows} == {SMALL, "m8n8k32:bf16:mxf4:f32:bias:packed"}
    for row in rows:
        assert row["runs"] == 5
        assert 0 <= row["min_seconds"] <= row["median_seconds"] <= row["max_seconds"]
        assert row["bytes"] > 0
    text = run("bench", SMALL, "--repeat", "1", "--threads", "1").out
    assert text.splitlines()[0].split() == [
        "problem",
        "kernel",
        "median",
        "min",
        "max",
        "GFLOP/s",
        "GB/s",
        "runs",
        "shape",
    ]
    assert SMALL in text


def test_bench_counts_the_bytes_of_every_operand_once():
    (row,) = run(
        "bench", "m2n3k64:bf16:mxf4:f32:scales=rowmajor:bias:beta=1", "--repeat", "1", "--json"
    ).json["rows"]
    a, b, scales, c_and_d, bias = 2 * 64 * 2, 3 * 32, 3 * 2, 2 * (2 * 3 * 4), 3 * 4
    assert row["bytes"] == a + b + scales + c_and_d + bias


def test_bench_knows_the_shapes_of_models():
    outcome = run(
        "bench",
        "--suite",
        "torchao",
        "--formats",
        "mxf4:mxf4:bf16",
        "--kernel",
        "cpu:none:gemm",
        code=2,
    )
    assert "cpu:none:gemm" in outcome.err
    for suite in ("square", "llama", "gptoss", "torchao"):
        assert suite in run("bench", "--suite", "none", code=2).err


def test_info_shows_levels_kernels_and_reasons():
    text = run("info", level="scalar").out
    assert "level scalar (offered: " in text
    for kernel in INFO["kernels"]:
        assert kernel["kernel"] in text
        assert kernel["available"] == (kernel["reason"] == "")
    limited = run("info", "--json", level="scalar").json
    for kernel in limited["kernels"]:
        if kernel["kernel"].startswith("cpu:"):
            assert kernel["available"] == kernel["kernel"].startswith("cpu:scalar:"), kernel
    assert INFO["version"] in run("--version").out
    assert pathlib.Path(INFO["library"]).exists()


def test_the_matrix_has_a_row_for_every_format_of_a():
    lines = run("info", "--matrix").out.splitlines()
    assert lines[0].startswith("| A | scalar |")
    rows = [line for line in lines if line.startswith("| ") and "---" not in line][1:]
    assert [row.split()[1] for row in rows] == [
        "mxf4",
        "nvf4",
        "mxf8e4m3",
        "mxf8e5m2",
        "bf16",
        "f16",
        "f32",
    ]
    assert all(row.count("|") == lines[0].count("|") for row in rows)


# ---- Help and documentation ---------------------------------------------------------------------


def help_of(command):
    return run(command, "--help").out


def examples_of(command):
    text = help_of(command).split("Examples:\n")[1]
    return [line.strip() for line in text.splitlines() if re.match(r"  (MXGEMM\S+ )?mxgemm ", line)]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command):
    assert command in run("--help").out
    assert "--json" in help_of(command)
    assert examples_of(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_and_the_help_have_the_same_examples(command):
    page = DOCS.read_text(encoding="utf-8")
    shown = re.findall(rf"^((?:MXGEMM\S+ )?mxgemm {command}(?: .*)?)$", page, re.MULTILINE)
    assert shown == examples_of(command)


@pytest.mark.parametrize("command", ["verify", "bench", "explain", "info"])
def test_the_page_has_every_option(command):
    section = DOCS.read_text(encoding="utf-8").split(f"\n## {command}\n")[1].split("\n## ")[0]
    options = set(re.findall(r"^  (--[a-z-]+)", help_of(command), re.MULTILINE))
    assert options
    for option in options:
        assert option in section + "--json", option


def test_the_examples_of_reporting_commands_work():
    for command in ("verify", "explain", "info"):
        for example in examples_of(command):
            words = example.split("   ")[0].split()
            environment = dict(w.split("=", 1) for w in words if w.startswith("MXGEMM"))
            level = environment.get("MXGEMM_MAX_ISA")
            if level in (None, *OFFERED):
                run(*[w for w in words if not w.startswith("MXGEMM")][1:], **environment)


def test_json_of_reporting_commands_is_one_line_of_json():
    for arguments in (["info"], ["verify", SMALL], ["explain", SMALL], ["bench", SMALL]):
        out = run(*arguments, "--json").out
        assert out.count("\n") == 1
        assert isinstance(json.loads(out), dict)
