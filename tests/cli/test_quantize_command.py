# SPDX-License-Identifier: Apache-2.0
"""`mxgemm quantize` and `mxgemm dequantize` against the independent statement of the formats."""

import json

import ml_dtypes
import numpy as np
import oracle
import pytest
from conftest import names_in, normal, raw_safetensors, read_raw
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def small_model(path, k=64):
    tensors = {
        "layers.0.mlp.weight": normal((48, k), 1),
        "layers.0.mlp.bias": normal((48,), 2),
        "layers.0.input_norm.weight": normal((48, k), 3),
        "embed_tokens.weight": normal((10, k), 4),
        "lm_head.weight": normal((10, k), 5),
        "odd.weight": normal((8, 40), 6),
        "steps": np.arange(6).reshape(2, 3),
    }
    save_file(tensors, path, metadata={"format": "pt", "note": 'ü "quoted"'})
    return tensors


def expected(values, name, options):
    """(qdata, row-major scales, global scale) that the options ask for."""
    words = None
    if "--stochastic" in options:
        words = oracle.random_words(values.size, 7, 11)
    nonfinite = "saturate" if "saturate" in options else "nan"
    if name == "nvf4":
        g = np.float32(1) if "--one-level" in options else oracle.nvf4_global_scale(values)
        least = 2.0**-6 if "torchao" in options else 0.0
        return *oracle.quantize_nvf4(values, g, nonfinite, least, words), g
    rule = "even"
    if "torchao" in options:
        rule = "floor"
    if "--scale-rule" in options:
        rule = options[options.index("--scale-rule") + 1]
    return *oracle.quantize_mx(values, name, rule, nonfinite, words), None


CASES = [
    ("mxf4", []),
    ("mxf4", ["--scale-rule", "mse"]),
    ("mxf4", ["--preset", "torchao"]),
    ("mxf4", ["--preset", "torchao", "--scale-rule", "rceil"]),
    ("mxf4", ["--scales", "swizzled"]),
    ("mxf4", ["--stochastic", "--seed", "7", "--offset", "11"]),
    ("mxf8e4m3", ["--nonfinite", "saturate"]),
    ("mxf8e5m2", ["--scale-rule", "ceil"]),
    ("nvf4", []),
    ("nvf4", ["--one-level"]),
    ("nvf4", ["--preset", "torchao", "--scales", "swizzled"]),
    ("nvf4", ["--stochastic", "--seed", "7", "--offset", "11"]),
]


