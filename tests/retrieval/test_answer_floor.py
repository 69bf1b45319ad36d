"""The floor under an answer: its arithmetic, what it never judges, and what a search does with it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ReasonCode, RouterResult
from arr_sql.database import ResearchDatabase
from arr_sql.policy.admission import Policy, policy_of
from arr_sql.policy.retrieval_router import Limits, run
from arr_sql.retrieval.answer_floor import AnswerFloor, answer_evidence, foreign_parts, own_parts, strength
from arr_sql.retrieval.catalog import Catalog, ChannelAnswer
from arr_sql.retrieval.hybrid_retriever import RankedList
from tests.conftest import SCOPE, FakeEmbedder, MakeDatabase, other_scopes
from tests.policy.test_retrieval_router import Channel, one_round
from tests.retrieval.test_hybrid_retriever import make_hit

FLOOR = AnswerFloor(
    nearest=20.0, background=4.0, agreement=5.0, nearest_covered=6.0, best_covered=2.0, unspaced=-3.0, log_chunks=-1.0,
    first_three=0.0, constant=-8.0, stands_out=0.3, foreign_nearest=10.0, foreign_first_three=0.0, foreign_background=-8.0,
    foreign_constant=-2.0, name_covered=0.45,
)  # fmt: skip
BOTH = {"bm25": 3, "vector": 100}
NONSENSE = "zorgle blimfrat quexopod"
ALONE = 24 * 0.5 - math.log(100) - 8
"""The strength of a single vector of cosine 0.5 among 100 that holds nothing of the question."""


def lists(text: str = "the router has a budget", cosine: float = 0.5, query_index: int = 0) -> list[RankedList]:
    """One hit of each judge, of different chunks."""
    return [
        RankedList("bm25", query_index, (make_hit("a", content=text),)),
        RankedList("vector", query_index, (make_hit("b", score=cosine, content="something else"),)),
    ]


def near(*cosines: float, content: str = "else") -> RankedList:
    """A list of vectors."""
    return RankedList("vector", 0, tuple(make_hit(f"v{n}", n + 1, c, content=content) for n, c in enumerate(cosines)))


def found_strength(
    query: str, found: list[RankedList], compared: dict[str, int] = BOTH, floor: AnswerFloor = FLOOR
) -> float:  # fmt: skip
    """The strength where the floor can judge."""
    evidence = answer_evidence(query, found, compared)
    assert evidence is not None
    return strength(evidence, floor)


def test_the_sum_worked_by_hand() -> None:
    """Another hit than the nearest holds half of the question: two terms of equal weight."""
    assert found_strength("pelican lagoon", lists()) == pytest.approx(ALONE, abs=0.0006)
    assert found_strength("router lagoon", lists()) == pytest.approx(ALONE + 2 * 0.5, abs=0.0006)
    holds = [lists()[0], RankedList("vector", 0, (make_hit("b", score=0.5, content="a router"),))]
    assert found_strength("router lagoon", holds) == pytest.approx(ALONE + 6 * 0.5 + 2 * 0.5, abs=0.0006)


def test_a_strength_is_the_sum_of_its_named_parts() -> None:
    """To three places, as it is shown; each of the other fields has a rule of its own."""
    evidence = answer_evidence("router lagoon", lists(), BOTH)
    assert evidence is not None and evidence.own is not None
    parts = own_parts(evidence.own, evidence, FLOOR)
    assert strength(evidence, FLOOR) == round(sum(parts.values()), 3)
    others = {"model_id", "stands_out", "name_covered", *foreign_parts(evidence.own, FLOOR)}
    assert parts.keys() | others == FLOOR.values().keys()


def test_the_first_three_count_together() -> None:
    """One near text may be chance; fewer than three count as they are."""
    floor = replace(FLOOR, first_three=30.0)
    plain = found_strength("pelican", [near(0.5, 0.4, 0.3, 0.2)])
    assert found_strength("pelican", [near(0.5, 0.4, 0.3, 0.2)], floor=floor) == pytest.approx(plain + 12, abs=0.0011)
    plain = found_strength("pelican", [near(0.5, 0.4)])
    assert found_strength("pelican", [near(0.5, 0.4)], floor=floor) == pytest.approx(plain + 13.5, abs=0.0011)


def test_the_background_is_the_mean_of_the_other_near_vectors() -> None:
    """Of the first hundred, so that a longer list for a larger k says the same."""
    assert found_strength("pelican", [near(0.5, 0.25)]) == pytest.approx(ALONE - 4 * 0.25, abs=0.0006)
    hundred = [0.5 - n / 1000 for n in range(100)]
    assert found_strength("pelican", [near(*hundred)]) == found_strength("pelican", [near(*hundred, *[0.0] * 900)])


def test_words_and_vectors_that_find_the_same_are_stronger() -> None:
    """Each of the first ten that both found adds a tenth of the weight; those after the tenth don't count."""
    vectors = near(*[0.5] * 12)
    apart = RankedList("bm25", 0, tuple(make_hit(f"b{n}", n + 1, content="else") for n in range(10)))
    both = RankedList("bm25", 0, (make_hit("v0", 1, content="else"), make_hit("v9", 2, content="else")))
    late = RankedList("bm25", 0, (make_hit("v11", 1, content="else"),))
    weaker, stronger = found_strength("pelican", [apart, vectors]), found_strength("pelican", [both, vectors])
    assert stronger == pytest.approx(weaker + 5 * 0.2, abs=0.0011)
    assert found_strength("pelican", [late, vectors]) == weaker


