# SPDX-License-Identifier: Apache-2.0
"""MXFP4 GEMMs as Triton's tl.dot_scaled does them, for comparison.

    python bench/peers/triton_dot_scaled.py [M N K]

Prints the median time and TFLOP/s of mxf4 x mxf4 and bf16 x mxf4, each with and without
`fast_math` (which drops Triton's handling of NaN scales; mxgemm always handles them), for the best
of a few tile configurations, and checks one output tile against the decoded product. Needs torch,
triton and a GPU.
"""

import sys

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 32  # elements of K per scale

CONFIGS = [
    triton.Config({"TILE_M": m, "TILE_N": n, "TILE_K": k}, num_warps=warps, num_stages=stages)
    for m, n, k, warps, stages in [
        (128, 128, 128, 4, 3),
        (128, 128, 128, 8, 3),
        (128, 256, 64, 8, 3),
        (128, 256, 128, 8, 3),
    ]
]


@triton.autotune(configs=CONFIGS, key=["m", "n", "k", "A_IS_MXF4", "FAST_MATH"])
@triton.jit
def gemm(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, d_ptr, m, n, k,
    A_IS_MXF4: tl.constexpr, FAST_MATH: tl.constexpr,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    # Strips of 8 tiles of M share their columns in L2.
    strip: tl.constexpr = 8
    tiles_n = tl.cdiv(n, TILE_N)
    index = tl.program_id(0)
    first_m = index // (strip * tiles_n) * strip
    height = min(strip, tl.cdiv(m, TILE_M) - first_m)
    tile_m = first_m + index % (strip * tiles_n) % height
    tile_n = index % (strip * tiles_n) // height

    rows = tile_m * TILE_M + tl.arange(0, TILE_M)
    cols = tile_n * TILE_N + tl.arange(0, TILE_N)
    packed = tl.arange(0, TILE_K // 2)
    blocks = tl.arange(0, TILE_K // 32)
    a_width: tl.constexpr = TILE_K // 2 if A_IS_MXF4 else TILE_K
    a_pitch = k // 2 if A_IS_MXF4 else k
    a_ptrs = a_ptr + rows[:, None] * a_pitch + tl.arange(0, a_width)[None, :]
    a_scale_ptrs = a_scale_ptr + rows[:, None] * (k // 32) + blocks[None, :]
    b_ptrs = b_ptr + cols[None, :] * (k // 2) + packed[:, None]
    b_scale_ptrs = b_scale_ptr + cols[:, None] * (k // 32) + blocks[None, :]
    acc = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for _ in range(0, k, TILE_K):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        b_scale = tl.load(b_scale_ptrs)
        if A_IS_MXF4:
            a_scale = tl.load(a_scale_ptrs)
            acc = tl.dot_scaled(
                a, a_scale, "e2m1", b, b_scale, "e2m1", acc=acc, fast_math=FAST_MATH
            )
            a_scale_ptrs += TILE_K // 32
        else:
            acc = tl.dot_scaled(a, None, "bf16", b, b_scale, "e2m1", acc=acc, fast_math=FAST_MATH)
        a_ptrs += a_width
        b_ptrs += TILE_K // 2
        b_scale_ptrs += TILE_K // 32
    d_ptrs = d_ptr + rows[:, None].to(tl.int64) * n + cols[None, :]
    tl.store(d_ptrs, acc.to(tl.bfloat16))


def decode(qdata, scale):
    values = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    table = torch.tensor(values + [-v for v in values], device=qdata.device)
    codes = torch.stack([qdata & 15, qdata >> 4], dim=-1).flatten(-2).long()
    return table[codes] * torch.exp2(scale.float() - 127).repeat_interleave(BLOCK_SIZE, dim=-1)


def measure(m, n, k, a_is_mxf4, fast_math):
    """Median milliseconds of one multiplication."""
    generator = torch.Generator(device="cuda").manual_seed(1)

    def random_mxf4(rows):
        def draw(low, high, cols):
            return torch.randint(
                low, high, (rows, cols), dtype=torch.uint8, device="cuda", generator=generator
            )

        return draw(0, 256, k // 2), draw(123, 130, k // BLOCK_SIZE)

    if a_is_mxf4:
        a, a_scale = random_mxf4(m)
        a_decoded = decode(a[:128], a_scale[:128])
    else:
        a = torch.randn(m, k, device="cuda", generator=generator).bfloat16()
        a_scale = a  # not read
        a_decoded = a[:128].float()
    b, b_scale = random_mxf4(n)
    d = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")

    def run():
        def grid(meta):
            return (triton.cdiv(m, meta["TILE_M"]) * triton.cdiv(n, meta["TILE_N"]),)

        gemm[grid](a, a_scale, b, b_scale, d, m, n, k, a_is_mxf4, fast_math)

    run()
    expected = a_decoded.double() @ decode(b[:128], b_scale[:128]).double().T
    error = (d[:128, :128].double() - expected).norm() / expected.norm()
    if not error < 1e-2:
        raise SystemExit(f"Triton's result is wrong: relative error {error:.3g}")
    return triton.testing.do_bench(run, warmup=30, rep=120, return_mode="median")


def main():
    m, n, k = (int(text) for text in sys.argv[1:4]) if len(sys.argv) > 3 else (8192, 8192, 8192)
    for a_is_mxf4, name in [(True, "mxf4 x mxf4"), (False, "bf16 x mxf4")]:
        for fast_math in [False, True]:
            milliseconds = measure(m, n, k, a_is_mxf4, fast_math)
            print(
                f"triton dot_scaled {name} fast_math={fast_math}: {milliseconds:.3f} ms, "
                f"{2 * m * n * k / milliseconds / 1e9:.0f} TFLOP/s, {gemm.best_config}",
                flush=True,
            )


if __name__ == "__main__":
    main()
