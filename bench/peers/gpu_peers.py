# SPDX-License-Identifier: Apache-2.0
"""mxgemm beside cuBLAS (torch's bf16 matmul) and Triton's tl.dot_scaled, in one process, by turns.

    PYTHONPATH=python:bench/peers MXGEMM_LIBRARY=build/lib/libmxgemm.so \
        python bench/peers/gpu_peers.py [--json FILE] [--quick]

Every contender of a case gets operands in as many copies as exceed twice the L2 and uses them by
turns. Contenders alternate; each measurement is a CUDA graph of runs (so that no call's cost on the
host is in it), timed by events; the medians are compared. Needs torch and a GPU, and for the
comparison with Triton, triton. Exit code 3 without a GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys

import torch
from mxgemm import _native

# name, M, N, K, format of A; B is mxf4, D bf16.
CASES = [
    ("mxf4 8192", 8192, 8192, 8192, "mxf4"),
    ("bf16 x mxf4 8192", 8192, 8192, 8192, "bf16"),
    ("bf16 x mxf4 M=1", 1, 8192, 8192, "bf16"),
    ("bf16 x mxf4 M=16", 16, 8192, 8192, "bf16"),
    ("bf16 x mxf4 M=64", 64, 8192, 8192, "bf16"),
    ("bf16 x mxf4 M=512", 512, 8192, 8192, "bf16"),
]
ROUNDS = 15
# Long against what events resolve, short enough to alternate often.
GRAPH_SECONDS = 4e-3


class Mxgemm:
    """One plan and its arguments on torch's memory."""

    name = "mxgemm"

    def __init__(self, m, n, k, a, a_scale, b, b_scale, d):
        a_format = "bf16" if a.dtype == torch.bfloat16 else "mxf4"
        self.desc = _native.GemmDesc(
            m=m,
            n=n,
            k=k,
            format_a=_native.FORMATS[a_format],
            format_b=_native.FORMATS["mxf4"],
            format_d=_native.FORMATS["bf16"],
            device_kind=_native.DEVICE_KINDS["cuda"],
        )
        self.plan = _native.call_for(ctypes.c_void_p, "plan_create", ctypes.byref(self.desc), None)
        self.kernel = _native.text_from("plan_name", self.plan)
        size = _native.call_for(ctypes.c_uint64, "plan_workspace_size", self.plan).value
        self.workspace = torch.empty(max(size, 1), dtype=torch.uint8, device="cuda")
        self.d = d
        self.keep = (a, a_scale, b, b_scale)
        self.args = _native.GemmArgs(
            alpha=1.0, a=self.operand(a, a_scale), b=self.operand(b, b_scale)
        )
        self.args.d, self.args.d_bytes = d.data_ptr(), d.nbytes
        self.args.workspace, self.args.workspace_bytes = self.workspace.data_ptr(), size

    @staticmethod
    def operand(data, scale):
        result = _native.Operand(data=data.data_ptr(), data_bytes=data.nbytes, global_scale=1.0)
        if scale is not None:
            result.scale, result.scale_bytes = scale.data_ptr(), scale.nbytes
        return result

    def run(self):
        stream = torch.cuda.current_stream().cuda_stream
        _native.call("run", self.plan, ctypes.byref(self.args), stream)


class Cublas:
    name = "cuBLAS bf16"
    kernel = "torch.matmul"

    def __init__(self, a, b, d):
        self.a, self.b, self.d = a, b, d

    def run(self):
        torch.matmul(self.a, self.b.T, out=self.d)


class Triton:
    def __init__(self, m, n, k, a, a_scale, b, b_scale, d, fast_math):
        import triton_dot_scaled

        self.module, self.fast_math = triton_dot_scaled, fast_math
        self.name = f"Triton dot_scaled{', fast_math' if fast_math else ''}"
        self.kernel = "triton_dot_scaled.gemm"
        scale = a if a_scale is None else a_scale
        self.tensors = (a, scale, b, b_scale, d)
        self.shape = (m, n, k)
        self.a_is_mxf4 = a_scale is not None

    def run(self):
        import triton

        m, n, k = self.shape

        def grid(meta):
            return (triton.cdiv(m, meta["TILE_M"]) * triton.cdiv(n, meta["TILE_N"]),)

        self.module.gemm[grid](*self.tensors, m, n, k, self.a_is_mxf4, self.fast_math)


