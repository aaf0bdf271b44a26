# SPDX-License-Identifier: Apache-2.0
"""`mxgemm gemm` on npy and safetensors files against numpy in float64."""

import ml_dtypes
import numpy as np
import oracle
import pytest
from conftest import names_in, normal, raw_safetensors
from safetensors.numpy import save_file


def small_integers(shape, seed):
    """Exact in every format with a largest element of 6 in each block, sums exact in float32."""
    magnitudes = np.array([0, 1, 2, 3, 4, 6], np.float32)
    generator = np.random.default_rng(seed)
    values = generator.choice(magnitudes, shape) * generator.choice([-1, 1], shape)
    values[..., ::16] = 6
    return values.astype(np.float32)


PAIRS = [(a, b, []) for a in ("", "mxf4", "mxf8") for b in ("mxf4", "mxf8", "mxf8e5m2")] + [
    # NVFP4's computed global scale would round; one level keeps small integers as they are.
    ("", "nvf4", ["--one-level"]),
    ("nvf4", "nvf4", ["--one-level"]),
]


@pytest.mark.parametrize("out_format", ["f32", "bf16", "f16"])
@pytest.mark.parametrize(("format_a", "format_b", "options"), PAIRS)
def test_exact_products(mxgemm, tmp_path, format_a, format_b, options, out_format):
    a, b = small_integers((5, 64), 1), small_integers((7, 64), 2)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    options = options + (["--format-a", format_a] if format_a else [])
    arguments = ["--format-b", format_b, "--out-format", out_format, "-o", "d.npy", "--json"]
    result = mxgemm("gemm", "a.npy", "b.npy", *options, *arguments).json
    d = np.load(tmp_path / "d.npy")
    if out_format == "bf16":
        d = d.view(ml_dtypes.bfloat16)
    wanted = oracle.round_to(a.astype(np.float64) @ b.T, out_format)
    np.testing.assert_array_equal(d.astype(np.float64), wanted)
    assert (result["m"], result["n"], result["k"]) == (5, 7, 64)
    assert result["format_a"] == {"": "f32", "mxf8": "mxf8e4m3"}.get(format_a, format_a)
    assert result["kernel"].startswith("cpu:")
    assert result["seconds"] >= 0


@pytest.mark.parametrize("source", ["F32", "BF16", "F16"])
def test_a_quantised_tensor_of_a_file(mxgemm, tmp_path, source):
    dtype = {"F32": np.float32, "BF16": ml_dtypes.bfloat16, "F16": np.float16}[source]
    x = normal((6, 96), 1).astype(dtype)
    weight = normal((10, 96), 2)
    # A name of 3 bytes more than a multiple of 4 puts x at an odd address.
    raw_safetensors(
        tmp_path / "x.safetensors", {"p": ("U8", [1], b"p"), "x:y": (source, [6, 96], x.tobytes())}
    )
    save_file({"layers.0.weight": weight}, tmp_path / "w.safetensors")
    for name, scales in [("mxf4", "row_major"), ("nvf4", "swizzled")]:
        mxgemm(
            "quantize",
            "w.safetensors",
            "q.safetensors",
            "--format",
            name,
            "--scales",
            scales,
            "--force",
        )
        mxgemm("gemm", "x.safetensors:x:y", "q.safetensors:layers.0.weight", "-o", "d.npy")
        if name == "nvf4":
            g = oracle.nvf4_global_scale(weight)
            decoded = oracle.decode(*oracle.quantize_nvf4(weight, g), name, g)
        else:
            decoded = oracle.decode(*oracle.quantize_mx(weight, name), name)
        exact = x.astype(np.float64) @ decoded.T
        magnitude = np.abs(x.astype(np.float64)) @ np.abs(decoded).T
        # The bound of docs/formats.md for f32 output, alpha' included.
        bound = 96 * (2.0**-23 * magnitude + 2.0**-126) + 2.0**-22 * magnitude
        assert np.all(np.abs(np.load(tmp_path / "d.npy") - exact) <= bound)


@pytest.mark.parametrize(
    ("act", "function"),
    [
        ("none", lambda x: x),
        ("relu", lambda x: np.maximum(x, 0)),
        ("silu", lambda x: x / (1 + np.exp(-x))),
    ],
)
@pytest.mark.parametrize("bias_file", ["bias.npy", "bias.safetensors:b"])
def test_bias_alpha_and_activation(mxgemm, tmp_path, act, function, bias_file):
    a, b, bias = small_integers((3, 32), 1), small_integers((4, 32), 2), normal((4,), 3)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    np.save(tmp_path / "bias.npy", bias)
    save_file({"b": bias}, tmp_path / "bias.safetensors")
    options = ["--format-b", "mxf4", "--bias", bias_file, "--act", act, "--alpha", "0.25"]
    mxgemm("gemm", "a.npy", "b.npy", *options, "-o", "d.npy")
    wanted = function(0.25 * (a.astype(np.float64) @ b.T) + bias)
    np.testing.assert_allclose(np.load(tmp_path / "d.npy"), wanted, rtol=1e-6, atol=1e-6)


def test_the_kernel_can_be_chosen(mxgemm, tmp_path):
    np.save(tmp_path / "a.npy", small_integers((3, 32), 1))
    arguments = ["a.npy", "a.npy", "--format-a", "mxf4", "--format-b", "mxf4", "-o", "d.npy"]
    kernels = mxgemm("info", "--json").json["kernels"]
    scalar = next(k["kernel"] for k in kernels if k["kernel"].startswith("cpu:scalar:"))
    assert mxgemm("gemm", *arguments, "--kernel", scalar, "--json").json["kernel"] == scalar
    before = (tmp_path / "d.npy").read_bytes()
    mxgemm("gemm", *arguments)
    assert (tmp_path / "d.npy").read_bytes() == before


