"""The reference column: bm25s (Lù, arXiv:2407.03618) with Porter stemming and Lucene's stop words, Chinese as bigrams.

Needs the extra ``bench``. k1 = 1.2, b = 0.75, Lucene's idf; title and text are one field.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import snowballstemmer

from benchmarks.judged_collection import Collection

_STOP_WORDS = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
    will with
"""
LUCENE_STOP_WORDS = frozenset(_STOP_WORDS.split())
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_HAN}]+|[^\W{_HAN}]{{2,}}")


class ReferenceTokenizer:
    """Words of two letters and more, lower case, stemmed; runs of Chinese as pairs of neighbours."""

    def __init__(self) -> None:
        self._stemmer = snowballstemmer.stemmer("porter")
        self._known: dict[str, str] = {}

    def tokens(self, text: str) -> list[str]:
        """The tokens of ``text`` in order."""
        found: list[str] = []
        for match in _TOKEN.finditer(text.lower()):
            word = match[0]
            if re.match(f"[{_HAN}]", word):
                found += [word[at : at + 2] for at in range(len(word) - 1)] or [word]
            elif word not in LUCENE_STOP_WORDS:
                if word not in self._known:
                    self._known[word] = self._stemmer.stemWord(word)
                found.append(self._known[word])
        return found


def reference_rankings(collection: Collection, depth: int) -> list[list[str]]:
    """For each topic the ids of the best documents, best first; documents that share no term are left out."""
    import bm25s

    tokenizer = ReferenceTokenizer()
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(
        [tokenizer.tokens(f"{title} {text}") or ["-"] for _, title, text in collection.documents], show_progress=False
    )
    names = [name for name, _, _ in collection.documents]
    return [_best(index, names, tokenizer.tokens(topic.text), min(depth, len(names))) for topic in collection.topics]


def _best(index: object, names: Sequence[str], query: list[str], depth: int) -> list[str]:
    if not query:
        return []
    found, scores = index.retrieve([query], k=depth, show_progress=False)  # type: ignore[attr-defined]
    return [names[int(place)] for place, score in zip(found[0], scores[0], strict=True) if score > 0]
