# SPDX-License-Identifier: Apache-2.0
"""quantize: bytes against the independent oracle, for every format, rule, source type and mode."""

import ml_dtypes
import mxgemm
import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

SOURCES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
NAN, INF = np.nan, np.inf


def samples(rng: np.random.Generator, rows: int, cols: int) -> np.ndarray:
    """Rows of very different magnitude, with zeros, negative zeros and exact ties among them."""
    x = rng.standard_normal((rows, cols)) * np.exp2(rng.integers(-20, 12, (rows, 1)))
    x = np.where(rng.random((rows, cols)) < 0.1, rng.choice([0.0, -0.0, 1.25, -5.0], x.shape), x)
    return x.astype(np.float32)


def expect_mx(x: np.ndarray, name: str, **options: str) -> None:
    q = mxgemm.quantize(x, name, **options)
    qdata, scale = oracle.quantize_mx(
        x.astype(np.float32),
        name,
        options.get("scale_rule", "even"),
        options.get("nonfinite", "nan"),
    )
    np.testing.assert_array_equal(q.scale, scale)
    np.testing.assert_array_equal(q.qdata, qdata)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("rule", oracle.RULES)
@pytest.mark.parametrize("name", oracle.MX_FORMATS)
def test_mx_bytes(rng: np.random.Generator, name: str, rule: str, source: str) -> None:
    expect_mx(samples(rng, 37, 96).astype(SOURCES[source]), name, scale_rule=rule)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("level", ["two", "one", "given"])
def test_nvf4_bytes(rng: np.random.Generator, level: str, source: str) -> None:
    x = samples(rng, 37, 48).astype(SOURCES[source])
    given_scale = {"two": None, "one": 1.0, "given": 0.0123}[level]
    q = mxgemm.quantize(x, "nvf4", global_scale=given_scale)
    g = oracle.nvf4_global_scale(x) if level == "two" else np.float32(given_scale)
    assert q.global_scale == g
    qdata, scale = oracle.quantize_nvf4(x, g)
    np.testing.assert_array_equal(q.scale, scale)
    np.testing.assert_array_equal(q.qdata, qdata)


any_float32 = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 2.0**-149, 2.0**-127, 2.0**127, 3.4028235e38, 6.0, 448.0, 57344.0]),
)
blocks = hnp.arrays(np.float32, (3, 32), elements=any_float32)


@given(blocks, st.sampled_from(oracle.MX_FORMATS), st.sampled_from(oracle.RULES))
def test_mx_any_finite_block(x: np.ndarray, name: str, rule: str) -> None:
    expect_mx(x, name, scale_rule=rule)


@given(blocks, st.sampled_from(oracle.MX_FORMATS), st.sampled_from(["nan", "saturate"]), st.data())
def test_mx_nonfinite_blocks(x: np.ndarray, name: str, mode: str, data: st.DataObject) -> None:
    for _ in range(2):
        place = data.draw(st.tuples(st.integers(0, 2), st.integers(0, 31)))
        x[place] = data.draw(st.sampled_from([NAN, INF, -INF]))
    expect_mx(x, name, nonfinite=mode)


@given(blocks, st.sampled_from([None, 1.0, 2.0**-126, 0.3]))
def test_nvf4_any_finite_block(x: np.ndarray, given_scale: float | None) -> None:
    q = mxgemm.quantize(x, "nvf4", global_scale=given_scale)
    g = oracle.nvf4_global_scale(x) if given_scale is None else np.float32(given_scale)
    assert q.global_scale == g
    qdata, scale = oracle.quantize_nvf4(x, g)
    np.testing.assert_array_equal(q.scale, scale)
    np.testing.assert_array_equal(q.qdata, qdata)


def test_ties_go_to_the_even_code() -> None:
    """Bug kind 1."""
    ties = [5.0, 3.5, 2.5, 1.75, 1.25, 0.75, 0.25]
    x = np.array(ties + [-t for t in ties] + [0.0] * 18)
    for dtype in SOURCES.values():
        q = mxgemm.quantize(x.astype(dtype), "mxf4", scale_rule="floor")
        assert q.scale.tolist() == [127]
        codes = oracle.unpack(q.qdata, oracle.FORMATS["mxf4"])
        assert codes.tolist() == [6, 6, 4, 4, 2, 2, 0, 14, 14, 12, 12, 10, 10, 8] + [0] * 18


@pytest.mark.parametrize("mode", ["nan", "saturate"])
def test_nvf4_nonfinite(mode: str) -> None:
    x = np.ones((4, 16), np.float32)
    x[0, 3], x[1, 5], x[2, 0] = NAN, INF, -INF
    q = mxgemm.quantize(x, "nvf4", nonfinite=mode)
    assert q.global_scale == np.float32(1) / np.float32(2688)
    qdata, scale = oracle.quantize_nvf4(x, np.float32(q.global_scale), mode)
    np.testing.assert_array_equal(q.scale, scale)
    np.testing.assert_array_equal(q.qdata, qdata)
    assert scale[:, 0].tolist()[:3] == ([0x7F, 0x7F, 0x7F] if mode == "nan" else [0x7F, 0x7E, 0x7E])


