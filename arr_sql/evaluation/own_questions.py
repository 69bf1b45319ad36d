"""Questions made from a store's own chunks, each with the one chunk that answers it. Pure; the seed decides everything.

``title``: a heading is taken out of its chunk and asked for. ``sentence``: a sentence of a chunk, in quotation marks.
``identifier``: a name of several parts that one chunk alone holds, written in another style (``batch_size`` as
``batchSize`` or ``batch size``), so that exact search misses it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from arr_sql.core.analysis import fold, identifiers
from arr_sql.core.research_models import ScopeKey
from arr_sql.errors import InputError
from arr_sql.evaluation.gold_models import Document, GoldFile, GoldSet, Item, Judgement, Topic, TopicClass
from arr_sql.evaluation.store_protocol import StoredChunk
from arr_sql.ingest.readers.base import HEADING_SEPARATOR

LEAST_CHUNKS = 100
"""Below this many chunks ten hits are a tenth of all there is, and every ranking looks good."""
LEAST_QUESTIONS = 40
"""Below this many the 95 % interval of a share of one half is wider than 31 points."""
EACH = 60
ALIAS = "own"
KINDS = 3
"""Of questions: titles, sentences, identifiers."""
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|[.!?](?=\S))+(?:[.!?](?=\s|$)|[。！？])")
_WORD = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+")
_PLAIN = re.compile(r"[^|<>{}\[\]\\=#*_`$\"“”]+")
_NAME = re.compile(r"[A-Za-z]+(?:_[A-Za-z]+)+|[a-z]+(?:[A-Z][a-z]+)+")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True)
class Question:
    """A query, its kind and the chunk that answers it."""

    kind: TopicClass
    query: str
    chunk_id: str


def own_set(chunks: Sequence[StoredChunk], scope: ScopeKey, *, each: int = EACH, seed: int = 1) -> GoldSet:
    """A gold set of at most ``each`` questions of each kind over the chunks, without the headings that are asked for.

    Raises InputError when the corpus is too small, or gives too few questions, to tell one ranking from another.
    """
    if len(chunks) < LEAST_CHUNKS:
        raise InputError(
            f"This scope holds {len(chunks)} chunks; below {LEAST_CHUNKS} nearly every ranking finds everything, so the "
            "figures would say nothing. Add more folders with `arr add`, or measure with `arr eval run GOLD`."
        )
    if each * KINDS < LEAST_QUESTIONS:
        raise InputError(
            f"{each} questions of each kind are {each * KINDS}; {LEAST_QUESTIONS} are needed to tell one ranking from another. "
            f"Give --each {-(-LEAST_QUESTIONS // KINDS)} or more."
        )
    rng = random.Random(seed)
    held_out = _drawn(_titles(chunks), each, rng)
    kept = {chunk.chunk_id: chunk for chunk in chunks}
    for question in held_out:
        kept[question.chunk_id] = _without_heading(kept[question.chunk_id])
    left = list(kept.values())
    questions = [*held_out, *_drawn(_sentences(left), each, rng), *_drawn(_identifiers(left), each, rng)]
    if len(questions) < LEAST_QUESTIONS:
        raise InputError(
            f"Only {len(questions)} questions can be made from this scope; {LEAST_QUESTIONS} are needed to tell one ranking "
            "from another. Add more text with `arr add`, or measure with `arr eval run GOLD`."
        )
    topics = [
        Topic.model_validate(
            {"topic_id": f"{one.kind}-{number}", "scope": ALIAS, "class": one.kind, "query": one.query}
        )
        for number, one in enumerate(questions, 1)
    ]
    documents = [Document(chunk.chunk_id, chunk.heading, chunk.content) for chunk in kept.values()]
    return GoldSet(
        name="own", version=str(seed), source=Path(), scopes={ALIAS: scope}, topics=tuple(topics),
        judgements={
            topic.topic_id: (Judgement(Item(one.chunk_id, path=one.chunk_id), 1),)
            for topic, one in zip(topics, questions, strict=True)
        },
        files={ALIAS: {one.id: GoldFile(one.id, text=one.text) for one in documents}}, documents=tuple(documents),
    )  # fmt: skip


def plain_grep(query: str, chunks: Sequence[StoredChunk]) -> list[str]:
    """What a person does without us: the chunks that hold the whole query; where there are none, those that hold most of
    its words. Case is ignored; equal chunks stay in the order of the store.
    """
    wanted = fold(query.strip().strip("\"'“”"))
    words = set(_WORD.findall(wanted))
    whole: list[str] = []
    some: list[tuple[int, int, str]] = []
    for chunk in chunks:
        text = fold(f"{chunk.heading}\n{chunk.content}")
        if wanted in text:
            whole.append(chunk.chunk_id)
        count = sum(word in text for word in words)
        if count:
            some.append((-count, len(some), chunk.chunk_id))
    return whole or [name for _, _, name in sorted(some)]


def _drawn(questions: Iterable[Question], most: int, rng: random.Random) -> list[Question]:
    """At most ``most`` of the questions whose query is asked once."""
    found = list(questions)
    times = Counter(question.query for question in found)
    once = [question for question in found if times[question.query] == 1]
    return sorted(rng.sample(once, min(most, len(once))), key=lambda question: (question.chunk_id, question.query))


def _titles(chunks: Sequence[StoredChunk]) -> Iterator[Question]:
    count = Counter((chunk.source_ref, chunk.heading) for chunk in chunks)
    for chunk in chunks:
        title = _title(chunk.heading)
        rest = _without_heading(chunk)
        is_held_out = fold(title) not in fold(
            f"{rest.heading}\n{rest.content}"
        )  # a function's name stands in its code too
        is_alone = count[chunk.source_ref, chunk.heading] == 1
        if is_alone and is_held_out and _size(title) >= 2 and _size(rest.content) >= 15:
            yield Question("title", title, chunk.chunk_id)


def _title(heading: str) -> str:
    return heading.rsplit(HEADING_SEPARATOR, 1)[-1].strip()


def _without_heading(chunk: StoredChunk) -> StoredChunk:
    """The chunk without the last part of its heading, in the heading and as a line of its own in the text."""
    title = _title(chunk.heading)
    above = HEADING_SEPARATOR.join(chunk.heading.split(HEADING_SEPARATOR)[:-1])
    lines = [line for line in chunk.content.split("\n") if line.strip("#= \t") != title]
    return replace(chunk, heading=above, content="\n".join(lines).strip("\n") or "-")


def _sentences(chunks: Sequence[StoredChunk]) -> Iterator[Question]:
    seen: Counter[str] = Counter()
    found: list[tuple[str, str]] = []
    for chunk in chunks:
        for match in _SENTENCE.finditer(chunk.content):
            sentence = " ".join(match[0].strip(" .!?。！？\t").split())
            if sentence in match[0] and _PLAIN.fullmatch(sentence) and 6 <= _size(sentence) <= 30:
                seen[sentence] += 1
                found.append((sentence, chunk.chunk_id))
                break  # one a chunk
    for sentence, name in found:
        if seen[sentence] == 1:
            yield Question("sentence", f'"{sentence}"', name)


def _identifiers(chunks: Sequence[StoredChunk]) -> Iterator[Question]:
    holders: dict[str, set[str]] = {}
    for chunk in chunks:
        for name in identifiers(chunk.content):
            if _NAME.fullmatch(name) and len(_PARTS.findall(name)) >= 2:
                holders.setdefault(name, set()).add(chunk.chunk_id)
    text = "\n".join(f"{chunk.heading}\n{chunk.content}" for chunk in chunks)
    for number, (name, ids) in enumerate(sorted(holders.items())):
        renamed = _renamed(name, number)
        if len(ids) == 1 and renamed not in text:
            yield Question("identifier", renamed, next(iter(ids)))


def _renamed(name: str, number: int) -> str:
    """The other style, or plain words, in turn."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    if number % 2:
        return " ".join(parts)
    return parts[0] + "".join(part.capitalize() for part in parts[1:]) if "_" in name else "_".join(parts)


def _size(text: str) -> int:
    """Words, and characters of Chinese."""
    return len(_WORD.findall(text))
