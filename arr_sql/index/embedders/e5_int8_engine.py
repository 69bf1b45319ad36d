"""Runs multilingual-e5-small on ONNX Runtime with 8-bit products (``e5_int8_graph``): twice as fast as NumPy.

ONNX Runtime gets one thread, which keeps a forked child working and a busy machine fast; threads of our own share
the texts (``e5_embedder``). The graph is built from the weights once and kept beside the model (22 MB), because building
it takes longer than a question; where it cannot be kept, it is built each time.

Not every processor multiplies 8-bit numbers exactly (older x86 ones saturate the sum of two products), so each engine
that is opened embeds one text and is compared with NumPy's vector of it, which is kept with the graph. Where it
disagrees, or ONNX Runtime is not installed, NumPy does the work. ``tests/index/test_e5_int8.py`` holds this.
"""

from __future__ import annotations

import hashlib
import importlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_engine import E5Engine
from arr_sql.index.embedders.e5_int8_graph import GRAPH_REVISION, INPUT, OUTPUT, ZERO_POINTS, build_graph
from arr_sql.index.embedders.e5_windows import Window, run_each
from arr_sql.index.embedders.model_paths import E5_MODEL_ID, model_folder

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_weights import E5Weights, Floats

#: Least cosine with NumPy's vector of the probe, before the language shift. Exact 8-bit products give 0.9998.
LEAST_COSINE = 0.9995

_DIGEST_BYTES = 32


def open_int8_engine(weights: E5Weights, probe: Window) -> E5Int8Engine:
    """The engine of ``weights``, after it has given NumPy's vector of the window ``probe``.

    Raises ModelError when ONNX Runtime is not installed or fails, or the vector is another one.
    """
    import_runtime()
    path = graph_path(weights.file_sha256, probe) if weights.file_sha256 else None
    kept = _read(path, weights.shape.hidden) if path else None
    if kept is None:
        expected = E5Engine(weights).window_means([probe])[0]
        kept = expected, build_graph(weights)
        if path:
            _keep(path, *kept)
    expected, graph = kept
    engine = E5Int8Engine(weights, graph)
    found = engine.window_means([probe])[0]
    cosine = float(expected @ found) / float(np.linalg.norm(expected) * np.linalg.norm(found))
    if not cosine >= LEAST_COSINE:
        raise ModelError(f"8-bit products give other vectors on this processor (cosine {cosine:.4f}); NumPy is used.")
    return engine


def graph_path(sha256: str, probe: Window) -> Path:
    """Where the graph of the weights with this hash is kept, whether it is there or not."""
    key = hashlib.sha256(f"{sha256} {GRAPH_REVISION} {list(probe)}".encode()).hexdigest()
    return model_folder() / E5_MODEL_ID / f"int8-{key[:16]}.graph"


def _read(path: Path, hidden: int) -> tuple[Floats, bytes] | None:
    """The probe's vector and the graph; None when they are not there or not whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, rest = data[:_DIGEST_BYTES], memoryview(data)[_DIGEST_BYTES:]
    if len(rest) <= 4 * hidden or hashlib.sha256(rest).digest() != digest:
        return None
    return np.frombuffer(rest[: 4 * hidden], "<f4").astype(np.float32), bytes(rest[4 * hidden :])


def _keep(path: Path, expected: Floats, graph: bytes) -> None:
    """Put the file in place by one rename. A folder that cannot be written to is no fault: it is built again."""
    data = expected.astype("<f4").tobytes() + graph
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, temporary = tempfile.mkstemp(prefix=".partial-", dir=path.parent)
        with open(number, "wb") as out:
            out.write(hashlib.sha256(data).digest() + data)
        Path(temporary).replace(path)
    except OSError:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


class E5Int8Engine:
    """An ``Engine`` on ONNX Runtime."""

    def __init__(self, weights: E5Weights, graph: bytes | None = None) -> None:
        """``graph`` is what ``build_graph`` gave for these weights, if it is at hand. Raises ModelError."""
        self._weights = weights
        self._session = open_session(graph or build_graph(weights))

    def window_means(self, windows: Sequence[Window]) -> Floats:
        """As ``Engine.window_means``. Raises ModelError when ONNX Runtime fails."""
        return run_each(self._forward, windows, self._weights.shape.hidden)

    def _forward(self, window: Window) -> Floats:
        embedded = self._weights.words(list(window)) + self._weights.positions[: len(window)]
        values = {INPUT: embedded[np.newaxis], ZERO_POINTS: np.full(len(window), 128, np.uint8)}
        try:
            (mean,) = self._session.run([OUTPUT], values)
        except Exception as error:  # its C++ module raises classes of its own, which it does not make public
            raise ModelError(f"ONNX Runtime failed: {error}") from error
        result: Floats = mean[0]
        return result


def import_runtime() -> Any:
    """The ``onnxruntime`` module, told to report nothing. Raises ModelError when it is not installed or broken."""
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise ModelError("onnxruntime is not installed. Run `pip install 'arr-sql[local]'`.") from error
    runtime.disable_telemetry_events()
    return runtime


def open_session(model: bytes) -> Any:
    """An ``onnxruntime.InferenceSession`` on the CPU with one thread that does not spin. Raises ModelError."""
    runtime = import_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above
        raise ModelError(f"ONNX Runtime cannot open the model: {error}") from error
