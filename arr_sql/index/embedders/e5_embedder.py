"""The default embedder: multilingual-e5-small, Chinese and English, 384 dimensions, 4-bit weights.

Text -> prefix -> token windows -> engine -> token-weighted mean over windows -> unit length -> language shift.
``tests/index/test_e5_embedder.py`` compares the vectors with those of an independent implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arr_sql.index.embedders.e5_engine import E5Engine
from arr_sql.index.embedders.e5_file import E5_SHA256, E5File, open_e5_file
from arr_sql.index.embedders.e5_tokenizer import NORMALISER, E5Tokenizer
from arr_sql.index.embedders.e5_weights import E5Weights
from arr_sql.index.embedders.language_shift import LanguageShift, unit
from arr_sql.index.embedders.model_paths import E5_MODEL_ID
from arr_sql.index.embedders.numpy_threads import workers
from arr_sql.index.embedders.protocol import EmbedderSpec, check_vector, checked_texts, is_blank

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_weights import Floats

#: Windows of one text that are read; what follows is not embedded, so that one huge text cannot stop a run.
MAX_WINDOWS = 64
_LONGEST_PIECE = 16

#: Texts embedded at a time: bounds the token lists in memory, not the work.
_TEXTS_AT_A_TIME = 64


class E5Embedder:
    """An ``Embedder`` over an open model file. Holds no state that changes: share it, fork it."""

    def __init__(self, file: E5File) -> None:
        """Raises ModelError when the file is damaged."""
        self.tokenizer = E5Tokenizer(file)
        self.engine = E5Engine(E5Weights(file), workers())
        self._shift = LanguageShift(file.shape.hidden)
        self._window = file.shape.positions - 2
        self.spec = EmbedderSpec(
            id=E5_MODEL_ID,
            revision=file.sha256,
            dimension=file.shape.hidden,
            window_tokens=self._window,
            query_prefix="query: ",
            passage_prefix="passage: ",
            fusion_weight=0.5,
            postprocess=f"{self._shift.description}; at most {MAX_WINDOWS} windows",
            normaliser=NORMALISER,
        )

    @classmethod
    def open(cls, path: Path, expected_sha256: str | None = E5_SHA256) -> E5Embedder:
        """The embedder of the file at ``path``. Raises ModelError (``open_e5_file``)."""
        return cls(open_e5_file(path, expected_sha256))

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """Unit float32 vectors of ``texts`` as questions; None for blank ones. Raises ModelError."""
        return self._embed(self.spec.query_prefix, checked_texts(texts))

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        """Unit float32 vectors of ``texts`` as passages to find; None for blank ones. Raises ModelError."""
        return self._embed(self.spec.passage_prefix, checked_texts(texts))

    def raw_vectors(self, prefix: str, texts: Sequence[str]) -> Floats:
        """Unit vectors before the language shift, (len(texts), dimension). For measurements and tests."""
        windows: list[list[int]] = []
        owners: list[int] = []
        sizes: list[int] = []
        for owner, text in enumerate(texts):
            for window in self.windows(prefix + text):
                windows.append(window)
                owners.append(owner)
                sizes.append(len(window) - 2)
        means = self.engine.window_means(windows)
        sums = np.zeros((len(texts), self.spec.dimension), np.float32)
        np.add.at(sums, owners, means * np.asarray(sizes, np.float32)[:, np.newaxis])
        return unit(sums)

    def _embed(self, prefix: str, texts: list[str]) -> list[bytes | None]:
        result: list[bytes | None] = [None] * len(texts)
        waiting = [index for index, text in enumerate(texts) if not is_blank(text)]
        for start in range(0, len(waiting), _TEXTS_AT_A_TIME):
            indices = waiting[start : start + _TEXTS_AT_A_TIME]
            some = [texts[index] for index in indices]
            vectors = self._shift.apply(self.raw_vectors(prefix, some), some)
            for index, vector in zip(indices, vectors, strict=True):
                blob = vector.astype("<f4").tobytes()
                check_vector(blob, self.spec.dimension)
                result[index] = blob
        return result

    def windows(self, text: str) -> list[list[int]]:
        """Token windows of ``text`` with their special tokens; at least one."""
        longest = MAX_WINDOWS * self._window
        ids = self.tokenizer.encode(text[: longest * _LONGEST_PIECE])[:longest]
        bos, eos, size = self.tokenizer.bos, self.tokenizer.eos, self._window
        return [[bos, *ids[start : start + size], eos] for start in range(0, len(ids), size)]
