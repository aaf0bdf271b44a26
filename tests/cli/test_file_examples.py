# SPDX-License-Identifier: Apache-2.0
"""The examples of the commands that work on files, as `--help` and docs/cli.md show them: one after
the other in one folder, as a reader would type them. Those for a GPU run on the CPU."""

import json
import shlex

import numpy as np
import pytest
from conftest import normal
from safetensors.numpy import save_file

COMMANDS = ("quantize", "dequantize", "gemm", "inspect")


@pytest.fixture
def folder(tmp_path):
    """The files that the examples take for granted."""
    weights = {
        "layers.0.mlp.weight": normal((48, 64), 1),
        "layers.0.attention.weight": normal((64, 64), 2),
    }
    save_file(weights, tmp_path / "model.safetensors")
    (tmp_path / "big").mkdir()
    save_file(weights, tmp_path / "big" / "part.safetensors")
    for path, shard in (("", "model.safetensors"), ("big", "part.safetensors")):
        index = {"metadata": {}, "weight_map": dict.fromkeys(weights, shard)}
        (tmp_path / path / "model.safetensors.index.json").write_text(json.dumps(index))
    for name, shape in (("A", (5, 64)), ("B", (7, 64)), ("X", (5, 64)), ("b", (48,)), ("a", (3,))):
        np.save(tmp_path / f"{name}.npy", normal(shape, 3))
    return tmp_path


def test_they_work_in_this_order(mxgemm, folder):
    count = 0
    for command in COMMANDS:
        text = mxgemm(command, "--help").out.split("Examples:\n")[1]
        for line in text.splitlines():
            if line.startswith(f"  mxgemm {command} "):
                words = shlex.split(line)[1:]
                mxgemm(*("cpu" if word == "cuda:0" else word for word in words))
                count += 1
    assert count >= 2 * len(COMMANDS)
