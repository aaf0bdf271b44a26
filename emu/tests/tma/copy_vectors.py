#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single tensor copies: tensor maps, coordinates and the memory that a copy leaves behind.

Written from the driver's description of tensor maps and PTX ISA's of cp.async.bulk.tensor (a box of
elements, rows of whole 16-byte chunks, chunks exchanged within 128 bytes by the swizzle mode), and
from what a 9.0 did: ../../README.md, "What a 9.0 does with copies".
"""

import itertools
import random
import sys
from fractions import Fraction

ZEROS, NANS = 0, 1
LOAD, STORE = "load", "store"
U8, U16, U32, S32, U64, S64, F16, F32, F64, BF16, F32_FTZ, TF32, TF32_FTZ = range(13)
SIZES = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4]
NAN = b"\xf7\x7f"  # repeated, whatever the type
SPANS = [0, 32, 64, 128]  # bytes over which swizzle mode 1, 2 or 3 exchanges chunks
CHUNK = 16
LARGEST_BOX = 4096  # bytes
REFUSED, MISALIGNED = "cudaErrorIllegalInstruction", "cudaErrorMisalignedAddress"


def pattern(seed, count):
    """`count` bytes that copy.cu makes in the same way."""
    words = bytearray()
    for i in range((count + 3) // 4):
        word = (i * 0x9E3779B1 + seed * 0x7F4A7C15) & 0xFFFFFFFF
        words += (word ^ word >> 15).to_bytes(4, "little")
    return words[:count]


def swizzled(address, mode):
    """The chunk within 128 bytes takes part of the number of its 128 bytes."""
    rows = [1, 2, 4, 8][mode]
    return address ^ (address // 128 % rows) * CHUNK


def legal(direction, type_, at):
    """Coordinates near `at`: a row is entered at 16 bytes, and stores take nothing below 0."""
    chunk = CHUNK // SIZES[type_]
    at = [at[0] // chunk * chunk, *at[1:]]
    return [abs(x) for x in at] if direction == STORE else at


def as_loaded(type_, element):
    """What a load makes of an element: of tf32 the nearest number with 10 bits, an even one of two.
    Flushing types flush nothing, in neither direction."""
    word = int.from_bytes(element, "little")
    magnitude = word % 2**31
    if type_ not in (TF32, TF32_FTZ) or magnitude >= 255 * 2**23:
        return element
    nearest = round(Fraction(magnitude, 2**13)) * 2**13
    return (word - magnitude + nearest).to_bytes(4, "little")


class Copy:
    """Dimensions are innermost first. `strides` in bytes, of dimensions 1 and up; `offset`: where
    the box begins in a region of shared memory whose address is a multiple of 1,024."""

    def __init__(self, direction, type_, dims, box, at, **more):
        self.direction, self.type, self.dims, self.box, self.at = direction, type_, dims, box, at
        self.size = SIZES[type_]
        self.steps = more.get("steps", [1] * len(dims))
        self.swizzle = more.get("swizzle", 0)
        self.fill = more.get("fill", ZEROS)
        self.offset = more.get("offset", 1024)
        self.in_global = more.get("in_global", False)
        self.fault = more.get("fault")
        pad = more.get("pad", 0)
        # Bytes behind rows, and rows behind planes: each stride is a multiple of the one before.
        self.strides, stride = [], (dims[0] * self.size + 15) // 16 * 16 + pad
        for extent in dims[1:]:
            self.strides.append(stride)
            stride *= extent + (1 if pad else 0)
        self.tensor_bytes = stride
        self.counts = [box[0]] + [-(-b // s) for b, s in zip(box[1:], self.steps[1:], strict=True)]
        self.row_bytes = box[0] * self.size
        rows = 1
        for count in self.counts[1:]:
            rows *= count
        self.box_bytes = rows * self.row_bytes
        # Rows are as far apart as the swizzle spans, though they may be shorter.
        self.pitch = SPANS[self.swizzle] or self.row_bytes
        assert self.fault or self.at == legal(direction, type_, at)
        assert self.row_bytes % CHUNK == 0 and self.box_bytes <= 2 * LARGEST_BOX
        # Bytes beyond the box show whether it stays in its place.
        self.region = (self.offset + rows * self.pitch + 255) // 128 * 128

    def rows(self):
        """Linear offset in the box, offset in the tensor or None: of each row."""
        linear = 0
        for outer in itertools.product(*(range(n) for n in reversed(self.counts[1:]))):
            place, inside = 0, True
            for d, index in enumerate(reversed(outer), 1):
                x = self.at[d] + index * self.steps[d]
                inside = inside and 0 <= x < self.dims[d]
                place += x * self.strides[d - 1]
            yield linear, place if inside else None
            linear += self.pitch

    def chunks(self, linear):
        for at in range(0, self.row_bytes, CHUNK):
            yield at, swizzled(self.offset + linear + at, self.swizzle)

    def loaded(self):
        """The region of shared memory after the load."""
        region, tensor = pattern(2, self.region), pattern(1, self.tensor_bytes)
        blank = NAN * (self.size // 2) if self.fill == NANS else bytes(self.size)
        for linear, place in self.rows():
            row = bytearray()
            for i in range(self.box[0]):
                x = self.at[0] + i
                if place is None or not 0 <= x < self.dims[0]:
                    row += blank
                else:
                    row += as_loaded(self.type, tensor[place + x * self.size :][: self.size])
            for at, to in self.chunks(linear):
                region[to : to + CHUNK] = row[at : at + CHUNK]
        return region

    def stored(self):
        """The tensor after the store, which writes whole chunks also at the end of a row."""
        region, tensor = pattern(2, self.region), pattern(1, self.tensor_bytes)
        for linear, place in self.rows():
            row = bytearray()
            for _, source in self.chunks(linear):
                row += region[source : source + CHUNK]
            for at in range(0, self.row_bytes, CHUNK):
                x = self.at[0] * self.size + at
                if place is not None and 0 <= x < self.dims[0] * self.size:
                    tensor[place + x : place + x + CHUNK] = row[at : at + CHUNK]
        return tensor

    def write(self, stream, name):
        def line(key, values):
            stream.write(f"{key} {' '.join(str(v) for v in values)}\n")

        stream.write(f"copy {name}\ndirection {self.direction}\n")
        line("map", [self.type, self.swizzle, self.fill])
        line("dims", self.dims)
        line("strides", self.strides)
        line("box", self.box)
        line("steps", self.steps)
        line("at", self.at)
        line("place", [self.offset, self.region, self.tensor_bytes, self.box_bytes])
        if self.in_global:
            stream.write("global_map\n")
        if self.fault:
            stream.write(f"fault {self.fault}\n")
            return
        result = self.loaded() if self.direction == LOAD else self.stored()
        stream.write(f"bytes {result.hex()}\n")


class Writer:
    def __init__(self, stream):
        self.stream, self.random, self.names = stream, random.Random(100), {}

    def copy(self, group, *arguments, **more):
        copy = Copy(*arguments, **more)
        number = self.names[group] = self.names.get(group, 0) + 1
        copy.write(self.stream, f"{copy.direction} {group} {number}")

    def near(self, group, direction, type_, dims, box, at, **more):
        self.copy(group, direction, type_, dims, box, legal(direction, type_, at), **more)

    def both(self, group, *arguments, **more):
        for direction in (LOAD, STORE):
            self.near(group, direction, *arguments, **more)


def box_row(type_, swizzle):
    """Elements in a row of the box: all that the swizzle allows."""
    return (SPANS[swizzle] or 64) // SIZES[type_]


def types_and_swizzles(w):
    """Two dimensions: inside, over the first corner, over the last one."""
    for type_ in range(BF16 + 1):
        for swizzle in range(4):
            columns = box_row(type_, swizzle)
            dims, box = [2 * columns + 3 * 16 // SIZES[type_], 21], [columns, 9]
            for at in ([columns // 2, 5], [-3, -2], [dims[0] - columns + 5, 17]):
                w.both("type", type_, dims, box, at, swizzle=swizzle, pad=16)


def ranks(w):
    for rank in range(1, 6):
        for swizzle in range(4):
            for _ in range(3):
                type_ = w.random.choice([U8, U16, F32, U64, BF16])
                box = [box_row(type_, swizzle)] + [w.random.randint(1, 4) for _ in range(rank - 1)]
                while box_bytes(type_, box) > LARGEST_BOX:
                    box = [box[0]] + [max(1, b - 1) for b in box[1:]]
                dims = [2 * box[0] + w.random.randint(0, 7)]
                dims += [w.random.randint(1, 6) for _ in range(rank - 1)]
                at = [w.random.randint(-b, d) for b, d in zip(box, dims, strict=True)]
                if w.random.random() < 0.4:
                    at = [
                        w.random.randint(0, max(0, d - b)) for b, d in zip(box, dims, strict=True)
                    ]
                w.both(
                    f"{rank}d", type_, dims, box, at, swizzle=swizzle, pad=w.random.choice([0, 48])
                )


def box_bytes(type_, box):
    count = SIZES[type_]
    for extent in box:
        count *= extent
    return count


def nan_fill(w):
    for type_ in (F16, BF16, F32, F64):
        for swizzle in (0, 3):
            columns = box_row(type_, swizzle)
            for at in ([-5, 3], [columns + 9, -4], [0, 100]):
                dims, box = [columns + 17, 12], [columns, 8]
                w.near("nan", LOAD, type_, dims, box, at, swizzle=swizzle, fill=NANS)
        w.near("nan", STORE, type_, [columns + 17, 12], [columns, 8], [-5, 7], swizzle=3, fill=NANS)


def outside(w):
    """Boxes that do not meet the tensor, near it and far away."""
    far = 2**30
    for at in ([-16, 0], [40, 0], [0, -8], [0, 20], [-16, -8], [-far, 3], [3, far], [far, -far]):
        w.both("outside", F32, [40, 20], [16, 8], at, swizzle=w.random.choice([0, 2]))
    w.copy("outside", LOAD, F32, [40, 20, 3], [16, 8, 2], [0, 0, -2], fill=NANS)
    w.near("far", LOAD, F32, [40, 20], [16, 8], [-(2**31), 3])
    w.both("far", F32, [40, 20], [16, 8], [2**31 - 4, 3])


def offsets(w):
    """Boxes that begin in the middle of the swizzle pattern, which follows the address."""
    for swizzle in range(1, 4):
        for offset in (0, 128, 384, 896, 1152):
            columns = box_row(U16, swizzle)
            w.both(
                "offset",
                U16,
                [columns + 8, 30],
                [columns, 11],
                [8, -1],
                swizzle=swizzle,
                offset=offset,
            )


def narrow_rows(w):
    """Rows of fewer bytes than the swizzle mode spans, with gaps between them."""
    for swizzle in range(4):
        for row in (16, 32, 48, 96):
            if row <= (SPANS[swizzle] or 128):
                w.both("narrow", U8, [112, 40], [row, 24], [16, -2], swizzle=swizzle)
    for swizzle in range(4):
        for offset in (1024, 1152):
            w.both("shared", BF16, [88, 21], [16, 9], [8, 5], swizzle=swizzle, offset=offset)


def ragged_rows(w):
    """Rows of the tensor that end within 16 bytes, and boxes that reach over both ends of one."""
    for type_ in range(BF16 + 1):
        for swizzle in range(4):
            columns, chunk = box_row(type_, swizzle), CHUNK // SIZES[type_]
            short = w.random.randint(1, max(1, chunk - 1))
            box = [columns, 5]
            w.both("ragged", type_, [2 * columns - short, 9], box, [columns, 3], swizzle=swizzle)
            dims = [max(columns - 2 * chunk, chunk) + short, 9]
            w.both("ragged", type_, dims, box, [-chunk, 6], swizzle=swizzle, pad=32)
            w.near("ragged", STORE, type_, dims, box, [0, 2], swizzle=swizzle, pad=32)


def large_extents(w):
    w.both("extent", U8, [300, 20], [256, 16], [40, 5])
    w.both("extent", U16, [8, 300], [8, 256], [0, 44])
    w.both("extent", U8, [4000], [256], [-17])
    w.both("extent", F64, [20, 3, 2, 2, 2], [2, 3, 2, 2, 2], [3, 1, 1, -1, 1], swizzle=1)


def maps_in_global_memory(w):
    for swizzle in (0, 3):
        w.both("global map", BF16, [70, 20], [64, 8], [-8, 14], swizzle=swizzle, in_global=True)


def element_strides(w):
    """Every second to eighth element of dimensions 1 and up; dimension 0 knows none."""
    for direction in (LOAD, STORE):
        for rank in (2, 3, 4, 5):
            for _ in range(4):
                steps = [1] + [w.random.randint(1, 8) for _ in range(rank - 1)]
                box = [8] + [w.random.randint(1, 12 if rank < 4 else 7) for _ in range(rank - 1)]
                dims = [13] + [w.random.randint(4, 14) for _ in range(rank - 1)]
                at = [w.random.randint(-3, 6) for _ in range(rank)]
                w.near("steps", direction, F32, dims, box, at, steps=steps)
    w.near("steps", LOAD, U16, [64, 30], [32, 20], [5, -3], steps=[4, 3], swizzle=2)


def converting_types(w):
    """Types of which loads may change the elements."""
    for type_ in (F32_FTZ, TF32, TF32_FTZ):
        w.both("converting", type_, [40, 20], [16, 8], [4, 2])
        w.near("converting", LOAD, type_, [40, 20], [16, 8], [-4, 15], fill=NANS)


def refused(w):
    """A few of those that end in a fault: each costs the capture a process."""
    dims, box = [176, 21], [64, 9]
    for x in (-3, 8):
        w.copy("refused", LOAD, U8, dims, box, [x, 5], pad=16, fault=REFUSED)
    w.copy("refused", STORE, U8, dims, box, [12, 5], pad=16, fault=REFUSED)
    w.copy("refused", STORE, U8, dims, box, [-16, 5], pad=16, fault=REFUSED)
    w.copy("refused", STORE, U8, dims, box, [0, -1], pad=16, fault=REFUSED)
    w.copy("refused", LOAD, F64, [22, 21], [8, 9], [1, 5], pad=16, fault=REFUSED)
    for direction in (LOAD, STORE):
        more = {"swizzle": 1, "offset": 1024 + 64, "fault": MISALIGNED}
        w.copy("refused", direction, BF16, [88, 21], [16, 9], [8, 5], **more)


def main():
    with open(sys.argv[1], "w", encoding="ascii") as stream:
        w = Writer(stream)
        for part in (
            types_and_swizzles,
            ranks,
            nan_fill,
            outside,
            offsets,
            narrow_rows,
            large_extents,
            maps_in_global_memory,
            element_strides,
            converting_types,
            ragged_rows,
            refused,
        ):
            part(w)


if __name__ == "__main__":
    main()
