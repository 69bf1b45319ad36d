"""Runs a registered ONNX sentence-embedding model with ONNX Runtime and the tokenizers library (extra ``onnx``).

Each window of a text runs alone: models with dynamic 8-bit products scale by the whole batch, so that a text's vector
would depend on its neighbours (by 1e-2 where it was measured). ONNX Runtime gets one thread, which keeps a forked
child working and a busy machine fast; threads of our own share the windows (``numpy_threads``).
``tests/index/test_e5_onnx_embedder.py`` runs a small model that it builds.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arr_sql.errors import ModelError
from arr_sql.index.embedders.language_shift import unit
from arr_sql.index.embedders.numpy_threads import workers
from arr_sql.index.embedders.onnx_folder import MODEL, TOKENIZER, open_onnx_folder
from arr_sql.index.embedders.protocol import EmbedderSpec, check_vector, checked_texts, is_blank

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_weights import Floats

#: Windows of one text that are read, and a bound on the characters that can matter for them.
MAX_WINDOWS = 64
_CHARACTERS_A_TOKEN = 16
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class OnnxEmbedder:
    """An ``Embedder`` over a folder of the store.

    Raises ModelError when the folder is damaged, a package is missing, or the model is not a sentence embedder.
    """

    def __init__(self, folder: Path) -> None:
        description = open_onnx_folder(folder)
        self._pooling = description.pooling
        self._window_tokens = description.window_tokens
        self._session = open_session(folder / MODEL)
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        if not {"input_ids"} <= set(self._inputs) <= _INPUTS:
            raise ModelError(f"Model '{description.id}' has inputs {self._inputs}; known are {sorted(_INPUTS)}.")
        self._output = self._choose_output(description.id)
        self._tokenizer = _open_tokenizer(folder / TOKENIZER, description.window_tokens)
        self.spec = EmbedderSpec(
            id=description.id,
            revision=description.revision(),
            dimension=description.dimension or self._measured_dimension(),
            window_tokens=description.window_tokens,
            query_prefix=description.query_prefix,
            passage_prefix=description.passage_prefix,
            fusion_weight=description.fusion_weight,
            postprocess=f"pooling {description.pooling}, unit length; at most {MAX_WINDOWS} windows",
            normaliser="tokenizer.json",
        )

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """Unit float32 vectors of ``texts`` as questions; None for blank ones. Raises ModelError."""
        return self._embed(self.spec.query_prefix, checked_texts(texts))

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        """Unit float32 vectors of ``texts`` as passages to find; None for blank ones. Raises ModelError."""
        return self._embed(self.spec.passage_prefix, checked_texts(texts))

    def _embed(self, prefix: str, texts: list[str]) -> list[bytes | None]:
        def embed(text: str) -> bytes | None:
            return None if is_blank(text) else self._vector(prefix + text)

        if workers() == 1 or len(texts) < 2:
            return [embed(text) for text in texts]
        with ThreadPoolExecutor(min(workers(), len(texts)), "arr-embed") as pool:
            return list(pool.map(embed, texts))

    def _vector(self, text: str) -> bytes:
        windows = self._windows(text)
        means = np.stack([self._run(window) for window in windows])
        sizes = np.asarray([len(window) for window in windows], np.float32)
        blob: bytes = unit((means * sizes[:, np.newaxis]).sum(axis=0, keepdims=True)).astype("<f4").tobytes()
        check_vector(blob, self.spec.dimension)
        return blob

    def _windows(self, text: str) -> list[list[int]]:
        """Token ids of each window with the special tokens that the tokenizer adds; at least one window."""
        text = text[: MAX_WINDOWS * self._window_tokens * _CHARACTERS_A_TOKEN]
        encoded = self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        return [list(part.ids) for part in (encoded, *encoded.overflowing)[:MAX_WINDOWS]]

    def _run(self, window: list[int]) -> Floats:
        """The pooled vector of one window: (dimension,), not normalised."""
        ids = np.asarray([window], np.int64)
        values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            (output,) = self._session.run([self._output], {name: values[name] for name in self._inputs})
        except Exception as error:
            raise ModelError(f"The ONNX model failed: {error}") from error
        rows: Floats = np.asarray(output, np.float32)[0]
        if self._pooling == "mean":
            rows = rows.mean(axis=0)
        elif self._pooling == "cls":
            rows = rows[0]
        return rows

    def _choose_output(self, model_id: str) -> str:
        """The first output with the right number of axes: 3 (batch, token, component), or 2 without pooling."""
        axes = 2 if self._pooling == "none" else 3
        for entry in self._session.get_outputs():
            if len(entry.shape) == axes:
                return str(entry.name)
        raise ModelError(f"Model '{model_id}' has no output with {axes} axes, as pooling '{self._pooling}' needs.")

    def _measured_dimension(self) -> int:
        return int(self._run(self._windows("dimension")[0]).shape[0])


def open_session(model: Path | bytes) -> Any:
    """An ``onnxruntime.InferenceSession`` on the CPU with one thread. Raises ModelError."""
    runtime = _import("onnxruntime")
    runtime.disable_telemetry_events()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        source = str(model) if isinstance(model, Path) else model
        return runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(f"ONNX Runtime cannot open the model: {error}") from error


def _open_tokenizer(path: Path, window_tokens: int) -> Any:
    tokenizers = _import("tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        special = tokenizer.num_special_tokens_to_add(False)
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=window_tokens + special, stride=0)
    except Exception as error:
        raise ModelError(f"'{path}' is no tokenizer: {error}") from error
    return tokenizer


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModelError(
            f"{name} is not installed, and this model needs it. Run `pip install 'arr-sql[onnx]'`."
        ) from error
