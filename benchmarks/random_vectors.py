"""An embedder without a model: unit vectors that depend on the text alone, for measurements of everything but embedding."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from arr_sql.index.embedders.numpy_threads import load_numpy
from arr_sql.index.embedders.protocol import EmbedderSpec

DIMENSION = 384


class RandomVectors:
    """Random directions: the same text has the same vector in every process."""

    spec = EmbedderSpec(id="random-vectors", revision="2", dimension=DIMENSION, window_tokens=512)

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | None]:
        """One vector a text."""
        load_numpy()
        import numpy as np

        found: list[bytes | None] = []
        for text in texts:
            seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
            values = np.random.Generator(np.random.SFC64(seed)).standard_normal(DIMENSION, dtype=np.float32)
            found.append((values / np.linalg.norm(values)).astype("<f4").tobytes())
        return found

    embed_passages = embed_queries
