"""The checks of a gold set: each record against what was read before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arr_sql.core.decode import Decoded, decode
from arr_sql.core.research_models import ScopeKey
from arr_sql.errors import GoldInvalid
from arr_sql.evaluation.gold_models import (
    HIGHEST_GRADE,
    MEMORY_PREFIX,
    GoldFile,
    GoldMemory,
    GoldSet,
    Item,
    Judgement,
    Topic,
)
from arr_sql.evaluation.gold_text import as_model, line_of

Record = tuple[int, dict[str, Any]]
"""A line number and what stands there."""


class GoldChecks:
    """What has been read of a set so far, and whether what comes next fits it. Every method raises GoldInvalid."""

    def __init__(
        self, scopes: Mapping[str, ScopeKey], files: Mapping[str, Mapping[str, GoldFile]], classes: frozenset[str],
        ids: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:  # fmt: skip
        """``ids`` names files by an id besides their path: id to (scope, path)."""
        self._scopes, self._files, self._classes = scopes, files, classes
        self._ids = ids or {}
        self._memories: dict[tuple[str, str], GoldMemory] = {}
        self._topics: dict[str, tuple[Topic, Path, int]] = {}
        self._judged: dict[str, dict[str, Judgement]] = {}
        self._texts: dict[tuple[str, str], str] = {}

    def take_memories(self, found: Iterable[Record], path: Path) -> None:
        """Memories, before the topics that may name them."""
        for line, value in found:
            memory = as_model(GoldMemory, value, path, line)
            self._require_scope(memory.scope, path, line)
            if (memory.scope, memory.memory_id) in self._memories:
                raise GoldInvalid(f"The memory '{memory.memory_id}' stands twice in its scope.", str(path), line)
            self._memories[memory.scope, memory.memory_id] = memory

    def take_topics(self, found: Iterable[Record], path: Path) -> None:
        """Topics, before their judgements."""
        for line, value in found:
            topic = as_model(Topic, value, path, line)
            if topic.topic_id in self._topics:
                raise GoldInvalid(f"The topic '{topic.topic_id}' stands twice.", str(path), line)
            self._require_scope(topic.scope, path, line)
            if topic.topic_class not in self._classes:
                raise GoldInvalid(f"The class '{topic.topic_class}' is not one of the set.", str(path), line)
            if topic.topic_class == "lure" and not topic.lures:
                raise GoldInvalid("A topic of class lure names no lure.", str(path), line)
            for lure in topic.lures:
                self._require_scope(lure.scope, path, line)
                if lure.scope == topic.scope:
                    raise GoldInvalid("A lure is in the topic's own scope.", str(path), line)
                self._item(lure.item, lure.scope, path, line)
            self._topics[topic.topic_id] = (topic, path, line)

    def take_judgements(self, found: Iterable[Record], path: Path) -> None:
        """Judgements: ``topic_id``, ``item``, ``grade``, ``note``."""
        for line, value in found:
            name, text, grade = (value.get(key) for key in ("topic_id", "item", "grade"))
            if name not in self._topics:
                raise GoldInvalid(f"There is no topic '{name}'.", str(path), line)
            if type(grade) is not int or not 0 <= grade <= HIGHEST_GRADE:
                raise GoldInvalid(f"The grade is {grade!r}; it must be 0, 1, 2 or 3.", str(path), line)
            if not isinstance(text, str) or not text:
                raise GoldInvalid("The item is missing.", str(path), line)
            topic, judged = self._topics[name][0], self._judged.setdefault(str(name), {})
            item = self._item(text, topic.scope, path, line)
            if item.text in judged:
                raise GoldInvalid(f"'{item.text}' is judged twice for topic '{name}'.", str(path), line)
            judged[item.text] = Judgement(item, grade, str(value.get("note") or ""))

    def gold(self, head: Mapping[str, Any], source: Path, text: str, path: Path) -> GoldSet:
        """The checked set."""
        for topic, where, line in self._topics.values():
            answers = any(judgement.grade > 0 for judgement in self._judged.get(topic.topic_id, {}).values())
            if answers and topic.topic_class == "no_answer":
                raise GoldInvalid(
                    f"The topic '{topic.topic_id}' has an answer and the class no_answer.", str(where), line
                )
            if not answers and topic.topic_class not in ("no_answer", "lure"):
                raise GoldInvalid(f"Nothing is relevant to the topic '{topic.topic_id}'.", str(where), line)
        if not self._topics:
            raise GoldInvalid("There is no topic.", str(source), 0)
        strings = {key: head.get(key, "") for key in ("name", "version", "description", "licence")}
        for key, value in strings.items():
            if not isinstance(value, str) or (key in ("name", "version") and not value.strip()):
                raise GoldInvalid(f'"{key}" is missing or not text.', str(path), line_of(text, f'"{key}"'))
        return GoldSet(
            **strings, source=source, scopes=self._scopes, files=self._files, memories=tuple(self._memories.values()),
            topics=tuple(topic for topic, _, _ in self._topics.values()),
            judgements={name: tuple(judged.values()) for name, judged in self._judged.items()},
        )  # fmt: skip

    def _require_scope(self, alias: str, path: Path, line: int) -> None:
        if alias not in self._scopes:
            known = ", ".join(self._scopes)
            raise GoldInvalid(f"The scope '{alias}' is unknown; the set has {known}.", str(path), line)

    def _item(self, text: str, alias: str, path: Path, line: int) -> Item:
        """What ``text`` names in the scope ``alias``."""
        if text.startswith(MEMORY_PREFIX):
            memory_id = text.removeprefix(MEMORY_PREFIX)
            if (alias, memory_id) not in self._memories:
                self._refuse(text, [scope for scope, name in self._memories if name == memory_id], path, line)
            return Item(text, memory_id=memory_id)
        if text in self._ids:
            scope, name = self._ids[text]
            if scope != alias:
                self._refuse(text, [scope], path, line)
            return Item(name, path=name)
        name, _, anchor = (text, "", "") if text in self._files[alias] else text.partition("#")
        if name not in self._files[alias]:
            self._refuse(name, [scope for scope, files in self._files.items() if name in files], path, line)
        if anchor:
            count = self._content(alias, name, path, line).count(anchor)
            if count != 1:
                raise GoldInvalid(f"The anchor '{anchor}' stands {count} times in '{name}', not once.", str(path), line)
        return Item(text, path=name, anchor=anchor)

    def _content(self, alias: str, name: str, path: Path, line: int) -> str:
        if (alias, name) not in self._texts:
            decoded = decode(self._files[alias][name].read_bytes())
            if not isinstance(decoded, Decoded):
                raise GoldInvalid(f"'{name}' is not text, so it can have no anchor.", str(path), line)
            self._texts[alias, name] = decoded.text
        return self._texts[alias, name]

    def _refuse(self, name: str, elsewhere: list[str], path: Path, line: int) -> None:
        words = f"belongs to scope '{elsewhere[0]}', not to the one named here" if elsewhere else "is not in the set"
        raise GoldInvalid(f"'{name}' {words}.", str(path), line)
