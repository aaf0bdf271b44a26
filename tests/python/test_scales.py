# SPDX-License-Identifier: Apache-2.0
"""swizzle_scales, unswizzle_scales: shapes, bytes, padding; nothing is swizzled twice."""

import dataclasses

import ml_dtypes
import mxgemm
import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st


def test_round_trip_of_130_by_9(rng: np.random.Generator) -> None:
    """Bug kind 14."""
    scale = rng.integers(0, 256, (130, 9), np.uint8)
    swizzled = mxgemm.swizzle_scales(scale)
    assert swizzled.shape == (3072,)
    np.testing.assert_array_equal(mxgemm.unswizzle_scales(swizzled, 130, 9), scale)


def test_offsets_of_128_by_2() -> None:
    """Bug kind 16."""
    r, c = np.indices((128, 2))
    scale = ((2 * r + c) % 251).astype(np.uint8)
    swizzled = mxgemm.swizzle_scales(scale)
    assert swizzled.shape == (512,)
    for offset, place in {16: (1, 0), 17: (1, 1), 4: (32, 0), 21: (33, 1), 508: (127, 0)}.items():
        assert swizzled[offset] == scale[place]
    assert not swizzled.reshape(128, 4)[:, 2:].any()


@given(st.integers(0, 300), st.integers(0, 13), st.integers(0, 2**32))
def test_any_shape(rows: int, cols: int, seed: int) -> None:
    scale = np.random.default_rng(seed).integers(0, 256, (rows, cols), np.uint8)
    swizzled = mxgemm.swizzle_scales(scale)
    np.testing.assert_array_equal(swizzled, oracle.swizzle(scale))
    np.testing.assert_array_equal(mxgemm.unswizzle_scales(swizzled, rows, cols), scale)


def test_padding_is_ignored_and_written_as_zero(rng: np.random.Generator) -> None:
    scale = rng.integers(1, 255, (5, 3), np.uint8)
    swizzled = mxgemm.swizzle_scales(scale)
    real = mxgemm.swizzle_scales(np.ones_like(scale)) == 1
    assert real.sum() == 15 and not swizzled[~real].any()
    hostile = np.where(real, swizzled, 0xFF).astype(np.uint8)
    np.testing.assert_array_equal(mxgemm.unswizzle_scales(hostile, 5, 3), scale)


def test_quantize_writes_zero_padding() -> None:
    """Bug kind 18: freed memory full of 0xFF must not show through."""
    x = np.ones((5, 96), np.float32)
    for _ in range(100):
        dirt = np.full(512, 0xFF, np.uint8)
        del dirt
        scale = mxgemm.quantize(x, "mxf4", scale_layout="swizzle_32_4_4").scale
        assert scale.shape == (512,)
        real = [16 * r + c for r in range(5) for c in range(3)]
        assert (scale[real] == 125).all()
        assert not np.delete(scale, real).any()


def test_tensors_keep_their_tag(rng: np.random.Generator) -> None:
    """Bug kind 17: the layout is part of the tensor, so a second swizzle is refused."""
    q = mxgemm.quantize(rng.standard_normal((2, 70, 96)).astype(np.float32), "mxf4")
    swizzled = mxgemm.swizzle_scales(q)
    assert (swizzled.scale_layout, swizzled.shape) == ("swizzle_32_4_4", (2, 70, 96))
    with pytest.raises(ValueError, match=r"scale_layout is 'swizzle_32_4_4'; only 'row_major'"):
        mxgemm.swizzle_scales(swizzled)
    with pytest.raises(ValueError, match=r"scale_layout is 'row_major'; only 'swizzle_32_4_4'"):
        mxgemm.unswizzle_scales(q)
    back = mxgemm.unswizzle_scales(swizzled)
    assert (back.scale_layout, back.scale.shape) == ("row_major", (2, 70, 3))
    np.testing.assert_array_equal(back.scale, q.scale)


def test_results_share_no_scales_with_inputs() -> None:
    """Bug kind 38: an exact tile, where the swizzled bytes could be a view."""
    scale = np.arange(512, dtype=np.uint16).astype(np.uint8).reshape(128, 4)
    before = scale.copy()
    swizzled = mxgemm.swizzle_scales(scale)
    swizzled[:] = 9
    np.testing.assert_array_equal(scale, before)
    q = mxgemm.quantize(np.ones((128, 128), np.float32), "mxf4")
    tensor = mxgemm.swizzle_scales(q)
    assert not np.shares_memory(tensor.scale, q.scale)
    assert np.shares_memory(tensor.qdata, q.qdata)  # as documented


def test_quantize_does_not_share_with_or_change_its_input() -> None:
    """Bug kind 38."""
    x = np.full((4, 64), 3.0, np.float32)
    q = mxgemm.quantize(x, "mxf8")
    q.qdata[:] = 0
    q.scale[:] = 0
    assert (x == 3).all()


def test_strided_and_higher_dimensional_arrays(rng: np.random.Generator) -> None:
    base = rng.integers(0, 256, (6, 10, 12), np.uint8)
    for view in (base[:, :, :5], base[:, 2, :], base[::2], base[:, ::-1], base.T, base[..., ::3]):
        want = oracle.swizzle(np.ascontiguousarray(view).reshape(-1, view.shape[-1]))
        np.testing.assert_array_equal(mxgemm.swizzle_scales(view), want)
    tiles = mxgemm.swizzle_scales(base[0]).reshape(96, 16)
    in_columns = np.asfortranarray(tiles)  # the same bytes in logical order, not in memory
    np.testing.assert_array_equal(mxgemm.unswizzle_scales(in_columns, 10, 12), base[0])


def test_float8_scales() -> None:
    scale = np.arange(12, dtype=np.uint8).reshape(3, 4)
    for dtype in (ml_dtypes.float8_e8m0fnu, ml_dtypes.float8_e4m3fn):
        np.testing.assert_array_equal(
            mxgemm.swizzle_scales(scale.view(dtype)), mxgemm.swizzle_scales(scale)
        )


TILE = np.zeros(512, np.uint8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TILE,), r"^rows is None; it must be an integer"),
        ((TILE, 128), r"^cols is None"),
        ((TILE, -1, 4), r"^rows is -1"),
        ((TILE, 129, 4), r"^scales has 512 bytes; it must have 1024"),
        ((TILE[:-1], 128, 4), r"^scales has 511 bytes; it must have 512"),
        ((TILE.astype(np.int32), 128, 4), r"^scales has dtype int32"),
        (("scales", 128, 4), r"^scales is 'scales'; it must be a numpy array"),
    ],
)
def test_unswizzle_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(mxgemm.InvalidArgument, match=message):
        mxgemm.unswizzle_scales(*arguments)


def test_swizzle_refused() -> None:
    with pytest.raises(mxgemm.InvalidArgument, match=r"^scales has shape \(512,\); it must have"):
        mxgemm.swizzle_scales(TILE)
    with pytest.raises(mxgemm.InvalidArgument, match=r"^scales has dtype float32"):
        mxgemm.swizzle_scales(np.ones((4, 4), np.float32))
    q = mxgemm.quantize(np.ones((4, 64), np.float32), "mxf8", scale_layout="swizzle_32_4_4")
    with pytest.raises(mxgemm.InvalidArgument, match=r"^rows and cols must be left out"):
        mxgemm.unswizzle_scales(q, 4, 2)
    with pytest.raises(mxgemm.InvalidArgument, match=r"^scale has 512 bytes; it must have 1024"):
        dataclasses.replace(q, shape=(129, 64), qdata=np.zeros((129, 64), np.uint8), scale=q.scale)
