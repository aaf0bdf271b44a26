#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the corpus of the fuzzers beside itself; run again where a case is added.

A file whose name begins with ok_ must be taken by its parser, every other one refused
(replay_test.cpp).
"""

import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors_text(header, data=b"", length=None):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def pairs(*members):
    """A JSON object whose keys may repeat."""
    return ("{" + ",".join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in members) + "}").encode()


def safetensors_cases():
    u8 = tensor("U8", [4], 0, 4)
    all_types = {
        "BOOL": 8,
        "F4": 4,
        "F6_E2M3": 6,
        "F6_E3M2": 6,
        "U8": 8,
        "I8": 8,
        "F8_E5M2": 8,
        "F8_E4M3": 8,
        "F8_E8M0": 8,
        "F8_E4M3FNUZ": 8,
        "F8_E5M2FNUZ": 8,
        "I16": 16,
        "U16": 16,
        "F16": 16,
        "BF16": 16,
        "I32": 32,
        "U32": 32,
        "F32": 32,
        "C64": 64,
        "F64": 64,
        "I64": 64,
        "U64": 64,
    }
    every, at = {}, 0
    for name, bits in all_types.items():
        every[name] = tensor(name, [2, 4], at, at + bits)
        at += bits
    good = safetensors_text({"a": u8, "__metadata__": {"format": "pt"}}, b"abcd")
    return {
        "ok_empty": safetensors_text({}),
        "ok_one": good,
        "ok_every_dtype": safetensors_text(every, bytes(at)),
        "ok_scalar": safetensors_text({"s": tensor("F32", [], 0, 4)}, bytes(4)),
        "ok_zero_sized": safetensors_text({"z": tensor("F32", [0, 7], 0, 0)}),
        "ok_f4_packed": safetensors_text({"x": tensor("F4", [2, 8], 0, 8)}, bytes(range(8))),
        "ok_e8m0": safetensors_text({"x": tensor("F8_E8M0", [2, 1], 0, 2)}, b"\x00\xfe"),
        "ok_padded": safetensors_text(json.dumps({"a": u8}).encode() + b"   ", b"abcd"),
        "ok_unknown_member": safetensors_text({"a": {**u8, "note": [{"x": 1}]}}, b"abcd"),
        "ok_unicode_name": safetensors_text({"gewicht_ü.wört": u8}, b"abcd"),
        "half": good[: len(good) // 2],
        "data_cut": good[:-1],
        "trailing_byte": good + b"e",
        "no_file": b"",
        "seven_bytes": b"\x01" * 7,
        "header_length_0": safetensors_text(b"", b"abcd"),
        "header_length_1": safetensors_text(b"{", b"abcd"),
        "header_beyond_file": safetensors_text({"a": u8}, b"abcd", length=1000),
        "header_length_max": safetensors_text({"a": u8}, b"abcd", length=2**64 - 1),
        "not_json": safetensors_text(b"{hello}"),
        "array": safetensors_text(b"[1, 2]"),
        "leading_blank": safetensors_text(b" " + json.dumps({"a": u8}).encode(), b"abcd"),
        "text_after_json": safetensors_text(b"{} {}"),
        "overlap": safetensors_text({"a": u8, "b": tensor("U8", [4], 2, 6)}, b"abcdef"),
        "same_range": safetensors_text({"a": u8, "b": u8}, b"abcd"),
        "gap": safetensors_text({"a": u8, "b": tensor("U8", [1], 5, 6)}, b"abcdef"),
        "gap_at_start": safetensors_text({"a": tensor("U8", [4], 1, 5)}, b"abcde"),
        "out_of_range": safetensors_text({"a": tensor("U8", [9], 0, 9)}, b"abcd"),
        "long_then_short": safetensors_text(
            {"a": tensor("U8", [90], 0, 90), "b": tensor("U8", [1], 5, 6)}, b"abcd"
        ),
        "backwards": safetensors_text({"a": tensor("U8", [4], 4, 0)}, b"abcd"),
        "wrong_span": safetensors_text({"a": tensor("F32", [4], 0, 4)}, b"abcd"),
        "negative_dimension": safetensors_text({"a": tensor("U8", [-1, -4], 0, 4)}, b"abcd"),
        "overflowing_shape": safetensors_text(
            {"a": tensor("U8", [2**32, 2**32, 4], 0, 4)}, b"abcd"
        ),
        "overflow_times_zero": safetensors_text({"a": tensor("U8", [2**62, 2**62, 0], 0, 0)}),
        "dimension_2_64": safetensors_text({"a": tensor("U8", [2**64 - 1], 0, 4)}, b"abcd"),
        "fraction": safetensors_text({"a": tensor("U8", [4.0], 0, 4)}, b"abcd"),
        "negative_offset": safetensors_text({"a": tensor("U8", [4], -4, 0)}, b"abcd"),
        "three_offsets": safetensors_text({"a": {**u8, "data_offsets": [0, 4, 4]}}, b"abcd"),
        "rank_65": safetensors_text({"a": tensor("U8", [1] * 65, 0, 1)}, b"a"),
        "odd_f4": safetensors_text({"x": tensor("F4", [3, 5], 0, 8)}, bytes(8)),
        "odd_last_f4": safetensors_text({"x": tensor("F4", [2, 5], 0, 5)}, bytes(5)),
        "scalar_f4": safetensors_text({"x": tensor("F4", [], 0, 1)}, bytes(1)),
        "f6_not_4": safetensors_text({"x": tensor("F6_E2M3", [2, 2], 0, 3)}, bytes(3)),
        "unknown_dtype": safetensors_text({"a": tensor("F3", [4], 0, 4)}, b"abcd"),
        "no_dtype": safetensors_text({"a": {"shape": [4], "data_offsets": [0, 4]}}, b"abcd"),
        "no_shape": safetensors_text({"a": {"dtype": "U8", "data_offsets": [0, 4]}}, b"abcd"),
        "no_offsets": safetensors_text({"a": {"dtype": "U8", "shape": [4]}}, b"abcd"),
        "twice": safetensors_text(pairs(("a", u8), ("a", u8)), b"abcd"),
        "twice_inside": safetensors_text(
            b'{"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}}', b"abcd"
        ),
        "deep": safetensors_text(b'{"a":' + b"[" * 100 + b"]" * 100 + b"}"),
        "very_deep": safetensors_text(b'{"a":' + b"[" * 4000),
        "deep_objects": safetensors_text(b'{"a":' * 100 + b"1" + b"}" * 100),
        "not_utf8": safetensors_text(
            b'{"\xff\xfe":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}', b"abcd"
        ),
        "lone_surrogate": safetensors_text(
            b'{"\\ud800":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}', b"abcd"
        ),
        "dotdot": safetensors_text({"../../etc/passwd": u8}, b"abcd"),
        "control_in_name": safetensors_text({"a\x1b[2J": u8}, b"abcd"),
        "nul_in_name": safetensors_text({"a\x00b": u8}, b"abcd"),
        "metadata_number": safetensors_text({"a": u8, "__metadata__": {"x": 1}}, b"abcd"),
        "metadata_list": safetensors_text({"a": u8, "__metadata__": []}, b"abcd"),
        "huge_number": safetensors_text(b'{"a":1e999}'),
        "tensor_is_null": safetensors_text({"a": None}),
    }


def index_cases():
    shard = "model-00001-of-00001.safetensors"

    def index(**members):
        return json.dumps(members).encode()

    return {
        "ok_one": index(metadata={"total_size": 4}, weight_map={"a": shard}),
        "ok_no_metadata": index(weight_map={"a": shard, "b": "other.safetensors"}),
        "ok_more_metadata": index(
            metadata={"total_size": 4, "x": [1, -2, 2.5, None, True, {"y": "z"}]},
            weight_map={"a": shard},
        ),
        "ok_nothing": index(weight_map={}),
        "empty": b"",
        "not_json": b"hello",
        "no_weight_map": index(metadata={}),
        "weight_map_list": index(weight_map=[shard]),
        "metadata_text": index(metadata="x", weight_map={"a": shard}),
        "number": index(weight_map={"a": 1}),
        "dotdot": index(weight_map={"a": "../secret.safetensors"}),
        "dotdot_alone": index(weight_map={"a": ".."}),
        "absolute": index(weight_map={"a": "/etc/passwd"}),
        "subdirectory": index(weight_map={"a": "x/y.safetensors"}),
        "empty_name": index(weight_map={"a": ""}),
        "dot": index(weight_map={"a": "."}),
        "nul": index(weight_map={"a": "x\x00.safetensors"}),
        "tensor_dotdot": index(weight_map={"../a": shard}),
        "twice": f'{{"weight_map":{{"a":"{shard}","a":"{shard}"}}}}'.encode(),
        "map_twice": f'{{"weight_map":{{"a":"{shard}"}},"weight_map":{{}}}}'.encode(),
        "deep": b'{"weight_map":{},"metadata":{"x":' + b"[" * 100 + b"]" * 100 + b"}}",
        "not_utf8": b'{"weight_map":{"a":"\xc3\x28"}}',
        "cut": index(weight_map={"a": shard})[:-2],
    }


def npy_text(header, data=b"", version=(1, 0), length=None):
    raw = header.encode("latin1")
    n = len(raw) if length is None else length
    size = struct.pack("<H", n) if version[0] == 1 else struct.pack("<I", n)
    return b"\x93NUMPY" + bytes(version) + size + raw + data


def npy_cases():
    def header(descr="<f4", order="False", shape="(2, 3)"):
        return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n"

    good = npy_text(header(), bytes(24))
    cases = {
        "ok_f4": good,
        "ok_version_2": npy_text(header(), bytes(24), (2, 0)),
        "ok_version_3": npy_text(header(), bytes(24), (3, 0)),
        "ok_scalar": npy_text(header(shape="()"), bytes(4)),
        "ok_one": npy_text(header(shape="(5,)"), bytes(20)),
        "ok_zero": npy_text(header(shape="(0, 4)")),
        "ok_fortran": npy_text(header(order="True"), bytes(24)),
        "ok_big_endian": npy_text(header(">f4"), bytes(24)),
        "ok_double_quotes": npy_text(header().replace("'", '"'), bytes(24)),
        "ok_other_order": npy_text(
            "{'shape':(2,3),'fortran_order':False,'descr':'<f4'}", bytes(24)
        ),
        "empty": b"",
        "magic_only": b"\x93NUMPY",
        "not_npy": b"PK\x03\x04" + bytes(30),
        "version_4": npy_text(header(), bytes(24), (4, 0)),
        "version_1_1": npy_text(header(), bytes(24), (1, 1)),
        "header_beyond_file": npy_text(header(), bytes(24), length=9999),
        "header_4_gib": npy_text(header(), bytes(24), (2, 0), length=2**32 - 1),
        "header_too_long": npy_text(header() + " " * 10000, bytes(24)),
        "truncated": good[:-1],
        "trailing": good + b"x",
        "records": npy_text(
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", bytes(8)
        ),
        "object": npy_text(header("|O"), bytes(24)),
        "no_order_mark": npy_text(header("f4"), bytes(24)),
        "long_double": npy_text(header("<f16"), bytes(96)),
        "text": npy_text(header("<U3"), bytes(24)),
        "empty_descr": npy_text(header(""), bytes(24)),
        "negative": npy_text(header(shape="(-2, -3)"), bytes(24)),
        "overflow": npy_text(header(shape="(4294967296, 4294967296, 3)"), bytes(24)),
        "too_large": npy_text(header(shape="(99999999999999999999,)"), bytes(24)),
        "fraction": npy_text(header(shape="(2.0, 3)"), bytes(24)),
        "number_shape": npy_text(header(shape="(6)"), bytes(24)),
        "list_shape": npy_text(header(shape="[2, 3]"), bytes(24)),
        "no_comma": npy_text(header(shape="(2 3)"), bytes(24)),
        "rank_65": npy_text(header(shape="(" + "1," * 65 + ")"), bytes(4)),
        "order_1": npy_text(header(order="1"), bytes(24)),
        "twice": npy_text(
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", bytes(24)
        ),
        "unknown_key": npy_text(
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", bytes(24)
        ),
        "missing_key": npy_text("{'descr': '<f4', 'shape': (2, 3)}", bytes(24)),
        "open_string": npy_text("{'descr': '<f4", bytes(24)),
        "escape": npy_text(
            "{'descr': '<f\\x34', 'fortran_order': False, 'shape': (2, 3)}", bytes(24)
        ),
        "text_after": npy_text(header() + "x", bytes(24)),
        "not_ascii": npy_text(header("<f4\xff\xfe"), bytes(24)),
        "call": npy_text("__import__('os').system('true')", bytes(24)),
        "no_brace": npy_text("'descr': '<f4'", bytes(24)),
        "nul": npy_text("{\0}", bytes(24)),
    }
    return cases


def main():
    for name, cases in [
        ("safetensors", safetensors_cases()),
        ("index", index_cases()),
        ("npy", npy_cases()),
    ]:
        folder = CORPUS / name
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for case, content in cases.items():
            (folder / case).write_bytes(content)
        print(f"{name}: {len(cases)} files")


if __name__ == "__main__":
    main()
