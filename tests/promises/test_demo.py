"""The sample project: every question finds what it promises, through the channel it needs, in its scope alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from arr_sql.core.router_models import RouterResult
from arr_sql.demo import DemoProject, Question, demo_scopes, questions
from arr_sql.index.embedders import model_store
from tests.cli.support import process

QUESTIONS = questions()
CHANNELS = ("research-memory", "bm25", "vector", "grep")
INDISPENSABLE = {"vector": ("vector",), "research-memory": ("research-memory", "vector"), "grep": ("grep",)}
"""For what a question needs, the channels without which it does not find all that it promises. Memories have two."""
each = pytest.mark.parametrize("question", QUESTIONS, ids=[question.query[:40] for question in QUESTIONS])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoProject]:
    """The sample project with the real model's vectors."""
    if model_store.find_default_model() is None:
        pytest.skip("the default model's weights are not installed (extra `local`)")
    with DemoProject(tmp_path_factory.mktemp("demo")) as project:
        project.build()
        assert project.embed() is None
        yield project


def refs(result: RouterResult, top: int = 5) -> list[str]:
    return [item.source_ref.removeprefix("memory:") for item in result.evidence[:top]]


@pytest.mark.model
@pytest.mark.parametrize("question", QUESTIONS, ids=[q.query[:40] for q in QUESTIONS])
def test_every_expected_source_is_in_the_top_five(question: Question, demo: DemoProject) -> None:
    """A complete, undegraded answer with all that the question promises among its first five items."""
    result = demo.ask(question, write_record=False)
    assert (result.state, result.partial, result.degradations) == ("found", False, ())
    assert set(question.expect) <= set(refs(result))


@pytest.mark.model
def test_what_was_written_a_moment_ago_comes_first(demo: DemoProject) -> None:
    """A name that only the disk holds as yet, beside vectors that are merely near."""
    name = next(iter(demo.scopes))
    edited = demo.folder / name / "notes" / "power-cap.md"
    before = edited.read_bytes()
    edited.write_bytes(before + b"\nEdited just now: DEMO_EDIT_7731\n")
    try:
        first = demo.of(name).search("DEMO_EDIT_7731", k=1, write_record=False).evidence[0]
    finally:
        edited.write_bytes(before)
    assert (first.source_ref, [rank.channel for rank in first.channels]) == ("notes/power-cap.md", ["grep"])
    assert "DEMO_EDIT_7731" in first.content


@pytest.mark.model
@each
def test_no_answer_comes_from_another_scope(question: Question, demo: DemoProject) -> None:
    """Every item carries the asked scope, and every file lies in that scope's folder."""
    result = demo.ask(question, k=50, write_record=False)
    for item in result.evidence:
        assert item.scope == demo.scopes[question.scope].key
        if not item.source_ref.startswith("memory:"):
            text = (demo.folder / question.scope / item.source_ref).read_text("utf-8")
            assert (
                item.source_ref.endswith((".ipynb", ".jsonl", ".csv", ".bib", ".json"))
                or item.content.split("\n")[0] in text
            )


@pytest.mark.model
@each
def test_the_needed_channel_found_it(question: Question, demo: DemoProject) -> None:
    """What is expected was found by the channel that the question says it needs."""
    for item in demo.ask(question, write_record=False).evidence[:5]:
        if item.source_ref.removeprefix("memory:") in question.expect:
            found_by = {rank.channel for rank in item.channels}
            assert question.needs in found_by, (item.source_ref, found_by)


@pytest.mark.model
@pytest.mark.parametrize(
    "question", [q for q in QUESTIONS if q.needs in INDISPENSABLE], ids=[q.query[:40] for q in QUESTIONS if q.needs in INDISPENSABLE]
)  # fmt: skip
def test_without_the_needed_channel_it_is_lost(question: Question, demo: DemoProject) -> None:
    """The other channels do not bring all that is expected into the first five."""
    plan = {"tool_rounds": [[name for name in CHANNELS if name not in INDISPENSABLE[question.needs]]]}
    assert not set(question.expect) <= set(refs(demo.ask(question, plan=plan, write_record=False)))


def test_the_questions_cover_every_channel() -> None:
    """Each channel is needed by at least one question, and each question is asked in a scope that exists."""
    assert {question.needs for question in QUESTIONS} == set(CHANNELS)
    assert {question.scope for question in QUESTIONS} <= {scope.folder for scope in demo_scopes()}
    assert len(QUESTIONS) == 6 and all(question.expect for question in QUESTIONS)


def test_every_scope_differs_from_the_first_in_one_value() -> None:
    """The neighbours are lures: four of five values are the same."""
    first, *others = demo_scopes()
    for scope in others:
        assert sum(a != b for a, b in zip(first.key.values(), scope.key.values(), strict=True)) == 1


def test_the_demo_command_runs_green_without_vectors(tmp_path: Path) -> None:
    """`arr demo --no-embed` as a process: exit code 0, every section, the missing vectors said, nothing left behind."""
    ran = process("demo", "--no-embed", cwd=tmp_path)
    out = ran.stdout.decode("utf-8")
    assert (ran.returncode, ran.stderr) == (0, b"")
    for number, question in enumerate(QUESTIONS, 1):
        assert f"\n{number}. {question.query}\n" in out
    assert "refused, not_registered" in out and "[changed]" in out
    assert re.search(r"'DEMO_EDIT_7731': notes/power-cap.md L[0-9-]+ \[fresh\] found by grep\n", out)
    assert "arr sync: changed notes/power-cap.md" in out and "rows verified" in out
    assert out.count("Weaker than asked: vector ") == len(QUESTIONS)
    assert list(tmp_path.iterdir()) == []