@pytest.fixture
def matrices(tmp_path):
    np.save(tmp_path / "a.npy", small_integers((3, 64), 1))
    np.save(tmp_path / "b.npy", small_integers((4, 64), 2))
    np.save(tmp_path / "short.npy", small_integers((4, 32), 2))
    np.save(tmp_path / "odd.npy", small_integers((4, 33), 2))
    np.save(tmp_path / "double.npy", np.ones((4, 64)))
    np.save(tmp_path / "fortran.npy", np.asfortranarray(small_integers((4, 64), 2)))
    np.save(tmp_path / "big.npy", small_integers((4, 64), 2).astype(">f4"))
    np.save(tmp_path / "vector.npy", small_integers((64,), 2))
    np.save(tmp_path / "cube.npy", small_integers((2, 2, 64), 2))
    save_file(
        {"w": small_integers((4, 64), 2), "i": np.ones((4, 64), np.int8)},
        tmp_path / "w.safetensors",
    )
    mxgemm_input = names_in(tmp_path)
    yield
    assert names_in(tmp_path) == mxgemm_input, "a failure leaves nothing"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["a.npy", "b.npy"], 2, ["B is f32", "--format-b"]),
        (["a.npy", "short.npy", "--format-b", "mxf4"], 2, ["K differs", "3 x 64", "4 x 32"]),
        (["odd.npy", "odd.npy", "--format-b", "mxf4"], 2, ["33", "32"]),
        (["a.npy", "vector.npy", "--format-b", "mxf4"], 2, ["not vectors"]),
        (["a.npy", "b.npy", "--format-b", "bf16"], 2, ["--format-b"]),
        (["a.npy", "b.npy", "--format-b", "mxf4", "--act", "tanh"], 2, ["--act"]),
        (
            ["a.npy", "b.npy", "--format-b", "mxf4", "--bias", "vector.npy"],
            2,
            ["bias", "64", "N is 4"],
        ),
        (["a.npy", "b.npy", "--format-b", "mxf4", "--alpha", "nan"], 2, ["--alpha", "finite"]),
        (["a.npy", "b.npy", "--format-b", "mxf4", "--alpha", "1e999"], 2, ["--alpha", "1e999"]),
        (
            ["a.npy", "b.npy", "--format-b", "mxf4", "--kernel", "foo"],
            2,
            ["--kernel is 'foo'", "cpu:scalar:"],
        ),
        (["a.npy", "b.npy", "--format-b", "mxf4", "--device", "tpu"], 2, ["tpu"]),
        (["a.npy", "b.npy", "--format-b", "mxf4", "--device", "all"], 2, ["'all'", "cuda:N"]),
        (["a.npy", "b.npy", "--format-b", "mxf4", "--device", "cuda:99"], 3, []),
        (["a.npy", "w.safetensors"], 2, ["w.safetensors:NAME"]),
        (["a.npy", "w.safetensors:none", "--format-b", "mxf4"], 4, ["no tensor 'none'"]),
        (["a.npy", "w.safetensors:i", "--format-b", "mxf4"], 4, ["I8", "F32, BF16 and F16"]),
        (["a.npy", "cube.npy", "--format-b", "mxf4"], 4, ["[2, 2, 64]"]),
        (["a.npy", "double.npy", "--format-b", "mxf4"], 4, ["F64"]),
        (["a.npy", "fortran.npy", "--format-b", "mxf4"], 4, ["Fortran order", "ascontiguousarray"]),
        (["a.npy", "big.npy", "--format-b", "mxf4"], 4, ["big-endian"]),
        (["a.npy", "missing.npy", "--format-b", "mxf4"], 4, ["missing.npy", "No such file"]),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else str(v),
)
@pytest.mark.usefixtures("matrices")
def test_bad_operands_are_named(mxgemm, arguments, code, words):
    outcome = mxgemm("gemm", *arguments, "-o", "d.npy", code=code)
    for word in words:
        assert word in outcome.err


def test_a_format_beside_a_quantised_tensor_must_be_its_own(mxgemm, tmp_path):
    save_file({"w": small_integers((4, 64), 2)}, tmp_path / "w.safetensors")
    mxgemm("quantize", "w.safetensors", "q.safetensors", "--format", "mxf4")
    operands = ["gemm", "q.safetensors:w", "q.safetensors:w", "-o", "d.npy"]
    mxgemm(*operands, "--format-b", "mxf4")
    outcome = mxgemm(*operands, "--format-b", "nvf4", code=2)
    assert "in mxf4 already" in outcome.err


def test_the_output_is_no_input(mxgemm, tmp_path):
    np.save(tmp_path / "a.npy", small_integers((3, 32), 1))
    before = (tmp_path / "a.npy").read_bytes()
    arguments = ["a.npy", "a.npy", "--format-a", "mxf4", "--format-b", "mxf4"]
    assert "input" in mxgemm("gemm", *arguments, "-o", "a.npy", code=2).err
    assert "regular file" in mxgemm("gemm", *arguments, "-o", "/dev/null", code=2).err
    assert (tmp_path / "a.npy").read_bytes() == before


@pytest.mark.parametrize(("m", "n", "k"), [(0, 3, 32), (3, 0, 32), (3, 2, 0)])
def test_empty_operands(mxgemm, tmp_path, m, n, k):
    np.save(tmp_path / "a.npy", np.ones((m, k), np.float32))
    np.save(tmp_path / "b.npy", np.ones((n, k), np.float32))
    mxgemm("gemm", "a.npy", "b.npy", "--format-b", "mxf4", "-o", "d.npy")
    d = np.load(tmp_path / "d.npy")
    np.testing.assert_array_equal(d, np.full((m, n), float(k), np.float32))
