"""Is there an answer at all? A floor under the best evidence, so that nonsense finds nothing instead of ten bad hits. Pure.

The best of any ranking is some text. What tells a real answer from the best of nothing: how near the nearest vector is
beside the other near ones, whether words and vectors found the same, and how much of the question the first hits hold. All
grow by chance with the number of chunks (the best of N random matches grows with log N), and questions in Chinese lie nearer
to everything than questions in letters. A weighted sum of these is compared with 0. Whatever the words, a nearest vector
that stands out far enough from the others is an answer. A text in another script than the question can hold none of its
words, so of such texts this alone is asked; where there are texts in both scripts, either of the two may be the answer.
``python -m benchmarks.answer_floor`` fits the numbers and says how often the floor errs; docs/evaluation.md has the table.

It says nothing where it can't judge: unless bm25 and vector both answered the user's own question, and where a first hit
holds a quoted string or a name of the question to the letter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from arr_sql.core.analysis import identifiers, phrase_in, query_terms
from arr_sql.core.scripts import are_foreign, unspaced_share
from arr_sql.retrieval.catalog import Hit, is_memory
from arr_sql.retrieval.hybrid_retriever import RankedList
from arr_sql.retrieval.needles import quoted
from arr_sql.retrieval.rule_reranker import coverage

JUDGES = frozenset({"bm25", "vector"})
"""Channels that must have answered, if only with nothing."""
LOOKED_AT = {"bm25": 5, "vector": 3, "research-memory": 3, "grep": 3}
"""How many of a list's first hits are read for the question's words."""
AGREE_WITHIN = 10
"""Words and vectors agree on a chunk that is among the first so many of both."""
BACKGROUND_TO = 100
"""The nearest vectors that make the background: as many as a channel is asked for, whatever k is."""
STEEPNESS = 50.0
"""A strength is in the units of the sum (log-odds); so much of it is a cosine of standing out. For show: signs decide."""
FEWEST_OTHERS = 5
"""With fewer other vectors than this there is no background to stand out from: an answer in another script is let be, and in a
scope of no more chunks any answer is, for somebody who has just begun gets a handful of hits at most.
"""


@dataclass(frozen=True)
class AnswerFloor:
    """The weights, fitted for the cosines of one embedding model. All of them are in the policy's hash."""

    model_id: str = "multilingual-e5-small-q4"
    nearest: float = 34.57
    background: float = 14.76
    agreement: float = 4.53
    nearest_covered: float = 5.07
    best_covered: float = 3.37
    unspaced: float = -2.84
    log_chunks: float = -0.53
    constant: float = -27.687
    stands_out: float = 0.123
    """How much nearer than the background the nearest vector is, in cosines, where the words need not be asked."""
    foreign_stands_out: float = 0.081
    """The same where they can't be."""

    def values(self) -> dict[str, float | str]:
        """Everything that decides a verdict."""
        return asdict(self)


@dataclass(frozen=True)
class AnswerEvidence:
    """What is known of an answer before it is given. Shares are from 0 to 1."""

    nearest: float
    """Cosine of the nearest text in the question's script; where there is none, of the nearest of all."""
    background: float
    """Mean cosine of the next chunks in the script of the nearest; its own where there are none. Texts in another script lie
    farther off, so that beside them anything would stand out.
    """
    others: int
    """How many those are."""
    agreement: float
    """How many of the first ten of bm25 are among the first ten of the vectors, as a share of ten."""
    nearest_covered: float
    """The share of the question, by weight, that the nearest text or the first memory holds."""
    best_covered: float
    """The largest share that any of the hits looked at holds."""
    unspaced: float
    """How much of the question is in a script without spaces (:func:`arr_sql.core.scripts.unspaced_share`)."""
    chunks: int
    """Chunks of the scope that have a vector."""
    is_foreign: bool
    """Are all near texts in another script than the question?"""
    is_exact: bool
    """Does a hit looked at hold a quoted string or a name of the question?"""
    foreign_gap: float = 0.0
    """Where there are texts in both scripts: how much nearer the nearest in another is than the others in that one. Infinite
    where it is the nearest of all and there are too few others to compare it with.
    """

    @property
    def gap(self) -> float:
        """How much nearer the nearest vector is than the background."""
        return self.nearest - self.background


