"""Measures how large each channel of the default model's activations gets, and writes ``e5_activation_ranges.json``.

    python -m benchmarks.e5_activation_ranges FOLDER ... [--write]

The folders are collections; passages are drawn from each, and pieces of the standard library's source beside them.
The ranges are stored as quarter octaves, log2(range) * 4, rounded: what they steer needs no more.
"""

from __future__ import annotations

import argparse
import json
import random
from importlib.resources import files
from pathlib import Path

import numpy as np

from arr_sql.index.embedders.e5_embedder import E5Embedder
from arr_sql.index.embedders.model_store import find_default_model
from benchmarks.embedding_speed import sample_texts
from benchmarks.plain_numpy_engine import PlainNumpyEngine, apply, attend, gelu_in_place, normalise

STEPS_AN_OCTAVE = 4


class Recorder(PlainNumpyEngine):
    """The plain engine, noting the largest absolute value of each channel before the products that are smoothed."""

    def __init__(self, embedder: E5Embedder) -> None:
        super().__init__(embedder.weights)
        shape = embedder.weights.shape
        self.ranges = np.full((shape.layers, 2, shape.hidden), 2.0**-10, np.float32)

    def _layer(self, rows, layer, runs) -> None:  # type: ignore[no-untyped-def]
        seen = self.ranges[[id(one) for one in self._weights.layers].index(id(layer))]
        epsilon = self._weights.shape.epsilon
        np.maximum(seen[0], np.abs(rows).max(axis=0), out=seen[0])
        projected = apply(layer.attend_in, rows)
        mixed = np.empty_like(rows)
        for start, end, count in runs:
            attend(projected[start:end], mixed[start:end], count, self._weights.shape.heads)
        rows += apply(layer.attend_out, mixed)
        normalise(rows, layer.attend_norm, epsilon)
        np.maximum(seen[1], np.abs(rows).max(axis=0), out=seen[1])
        wide = apply(layer.feed_in, rows)
        gelu_in_place(wide)
        rows += apply(layer.feed_out, wide)
        normalise(rows, layer.feed_norm, epsilon)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--texts", type=int, default=16, help="passages from each folder (16)")
    parser.add_argument("--write", action="store_true", help="replace the file in the package")
    arguments = parser.parse_args()
    path = find_default_model()
    if path is None:
        raise SystemExit("the default model is not installed")
    embedder = E5Embedder.open(path)
    recorder = Recorder(embedder)
    texts = sample_texts(arguments.folders, arguments.texts, random.Random(20))
    recorder.window_means([window for text in texts for window in embedder.windows("passage: " + text)])
    steps = np.rint(np.log2(recorder.ranges) * STEPS_AN_OCTAVE).astype(int)
    rows = ",\n".join("[" + ",\n".join(json.dumps(part.tolist()) for part in layer) + "]" for layer in steps)
    about = f"log2 of each channel's largest activation, times {STEPS_AN_OCTAVE}; (layers, 2, hidden)"
    text = f'{{"about": {json.dumps(about)}, "revision": 1, "quarter_octaves": [\n{rows}\n]}}\n'
    if arguments.write:
        Path(str(files("arr_sql.index.embedders").joinpath("e5_activation_ranges.json"))).write_text(text, "utf-8")
    print(f"{len(texts)} texts; largest {recorder.ranges.max():.1f}, median {np.median(recorder.ranges):.2f}")


if __name__ == "__main__":
    main()