def random_mxf4(rows, k, generator):
    def draw(low, high, cols):
        return torch.randint(
            low, high, (rows, cols), dtype=torch.uint8, device="cuda", generator=generator
        )

    return draw(0, 256, k // 2), draw(123, 130, k // 32)


def decode(qdata, scale):
    values = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    table = torch.tensor(values + [-v for v in values], device=qdata.device)
    codes = torch.stack([qdata & 15, qdata >> 4], dim=-1).flatten(-2).long()
    return table[codes] * torch.exp2(scale.float() - 127).repeat_interleave(32, dim=-1)


class Contender:
    """Copies of one way to multiply, run by turns, as a graph."""

    def __init__(self, copies):
        self.copies = copies
        self.name, self.kernel = copies[0].name, copies[0].kernel
        self.samples = []

    def prepare(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for copy in self.copies:  # compiles, tunes and warms up
                copy.run()
            start, end = events()
            start.record()
            self.copies[0].run()
            end.record()
        torch.cuda.synchronize()
        seconds = max(start.elapsed_time(end) * 1e-3, 1e-6)
        whole = max(1, round(GRAPH_SECONDS / seconds / len(self.copies)))
        self.launches = whole * len(self.copies)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=stream):
            for i in range(self.launches):
                self.copies[i % len(self.copies)].run()
        self.graph.replay()
        torch.cuda.synchronize()

    def measure(self):
        start, end = events()
        start.record()
        self.graph.replay()
        end.record()
        torch.cuda.synchronize()
        self.samples.append(start.elapsed_time(end) * 1e-3 / self.launches)


def events():
    return torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)


def copies_of(make, nbytes):
    cache = 2 * torch.cuda.get_device_properties(0).L2_cache_size
    return Contender([make() for _ in range(cache // nbytes + 1)])


def contenders(m, n, k, a_format, with_triton):
    generator = torch.Generator(device="cuda").manual_seed(1)

    def output():
        return torch.empty(m, n, dtype=torch.bfloat16, device="cuda")

    def plain(rows):
        return torch.randn(rows, k, device="cuda", generator=generator).bfloat16()

    def scaled():
        a, a_scale = random_mxf4(m, k, generator) if a_format == "mxf4" else (plain(m), None)
        return a, a_scale, *random_mxf4(n, k, generator), output()

    a_bytes = m * k * (0.53125 if a_format == "mxf4" else 2)
    few = int(a_bytes + n * k * 0.53125 + m * n * 2)
    many = (m * k + n * k + m * n) * 2
    found = [
        copies_of(lambda: Cublas(plain(m), plain(n), output()), many),
        copies_of(lambda: Mxgemm(m, n, k, *scaled()), few),
    ]
    if with_triton and min(m, n) >= 256:  # its kernel takes whole tiles only
        for fast_math in (False, True):
            found.append(
                copies_of(lambda fast_math=fast_math: Triton(m, n, k, *scaled(), fast_math), few)
            )
    return found


def check(contender, n, k):
    """mxgemm's first rows and columns against the decoded product."""
    call = contender.copies[0]
    a, a_scale, b, b_scale = call.keep
    rows = min(128, a.shape[0])
    left = a[:rows].double() if a_scale is None else decode(a[:rows], a_scale[:rows]).double()
    right = decode(b[:128], b_scale[:128]).double()
    expected = left @ right.T
    got = call.d[:rows, :128].double()
    error = ((got - expected).norm() / expected.norm()).item()
    if not error < 1e-2:
        raise SystemExit(f"mxgemm's result is wrong: relative error {error:.3g}")


def measure(case, with_triton, rounds):
    name, m, n, k, a_format = case
    found = contenders(m, n, k, a_format, with_triton)
    for contender in found:
        contender.prepare()
    check(found[1], n, k)
    for _ in range(rounds):
        for contender in found:
            contender.measure()
    return [
        {
            "case": name,
            "m": m,
            "n": n,
            "k": k,
            "a": a_format,
            "b": "mxf4",
            "contender": contender.name,
            "kernel": contender.kernel,
            "copies": len(contender.copies),
            "median_seconds": statistics.median(contender.samples),
            "min_seconds": min(contender.samples),
            "max_seconds": max(contender.samples),
            "tflops": 2e-12 * m * n * k / statistics.median(contender.samples),
        }
        for contender in found
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    parser.add_argument("--quick", action="store_true", help="fewer measurements")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA device here", file=sys.stderr)
        return 3
    try:
        import triton  # noqa: F401

        with_triton = True
    except ImportError:
        with_triton = False
        print("triton is not installed: not compared", file=sys.stderr)
    rows = []
    for case in CASES:
        rows += measure(case, with_triton, 5 if options.quick else ROUNDS)
        for row in rows:
            if row["case"] == case[0]:
                micro = row["median_seconds"] * 1e6
                print(
                    f"{row['case']:18s} {row['contender']:28s} {micro:9.1f} us "
                    f"{row['tflops']:8.1f} TFLOP/s  {row['kernel']}",
                    flush=True,
                )
        torch.cuda.empty_cache()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "rows": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
