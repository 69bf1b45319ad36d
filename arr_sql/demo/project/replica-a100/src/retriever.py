"""Find passages for a document and leave out those that would give its text away."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Passage:
    passage_id: int
    document: str
    tokens: np.ndarray     # uint16
    signature: np.ndarray  # uint32, one minimum per permutation


def estimated_jaccard(a: np.ndarray, b: np.ndarray) -> float:
    """Share of equal minima: an unbiased estimate of the Jaccard similarity of the shingle sets."""
    return float(np.mean(a == b))


def gives_away(passage: Passage, spans: Sequence[np.ndarray], limit: float = 0.8) -> bool:
    """True when the passage nearly repeats any 512-token span of the target."""
    return any(estimated_jaccard(passage.signature, span) >= limit for span in spans)


class Retriever:
    """Search a frozen index. One instance per data-loader worker."""

    def __init__(self, index, store, encoder, *, oversample=4, prefetch=4, max_jaccard=0.8):
        self.index, self.store, self.encoder = index, store, encoder
        self.oversample, self.prefetch, self.max_jaccard = oversample, prefetch, max_jaccard

    def passages(self, document, wanted: int) -> list[Passage]:
        """Return at most ``wanted`` passages, best first.

        Four times as many candidates are fetched, so that filtering rarely leaves a gap.
        """
        vector = self.encoder.encode(document.opening(tokens=512))
        found = []
        for passage_id in self.index.search(vector, wanted * self.oversample):
            passage = self.store[passage_id]
            if passage.document == document.name:
                continue
            if gives_away(passage, document.span_signatures, self.max_jaccard):
                continue
            found.append(passage)
            if len(found) == wanted:
                break
        return found

    def stream(self, documents, wanted: int) -> Iterator[tuple[object, list[Passage]]]:
        """Yield documents with their passages, looking ``prefetch`` documents ahead."""
        with ThreadPoolExecutor(max_workers=self.prefetch) as pool:
            waiting = []
            for document in documents:
                waiting.append((document, pool.submit(self.passages, document, wanted)))
                if len(waiting) > self.prefetch:
                    first, future = waiting.pop(0)
                    yield first, future.result()
            for first, future in waiting:
                yield first, future.result()


def copy_rate(target: Sequence[int], passages: Sequence[Sequence[int]], n: int = 8) -> float:
    """Share of the target's n-grams that occur in its passages. Above 0.15 something leaks."""
    grams = [tuple(target[i : i + n]) for i in range(len(target) - n + 1)]
    if not grams:
        return 0.0
    seen = {tuple(p[i : i + n]) for p in passages for i in range(len(p) - n + 1)}
    return sum(gram in seen for gram in grams) / len(grams)