@pytest.mark.parametrize(
    ("name", "preset", "same_as"),
    [
        ("mxf4", "ocp", {"scale_rule": "floor", "nonfinite": "nan"}),
        ("mxf8", "torchao", {"scale_rule": "floor", "nonfinite": "nan"}),
        ("mxf8e5m2", "cuda", {"scale_rule": "rceil", "nonfinite": "saturate"}),
        ("nvf4", "torchao", {"min_block_scale": 2.0**-6}),
        ("nvf4", "cuda", {"nonfinite": "saturate"}),
    ],
)
def test_preset_is_its_options(
    rng: np.random.Generator, name: str, preset: str, same_as: dict[str, str | float]
) -> None:
    x = samples(rng, 20, 64)
    x[3, 5], x[7, 9], x[9, :32] = INF, NAN, 0
    x[11, 0] = 1.99 * 2**20  # `even` rounds it up to 2^21 in every format, `floor` does not
    by_preset = mxgemm.quantize(x, name, preset=preset)
    by_options = mxgemm.quantize(x, name, **same_as)
    plain = mxgemm.quantize(x, name)
    assert by_preset.scale.tobytes() == by_options.scale.tobytes()
    assert by_preset.qdata.tobytes() == by_options.qdata.tobytes()
    assert by_preset.scale.tobytes() != plain.scale.tobytes()


def test_option_wins_over_preset(rng: np.random.Generator) -> None:
    x = samples(rng, 20, 64)
    q = mxgemm.quantize(x, "mxf4", preset="ocp", scale_rule="ceil")
    assert q.scale.tobytes() == mxgemm.quantize(x, "mxf4", scale_rule="ceil").scale.tobytes()


def test_nvf4_torchao_zero_block() -> None:
    q = mxgemm.quantize(np.zeros((1, 16), np.float32), "nvf4", preset="torchao")
    assert (q.scale.tolist(), q.qdata.any(), q.global_scale) == ([[0x08]], False, 1.0)


def test_philox_known_answers() -> None:
    """The oracle's own check: without it two equal mistakes could agree."""
    assert oracle.philox4x32([0] * 4, [0, 0]) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert oracle.philox4x32([5, 0, 0, 0], [1, 0]) == [
        *(0x2907FE46, 0x4BAAF5D2, 0x1A9C5FA2, 0x42A90185),
    ]


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
@pytest.mark.parametrize("offset", [0, 7, 2**64 - 2])
@pytest.mark.parametrize("name", oracle.FORMATS)
def test_stochastic_bytes(rng: np.random.Generator, name: str, seed: int, offset: int) -> None:
    x = samples(rng, 5, 96)
    q = mxgemm.quantize(x, name, rounding="stochastic", seed=seed, offset=offset)
    r = oracle.random_words(x.size, seed, offset)
    if name == "nvf4":
        qdata, scale = oracle.quantize_nvf4(x, oracle.nvf4_global_scale(x), r=r)
    else:
        qdata, scale = oracle.quantize_mx(x, name, r=r)
    np.testing.assert_array_equal(q.scale, scale)
    np.testing.assert_array_equal(q.qdata, qdata)


def test_threads_do_not_change_bytes(rng: np.random.Generator) -> None:
    x = samples(rng, 257, 512)
    before = mxgemm.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 5):
            mxgemm.set_num_threads(threads)
            results.append([mxgemm.quantize(x, name) for name in oracle.FORMATS])
    finally:
        mxgemm.set_num_threads(before)
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            assert first.qdata.tobytes() == second.qdata.tobytes()
            assert first.scale.tobytes() == second.scale.tobytes()


def test_shapes() -> None:
    """Leading dimensions are rows; nothing is squeezed or flattened in the result."""
    x = np.ones((2, 3, 64), np.float32)
    q = mxgemm.quantize(x, "mxf4")
    assert (q.shape, q.qdata.shape, q.scale.shape) == ((2, 3, 64), (2, 3, 32), (2, 3, 2))
    q = mxgemm.quantize(x, "mxf8", scale_layout="swizzle_32_4_4")
    assert (q.shape, q.qdata.shape, q.scale.shape) == ((2, 3, 64), (2, 3, 64), (512,))
    q = mxgemm.quantize(x[0, 0], "nvf4")
    assert (q.shape, q.qdata.shape, q.scale.shape) == ((64,), (32,), (4,))
    assert q.nbytes == 36


@pytest.mark.parametrize("shape", [(0, 64), (3, 0), (0, 0), (2, 0, 32), (0,)])
@pytest.mark.parametrize("layout", ["row_major", "swizzle_32_4_4"])
@pytest.mark.parametrize("name", oracle.FORMATS)
def test_empty(name: str, layout: str, shape: tuple[int, ...]) -> None:
    q = mxgemm.quantize(np.empty(shape, np.float32), name, scale_layout=layout)
    assert (q.shape, q.qdata.size, q.scale.size) == (shape, 0, 0)
    assert mxgemm.dequantize(q).shape == shape