def test_a_memory_that_holds_the_question_counts_as_the_nearest_text_does() -> None:
    """People wrote it down to be found; it may have no vector."""
    memory = RankedList("research-memory", 0, (make_hit("memory:m", content="a pelican"),))
    assert found_strength("pelican", [*lists(), memory]) == pytest.approx(ALONE + 6 + 2, abs=0.0006)


def test_a_nearest_vector_that_stands_out_is_an_answer_whatever_the_words() -> None:
    """A paraphrase may share no word with its answer."""
    assert found_strength("pelican", [near(0.0, -0.29)]) < 0 <= found_strength("pelican", [near(0.0, -0.31)])


def test_a_text_in_another_script_is_judged_by_the_cosines_alone() -> None:
    """Chinese about an English text and the reverse; a few vectors tell nothing. In one script the words count too."""
    expected = pytest.approx(10 * 0.5 - 8 * 0.25 - 2, abs=0.0006)
    cosines = [0.5] + [0.25] * 10
    assert found_strength("预算", [near(*cosines, content="a budget")]) == expected
    assert found_strength("budget", [near(*cosines, content="路由器有预算")]) == expected
    assert found_strength("预算", [near(0.5, *[0.41] * 10, content="a budget")]) < 0
    assert found_strength("预算", [near(*cosines[:5], content="a budget")]) == math.inf
    assert found_strength("预算", [near(0.5, content="路由器")]) == pytest.approx(ALONE - 3, abs=0.0006)


def test_where_texts_stand_in_both_scripts_either_may_answer() -> None:
    """The words count for those in the question's script, also when the nearest of all is in another."""

    def mixed(foreign: float, own: str = "else") -> list[RankedList]:
        hits = [make_hit("zh", 1, foreign, content="路由器有预算"), make_hit("en", 2, 0.5, content=own)]
        hits += [make_hit(f"zh{n}", n + 3, 0.4, content="别的") for n in range(6)]
        return [RankedList("vector", 0, tuple(hits))]

    assert found_strength("pelican", mixed(0.51)) < 0 <= found_strength("pelican", mixed(0.53))
    assert found_strength("pelican", mixed(0.51, "a pelican")) == pytest.approx(ALONE + 6 + 2, abs=0.0006)


def test_a_few_texts_in_another_script_are_let_be_where_one_is_the_nearest() -> None:
    """In a small scope there is nothing to compare it with; behind a text in the question's script that one decides."""

    def few(cosine: float, count: int) -> list[RankedList]:
        hits = [make_hit("zh", 1, cosine, content="路由器有预算"), make_hit("en", 2, 0.5, content="else")]
        hits += [make_hit(f"zh{n}", n + 3, 0.4, content="别的") for n in range(count - 1)]
        return [RankedList("vector", 0, tuple(sorted(hits, key=lambda hit: -hit.score)))]

    assert found_strength("pelican", few(0.55, 1)) == found_strength("pelican", few(0.55, 5)) == math.inf
    assert found_strength("pelican", few(0.51, 6)) < 0
    assert found_strength("pelican", few(0.45, 1)) == pytest.approx(ALONE, abs=0.0006)


def test_a_handful_of_chunks_is_not_judged() -> None:
    """Nothing stands out among five."""
    assert found_strength("pelican", lists(cosine=0.1), {"bm25": 0, "vector": 5}) == math.inf
    assert found_strength("pelican", lists(cosine=0.1), {"bm25": 0, "vector": 6}) < 0


@pytest.mark.parametrize(
    ("found", "compared"),
    [
        (lists()[:1], BOTH), (lists(), {"bm25": 3}), (lists(), {"vector": 100}), (lists(query_index=1), BOTH),
        (lists()[:1], {"bm25": 3, "vector": 0}), ([], BOTH),
    ],
)  # fmt: skip
def test_it_says_nothing_where_it_cannot_judge(found: list[RankedList], compared: dict[str, int]) -> None:
    """A judge that did not answer, or with nothing to compare; a query that is not the user's."""
    assert answer_evidence("router", found, compared) is None


