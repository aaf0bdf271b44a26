#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes format_vectors.txt: what the independent library ml_dtypes makes of codes and numbers.

    pip install ml_dtypes numpy && python make_format_vectors.py

Sections of the file, one record a line, everything in hexadecimal:

    [decode FORMAT]  CODE F32-BITS         every code of the 4- and 8-bit formats; NaN is "nan"
    [encode FORMAT]  F32-BITS CODE         every midpoint and every code's value, each with the
                                           fp32 numbers below and above, the ends of fp32,
                                           infinity, zero; all in both signs
    [pages FORMAT]   PAGE DECODED ENCODED  bf16 and f16: for each 256 codes a hash of the decoded
                                           fp32 bits, and a hash of the codes of 12 numbers a code:
                                           the midpoint to the next code and the code's own value,
                                           each with the fp32 numbers below and above, in both signs

The quantiser saturates where ml_dtypes does not: above the largest number E4M3 becomes NaN there
and E5M2 infinity, and so do infinities. A number that is no NaN and whose ml_dtypes code is NaN or
infinity is therefore one whose saturating code is the largest finite one with its sign; that is
what is written. E2M1 saturates in ml_dtypes as here. bf16 and f16 are written as ml_dtypes and
numpy have them: overflow gives infinity. E8M0 is encoded for powers of two only (the library never
encodes anything else).
"""

import pathlib
import sys

import ml_dtypes
import numpy as np

OUTPUT = pathlib.Path(__file__).with_name("format_vectors.txt")
BYTE_FORMATS = {
    "e2m1": (ml_dtypes.float4_e2m1fn, 0x7, 0x8),
    "e4m3": (ml_dtypes.float8_e4m3fn, 0x7E, 0x80),
    "e5m2": (ml_dtypes.float8_e5m2, 0x7B, 0x80),
}
HALF_FORMATS = {"bf16": (ml_dtypes.bfloat16, 0x7F80), "f16": (np.float16, 0x7C00)}
INFINITY = np.float32(np.inf)
HASH_START, HASH_FACTOR, HASH_MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def decode(codes: np.ndarray, dtype: type) -> np.ndarray:
    return codes.view(dtype).astype(np.float32)


def bits_of(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).view(np.uint32)


def with_neighbours(values: np.ndarray) -> np.ndarray:
    """Each value between the fp32 numbers below and above it."""
    return np.stack([np.nextafter(values, -INFINITY), values, np.nextafter(values, INFINITY)], -1)


def saturating_codes(values: np.ndarray, dtype: type, largest: int, sign: int) -> np.ndarray:
    codes = values.astype(dtype).view(np.uint8)
    overflowed = ~np.isfinite(codes.view(dtype).astype(np.float32))
    return np.where(overflowed, largest | np.where(np.signbit(values), sign, 0), codes)


def byte_format_lines(name: str) -> list[str]:
    dtype, largest, sign = BYTE_FORMATS[name]
    codes = np.arange(2 * sign, dtype=np.uint8)
    decoded = decode(codes, dtype)
    lines = [f"[decode {name}]"]
    for code, value, bits in zip(codes, decoded, bits_of(decoded), strict=True):
        lines.append(f"{code:02x} " + ("nan" if np.isnan(value) else f"{bits:08x}"))
    finite = decoded[: largest + 1].astype(np.float64)
    midpoints = ((finite[:-1] + finite[1:]) / 2).astype(np.float32)
    overflow = np.float32(finite[-1] + (finite[-1] - finite[-2]) / 2)
    ends = np.array([1, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000], np.uint32).view(np.float32)
    positive = np.concatenate(
        [
            with_neighbours(finite.astype(np.float32)).ravel(),
            with_neighbours(midpoints).ravel(),
            with_neighbours(np.array([overflow])).ravel(),
            ends,
        ]
    )
    magnitudes = np.unique(np.abs(positive))
    values = np.concatenate([magnitudes, -magnitudes])
    lines.append(f"[encode {name}]")
    for bits, code in zip(
        bits_of(values), saturating_codes(values, dtype, largest, sign), strict=True
    ):
        lines.append(f"{bits:08x} {code:02x}")
    return lines


def e8m0_lines() -> list[str]:
    dtype = ml_dtypes.float8_e8m0fnu
    codes = np.arange(256, dtype=np.uint8)
    decoded = decode(codes, dtype)
    lines = ["[decode e8m0]"]
    for code, value, bits in zip(codes, decoded, bits_of(decoded), strict=True):
        lines.append(f"{code:02x} " + ("nan" if np.isnan(value) else f"{bits:08x}"))
    powers = np.ldexp(np.float32(1), np.arange(-127, 128)).astype(np.float32)
    lines.append("[encode e8m0]")
    for bits, code in zip(bits_of(powers), powers.astype(dtype).view(np.uint8), strict=True):
        lines.append(f"{bits:08x} {code:02x}")
    return lines


def hash_words(words: np.ndarray) -> int:
    value = HASH_START
    for word in words.ravel().tolist():
        value = (value ^ word) * HASH_FACTOR & HASH_MASK
    return value


def half_format_lines(name: str) -> list[str]:
    dtype, infinity = HALF_FORMATS[name]
    lines = [f"[pages {name}]"]
    for page in range(256):
        codes = np.arange(page << 8, (page + 1) << 8).astype(np.uint16)
        decoded = decode(codes, dtype)
        is_number = ~np.isnan(decoded)
        decoded_hash = hash_words(bits_of(decoded[is_number]))
        # The neighbour away from zero; the largest number's midpoint is where infinity begins.
        magnitudes = (codes & 0x7FFF)[is_number & ((codes & 0x7FFF) < infinity)]
        own = decode(magnitudes, dtype).astype(np.float64)
        following = decode((magnitudes + 1).astype(np.uint16), dtype).astype(np.float64)
        last = magnitudes + 1 == infinity
        before = decode(np.maximum(magnitudes, 1).astype(np.uint16) - 1, dtype).astype(np.float64)
        following[last] = own[last] + (own[last] - before[last])
        midpoints = ((own + following) / 2).astype(np.float32)
        values = np.concatenate(
            [with_neighbours(midpoints), with_neighbours(own.astype(np.float32))], axis=-1
        )
        values = np.concatenate([values, -values], axis=-1)
        encoded_hash = hash_words(values.astype(dtype).view(np.uint16))
        lines.append(f"{page:02x} {decoded_hash:016x} {encoded_hash:016x}")
    return lines


def main() -> None:
    np.seterr(all="ignore")
    lines = [
        "# Made by make_format_vectors.py, which explains the sections, with",
        f"# ml_dtypes {ml_dtypes.__version__}, numpy {np.__version__}, "
        f"Python {sys.version_info.major}.{sys.version_info.minor}.",
    ]
    for name in BYTE_FORMATS:
        lines += byte_format_lines(name)
    lines += e8m0_lines()
    for name in HALF_FORMATS:
        lines += half_format_lines(name)
    OUTPUT.write_text("\n".join(lines) + "\n")
    print(f"{OUTPUT.name}: {len(lines)} lines, {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
