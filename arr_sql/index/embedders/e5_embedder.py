"""The default embedder: multilingual-e5-small, Chinese and English, 384 dimensions, 4-bit weights.

Text -> prefix -> token windows -> engine -> token-weighted mean over windows -> unit length -> language shift.
``tests/index/test_e5_embedder.py`` compares the vectors with those of an independent implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_engine import E5Engine
from arr_sql.index.embedders.e5_file import E5_SHA256, E5File, open_e5_file
from arr_sql.index.embedders.e5_int8_engine import open_int8_engine
from arr_sql.index.embedders.e5_tokenizer import NORMALISER, E5Tokenizer
from arr_sql.index.embedders.e5_weights import E5Weights
from arr_sql.index.embedders.e5_windows import Engine, Window
from arr_sql.index.embedders.language_shift import LanguageShift, unit
from arr_sql.index.embedders.model_paths import E5_MODEL_ID
from arr_sql.index.embedders.numpy_threads import workers
from arr_sql.index.embedders.protocol import EmbedderSpec, check_vector, checked_texts, is_blank

if TYPE_CHECKING:
    from arr_sql.index.embedders.e5_weights import Floats

#: Windows of one text that are read; what follows is not embedded, so that one huge text cannot stop a run.
MAX_WINDOWS = 64
_LONGEST_PIECE = 16


#: What both engines must give to within a cosine of 0.9995 before the faster one is used: words, Han, code.
_PROBE = "passage: Halve the rate: `lr *= 0.5` 学习率减半"
_PROBE_COSINE = 0.9995

EngineName: TypeAlias = Literal["int8", "numpy"]


class E5Embedder:
    """An ``Embedder`` over an open model file. Holds no state that changes: share it, fork it."""

    def __init__(self, file: E5File, engine: EngineName | None = None, threads: int | None = None) -> None:
        """``engine`` None is the fastest that gives the model's vectors here; ``threads`` None is all cores.

        Raises ModelError when the file is damaged, or the engine asked for cannot run.
        """
        self.tokenizer = E5Tokenizer(file)
        self.weights = E5Weights(file)
        self.engine: Engine
        self.engine, self.engine_name = self._choose(engine)
        self._threads = threads or workers()
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
    def open(
        cls,
        path: Path,
        expected_sha256: str | None = E5_SHA256,
        engine: EngineName | None = None,
        threads: int | None = None,
    ) -> E5Embedder:
        """The embedder of the file at ``path``. Raises ModelError (``open_e5_file``)."""
        return cls(open_e5_file(path, expected_sha256), engine, threads)

    def _choose(self, wanted: EngineName | None) -> tuple[Engine, EngineName]:
        if wanted != "numpy":
            try:
                return open_int8_engine(self.weights, self._probe()), "int8"
            except ModelError:
                if wanted is not None:
                    raise
        return E5Engine(self.weights), "numpy"

    def _probe(self) -> Window:
        return [self.tokenizer.bos, *self.tokenizer.encode(_PROBE), self.tokenizer.eos]

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """Unit float32 vectors of ``texts`` as questions; None for blank ones. Raises ModelError."""
        return self._embed(self.spec.query_prefix, checked_texts(texts))

    def embed_passages(self, texts: Sequence[str]) -> list[bytes | None]:
        """Unit float32 vectors of ``texts`` as passages to find; None for blank ones. Raises ModelError."""
        return self._embed(self.spec.passage_prefix, checked_texts(texts))

    def raw_vector(self, text: str) -> Floats:
        """The vector of a text with its prefix, before the language shift: (dimension,). For measurements and tests."""
        windows = self.windows(text)
        total = np.zeros(self.spec.dimension, np.float32)
        for window, mean in zip(windows, self.engine.window_means(windows), strict=True):
            total += mean * np.float32(len(window) - 2)
        result: Floats = unit(total[np.newaxis])[0]
        return result

    def _embed(self, prefix: str, texts: list[str]) -> list[bytes | None]:
        """Each text alone, from splitting it to its last byte: its bytes then cannot depend on the others."""
        longest_first = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        result: list[bytes | None] = [None] * len(texts)

        def embed(index: int) -> None:
            if not is_blank(texts[index]):
                raw = self.raw_vector(prefix + texts[index])
                blob = self._shift.apply(raw[np.newaxis], [texts[index]])[0].astype("<f4").tobytes()
                check_vector(blob, self.spec.dimension)
                result[index] = blob

        if self._threads == 1 or len(texts) < 2:
            for index in longest_first:
                embed(index)
        else:
            # The longest first, so that the threads end together. Both engines let go of the interpreter lock.
            with ThreadPoolExecutor(min(self._threads, len(texts)), "arr-embed") as pool:
                for _ in pool.map(embed, longest_first):
                    pass
        return result

    def windows(self, text: str) -> list[list[int]]:
        """Token windows of ``text`` with their special tokens; at least one."""
        longest = MAX_WINDOWS * self._window
        ids = self.tokenizer.encode(text[: longest * _LONGEST_PIECE])[:longest]
        bos, eos, size = self.tokenizer.bos, self.tokenizer.eos, self._window
        return [[bos, *ids[start : start + size], eos] for start in range(0, len(ids), size)]