def test_uint16_is_bf16_bits_if_said() -> None:
    x = np.arange(64, dtype=np.float32).reshape(2, 32).astype(ml_dtypes.bfloat16)
    by_bits = mxgemm.quantize(x.view(np.uint16), "mxf4", src_format="bf16")
    assert by_bits.qdata.tobytes() == mxgemm.quantize(x, "mxf4").qdata.tobytes()


@pytest.mark.parametrize(
    ("name", "cols", "block"),
    [("mxf4", 16, 32), ("mxf4", 40, 32), ("mxf8", 16, 32), ("mxf8", 40, 32), ("nvf4", 24, 16)],
)
def test_k_not_a_multiple_of_the_block(name: str, cols: int, block: int) -> None:
    """Bug kind 28."""
    with pytest.raises(ValueError, match=rf"(?s)(?=.*\b{cols}\b)(?=.*\b{block}\b)") as caught:
        mxgemm.quantize(np.ones((4, cols), np.float32), name)
    assert isinstance(caught.value, mxgemm.InvalidArgument)


def test_nvf4_of_16_columns() -> None:
    """Bug kind 28, the case that must work."""
    q = mxgemm.quantize(np.ones((4, 16), np.float32), "nvf4")
    assert (mxgemm.dequantize(q) == 1).all()


ONES = np.ones((2, 32), np.float32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(x=ONES.astype(np.float64)), r"^x has dtype float64; allowed: float32"),
        (dict(x=ONES.astype(np.int32)), r"^x has dtype int32"),
        (dict(x=ONES.astype(">f4")), r"^x has dtype >f4 \(swapped bytes\)"),
        (dict(x=ONES.astype(np.uint16)), r"^x has dtype uint16; say that its format is 'bf16'"),
        (dict(x=ONES, src_format="f16"), r"^x has dtype float32, which is not format 'f16'"),
        (dict(x=ONES, src_format="mxf4"), r"^the format of x is 'mxf4'; allowed: 'bf16'"),
        (dict(x=ONES.tolist()), r"^x is a list; it must be a numpy array"),
        (dict(x=np.ma.masked_array(ONES)), r"^x is an array .*it must be a numpy array"),
        (dict(x=np.float32(1)), r"^x is a float32; it must be a numpy array"),
        (dict(x=np.ones((), np.float32)), r"^x has no dimension"),
        (dict(format="mxfp4"), r"^format is 'mxfp4'; allowed: 'mxf4', 'nvf4', .* or 'mxf8'$"),
        (dict(format="bf16"), r"^format is 'bf16'; allowed"),
        (dict(format=1), r"^format is 1; allowed"),
        (dict(scale_layout="swizzled"), r"^scale_layout is 'swizzled'; allowed: 'row_major' or"),
        (dict(scale_rule="round"), r"^scale_rule is 'round'; allowed: 'floor', 'ceil', 'even'"),
        (dict(nonfinite=0), r"^nonfinite is 0; allowed: 'nan' or 'saturate'"),
        (dict(preset="default"), r"^preset is 'default'; allowed: 'ocp', 'torchao' or 'cuda'"),
        (dict(rounding="nearest"), r"^rounding is 'nearest'; allowed"),
        (dict(rounding="stochastic"), r"^seed is None; rounding='stochastic' needs an integer"),
        (dict(rounding="stochastic", seed=-1), r"^seed is -1; it must be an integer from 0 to"),
        (dict(rounding="stochastic", seed=1.0), r"^seed is 1.0; it must be an integer"),
        (dict(seed=1), r"^seed is 1; only rounding='stochastic' uses it"),
        (dict(offset=0), r"^offset is 0; only rounding='stochastic' uses it"),
        (dict(global_scale=1.0), r"^global_scale is 1.0; only nvf4 has one"),
        (dict(min_block_scale=0.0), r"^min_block_scale is 0.0; only nvf4 uses it"),
        (dict(format="nvf4", global_scale=0.0), r"^global_scale is 0.0; it must be finite and > 0"),
        (dict(format="nvf4", global_scale=INF), r"^global_scale is inf; it must be finite"),
        (dict(format="nvf4", global_scale=1e-60), r"^global_scale is 0.0; it must be finite"),
        (dict(format="nvf4", global_scale="1"), r"^global_scale is '1'; it must be a number"),
        (dict(format="nvf4", scale_rule="even"), r"scale_rule"),
        (dict(format="nvf4", preset="ocp"), r"preset"),
        (dict(format="nvf4", min_block_scale=449.0), r"min_block_scale.*449"),
        (dict(format="nvf4", min_block_scale=-1.0), r"min_block_scale.*-1"),
        (dict(format="nvf4", min_block_scale=NAN), r"min_block_scale.*nan"),
    ],
)
def test_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.quantize(**{"x": ONES, "format": "mxf4"} | arguments)
