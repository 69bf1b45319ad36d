"""Is there an answer at all? A floor under the best evidence, so that nonsense finds nothing instead of ten bad hits. Pure.

The best of any ranking is some text. What tells a real answer from the best of nothing: how much of the question the best
hits hold, how near the nearest vector is, and whether it stands out from the next five. All grow by chance with the number
of chunks (the best of N random matches grows with log N), and a long question is held less completely than a short one. A
weighted sum is compared with 0; docs/evaluation.md says how the weights were fitted and how often the floor errs.

It says nothing where it can't judge: unless bm25 and vector both answered the user's own question, and where a first hit
holds a quoted string or a name of the question to the letter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from arr_sql.core.analysis import identifiers, phrase_in, query_terms
from arr_sql.core.canonical import significant
from arr_sql.retrieval.catalog import Hit, is_memory
from arr_sql.retrieval.hybrid_retriever import RankedList
from arr_sql.retrieval.needles import quoted
from arr_sql.retrieval.rule_reranker import coverage

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile("[A-Za-z\u00c0-\u024f]+")
JUDGES = frozenset({"bm25", "vector"})
"""Channels that must have answered, if only with nothing."""
LOOKED_AT = {"bm25": 5, "vector": 3, "research-memory": 3, "grep": 3}
"""How many of a list's first hits are looked at."""


@dataclass(frozen=True)
class AnswerFloor:
    """The weights, fitted for the cosines of one embedding model. All of them are in the policy's hash."""

    model_id: str = "multilingual-e5-small-q4"
    coverage: float = 9.9
    cosine: float = 36.3
    stands_out: float = 30.0
    log_chunks: float = -0.76
    log_terms: float = -0.52
    constant: float = -18.7
    chance_gap: float = 0.04
    """What nine of ten nearest vectors that answer nothing stand out from the next five."""
    other_script: float = 0.17
    """The coverage of a question in another script than the nearest text, which can hold no word of it."""

    def values(self) -> dict[str, float | str]:
        """Everything that decides a verdict."""
        return asdict(self)


def strength(query: str, lists: Sequence[RankedList], compared: Mapping[str, int], floor: AnswerFloor) -> float | None:
    """How far the evidence is above the floor (below it when negative); None where the floor can't judge.

    ``lists`` are the channels' hits, best first; ``compared`` says of each channel that answered how many candidates it
    had: for the vector channel the number of chunks' vectors in the scope.
    """
    found = {ranked.channel: ranked.hits for ranked in lists}
    if not compared.keys() >= JUDGES or not found.get("vector") or any(ranked.query_index for ranked in lists):
        return None
    best = [hit for name, hits in found.items() for hit in hits[: LOOKED_AT.get(name, 0)]]
    if _is_exact(query, best):
        return math.inf
    wanted, vectors = query_terms(query), found["vector"]
    # A memory often says what a chunk says too: beside it the chunk would not stand out, so only chunks are compared with.
    nearest, others = vectors[0].score, [hit.score for hit in vectors[1:] if not is_memory(hit)][:5]
    gap = nearest - math.fsum(others) / len(others) if others else 0.0
    share = max((coverage(hit, wanted) for hit in best), default=0.0)
    if _is_han(query) is not _is_han(vectors[0].content):
        share = max(share, floor.other_script)
    return significant(
        math.fsum(
            (
                floor.coverage * share,
                floor.cosine * nearest,
                floor.stands_out * max(0.0, gap - floor.chance_gap),
                floor.log_chunks * math.log(max(1, compared["vector"])),
                floor.log_terms * math.log1p(len(wanted)),
                floor.constant,
            )
        )
    )


def _is_exact(query: str, hits: Sequence[Hit]) -> bool:
    """Does a hit hold a quoted string or a name of the question?"""
    wanted = [*quoted(query), *identifiers(query)]
    return any(phrase_in(text, f"{hit.heading}\n{hit.content}") for hit in hits for text in wanted)


def _is_han(text: str) -> bool:
    """Is it more Chinese characters than words of letters?"""
    return len(_HAN.findall(text)) > len(_WORD.findall(text))
