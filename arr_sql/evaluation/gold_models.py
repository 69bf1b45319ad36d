"""What a gold set is: scopes with their files and memories, topics, and graded judgements. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from arr_sql.core.canonical import sha256_bytes, sha256_json
from arr_sql.core.research_models import MemoryKind, MemoryStatus, ScopeKey, Value

TopicClass = Literal[
    "exact_term", "paraphrase", "cross_concept", "cross_language", "code_error", "no_answer", "lure", "memory",
    "judged", "title", "sentence", "identifier",
]  # fmt: skip
"""What a topic is hard by. ``judged`` is every topic of a collection in the common layout, which has no classes; the last
three are those of ``arr bench``."""
Language = Literal["en", "zh", "mixed", ""]
MEMORY_PREFIX = "memory:"
HIGHEST_GRADE = 3


class GoldMemory(Value):
    """A memory of a gold set. ``scope`` is an alias of the set; ``note`` is for people."""

    memory_id: Annotated[str, Field(min_length=1, max_length=200)]
    scope: str
    kind: MemoryKind = "knowledge"
    title: Annotated[str, Field(min_length=1, max_length=500)]
    content: Annotated[str, Field(min_length=1)]
    source_refs: tuple[str, ...] = ()
    status: MemoryStatus = "published"
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.8
    conflict_key: str | None = None
    applicability: dict[str, Any] = Field(default_factory=dict)
    expires_at: str | None = None
    note: str = ""


class Lure(Value):
    """Something of a neighbouring scope that looks like the answer."""

    scope: str
    item: str


class Topic(Value):
    """One question, asked in one scope."""

    topic_id: Annotated[str, Field(min_length=1)]
    scope: str
    topic_class: Annotated[TopicClass, Field(alias="class")] = "judged"
    language: Language = ""
    query: Annotated[str, Field(min_length=1)]
    lures: tuple[Lure, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Item:
    """What a judgement names: a whole file, the part of it that holds ``anchor``, or a memory.

    ``text`` is the name as written: ``path``, ``path#ANCHOR`` or ``memory:ID``.
    """

    text: str
    path: str = ""
    anchor: str = ""
    memory_id: str = ""


@dataclass(frozen=True)
class Judgement:
    """How much an item of the topic's own scope answers the topic: 0 not at all, 3 completely."""

    item: Item
    grade: int
    note: str = ""


@dataclass(frozen=True)
class GoldFile:
    """A file of a scope: on disk, or as text inside the set."""

    path: str
    disk: Path | None = None
    text: str = ""

    def read_bytes(self) -> bytes:
        """Its bytes. Raises OSError when the disk says no."""
        return self.disk.read_bytes() if self.disk is not None else self.text.encode("utf-8")


@dataclass(frozen=True)
class Document:
    """A document of a judged collection: it is taken in as one chunk, so that published figures can be compared."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class GoldSet:
    """A set that has passed every check of the loader."""

    name: str
    version: str
    source: Path
    scopes: Mapping[str, ScopeKey]
    topics: tuple[Topic, ...]
    judgements: Mapping[str, tuple[Judgement, ...]]
    files: Mapping[str, Mapping[str, GoldFile]] = field(default_factory=dict)
    """By scope alias, then by path."""
    memories: tuple[GoldMemory, ...] = ()
    documents: tuple[Document, ...] = ()
    """One chunk each, in the set's only scope. Where there are files too, they hold the same texts for grep."""
    description: str = ""
    licence: str = ""

    def fingerprint(self) -> str:
        """Hex SHA-256 of everything that decides what is built and asked: not of notes, name or licence."""
        return sha256_json(
            {
                "scopes": {alias: scope.values() for alias, scope in self.scopes.items()},
                "files": {
                    alias: {name: sha256_bytes(file.read_bytes()) for name, file in files.items()}
                    for alias, files in self.files.items()
                },
                "documents": [[document.id, document.title, document.text] for document in self.documents],
                "memories": [memory.model_dump(mode="json", exclude={"note"}) for memory in self.memories],
                "topics": [topic.model_dump(mode="json", exclude={"note"}) for topic in self.topics],
                "judgements": {
                    topic: [[judgement.item.text, judgement.grade] for judgement in judged]
                    for topic, judged in self.judgements.items()
                },
            }
        )