@pytest.mark.parametrize("source", ["F32", "BF16", "F16"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda v: "".join(v))
def test_bytes_are_those_of_the_formats_page(mxgemm, tmp_path, name, options, source):
    values = normal((40, 96), 3)
    values[3, 5] = np.inf
    values[7, 40] = np.nan
    values[9, 32:64] = 0
    dtype = {"F32": np.float32, "BF16": ml_dtypes.bfloat16, "F16": np.float16}[source]
    stored = values.astype(dtype)
    raw_safetensors(tmp_path / "in.safetensors", {"w": (source, stored.shape, stored.tobytes())})
    mxgemm("quantize", "in.safetensors", "out.safetensors", "--format", name, *options)

    tensors = load_file(tmp_path / "out.safetensors")
    qdata, scale, g = expected(stored.astype(np.float32), name, options)
    np.testing.assert_array_equal(tensors["w.qdata"], qdata)
    swizzled = "swizzled" in options
    wanted_scale = oracle.swizzle(scale).reshape(-1) if swizzled else scale
    np.testing.assert_array_equal(tensors["w.scale"], wanted_scale)
    assert set(tensors) == {"w.qdata", "w.scale"} | ({"w.global_scale"} if g is not None else set())
    if g is not None:
        assert tensors["w.global_scale"] == g

    mxgemm("dequantize", "out.safetensors", "back.safetensors", "--dtype", "f32")
    back = load_file(tmp_path / "back.safetensors")["w"]
    decoded = oracle.decode(qdata, scale, name, 1.0 if g is None else g)
    np.testing.assert_array_equal(back, oracle.round_to(decoded, "f32").astype(np.float32))


def test_default_selection_keeps_the_rest_and_the_metadata(mxgemm, tmp_path):
    tensors = small_model(tmp_path / "in.safetensors")
    outcome = mxgemm("quantize", "in.safetensors", "out.safetensors", "--format", "mxf4")
    out = load_file(tmp_path / "out.safetensors")
    for name, array in tensors.items():
        if name == "layers.0.mlp.weight":
            assert name not in out
            assert out[f"{name}.qdata"].shape == (48, 32)
            assert out[f"{name}.scale"].shape == (48, 2)
        else:
            np.testing.assert_array_equal(out[name], array)
            assert out[name].dtype == array.dtype
    with safe_open(tmp_path / "out.safetensors", "np") as file:
        metadata = file.metadata()
    assert metadata["format"] == "pt"
    assert metadata["note"] == 'ü "quoted"'
    record = json.loads(metadata["mxgemm"])
    assert record["tensors"] == {
        "layers.0.mlp.weight": {
            "format": "mxf4",
            "shape": [48, 64],
            "scales": "row_major",
            "dtype": "F32",
            "options": {"nonfinite": "nan", "rounding": "nearest_even", "scale_rule": "even"},
        }
    }
    for name in tensors:
        assert name in outcome.out
    for reason in ["K = 40 is not a multiple of 32", "1-D, not 2-D", "kept by default", "I64"]:
        assert reason in outcome.out
    assert "1 of 7 tensors quantised" in outcome.out
    assert outcome.err == "", "no progress bar unless stderr is a terminal"
    assert names_in(tmp_path) == ["in.safetensors", "out.safetensors"]


def test_json_reports_every_tensor(mxgemm, tmp_path):
    small_model(tmp_path / "in.safetensors")
    result = mxgemm(
        "quantize", "in.safetensors", "out.safetensors", "--format", "nvf4", "--json"
    ).json
    assert result["format"] == "nvf4"
    rows = {row["name"]: row for row in result["tensors"]}
    assert len(rows) == 7
    weight = rows["layers.0.mlp.weight"]
    assert weight["quantized"] is True
    assert weight["bytes_before"] == 48 * 64 * 4
    assert weight["bytes_after"] == 48 * 32 + 48 * 4 + 4
    assert 18 < weight["sqnr_db"] < 23
    assert rows["steps"]["quantized"] is False
    assert rows["steps"]["bytes_after"] == rows["steps"]["bytes_before"] == 48


def test_the_reported_sqnr_is_that_of_the_decoded_tensor(mxgemm, tmp_path):
    values = normal((64, 128), 9)
    save_file({"w": values}, tmp_path / "in.safetensors")
    arguments = ["in.safetensors", "out.safetensors", "--format", "mxf4", "--json"]
    (row,) = mxgemm("quantize", *arguments).json["tensors"]
    qdata, scale = oracle.quantize_mx(values, "mxf4")
    error = oracle.decode(qdata, scale, "mxf4") - values
    sqnr = 10 * np.log10(np.sum(values.astype(np.float64) ** 2) / np.sum(error**2))
    assert row["sqnr_db"] == pytest.approx(sqnr, abs=1e-9)


def test_sqnr_that_json_cannot_hold_is_null(mxgemm, tmp_path):
    tensors = {"zero": np.zeros((2, 32), np.float32), "one": np.ones((2, 32), np.float32)}
    save_file(tensors, tmp_path / "in.safetensors")
    outcome = mxgemm("quantize", "in.safetensors", "out.safetensors", "--format", "mxf4", "--json")
    assert [row["sqnr_db"] for row in outcome.json["tensors"]] == [None, None]


def test_elements_lost_to_nan_blocks_are_reported(mxgemm, tmp_path):
    values = normal((2, 64), 1)
    values[0, 3] = np.nan
    save_file({"w": values}, tmp_path / "in.safetensors")
    outcome = mxgemm("quantize", "in.safetensors", "out.safetensors", "--format", "mxf4")
    assert "31 finite elements became NaN" in outcome.err


def test_include_and_exclude(mxgemm, tmp_path):
    small_model(tmp_path / "in.safetensors")

    def quantized(*options):
        arguments = ["in.safetensors", "out.safetensors", "--format", "mxf4", "--force", "--json"]
        rows = mxgemm("quantize", *arguments, *options).json["tensors"]
        return sorted(row["name"] for row in rows if row["quantized"])

    assert quantized("--include", "^embed") == ["embed_tokens.weight"]
    assert quantized("--include", r"weight$", "--exclude", "odd|embed|head") == [
        "layers.0.input_norm.weight",
        "layers.0.mlp.weight",
    ]
    # 1-D tensors that a pattern catches along with the matrices are kept.
    assert quantized("--include", r"layers\.\d+\.mlp") == ["layers.0.mlp.weight"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--include", "odd"], ["'odd.weight'", "K = 40", "32"]),
        (["--include", "("], ["--include '('", "regular expression"]),
        (["--exclude", "["], ["--exclude '['", "regular expression"]),
        (["--include", "nothing"], ["no tensor to quantise"]),
        (["--exclude", "."], ["no tensor to quantise"]),
        (["--scale-rule", "best"], ["--scale-rule", "floor"]),
        (["--min-block-scale", "0.5"], ["min_block_scale"]),
        (["--one-level"], ["global_scale_mode"]),
        (["--seed", "3"], ["--stochastic"]),
        (["--stochastic", "--seed", "-3"], ["--seed"]),
        (["--stochastic", "--offset", "18446744073709551616"], ["--offset", "2^64 - 1"]),
        (["--stochastic", "--seed", "0x10"], ["--seed", "0x10"]),
        (["--min-block-scale", "1e999"], ["--min-block-scale", "1e999", "finite"]),
        (["--min-block-scale", "1e-60"], ["--min-block-scale", "1e-60", "fp32"]),
        (["--format", "mxf6"], ["--format", "mxf4"]),
    ],
    ids=lambda v: "".join(v),
)
def test_bad_options_are_named(mxgemm, tmp_path, options, words):
    small_model(tmp_path / "in.safetensors")
    base = [] if "--format" in options else ["--format", "mxf4"]
    outcome = mxgemm("quantize", "in.safetensors", "out.safetensors", *base, *options, code=2)
    for word in words:
        assert word in outcome.err
    assert names_in(tmp_path) == ["in.safetensors"]


