"""Is there an answer at all? A floor under the best evidence, so that nonsense finds nothing instead of ten bad hits. Pure.

The best of any ranking is some text. What tells a real answer from the best of nothing: how near the nearest vector is
beside the other near ones, whether words and vectors found the same, and how much of the question the first hits hold. All
grow by chance with the number of chunks (the best of N random matches grows with log N), and questions in Chinese lie nearer
to everything than questions in letters. A weighted sum of these is compared with 0. Whatever the words, a nearest vector
that stands out far enough from the others is an answer. A text in another script than the question can hold none of its
words, so of such texts the cosines alone are asked; where there are texts in both scripts, either of the two may be the
answer. ``python -m benchmarks.answer_floor`` fits the numbers and says how often the floor errs; docs/evaluation.md has the
table.

A question that is a name and nothing else (an error code, a run's number) asks for this name: where no first hit holds more
than a part of it, what lies near it is no answer.

It says nothing where it can't judge: unless bm25 and vector both answered the user's own question, and where a first hit
holds a quoted string or a name of the question to the letter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from arr_sql.core.analysis import identifiers, is_name_alone, phrase_in, query_terms
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
    nearest: float = 23.31
    first_three: float = 25.97
    background: float = 3.31
    agreement: float = 4.16
    nearest_covered: float = 5.35
    best_covered: float = 3.45
    unspaced: float = -2.98
    log_chunks: float = -0.55
    constant: float = -30.14
    stands_out: float = 0.124
    """How much nearer than the background the nearest vector is, in cosines, where the words need not be asked."""
    foreign_nearest: float = 43.72
    foreign_first_three: float = 31.15
    foreign_background: float = -69.42
    foreign_constant: float = -7.917
    """The sum for texts in another script than the question."""
    name_covered: float = 0.45
    """How much of a question that is a name must be held. Chosen, not fitted: ``batchSize`` is held by 0.52 where ``batch_size``
    stands, ``getUserName`` by 0.46 where a text gets user names, ``HRN-E999`` by 0.41 where another code of that kind stands.
    """

    def values(self) -> dict[str, float | str]:
        """Everything that decides a verdict."""
        return asdict(self)


@dataclass(frozen=True)
class Nearness:
    """Cosines of the texts in one kind of script. Texts in another lie farther off: beside them anything would stand out."""

    nearest: float
    first_three: float
    """Their mean: one near text may be chance, three are less so."""
    background: float
    """The mean of all chunks but the nearest; the nearest's own where it is alone."""
    others: int
    """How many those are."""
    is_first: bool
    """Is the nearest of these the nearest of all?"""

    @property
    def gap(self) -> float:
        """How much nearer the nearest is than the background."""
        return self.nearest - self.background


@dataclass(frozen=True)
class AnswerEvidence:
    """What is known of an answer before it is given. Shares are from 0 to 1."""

    own: Nearness | None
    """Of the texts in the question's script; None where there are none."""
    foreign: Nearness | None
    """Of those in another."""
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
    is_exact: bool
    """Does a hit looked at hold a quoted string or a name of the question? Numbers are names only where nothing else is asked."""
    is_name: bool = False
    """Is the question a name and nothing else (:func:`arr_sql.core.analysis.is_name_alone`)?"""


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
    nearest = (own or foreign)[0]
    # Memories have vectors too, but no place in bm25, and one often says what a chunk says: only chunks are compared with.
    near = [hit.chunk_id for hit in vectors if not is_memory(hit)][:AGREE_WITHIN]
    by_words = [hit.chunk_id for hit in found.get("bm25", ())[:AGREE_WITHIN]]
    best = [nearest, *(hit for name, hits in found.items() for hit in hits[: LOOKED_AT.get(name, 0)])]
    covered = {hit.chunk_id: coverage(hit, wanted) for hit in best}
    first = [nearest, *found.get("research-memory", ())[:1]]
    names = identifiers(query)
    is_name = is_name_alone(query)
    # A number among other words proves nothing: "2.2" stands in many texts.
    exact = [*quoted(query), *(name for name in names if is_name or any(map(str.isalpha, name)))]
    return AnswerEvidence(
        own=_nearness(own, vectors[0]),
        foreign=_nearness(foreign, vectors[0]),
        agreement=len(set(near) & set(by_words)) / AGREE_WITHIN,
        nearest_covered=max(covered[hit.chunk_id] for hit in first),
        best_covered=max(covered.values()),
        unspaced=script or 0.0,
        chunks=compared["vector"],
        is_exact=any(_holds(hit, text) for hit in best for text in exact),
        is_name=is_name,
    )


def _nearness(hits: Sequence[Hit], first: Hit) -> Nearness | None:
    if not hits:
        return None
    nearest, scores = hits[0].score, [hit.score for hit in hits[1:] if not is_memory(hit)]
    three = [nearest, *scores[:2]]
    return Nearness(
        nearest, math.fsum(three) / len(three), math.fsum(scores) / len(scores) if scores else nearest, len(scores),
        hits[0] is first,
    )  # fmt: skip


def strength(evidence: AnswerEvidence, floor: AnswerFloor) -> float:
    """How far the evidence is above the floor (below it when negative), to three places: what is shown is what decides."""
    if evidence.is_exact or evidence.chunks <= FEWEST_OTHERS:
        return math.inf
    if evidence.is_name and evidence.best_covered < floor.name_covered:
        return round(STEEPNESS * (evidence.best_covered - floor.name_covered), 3)
    return round(max(_own_strength(evidence, floor), _foreign_strength(evidence, floor)), 3)


def _own_strength(evidence: AnswerEvidence, floor: AnswerFloor) -> float:
    if evidence.own is None:
        return -math.inf
    total = math.fsum(own_parts(evidence.own, evidence, floor).values())
    return max(total, STEEPNESS * (evidence.own.gap - floor.stands_out))


def _foreign_strength(evidence: AnswerEvidence, floor: AnswerFloor) -> float:
    """Too few to compare the first with: it stands where it is the nearest of all."""
    foreign = evidence.foreign
    if foreign is None or foreign.others < FEWEST_OTHERS:
        return math.inf if foreign is not None and foreign.is_first else -math.inf
    return math.fsum(foreign_parts(foreign, floor).values())


def own_parts(own: Nearness, evidence: AnswerEvidence, floor: AnswerFloor) -> dict[str, float]:
    """What each weight adds to the sum for texts in the question's script, by the weight's name."""
    return {
        "nearest": floor.nearest * own.nearest,
        "first_three": floor.first_three * own.first_three,
        "background": floor.background * own.background,
        "agreement": floor.agreement * evidence.agreement,
        "nearest_covered": floor.nearest_covered * evidence.nearest_covered,
        "best_covered": floor.best_covered * evidence.best_covered,
        "unspaced": floor.unspaced * evidence.unspaced,
        "log_chunks": floor.log_chunks * math.log(max(1, evidence.chunks)),
        "constant": floor.constant,
    }


def foreign_parts(foreign: Nearness, floor: AnswerFloor) -> dict[str, float]:
    """The same for texts in another script."""
    return {
        "foreign_nearest": floor.foreign_nearest * foreign.nearest,
        "foreign_first_three": floor.foreign_first_three * foreign.first_three,
        "foreign_background": floor.foreign_background * foreign.background,
        "foreign_constant": floor.foreign_constant,
    }


def _holds(hit: Hit, phrase: str) -> bool:
    return phrase_in(phrase, f"{hit.heading}\n{hit.content}")
