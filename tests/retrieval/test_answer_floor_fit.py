"""The fit of the floor's numbers and the questions it is fitted on (benchmarks/): what they promise, on made-up evidence."""

from __future__ import annotations

import random

import pytest

from arr_sql.retrieval.answer_floor import AnswerEvidence, AnswerFloor, Nearness
from benchmarks.floor_questions import Corpus, corpora, nonsense, questions
from benchmarks.judged_collection import Collection, Topic

pytest.importorskip("numpy", reason="the fit is a benchmark's and computes with NumPy (extra `local`)")

from benchmarks.answer_floor import leave_one_out, rates
from benchmarks.floor_fit import Seen, fit, is_answered


def evidence(draw: random.Random, is_answer: bool, is_foreign: bool) -> AnswerEvidence:
    """Cosines and shares that lie apart; Chinese questions and bigger corpora are nearer, as in life."""
    chinese = draw.random() < 0.5
    nearest = draw.gauss(0.75 if is_answer else 0.58, 0.02) + (0.05 if chinese else 0.0)
    background = nearest - (0.15 if is_answer else 0.04)
    near = Nearness(nearest, nearest - 0.01, background, others=99, is_first=True)
    return AnswerEvidence(
        own=None if is_foreign else near, foreign=near if is_foreign else None,
        agreement=draw.choice([0.3, 0.5] if is_answer else [0.0, 0.1]), nearest_covered=0.6 if is_answer else 0.1,
        best_covered=0.7 if is_answer else draw.choice([0.2, 0.3]), unspaced=float(chinese), chunks=draw.choice([200, 2000]),
        is_exact=False,
    )  # fmt: skip


def seen(name: str, is_foreign: bool = False, seed: int = 1) -> list[Seen]:
    """Sixty questions of each sort."""
    draw = random.Random(seed)
    kinds = ("own", "off_topic", "nonsense")
    return [
        Seen(name, name, True, kind, n % 2, evidence(draw, kind == "own", is_foreign), 1.0 if kind == "own" else 0.0)
        for n in range(60)
        for kind in kinds
    ]


def test_what_lies_apart_is_told_apart() -> None:
    """In the question's script and in another; a question of which nothing was found counts for nothing."""
    questions_seen = [*seen("one"), *seen("two", seed=2), *seen("one", is_foreign=True, seed=3)]
    floor = fit(questions_seen, questions_seen, "some-model")
    assert floor.model_id == "some-model"
    for kind, expected in (("own", 60 * 3), ("off_topic", 0), ("nonsense", 0)):
        mine = [item for item in questions_seen if item.kind == kind]
        assert abs(sum(is_answered(item, floor) for item in mine) - expected) <= 4
    lost = Seen("one", "one", True, "own", 0, evidence(random.Random(9), False, False), 0.0)
    assert fit([*questions_seen, *[lost] * 500], questions_seen, "some-model") == floor


def test_a_collection_is_judged_without_its_own_questions() -> None:
    """Whatever one collection's questions look like, the numbers that judge it stay the same."""
    others = [*seen("one"), *seen("two", seed=2), *seen("one", is_foreign=True, seed=3)]

    def numbers(last: list[Seen]) -> set[AnswerFloor]:
        return {floor for item, floor in leave_one_out([*others, *last], "m") if item.collection == "last"}

    assert numbers(seen("last", seed=4)) == numbers(seen("last", seed=5))
    measured = rates(leave_one_out(others, "m"))
    assert list(measured) == ["one", "two", "another script", "mean", "worst"]
    assert measured["worst"]["lost_recall"] >= measured["mean"]["lost_recall"] >= 0
    assert all(0 <= value <= 1 for values in measured.values() for value in values.values())


def collection(name: str, documents: int = 400) -> Collection:
    """Each document answers one question."""
    return Collection(
        name, [(f"{name}-{n}", "", f"text {n} of {name}") for n in range(documents)],
        [Topic(f"what is {n} of {name}", {f"{name}-{n}": 1}, f"{name}-{n}") for n in range(documents)],
    )  # fmt: skip


def of_kind(corpus: Corpus, kind: str, others: list[Collection]) -> list[str]:
    return [question.text for question in questions(corpus, others) if question.kind == kind]


def test_a_sample_holds_the_answers_of_what_it_is_asked() -> None:
    """Twenty, sixty and two hundred documents; near misses are the same questions with their answers taken out."""
    made = list(corpora(collection("scifact")))
    assert [len(corpus.documents) for corpus in made] == [400, 20, 60, 200]
    for corpus in made:
        there = {name for name, _, _ in corpus.documents}
        asked = list(questions(corpus, []))
        own = [question for question in asked if question.kind == "own"]
        assert own and all(there & question.grades.keys() for question in own)
        near = [question for question in asked if question.kind == "near_miss"]
        assert [q.text for q in own] == [q.text for q in near] and all(question.removed <= there for question in near)


def test_questions_on_the_same_subject_are_not_off_topic() -> None:
    """Medicine asked of medicine, and anything asked of abstracts of all sciences."""
    others = [collection(name) for name in ("scifact", "pubmedqa", "cacm", "csl", "stard_positives")]
    medicine, sciences = next(corpora(others[0])), next(corpora(others[3]))
    assert {text.split()[-1] for text in of_kind(medicine, "on_subject", others)} == {"pubmedqa", "csl"}
    assert {"cacm", "stard_positives"} <= {text.split()[-1] for text in of_kind(medicine, "off_topic", others)}
    assert {text.split()[-1] for text in of_kind(sciences, "on_subject", others)} == {
        "scifact", "pubmedqa", "cacm", "stard_positives",
    }  # fmt: skip
    assert not {text.split()[-1] for text in of_kind(sciences, "off_topic", others)} & {c.name for c in others}


def test_nonsense_is_the_same_each_time() -> None:
    """In both scripts."""
    assert nonsense(40) == nonsense(40) and len(set(nonsense(40))) == 40
    assert sum(text.isascii() for text in nonsense(40)) == 24
