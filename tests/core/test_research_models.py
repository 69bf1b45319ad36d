"""The five values of a scope and the other values: what they take, what they refuse, that they never change."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from arr_sql.core.research_models import SCOPE_COLUMNS, ChannelRank, EvidenceChunk, ResearchMemory, ScopeKey
from arr_sql.errors import InputError, ScopeInvalid
from tests.conftest import SCOPE, other_scopes

TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=200)
GOOD = TEXTS.filter(lambda text: text == text.strip())
SPACE = st.text(" \t\n\u3000\u00a0", max_size=3)
NAMES = st.sampled_from(SCOPE_COLUMNS)


def with_value(name: str, value: object) -> dict[str, object]:
    return {**SCOPE.model_dump(), name: value}


@given(NAMES, GOOD, SPACE, SPACE)
def test_a_value_is_kept_as_it_is_but_trimmed(name: str, value: str, before: str, after: str) -> None:
    """Any printable text up to 200 characters is a scope value: case, accents and inner spaces kept, ends trimmed."""
    scope = ScopeKey(**with_value(name, before + value + after))
    assert getattr(scope, name) == value
    assert scope.bindings() == {**SCOPE.bindings(), name: value}
    assert ScopeKey(**scope.model_dump()) == scope


@given(NAMES, SPACE)
def test_a_blank_value_is_refused(name: str, value: str) -> None:
    """Nothing but spaces is no value, and there is none that means "all"."""
    with pytest.raises(ScopeInvalid, match=f"{name} is blank"):
        ScopeKey(**with_value(name, value))


@given(NAMES, GOOD, st.characters(categories=("Cc", "Cs")), GOOD)
def test_control_characters_and_half_characters_are_refused(name: str, left: str, bad: str, right: str) -> None:
    """A control character or unpaired surrogate inside a value is refused by the value's name."""
    with pytest.raises(ScopeInvalid, match=f"{name} holds a control character or half a character"):
        ScopeKey(**with_value(name, left[:50] + bad + right[:50]))


@given(NAMES, st.integers(min_value=1, max_value=300), st.sampled_from(["a", "研", "𝔸", "é"]))
def test_two_hundred_characters_and_not_one_more(name: str, length: int, character: str) -> None:
    """The limit counts characters, whatever they weigh in bytes, after trimming."""
    text = f" {character * length} "
    if length <= 200:
        assert getattr(ScopeKey(**with_value(name, text)), name) == character * length
    else:
        with pytest.raises(ScopeInvalid, match=f"{name} has {length} characters; at most 200"):
            ScopeKey(**with_value(name, text))


@given(NAMES, GOOD, GOOD)
def test_values_are_compared_exactly(name: str, one: str, two: str) -> None:
    """Two scopes are equal exactly when all five texts are the same code points: no case folding, no normalisation."""
    assert (ScopeKey(**with_value(name, one)) == ScopeKey(**with_value(name, two))) == (one == two)
    folded = unicodedata.normalize("NFKD", one).swapcase().strip()
    assume(0 < len(folded) <= 200 and folded != one)
    assert ScopeKey(**with_value(name, one)) != ScopeKey(**with_value(name, folded))


@pytest.mark.parametrize("name", SCOPE_COLUMNS)
@pytest.mark.parametrize("value", [None, 7, True, b"x", ["a"]])
def test_a_value_that_is_no_text_is_refused(name: str, value: object) -> None:
    """A number, bytes or nothing in place of a text is refused by name, never converted."""
    with pytest.raises(ScopeInvalid, match=f"{name} is missing or not text"):
        ScopeKey(**with_value(name, value))


def test_five_values_and_no_other() -> None:
    """Leaving one out and adding a sixth are both refused, and a refusal is an InputError."""
    assert issubclass(ScopeInvalid, InputError)
    for name in SCOPE_COLUMNS:
        with pytest.raises(ScopeInvalid, match=name):
            ScopeKey(**{key: value for key, value in SCOPE.model_dump().items() if key != name})
    with pytest.raises(ValidationError):
        ScopeKey(**SCOPE.model_dump(), tenant="x")


def test_a_scope_never_changes_and_can_be_a_key() -> None:
    """A scope is frozen and hashable, and its five neighbours are five other keys."""
    with pytest.raises(ValidationError):
        SCOPE.branch = "other"  # type: ignore[misc]
    assert len({SCOPE, *other_scopes(), ScopeKey(**SCOPE.model_dump())}) == 6
    assert (SCOPE.values(), str(SCOPE)) == (
        tuple(SCOPE.model_dump().values()),
        "vision / lumen / example.org/lumen / main / a100",
    )


MEMORY = {
    "memory_id": "m1", "scope": SCOPE, "kind": "knowledge", "title": "t", "content": "c",
    "created_at": "2026-01-01T00:00:00.000000Z", "updated_at": "2026-01-01T00:00:00.000000Z", "revision": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{"confidence": float("nan")}, {"confidence": 1.01}, {"confidence": -0.1}, {"kind": "note"}, {"status": "deleted"},
     {"title": "  "}, {"content": ""}, {"memory_id": " "}, {"memory_id": "x" * 201}, {"title": "x" * 501}, {"extra": 1}],
    ids=str,
)  # fmt: skip
def test_a_memory_refuses_what_is_out_of_range(change: dict[str, object]) -> None:
    """Confidence is 0 to 1 and a number, kinds and statuses are closed lists, texts are not blank, no field is added."""
    assert ResearchMemory(**MEMORY).confidence == 0.8  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        ResearchMemory(**{**MEMORY, **change})  # type: ignore[arg-type]


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf")])
def test_scores_are_finite(score: float) -> None:
    """No score that breaks a sort is held by a value."""
    with pytest.raises(ValidationError):
        ChannelRank(channel="bm25", rank=1, score=score)
    with pytest.raises(ValidationError):
        EvidenceChunk(
            chunk_id="c", scope=SCOPE, content="x", source_ref="a", locator="L1", content_hash="0" * 64, channels=(),
            created_at="2026-01-01T00:00:00.000000Z", rrf_score=score,
        )  # fmt: skip


def test_ranks_count_from_one() -> None:
    """A rank of zero is refused."""
    with pytest.raises(ValidationError):
        ChannelRank(channel="bm25", rank=0, score=1.0)