def answer_evidence(query: str, lists: Sequence[RankedList], compared: Mapping[str, int]) -> AnswerEvidence | None:
    """What the channels' answers to ``query`` say; None where the floor can't judge.

    ``lists`` are the channels' hits, best first; ``compared`` says of each channel that answered how many candidates it
    had: for the vector channel the number of chunks' vectors in the scope.
    """
    found = {ranked.channel: ranked.hits for ranked in lists}
    if not compared.keys() >= JUDGES or not found.get("vector") or any(ranked.query_index for ranked in lists):
        return None
    wanted, vectors = query_terms(query), found["vector"][:BACKGROUND_TO]
    script = unspaced_share(query)
    foreign = [hit for hit in vectors if are_foreign(script, unspaced_share(hit.content))]
    own = [hit for hit in vectors if hit not in foreign]
    nearest, *others = own or foreign
    # Memories have vectors too, but no place in bm25, and one often says what a chunk says: only chunks are compared with.
    near = [hit.chunk_id for hit in vectors if not is_memory(hit)][:AGREE_WITHIN]
    by_words = [hit.chunk_id for hit in found.get("bm25", ())[:AGREE_WITHIN]]
    best = [nearest, *(hit for name, hits in found.items() for hit in hits[: LOOKED_AT.get(name, 0)])]
    covered = {hit.chunk_id: coverage(hit, wanted) for hit in best}
    first = [nearest, *found.get("research-memory", ())[:1]]
    return AnswerEvidence(
        nearest=nearest.score,
        background=_background(nearest, others),
        others=sum(not is_memory(hit) for hit in others),
        agreement=len(set(near) & set(by_words)) / AGREE_WITHIN,
        nearest_covered=max(covered[hit.chunk_id] for hit in first),
        best_covered=max(covered.values()),
        unspaced=script or 0.0,
        chunks=compared["vector"],
        is_foreign=not own,
        is_exact=_is_exact(query, best),
        foreign_gap=_foreign_gap(foreign, is_nearest=vectors[0] in foreign) if own and foreign else 0.0,
    )


def _foreign_gap(foreign: Sequence[Hit], *, is_nearest: bool) -> float:
    """Of the texts in another script. Too few to compare the first with: it stands where it is the nearest of all."""
    if len(foreign) > FEWEST_OTHERS:
        return foreign[0].score - _background(foreign[0], foreign[1:])
    return math.inf if is_nearest else 0.0


def _background(nearest: Hit, others: Sequence[Hit]) -> float:
    scores = [hit.score for hit in others if not is_memory(hit)]
    return math.fsum(scores) / len(scores) if scores else nearest.score


def strength(evidence: AnswerEvidence, floor: AnswerFloor) -> float:
    """How far the evidence is above the floor (below it when negative), to three places: what is shown is what decides."""
    is_too_small = evidence.chunks <= FEWEST_OTHERS or (evidence.is_foreign and evidence.others < FEWEST_OTHERS)
    if evidence.is_exact or is_too_small:
        return math.inf
    if evidence.is_foreign:
        return round(STEEPNESS * (evidence.gap - floor.foreign_stands_out), 3)
    alone = max(evidence.gap - floor.stands_out, evidence.foreign_gap - floor.foreign_stands_out)
    return round(max(math.fsum(parts(evidence, floor).values()), STEEPNESS * alone), 3)


def parts(evidence: AnswerEvidence, floor: AnswerFloor) -> dict[str, float]:
    """What each weight adds to the sum, by the weight's name."""
    return {
        "nearest": floor.nearest * evidence.nearest,
        "background": floor.background * evidence.background,
        "agreement": floor.agreement * evidence.agreement,
        "nearest_covered": floor.nearest_covered * evidence.nearest_covered,
        "best_covered": floor.best_covered * evidence.best_covered,
        "unspaced": floor.unspaced * evidence.unspaced,
        "log_chunks": floor.log_chunks * math.log(max(1, evidence.chunks)),
        "constant": floor.constant,
    }


def _is_exact(query: str, hits: Sequence[Hit]) -> bool:
    wanted = [*quoted(query), *identifiers(query)]
    return any(phrase_in(text, f"{hit.heading}\n{hit.content}") for hit in hits for text in wanted)
