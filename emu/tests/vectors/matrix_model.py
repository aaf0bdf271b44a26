# SPDX-License-Identifier: Apache-2.0
"""Both models of matrix accumulation, and where a warp keeps the elements of its matrices.

Layouts are lists of (extent, step) pairs for the lane and for the element, as tensor libraries
write them; the handlers use formulas instead.
"""

from fractions import Fraction

from exact import F16, F32, decode, encode_value, floor_log2


def spread(index, modes):
    """Splits an index over modes of (extent, step in rows, step in columns)."""
    row = column = 0
    for extent, row_step, column_step in modes:
        row += index % extent * row_step
        column += index % extent * column_step
        index //= extent
    return row, column


def fragment(bits, registers, is_a):
    """(lane, register, element) -> (row, k) of A, (column, k) of B."""
    per_register = 32 // bits
    lane_modes = [(4, 0, per_register), (8, 1, 0)]
    value_modes = [(per_register, 0, 1)]
    if is_a:
        value_modes.append((2, 8, 0))
    value_modes.append((max(1, registers // (2 if is_a else 1)), 0, 4 * per_register))
    result = {}
    for lane in range(32):
        for value in range(per_register * registers):
            a, b = spread(lane, lane_modes), spread(value, value_modes)
            place = (a[0] + b[0], a[1] + b[1])
            result[lane, value // per_register, value % per_register] = place
    return result


def accumulator_places():
    """(lane, register) -> (row, column) of C and D."""
    result = {}
    for lane in range(32):
        for value in range(4):
            a = spread(lane, [(4, 0, 2), (8, 1, 0)])
            b = spread(value, [(2, 0, 1), (2, 8, 0)])
            result[lane, value] = (a[0] + b[0], a[1] + b[1])
    return result


def cut(x):
    """A Fraction toward zero, as an integer."""
    whole = abs(x).numerator // abs(x).denominator
    return -whole if x < 0 else whole


def factor_exponent(fmt, decoded):
    """Unnormalised: subnormals have the smallest exponent, zero counts as -126."""
    if decoded[2] == 0:
        return -126
    return max(floor_log2(decoded[2]), 1 - fmt.bias)


def signed(decoded):
    return -decoded[2] if decoded[1] else decoded[2]


def hardware_sum(terms, fraction_bits):
    """Terms are (value, exponent): aligned to the largest exponent, cut, summed exactly."""
    largest = max(exponent for _, exponent in terms)
    unit = Fraction(2) ** (largest - fraction_bits)
    return sum(cut(x / unit) for x, _ in terms) * unit


def to_f32_toward_zero(x, result_fraction=23):
    code = encode_value(F32, x, "rz")
    magnitude = abs(x)
    if magnitude >= Fraction(2) ** 128:
        return (1 << 31 if x < 0 else 0) | F32.infinity
    return code & ~((1 << 23 - result_fraction) - 1)


def product_terms(a_format, b_format, a_row, b_column, scale=0):
    """Terms of one output: codes of a row and a column, and the exponent of both scales."""
    terms = []
    for a, b in zip(a_row, b_column, strict=True):
        x, y = decode(a_format, a), decode(b_format, b)
        exponent = factor_exponent(a_format, x) + factor_exponent(b_format, y) + scale
        if x[2] * y[2] == 0:
            exponent = -126  # a zero product is no larger for a large factor
        terms.append((signed(x) * signed(y) * Fraction(2) ** scale, exponent))
    return terms


def accumulator_term(code, fmt=F32):
    decoded = decode(fmt, code)
    return signed(decoded), factor_exponent(fmt, decoded)


def unpacked_sum(a_format, b_format, a_row, b_column, start):
    """e4m3 and e5m2 where mma.sync has no multipliers for them (9.0 to 10.3): as f16, the lower
    two of every four neighbours along K, then the upper two, and C in an addition of its own."""
    total = 0
    for upper in (False, True):
        chosen = [k for k in range(len(a_row)) if (k % 4 >= 2) == upper]
        factors = [
            [encode_value(F16, signed(decode(fmt, row[k]))) for k in chosen]
            for fmt, row in ((a_format, a_row), (b_format, b_column))
        ]
        terms = product_terms(F16, F16, *factors)
        terms.append(accumulator_term(total))
        total = to_f32_toward_zero(hardware_sum(terms, 25))
    return encode_value(F32, signed(decode(F32, start)) + signed(decode(F32, total)))
