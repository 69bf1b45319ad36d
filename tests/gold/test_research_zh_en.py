"""The bilingual gold set is whole: counts, lures, anchors, grades, notes, and a README that tells the truth."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from arr_sql.core.decode import Decoded, decode
from arr_sql.core.redaction import withhold_lines
from arr_sql.core.research_models import SCOPE_COLUMNS
from arr_sql.evaluation.gold import load_gold
from arr_sql.evaluation.gold_models import GoldSet, Topic
from arr_sql.ingest.chunker import chunk
from arr_sql.ingest.readers import reader_for

FOLDER = Path(__file__).resolve().parents[2] / "data" / "gold" / "research_zh_en"
CLASSES = {
    "exact_term", "paraphrase", "cross_concept", "cross_language", "code_error", "no_answer", "lure", "memory",
}  # fmt: skip
UNUSABLE = {"candidate", "deprecated", "revoked", "conflict", "expired"}
HAN = re.compile("[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def gold() -> GoldSet:
    """The set. Loading it checks ids, scopes, anchors and grades."""
    return load_gold(FOLDER)


def best_grade(gold: GoldSet, topic: Topic) -> int:
    """The highest grade of a topic; 0 when nothing is relevant."""
    return max((judgement.grade for judgement in gold.judgements.get(topic.topic_id, ())), default=0)


def differences(gold: GoldSet, one: str, two: str) -> list[str]:
    """In which of the five values two scopes differ."""
    return [name for name in SCOPE_COLUMNS if getattr(gold.scopes[one], name) != getattr(gold.scopes[two], name)]


def test_classes_are_balanced(gold: GoldSet) -> None:
    """At least 130 topics, at least 12 a class, at least 16 without an answer."""
    counts = Counter(topic.topic_class for topic in gold.topics)
    assert set(counts) == CLASSES
    assert sum(counts.values()) >= 130
    assert min(counts.values()) >= 12
    assert counts["no_answer"] >= 16


def test_both_languages(gold: GoldSet) -> None:
    """At least a third of the topics are Chinese or mixed, some in each class, and each is what it says."""
    chinese = [topic for topic in gold.topics if topic.language in ("zh", "mixed")]
    assert 3 * len(chinese) >= len(gold.topics)
    assert {topic.topic_class for topic in chinese} == CLASSES
    assert {topic.topic_class for topic in gold.topics if topic.language == "en"} == CLASSES
    for topic in gold.topics:
        assert bool(HAN.search(topic.query)) == (topic.language in ("zh", "mixed")), topic.topic_id


def test_each_neighbour_differs_in_one_value(gold: GoldSet) -> None:
    """Five neighbours of main, one for each of the five values."""
    found = sorted(differences(gold, "main", alias) for alias in gold.scopes if alias != "main")
    assert found == sorted([name] for name in SCOPE_COLUMNS)


def test_each_lure_is_one_value_away(gold: GoldSet) -> None:
    """A lure stands in a scope that differs from the topic's own in exactly one value (the loader: that it is there)."""
    for topic in gold.topics:
        assert topic.topic_class != "lure" or topic.lures, topic.topic_id
        for lure in topic.lures:
            assert len(differences(gold, topic.scope, lure.scope)) == 1, (topic.topic_id, lure)


def test_every_question_has_an_answer_or_none(gold: GoldSet) -> None:
    """A grade of 2 or 3 for each topic; none above 0 for no_answer; a lure has one or the other."""
    for topic in gold.topics:
        best = best_grade(gold, topic)
        if topic.topic_class == "no_answer":
            assert best == 0, topic.topic_id
        elif topic.topic_class == "lure":
            assert best in (0, 2, 3), topic.topic_id
        else:
            assert best >= 2, topic.topic_id


def test_no_two_topics_ask_the_same(gold: GoldSet) -> None:
    """Within one scope no query is repeated, whatever its case and punctuation."""
    asked = [(topic.scope, re.sub(r"\W+", "", topic.query).casefold()) for topic in gold.topics]
    assert len(set(asked)) == len(asked)


