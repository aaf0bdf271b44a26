# SPDX-License-Identifier: Apache-2.0
"""An independent numpy statement of docs/formats.md: what every byte and number must be.

It shares nothing with the library: element and scale values come from ml_dtypes, everything else is
written here from the text, for clarity and not for speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

F32 = np.float32


def values_of(dtype: type, count: int) -> np.ndarray:
    """The value of each code of a small float type, by the independent library."""
    return np.arange(count, dtype=np.uint8).view(dtype).astype(np.float64)


E2M1 = values_of(ml_dtypes.float4_e2m1fn, 16)
E4M3 = values_of(ml_dtypes.float8_e4m3fn, 256)
E5M2 = values_of(ml_dtypes.float8_e5m2, 256)
E8M0 = values_of(ml_dtypes.float8_e8m0fnu, 256)


@dataclass(frozen=True)
class Format:
    name: str
    block: int
    values: np.ndarray  # of each code
    emax: int
    mantissa: int
    packed: bool  # two elements a byte

    @property
    def magnitudes(self) -> np.ndarray:
        """The finite values of the codes without sign, ascending."""
        half = self.values[: len(self.values) // 2]
        return half[np.isfinite(half)]


FORMATS = {
    "mxf4": Format("mxf4", 32, E2M1, 2, 1, True),
    "nvf4": Format("nvf4", 16, E2M1, 2, 1, True),
    "mxf8e4m3": Format("mxf8e4m3", 32, E4M3, 8, 3, False),
    "mxf8e5m2": Format("mxf8e5m2", 32, E5M2, 15, 2, False),
}
MX_FORMATS = ("mxf4", "mxf8e4m3", "mxf8e5m2")
RULES = ("floor", "ceil", "even", "rceil", "nearest", "mse")


# ---- elements
# -------------------------------------------------------------------------------------


def encode(x: np.ndarray, magnitudes: np.ndarray) -> np.ndarray:
    """Codes without sign of |x|: nearest, ties to the even code, saturating."""
    x = np.abs(x)
    upper = np.searchsorted(magnitudes, x, side="left").clip(1, len(magnitudes) - 1)
    lower = upper - 1
    middle = (magnitudes[lower] + magnitudes[upper]) / 2
    up = (x > middle) | ((x == middle) & (upper % 2 == 0))
    return np.where(up, upper, lower).astype(np.uint8)


def encode_stochastic(x: np.ndarray, magnitudes: np.ndarray, r: np.ndarray) -> np.ndarray:
    x = np.abs(x)
    upper = np.searchsorted(magnitudes, x, side="right").clip(1, len(magnitudes) - 1)
    low, high = magnitudes[upper - 1], magnitudes[upper]
    up = r < (x - low) / (high - low) * 2.0**32
    return np.where(up | (x >= high), upper, upper - 1).astype(np.uint8)


def pack(codes: np.ndarray, fmt: Format) -> np.ndarray:
    if not fmt.packed:
        return codes
    return codes[..., 0::2] | codes[..., 1::2] << 4


def unpack(qdata: np.ndarray, fmt: Format) -> np.ndarray:
    if not fmt.packed:
        return qdata
    return np.stack([qdata & 15, qdata >> 4], axis=-1).reshape(
        *qdata.shape[:-1], 2 * qdata.shape[-1]
    )


# ---- scales
# ---------------------------------------------------------------------------------------


def floor_log2(x: np.ndarray) -> np.ndarray:
    """-999 for 0, below every exponent: `even` rounds the smallest subnormals to 0."""
    return np.where(x == 0, -999, np.frexp(x)[1].astype(np.int64) - 1)


def scale_exponent(amax: np.ndarray, rule: str, fmt: Format) -> np.ndarray:
    """X of every rule but mse, for finite amax > 0, not clamped."""
    floor = floor_log2(amax)
    if rule == "floor":
        return floor - fmt.emax
    if rule == "ceil":
        return floor + (amax != np.exp2(floor)) - fmt.emax
    if rule == "rceil":
        # Exact: amax has 24 bits, the largest element at most 4.
        x = floor - fmt.emax
        return x + (amax > fmt.magnitudes[-1] * np.exp2(x))
    if rule == "nearest":
        fraction = amax / np.exp2(floor)
        return floor + (fraction * fraction >= 2.0) - fmt.emax
    assert rule == "even"
    bits = amax.astype(F32).view(np.uint32).astype(np.int64)
    bits = (bits + (1 << (22 - fmt.mantissa))) >> (23 - fmt.mantissa) << (23 - fmt.mantissa)
    carried = np.where(bits >= 0x7F800000, 2.0**128, 0)
    rounded = bits.clip(0, 0x7F7FFFFF).astype(np.uint32).view(F32).astype(np.float64)
    return floor_log2(np.maximum(rounded, carried)) - fmt.emax


def mse_exponent(blocks: np.ndarray, fmt: Format) -> np.ndarray:
    floor = scale_exponent(np.abs(blocks).max(axis=-1), "floor", fmt)
    best, least = floor.copy(), np.full(floor.shape, np.inf)
    for x in (floor - 1, floor, floor + 1):
        x = x.clip(-127, 127)
        scale = np.exp2(x.astype(np.float64))[..., None]
        decoded = fmt.magnitudes[encode(blocks / scale, fmt.magnitudes)] * scale
        squares = (np.abs(blocks) - decoded) ** 2
        error = np.zeros(floor.shape)
        for k in range(fmt.block):
            error = error + squares[..., k]
        better = error < least
        best, least = np.where(better, x, best), np.where(better, error, least)
    return best


def quantize_mx(
    x: np.ndarray,
    name: str,
    rule: str = "even",
    nonfinite: str = "nan",
    r: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(qdata, row-major scales) of a 2-D array whose values float32 holds exactly."""
    fmt = FORMATS[name]
    blocks = x.astype(np.float64).reshape(x.shape[0], -1, fmt.block)
    magnitude = np.abs(blocks)
    amax = magnitude.max(axis=-1, initial=0)
    has_nan, has_inf = np.isnan(blocks).any(axis=-1), np.isinf(blocks).any(axis=-1)
    zero = amax == 0
    regular = ~(has_nan | has_inf | zero)
    safe = np.where(regular[..., None], blocks, 1.0)
    if rule == "mse":
        exponent = mse_exponent(safe, fmt)
    else:
        exponent = scale_exponent(np.abs(safe).max(axis=-1, initial=0), rule, fmt)
    exponent = exponent.clip(-127, 127)
    saturated = has_inf & ~has_nan & (nonfinite == "saturate")
    exponent = np.where(saturated, 127, exponent)
    keep = regular | saturated | zero
    quotient = np.where(keep[..., None], blocks, 0) / np.exp2(exponent.astype(F32))[..., None]
    if r is None:
        codes = encode(quotient, fmt.magnitudes)
    else:
        codes = encode_stochastic(quotient, fmt.magnitudes, r.reshape(quotient.shape))
    sign = np.uint8(len(fmt.values) // 2) * np.signbit(blocks)
    codes = np.where(keep[..., None], codes | sign, 0).astype(np.uint8)
    scale = np.where(regular | saturated, exponent + 127, np.where(zero, 0, 255)).astype(np.uint8)
    return pack(codes.reshape(x.shape), fmt), scale


def encode_e4m3_scale(x: np.ndarray) -> np.ndarray:
    return encode(x.astype(np.float64), E4M3[:127])


def nvf4_global_scale(x: np.ndarray) -> np.float32:
    finite = np.abs(x.astype(F32))[np.isfinite(x.astype(F32))]
    amax = finite.max(initial=F32(0))
    return F32(1) if amax == 0 else max(amax / F32(2688), F32(2.0**-126))


def quantize_nvf4(
    x: np.ndarray,
    g: np.float32,
    nonfinite: str = "nan",
    min_block_scale: float = 0.0,
    r: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    fmt = FORMATS["nvf4"]
    blocks = x.astype(F32).reshape(x.shape[0], -1, 16)
    has_nan, has_inf = np.isnan(blocks).any(axis=-1), np.isinf(blocks).any(axis=-1)
    with np.errstate(all="ignore"):
        amax = np.abs(blocks).max(axis=-1, initial=F32(0))
        wanted = np.fmax((amax / F32(6)) / F32(g), F32(min_block_scale))
        code = encode_e4m3_scale(np.where(np.isfinite(wanted), wanted, 448))
        saturated = has_inf & ~has_nan & (nonfinite == "saturate")
        code = np.where(saturated, 0x7E, code)
        factor = (E4M3[code].astype(F32) * F32(g))[..., None]
        quotient = (blocks / factor).astype(np.float64)
        bad = has_nan | (has_inf & ~saturated)
        empty = (code == 0) | (amax == 0)
        quotient = np.where((bad | empty)[..., None] | np.isnan(quotient), 0.0, quotient)
        if r is None:
            codes = encode(quotient, fmt.magnitudes)
        else:
            codes = encode_stochastic(quotient, fmt.magnitudes, r.reshape(quotient.shape))
    codes = np.where(bad[..., None], 0, codes | np.uint8(8) * np.signbit(blocks)).astype(np.uint8)
    scale = np.where(bad, 0x7F, code).astype(np.uint8)
    return pack(codes.reshape(x.shape), fmt), scale


# ---- stochastic rounding
# --------------------------------------------------------------------------


def philox4x32(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 of one counter, in plain integers."""
    c, k, mask = list(counter), list(key), 0xFFFFFFFF
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(second >> 32) ^ c[1] ^ k[0], second & mask, (first >> 32) ^ c[3] ^ k[1], first & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def random_words(count: int, seed: int, offset: int) -> np.ndarray:
    """r of elements 0 … count - 1."""
    words: list[int] = []
    for i in range(-(-count // 4)):
        counter = (offset + i) % 2**64
        key = [seed & 0xFFFFFFFF, seed >> 32]
        words += philox4x32([counter & 0xFFFFFFFF, counter >> 32, 0, 0], key)
    return np.array(words[:count], np.float64)


# ---- decoding and layout
# --------------------------------------------------------------------------


def scale_values(scale: np.ndarray, name: str) -> np.ndarray:
    if name != "nvf4":
        return E8M0[scale]
    return E4M3[scale & 0x7F]


def decode(qdata: np.ndarray, scale: np.ndarray, name: str, g: float = 1.0) -> np.ndarray:
    """Exact values in float64 of row-major scales."""
    fmt = FORMATS[name]
    elements = fmt.values[unpack(qdata, fmt)]
    return elements * np.repeat(scale_values(scale, name), fmt.block, axis=-1) * np.float64(F32(g))


PRECISION = {"f32": (24, -149), "f16": (11, -24), "bf16": (8, -133)}
LARGEST = {"f32": 2.0**128 * (1 - 2.0**-24), "f16": 65504.0, "bf16": 2.0**128 * (1 - 2.0**-8)}


def round_to(x: np.ndarray, name: str) -> np.ndarray:
    """float64 rounded once, to nearest even, to a narrower type; the result still in float64."""
    bits, least = PRECISION[name]
    exponent = np.maximum(np.frexp(x)[1] - bits, least)
    with np.errstate(invalid="ignore"):
        rounded = np.ldexp(np.rint(np.ldexp(x, -exponent)), exponent)
        overflow = np.abs(rounded) > LARGEST[name]
        return np.where(overflow, np.copysign(np.inf, x), rounded)


def swizzle(scale: np.ndarray) -> np.ndarray:
    rows, cols = scale.shape
    tile_columns = -(-cols // 4)
    result = np.zeros(-(-rows // 128) * tile_columns * 512, np.uint8)
    for r in range(rows):
        for c in range(cols):
            tile = r // 128 * tile_columns + c // 4
            result[tile * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scale[r, c]
    return result