def test_bm25_may_have_found_nothing() -> None:
    """Then the cosines decide."""
    assert found_strength("router", lists()[1:]) == pytest.approx(ALONE, abs=0.0006)


@pytest.mark.parametrize(
    "query", ['what is "a budget" here', "where is read_rows called", "what does NCCL_TIMEOUT mean"]
)
def test_what_is_held_to_the_letter_is_an_answer(query: str) -> None:
    """A quoted string, a name, an error code."""
    assert found_strength(query, lists("a budget, read_rows and NCCL_TIMEOUT", cosine=-1.0)) == math.inf
    assert found_strength(query, lists("nothing of it", cosine=-1.0)) != math.inf


def test_a_number_among_words_is_no_proof() -> None:
    """It stands in many texts. Alone it is what is asked for."""
    assert found_strength("roll back to version 2.2", lists("grew by 2.2 percent", cosine=-1.0)) < 0
    assert found_strength("2.2", lists("grew by 2.2 percent", cosine=-1.0)) == math.inf


def test_a_name_alone_asks_for_this_name() -> None:
    """However near another code lies, it is not the one. In another style of writing it is; among words it is a word."""
    assert found_strength("HRN-E999", lists("HRN-E623 means a gap", cosine=0.99)) < 0
    assert found_strength("HRN-E999 b077", lists("HRN-E623 means a gap", cosine=0.99)) < 0
    assert found_strength("what is HRN-E999", lists("HRN-E623 means a gap", cosine=0.99)) < 0
    assert found_strength("gap after HRN-E999", lists("HRN-E623 means a gap", cosine=0.99)) > 0
    assert found_strength("HRN-E999", lists("HRN-E999 means a gap", cosine=-1.0)) == math.inf
    styles = (
        ("batchSize", "batch_size"),
        ("batch_size", "batch size"),
        ("GPT-4", "GPT 4"),
        ("getUserName", "get user names"),
    )
    for name, other in (*styles, ("src/data/load.py", "loader")):
        assert found_strength(name, lists(f"the {other} was raised", cosine=0.99)) > 0, name
    for name, other in (
        ("b077", "b078"),
        ("resnet50", "resnet18"),
        ("read_rows", "read_columns"),
        ("v2.4.1", "v2.4.0"),
    ):
        assert found_strength(name, lists(f"the {other} was raised", cosine=0.99)) < 0, name


@given(st.floats(-1, 1), st.floats(-1, 1), st.integers(1, 10**6), st.integers(1, 10**6))
def test_nearer_is_stronger_and_more_chunks_are_weaker(one: float, other: float, few: int, many: int) -> None:
    """In each of the fitted weights."""
    fitted = AnswerFloor()
    close, far, few, many = max(one, other), min(one, other), min(few, many), max(few, many)

    def value(cosine: float, chunks: int, text: str = "else") -> float:
        return found_strength("router lagoon", lists(text, cosine), {"bm25": 1, "vector": chunks}, fitted)

    assert value(close, few) >= value(far, few) and value(close, few) >= value(close, many)
    assert value(close, few, "a router") >= value(close, few)
    assert min(fitted.agreement, fitted.nearest_covered, fitted.best_covered, fitted.stands_out) > 0 > fitted.unspaced


# --- In the router --------------------------------------------------------------------------------------------------------


def outcome(policy: Policy, vector: ChannelAnswer, **options: Any) -> Any:
    """A run of the two judges, of which bm25 finds nothing."""
    catalog = Catalog()
    catalog.register(Channel("bm25", ChannelAnswer("empty")))
    catalog.register(Channel("vector", vector))
    return run("pelican", SCOPE, one_round("bm25", "vector"), catalog, policy=policy, limits=Limits(), **options)


FAR = ChannelAnswer("ok", tuple(make_hit(f"c{n}", n + 1, 0.1 - n / 100) for n in range(7)), 1000)


def test_an_answer_below_the_floor_is_set_aside_with_its_number() -> None:
    """Nothing found, complete, each channel's hits counted; without the floor they are there. No order is asked for."""
    asked: list[str] = []

    def reorder(query: str, items: Any) -> Any:
        asked.append(query)
        return items

    below = outcome(Policy(floor=AnswerFloor()), FAR, reorder=reorder)
    assert (below.evidence, below.state, below.partial, below.degradations, asked) == (
        (),
        "nothing_found",
        False,
        (),
        [],
    )
    assert [(r.code, r.tool_name, r.count) for r in below.rejections] == [(ReasonCode.BELOW_FLOOR, "vector", 7)]
    assert below.traces[0].detail == {}
    assert below.traces[1].detail == {"below_floor": 7, "below_floor_by": below.traces[1].detail["below_floor_by"]}
    assert below.traces[1].detail["below_floor_by"] > 0
    free = outcome(Policy(), FAR, reorder=reorder)
    assert (len(free.evidence), free.state, asked) == (7, "found", ["pelican"])