def test_numbers_are_decimal(mxgemm, tmp_path):
    """A C library reads "010" as eight."""
    save_file({"w": normal((2, 64), 1)}, tmp_path / "in.safetensors")
    for name, seed in {"a": "010", "b": "10"}.items():
        options = ["--format", "mxf4", "--stochastic", "--seed", seed, "--offset", seed]
        mxgemm("quantize", "in.safetensors", f"{name}.safetensors", *options)
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


@pytest.mark.parametrize("arguments", [["nosuch"], ["quantize", "--nosuch"], ["gemm", "--nosuch"]])
def test_an_unknown_command_or_option_is_named(mxgemm, arguments):
    assert "nosuch" in mxgemm(*arguments, code=2).err


@pytest.mark.parametrize("options", [["--preset", "ocp"], ["--scale-rule", "floor"]])
def test_options_that_nvf4_does_not_have(mxgemm, tmp_path, options):
    small_model(tmp_path / "in.safetensors")
    mxgemm("quantize", "in.safetensors", "o.safetensors", "--format", "nvf4", *options, code=2)


def test_a_name_that_is_taken_is_an_error(mxgemm, tmp_path):
    save_file(
        {"w": normal((4, 32)), "w.scale": np.zeros(3, np.float32)}, tmp_path / "in.safetensors"
    )
    outcome = mxgemm("quantize", "in.safetensors", "o.safetensors", "--format", "mxf4", code=4)
    assert "'w.scale'" in outcome.err
    assert names_in(tmp_path) == ["in.safetensors"]


def test_a_second_pass_adds_to_the_first(mxgemm, tmp_path):
    save_file({"a": normal((4, 32), 1), "b": normal((4, 32), 2)}, tmp_path / "0.safetensors")
    mxgemm("quantize", "0.safetensors", "1.safetensors", "--format", "mxf4", "--include", "a")
    mxgemm("quantize", "1.safetensors", "2.safetensors", "--format", "nvf4", "--include", "^b$")
    tensors, metadata = read_raw(tmp_path / "2.safetensors")
    record = json.loads(metadata["mxgemm"])["tensors"]
    assert {name: entry["format"] for name, entry in record.items()} == {"a": "mxf4", "b": "nvf4"}
    assert sorted(tensors) == ["a.qdata", "a.scale", "b.global_scale", "b.qdata", "b.scale"]
    mxgemm("dequantize", "2.safetensors", "3.safetensors")
    back, metadata = read_raw(tmp_path / "3.safetensors")
    assert sorted(back) == ["a", "b"]
    assert metadata is None


@pytest.mark.parametrize(("dtype", "wanted"), [("f32", "F32"), ("bf16", "BF16"), ("f16", "F16")])
def test_dequantize_to_any_type(mxgemm, tmp_path, dtype, wanted):
    values = normal((4, 64), 2, 1e-3)
    save_file({"w": values, "kept": np.arange(3)}, tmp_path / "in.safetensors")
    mxgemm("quantize", "in.safetensors", "q.safetensors", "--format", "mxf8")
    result = mxgemm("dequantize", "q.safetensors", "b.safetensors", "--dtype", dtype, "--json").json
    assert result["tensors"] == [
        {"name": "w", "shape": [4, 64], "format": "mxf8e4m3", "dtype": wanted}
    ]
    tensors, _ = read_raw(tmp_path / "b.safetensors")
    numpy_type = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}[dtype]
    decoded = oracle.decode(*oracle.quantize_mx(values, "mxf8e4m3"), "mxf8e4m3")
    assert tensors["w"][:2] == (wanted, [4, 64])
    got = np.frombuffer(tensors["w"][2], numpy_type).astype(np.float64).reshape(4, 64)
    np.testing.assert_array_equal(got, oracle.round_to(decoded, dtype))
    assert tensors["kept"][2] == np.arange(3).tobytes()