def test_every_judgement_says_why(gold: GoldSet) -> None:
    """A note of at least ten characters for each."""
    for name, judgements in gold.judgements.items():
        for judgement in judgements:
            assert len(judgement.note) >= 10, (name, judgement.item.text)


def test_memories_nobody_may_use_are_no_answers(gold: GoldSet) -> None:
    """Candidate, deprecated, revoked, conflicting, expired, losing and inapplicable memories have grade 0 at most."""
    memories = {(memory.scope, memory.memory_id): memory for memory in gold.memories}
    statuses = {memory.status for memory in gold.memories}
    assert UNUSABLE - statuses == {"expired"} and "published" in statuses  # what expires does so by its date
    scope_of = {topic.topic_id: topic.scope for topic in gold.topics}
    unusable = 0
    for name, judgements in gold.judgements.items():
        for judgement in judgements:
            if not judgement.item.memory_id:
                continue
            memory = memories[scope_of[name], judgement.item.memory_id]
            environment = gold.scopes[memory.scope].experiment_environment
            loses = any(
                other.conflict_key == memory.conflict_key and other.confidence > memory.confidence
                for other in gold.memories
                if memory.conflict_key is not None and other.scope == memory.scope
            )
            held = memory.applicability.get("experiment_environments", [environment])
            expired = memory.expires_at is not None and memory.expires_at < "2026"
            if memory.status in UNUSABLE or loses or expired or environment not in held:
                assert judgement.grade == 0, (name, memory.memory_id)
                unusable += 1
    assert unusable >= 6


def test_anchors_stand_in_one_chunk(gold: GoldSet) -> None:
    """An anchor that the chunker cuts in two could never be found."""
    scope_of = {topic.topic_id: topic.scope for topic in gold.topics}
    chunks: dict[tuple[str, str], list[str]] = {}
    for name, judgements in gold.judgements.items():
        for judgement in judgements:
            item, alias = judgement.item, scope_of[name]
            if not item.anchor:
                continue
            if (alias, item.path) not in chunks:
                decoded, reader = decode(gold.files[alias][item.path].read_bytes()), reader_for(item.path)
                assert isinstance(decoded, Decoded) and reader is not None
                pieces = chunk(reader.read(decoded.text, item.path))
                chunks[alias, item.path] = [piece.text for piece in pieces]
            assert sum(item.anchor in text for text in chunks[alias, item.path]) == 1, (name, item.text)


def test_nothing_is_withheld(gold: GoldSet) -> None:
    """No line looks like a credential: what is judged is what is indexed."""
    for alias, files in gold.files.items():
        for path, file in files.items():
            text = file.read_bytes().decode("utf-8")
            assert withhold_lines(text).text == text, (alias, path)


def test_the_readme_counts_right(gold: GoldSet) -> None:
    """Files, memories, topics, languages and grades as README.md states them."""
    page = (FOLDER / "README.md").read_text("utf-8")
    memories = Counter(memory.scope for memory in gold.memories)
    for alias, files in gold.files.items():
        row = re.search(rf"^\| `{alias}` \|[^|]*\| (\d+) \| (\d+) \|$", page, re.MULTILINE)
        assert row is not None and (int(row[1]), int(row[2])) == (len(files), memories[alias]), alias
    for name, count in Counter(topic.topic_class for topic in gold.topics).items():
        assert f"\n| {name} | {count} | " in page, name
    languages = Counter(topic.language for topic in gold.topics)
    assert (
        f"{len(gold.topics)} topics: {languages['en']} English, {languages['zh']} Chinese, {languages['mixed']} mixed."
        in page
    )
    grades = Counter(judgement.grade for judgements in gold.judgements.values() for judgement in judgements)
    assert (
        f"{sum(grades.values())} judgements: {grades[3]} of grade 3, {grades[2]} of grade 2, {grades[1]} of grade 1, "
        f"{grades[0]} of grade 0." in page
    )
    empty = sum(topic.topic_class == "lure" and best_grade(gold, topic) == 0 for topic in gold.topics)
    assert f"or ({empty} topics) none" in page