@pytest.mark.parametrize("state", ["not_indexed", "cut", "unavailable", "stale"])
def test_an_incomplete_answer_has_no_floor(state: Any) -> None:
    """What is missing might be the answer."""
    partial = ChannelAnswer(state, FAR.hits, 1000, ReasonCode.CUT)
    found = outcome(Policy(floor=AnswerFloor()), partial)
    assert len(found.evidence) == 7 and found.state == "found"


def test_the_floor_is_in_the_policys_hash() -> None:
    """Each of its weights; a record's hash gives its policy back."""
    policies = [
        Policy(), Policy(floor=AnswerFloor()), Policy(floor=AnswerFloor(nearest=1.0)), Policy(floor=AnswerFloor(model_id="x"))
    ]  # fmt: skip
    assert len({policy.hash for policy in policies}) == 4
    assert [policy_of(policy.hash) for policy in policies] == [*policies[:2], Policy(), Policy()]


# --- In a search ----------------------------------------------------------------------------------------------------------


class Fitted(FakeEmbedder):
    """Hashed terms under the name of the model that the floor was fitted for; with few dimensions chance would stand out."""

    def __init__(self) -> None:
        super().__init__(AnswerFloor().model_id, 1024)


@pytest.fixture
def database(make_database: MakeDatabase, tmp_path: Path) -> ResearchDatabase:
    """Thirty notes with vectors."""
    made = make_database(folder=tmp_path / "docs", embedder=Fitted)
    fill(made, tmp_path / "docs", 30)
    return made


def fill(database: ResearchDatabase, folder: Path, count: int) -> None:
    """Notes of which each has words of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"n{number}.md").write_text(f"The warmup of lagoon{number} took {number} steps.\n", encoding="utf-8")
    database.add(folder)
    database.embed()


def codes(result: RouterResult) -> set[str]:
    return {str(item.code) for item in result.rejections}


def test_nonsense_finds_nothing_and_a_question_its_answer(database: ResearchDatabase) -> None:
    """With the floor off the weak hits can be had."""
    nonsense = database.search(NONSENSE)
    assert (nonsense.state, nonsense.evidence, codes(nonsense)) == ("nothing_found", (), {"below_floor"})
    assert not nonsense.partial and nonsense.degradations == ()
    assert database.search(NONSENSE, floor=False).evidence
    asked = database.search("warmup steps of lagoon7")
    assert asked.state == "found" and asked.evidence[0].source_ref == "n7.md" and codes(asked) == set()
    assert asked.evidence == database.search("warmup steps of lagoon7", floor=False).evidence
    for k in (1, 100):
        assert database.search(NONSENSE, k=k).evidence == ()


def test_both_kinds_of_answer_replay(database: ResearchDatabase) -> None:
    """Each under the policy that its record names."""
    asked = [database.search(query, floor=floor) for query in (NONSENSE, "lagoon7 steps") for floor in (True, False)]
    hashes = {database.retrievals(result.retrieval_id)[0]["policy_hash"] for result in asked}
    assert hashes == {Policy().hash, Policy(floor=AnswerFloor()).hash}
    for result in asked:
        replayed = database.replay(result.retrieval_id)
        assert replayed.outcome == "identical", replayed


def test_another_model_or_none_has_no_floor(make_database: MakeDatabase, tmp_path: Path) -> None:
    """Its cosines mean something else."""
    other = make_database(folder=tmp_path / "docs")
    fill(other, tmp_path / "docs", 5)
    result = other.search(NONSENSE)
    assert result.evidence and codes(result) == set()
    assert other.retrievals(result.retrieval_id)[0]["policy_hash"] == Policy().hash


def test_other_scopes_do_not_move_the_floor(database: ResearchDatabase, tmp_path: Path) -> None:
    """Whatever they hold, and whichever model they use: answers to the letter."""

    def answers(seen: ResearchDatabase) -> list[Any]:
        found = [seen.search(query, write_record=False) for query in (NONSENSE, "lagoon7 steps", "the warmup")]
        return [
            (r.evidence, r.state, r.rejections, [(t.candidate_count, t.detail) for t in r.traces]) for r in found
        ]  # fmt: skip

    before = answers(database)
    neighbours: list[ScopeKey] = other_scopes()
    for number, scope in enumerate(neighbours[:2]):
        folder = tmp_path / f"other{number}"
        options = {"project_folder": folder, "actor": "tester", "embedder": (Fitted, FakeEmbedder)[number]}
        with ResearchDatabase.create(database.path, scope, **options) as other:
            fill(other, folder, 60)
    assert answers(database) == before