def test_dequantize_gives_back_the_type_that_was_quantised(mxgemm, tmp_path):
    stored = normal((4, 32)).astype(ml_dtypes.bfloat16)
    raw_safetensors(tmp_path / "in.safetensors", {"w": ("BF16", (4, 32), stored.tobytes())})
    mxgemm("quantize", "in.safetensors", "q.safetensors", "--format", "mxf4")
    mxgemm("dequantize", "q.safetensors", "b.safetensors")
    assert read_raw(tmp_path / "b.safetensors")[0]["w"][0] == "BF16"


def damage(path, change):
    tensors, metadata = read_raw(path)
    change(tensors, metadata)
    raw_safetensors(path, tensors, metadata)


@pytest.mark.parametrize("part", ["w.scale", "w.qdata", "w.global_scale"])
def test_a_missing_part_is_named(mxgemm, tmp_path, part):
    save_file({"w": normal((64, 128))}, tmp_path / "in.safetensors")
    mxgemm("quantize", "in.safetensors", "q.safetensors", "--format", "nvf4")
    damage(tmp_path / "q.safetensors", lambda tensors, _: tensors.pop(part))
    for command in (
        ["dequantize", "q.safetensors", "b.safetensors"],
        ["gemm", "q.safetensors:w", "q.safetensors:w", "-o", "d.npy"],
    ):
        outcome = mxgemm(*command, code=4)
        assert f"'{part}' is missing" in outcome.err
    assert names_in(tmp_path) == ["in.safetensors", "q.safetensors"]


def test_scales_of_half_the_size_are_an_error(mxgemm, tmp_path):
    save_file({"w": normal((64, 128))}, tmp_path / "in.safetensors")
    mxgemm("quantize", "in.safetensors", "q.safetensors", "--format", "nvf4")

    def halve(tensors, _):
        tensors["w.scale"] = ("U8", [64, 4], bytes(64 * 4))

    damage(tmp_path / "q.safetensors", halve)
    outcome = mxgemm("dequantize", "q.safetensors", "b.safetensors", code=4)
    assert "'w.scale': expected [64, 8] of U8, got [64, 4] of U8" in outcome.err


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ("{", "bad JSON"),
        ("{}", "layout is missing"),
        ('{"layout": 2, "tensors": {}}', "layout is 2"),
        ('{"layout": 1, "tensors": []}', "tensors is not an object"),
        ('{"layout": 1, "tensors": {"w": {"format": "mxf9"}}}', "'mxf9'"),
        ('{"layout": 1, "tensors": {"w": {"format": "bf16", "shape": [1, 32]}}}', "'bf16'"),
        ('{"layout": 1, "tensors": {"w": {"format": "mxf4", "shape": [1, 33]}}}', "33"),
        ('{"layout": 1, "tensors": {"w": {"format": "mxf4", "shape": [1, -32]}}}', "-32"),
        ('{"layout": 1, "tensors": {"w": {"format": "mxf4", "shape": [32]}}}', "array of two"),
        ('{"layout": 1, "tensors": {"../w": {"format": "mxf4", "shape": [1, 32]}}}', "'..'"),
        (
            '{"layout":1,"tensors":{"w":{"format":"mxf4","shape":[9223372036854775807,'
            '9223372036854775776],"scales":"swizzled","dtype":"F32"}}}',
            "2^63",
        ),
    ],
)
def test_a_damaged_record_is_an_error(mxgemm, tmp_path, entry, word):
    raw_safetensors(tmp_path / "q.safetensors", {"x": ("U8", [1], b"x")}, {"mxgemm": entry})
    outcome = mxgemm("dequantize", "q.safetensors", "b.safetensors", code=4)
    assert "q.safetensors" in outcome.err
    assert word in outcome.err


def test_a_file_without_record_is_an_error(mxgemm, tmp_path):
    small_model(tmp_path / "in.safetensors")
    outcome = mxgemm("dequantize", "in.safetensors", "b.safetensors", code=4)
    assert "no tensor was quantised by mxgemm" in outcome.err


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_a_global_scale_that_is_none_is_an_error(mxgemm, tmp_path, value):
    save_file({"w": normal((4, 32))}, tmp_path / "in.safetensors")
    mxgemm("quantize", "in.safetensors", "q.safetensors", "--format", "nvf4")

    def spoil(tensors, _):
        tensors["w.global_scale"] = ("F32", [], np.float32(value).tobytes())

    damage(tmp_path / "q.safetensors", spoil)
    outcome = mxgemm("dequantize", "q.safetensors", "b.safetensors", code=4)
    assert "finite and above 0" in outcome.err
