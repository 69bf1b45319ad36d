"""Any order of what people do to one store, memories, files, searches, approvals and replays, beside a model in dictionaries.

Every rule says in advance whether its step is allowed; what is refused must leave every row as it was, and an event.
After every step the store must be what the model says: statuses by the table of contract 5.1, what search finds, the
packages, every event in order, and a log that verifies. What was answered once replays as identical to the end.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from arr_sql.core.clock import to_text
from arr_sql.core.connection import open_reader
from arr_sql.database import ResearchDatabase
from arr_sql.errors import InputError, StateError
from tests.conftest import SCOPE, FakeEmbedder
from tests.memory.people import BODY, PAYLOAD, PAYLOAD_HASH, HandClock

RUNS, HALVES, STEPS = 500, 2, 13
SHARED_MEMORY = Path("/dev/shm")
ALLOWED = {
    "candidate": {"verified", "published", "revoked"}, "verified": {"published", "candidate", "revoked"},
    "published": {"deprecated", "conflict", "expired", "revoked"}, "conflict": {"published", "deprecated", "revoked"},
    "deprecated": {"published", "revoked"}, "expired": {"published", "revoked"}, "revoked": set(),
}  # fmt: skip
CASES, PLAIN, FILES = ["case-1", "case-2"], ["m-1", "m-2", "m-3"], ["a.md", "b.md"]
WORDS = ["zinc", "copper", "router"]
PLANS: dict[str, Any] = {
    "memory": {"tool_rounds": [["research-memory"]]}, "files": {"tool_rounds": [["bm25"]]},
    "store": {"tool_rounds": [["research-memory", "bm25", "vector"]]}, "grep": {"tool_rounds": [["bm25", "grep"]]},
    "rounds": {"tool_rounds": [["bm25"], ["research-memory", {"tool": "bm25", "query": "number"}]]},
}  # fmt: skip

ID = st.sampled_from(["m-1", "m-1", "m-2", "m-2", "case-1", "case-1", "m-3", "case-2"])
OTHER = st.sampled_from(["m-2", "m-2", "m-1", "case-1"])
PACKAGE = st.sampled_from(["p-1", "p-1", "p-2"])
CASE = st.sampled_from(CASES[:1] * 3 + CASES[1:] + PLAIN[:1])
BY = st.sampled_from(["ana", "bo", "ana", "bo", "ana", " "])
NAME = st.sampled_from(["ana", "bo", " Ana", "BO ", "cy"])
WORD = st.sampled_from(WORDS)
REASON = st.sampled_from(["because", "because", ""])
STATUS = st.sampled_from(["published", "published", "published", *ALLOWED])
VALUES = st.fixed_dictionaries(
    {"word": WORD, "confidence": st.sampled_from([0.5, 0.8]), "key": st.sampled_from(["k", None, "k"]),
     "hours": st.sampled_from([None, None, None, 2, 30, -1]), "places": st.sampled_from([None, None, None, ("a100",), ("h100",), ()]),
     "has_source": st.booleans()}
)  # fmt: skip


@dataclass
class Memory:
    """What the model knows of one memory."""

    word: str
    confidence: float
    key: str | None
    expires_at: datetime | None
    places: tuple[str, ...] | None
    has_source: bool
    updated_at: datetime
    revision: int
    status: str = "candidate"
    related: tuple[str, ...] = ()
    history: list[str] = field(default_factory=lambda: ["candidate"])

    @property
    def says(self) -> tuple[Any, ...]:
        """What an approval was given for."""
        return self.word, self.places, self.has_source

    def is_over(self, now: datetime) -> bool:
        """Has it run out?"""
        return self.expires_at is not None and self.expires_at <= now


@dataclass
class Package:
    """What the model knows of one package."""

    case_id: str
    says: tuple[Any, ...]
    requester: str
    expires_at: datetime
    outcome: str | None = None
    decider: str = ""
    token: str | None = None
    receipt: tuple[str, str] | None = None


@dataclass
class Asked:
    """One retrieval: what was returned, and what the disk was."""

    retrieval_id: str
    chunk_ids: list[str]
    disk: dict[str, str]
    has_grep: bool


def key_of(name: str) -> str:
    """Who that is."""
    return name.strip().lower()


def fields_of(values: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Drawn values as the store's fields."""
    hours, places = values["hours"], values["places"]
    return {
        "title": values["word"], "content": f"{values['word']} common", "confidence": values["confidence"],
        "conflict_key": values["key"], "expires_at": to_text(now + timedelta(hours=hours)) if hours is not None else None,
        "applicability": {} if places is None else {"experiment_environments": list(places)},
        "source_refs": ["runs/r8.log"] if values["has_source"] else [],
    }  # fmt: skip


def model_of(values: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Drawn values as the model's fields."""
    kept = {name: values[name] for name in ("word", "confidence", "key", "places", "has_source")}
    return {**kept, "expires_at": now + timedelta(hours=values["hours"]) if values["hours"] is not None else None}


class Store(RuleBasedStateMachine):
    """The store beside the model."""

    template: Path

    def __init__(self) -> None:
        super().__init__()
        where = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="arr-joint-", dir=where))
        self.clock = HandClock()
        self.memories: dict[str, Memory] = {}
        self.packages: dict[str, Package] = {}
        self.disk: dict[str, str] = {}
        self.synced: dict[str, str] = {}
        self.asked: list[Asked] = []
        self.events: list[str] = []
        self.tokens = ["a" * 64]
        self.revision = 0
        self.looked_at: tuple[int, datetime] | None = None
        self.is_open = False

    @initialize(
        has_model=st.sampled_from([False, False, False, True]),
        begin=st.sampled_from(["used", "new", "asked", "approved"]),
    )
    def open(self, has_model: bool, begin: str) -> None:
        """One file and one folder; some runs begin with more, so that a dozen steps reach far."""
        path, self.notes = self.folder / ".arr" / "arr.db", self.folder / "notes"
        path.parent.mkdir()
        self.notes.mkdir()
        shutil.copy(self.template, path)
        self.has_model = has_model
        self.database = ResearchDatabase(
            path, SCOPE, project_folder=self.folder, actor="ana", clock=self.clock,
            embedder=FakeEmbedder if has_model else lambda: None,
        )  # fmt: skip
        self.rows = open_reader(path)
        self.is_open = True
        self.database.add(self.notes)
        self.happened(["scope_opened", "root_added"], revisions=1)
        values = {"word": "zinc", "confidence": 0.8, "key": "k", "hours": None, "places": None, "has_source": True}
        self.add("ana", "case-1", values)
        self.add("bo", "m-1", {**values, "hours": 30})
        self.add("ana", "m-2", {**values, "word": "copper", "confidence": 0.5, "has_source": False})
        self.write("a.md", "zinc", 0, True)
        if begin in ("asked", "approved"):
            self.request("ana", "p-1", "case-1", "high")
        if begin == "approved":
            self.decide("bo", "p-1", "approved", True)
        if begin == "used":
            self.step("bo", "m-1", "published", "because")
            self.step("ana", "m-2", "published", "because")
            self.search("ana", "common", "store", None)

    def teardown(self) -> None:
        """To the end: every retrieval replays, every history is whole, the file passes its check."""
        try:
            if self.is_open and not self.new_events():  # else a step has failed already
                self.everything_that_was_asked_stands()
                for memory_id, memory in self.memories.items():
                    versions = self.by("ana").memory_history(memory_id)
                    assert [version.memory.status for version in versions] == memory.history
                assert [item for item in self.by("ana").check().findings if not item.passed] == []
        finally:
            if self.is_open:
                self.rows.close()
                self.database.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def everything_that_was_asked_stands(self) -> None:
        """Each record holds what was returned; each is answered again alike."""
        records = {record["retrieval_id"]: record for record in self.by("ana").retrievals(limit=1000)}
        assert list(reversed(records)) == [item.retrieval_id for item in self.asked]
        replays = self.by("ana").replay_all()
        for item, again in zip(self.asked, replays, strict=True):
            assert [one["chunk_id"] for one in records[item.retrieval_id]["evidence"]] == item.chunk_ids
            self.check_replay(item, again)

    # --- the model ----------------------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The machine's time."""
        return self.clock.now

    def by(self, name: str) -> ResearchDatabase:
        """The file in the hands of ``name``."""
        self.database.actor = name
        return self.database

    def happened(self, events: Sequence[str], *, revisions: int) -> None:
        """These events, and so many new revisions."""
        self.events += events
        self.revision += revisions

    def dump(self, *without: str) -> dict[str, Any]:
        """Every row of every table, the log aside. chunk_fts can't be scanned; chunk_term gives its words."""
        names = [
            row[0] for row in self.rows.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        ]
        return {
            name: [tuple(row) for row in self.rows.execute(f"SELECT * FROM [{name}]")]
            for name in names if name not in ("audit_event", "sqlite_sequence", "chunk_fts", *without)
        }  # fmt: skip

    def attempt(self, step: Callable[[], Any], is_allowed: bool, refusal: str, overdue: str | None = None) -> Any:
        """Take the step: it must succeed exactly when the model says so, else it leaves its event and nothing more.

        ``overdue`` names a package: a refused step about one whose time is over notes that.
        """
        if is_allowed:
            return step()
        package = self.packages.get(overdue or "")
        notes = package is not None and package.outcome is None and self.now >= package.expires_at
        aside = ("approval_decision", "scope") if notes else ()
        before = self.dump(*aside)
        with pytest.raises((StateError, InputError)):
            step()
        assert self.dump(*aside) == before, "a refused step changed a row"
        self.happened([refusal], revisions=0)
        if notes and package is not None:
            package.outcome = "expired"
            self.happened(["approval_expired"], revisions=1)
        return None

    def unchanged(self, step: Callable[[], Any]) -> Any:
        """Take a step that has nothing to write."""
        before = self.dump()
        result = step()
        assert self.dump() == before, "a step with nothing to do changed a row"
        return result

    def new_version(self, memory: Memory, event: str, status: str, *, is_update: bool = True, **changes: Any) -> None:
        """The memory's next version."""
        for name, value in changes.items():
            setattr(memory, name, value)
        memory.status = status
        memory.updated_at = self.now if is_update else memory.updated_at
        memory.history.append(status)
        self.happened([event], revisions=1)
        memory.revision = self.revision

    def lacks_approval(self, memory_id: str, memory: Memory) -> bool:
        """Is it a risk-bearing case that nobody approved as it stands, or without a passed receipt?"""
        mine = [package for package in self.packages.values() if package.case_id == memory_id]
        if memory_id not in CASES or (not mine and memory_id == "case-1"):
            return False
        return not any(
            (p.outcome, p.says, p.receipt and p.receipt[1]) == ("approved", memory.says, "passed") for p in mine
        )

    def may(
        self, memory_id: str, memory: Memory | None, status: str, by: str, reason: str, *, is_new_expiry: bool = False
    ) -> bool:
        """Is this change of status allowed?"""
        if memory is None or status not in ALLOWED[memory.status] or not by.strip():
            return False
        if status != "published":
            return True
        is_over = not is_new_expiry and (memory.is_over(self.now) or memory.status == "expired")
        return not is_over and (memory.has_source or bool(reason)) and not self.lacks_approval(memory_id, memory)

    def found(self, word: str = "common") -> dict[str, list[str]]:
        """The memories that search must find, each with those it wins over, strongest first."""
        groups: dict[str, list[tuple[float, datetime, str]]] = {}
        for name, m in self.memories.items():
            if m.status == "published" and not m.is_over(self.now) and (m.places is None or "a100" in m.places):
                groups.setdefault(m.key or f"only {name}", []).append((m.confidence, m.updated_at, name))
        found = {}
        for group in groups.values():
            ordered = sorted(sorted(group, key=lambda item: item[2]), key=lambda item: item[:2], reverse=True)
            winner = ordered[0][2]
            if word in ("common", self.memories[winner].word):
                found[winner] = [item[2] for item in ordered[1:]]
        return found

    # --- memories -----------------------------------------------------------------------------------------------------

    @rule(by=BY, memory_id=ID, values=VALUES)
    def add(self, by: str, memory_id: str, values: dict[str, Any]) -> None:
        """Allowed once an id, to a person."""
        given = fields_of(values, self.now)
        if memory_id in CASES:
            given |= {"kind": "research_case", "metadata": {"risk_level": "medium"} if memory_id == "case-2" else {}}
        is_allowed = memory_id not in self.memories and bool(by.strip())
        self.attempt(lambda: self.by(by).add_memory(memory_id=memory_id, **given), is_allowed, "memory_refused")
        if is_allowed:
            self.happened(["memory_added"], revisions=1)
            made = Memory(**model_of(values, self.now), updated_at=self.now, revision=self.revision)
            self.memories[memory_id] = made

    @rule(
        by=BY,
        memory_id=ID,
        values=VALUES,
        expected=st.sampled_from([None, 0, None, 0, 1]),
        same=st.sampled_from([False, False, True]),
    )
    def edit(self, by: str, memory_id: str, values: dict[str, Any], expected: int | None, same: bool) -> None:
        """Allowed for a candidate or verified memory at the revision that was read; then it is a candidate."""
        memory = self.memories.get(memory_id)
        given, new = fields_of(values, self.now), model_of(values, self.now)
        if same and memory is not None:
            given = {"confidence": memory.confidence}
        is_new = not same and memory is not None and any(getattr(memory, name) != value for name, value in new.items())
        is_allowed = (
            memory is not None and memory.status in ("candidate", "verified") and expected != 1
            and (bool(by.strip()) or not is_new)
        )  # fmt: skip
        read = None if expected is None or memory is None else memory.revision - expected
        step = lambda: self.by(by).edit_memory(memory_id, expected_revision=read, **given)  # noqa: E731
        if is_allowed and not is_new:
            self.unchanged(step)
            return
        self.attempt(step, is_allowed, "memory_refused")
        if is_allowed and memory is not None:
            self.new_version(memory, "memory_edited", "candidate", **new)

    @rule(by=BY, memory_id=ID, status=STATUS, reason=REASON)
    def step(self, by: str, memory_id: str, status: Any, reason: str) -> None:
        """One change of status."""
        memory = self.memories.get(memory_id)
        is_allowed = self.may(memory_id, memory, status, by, reason)
        self.attempt(lambda: self.by(by).set_memory_status(memory_id, status, reason), is_allowed, "memory_refused")
        if is_allowed and memory is not None:
            self.new_version(memory, f"memory_{status}", status)

    @rule(by=BY, first=ID, second=OTHER)
    def conflict(self, by: str, first: str, second: str) -> None:
        """Two published memories are marked together, or neither."""
        pair = [self.memories.get(first), self.memories.get(second)]
        is_allowed = (
            first != second and all(m is not None and m.status == "published" for m in pair) and bool(by.strip())
        )
        steps: list[Any] = [(first, "conflict"), (second, "conflict")]
        self.attempt(lambda: self.by(by).set_memory_statuses(steps, "they differ"), is_allowed, "memory_refused")
        for memory in pair if is_allowed else ():
            assert memory is not None
            self.new_version(memory, "memory_conflict", "conflict")

    @rule(by=BY, winner=OTHER, losers=st.lists(ID, max_size=2), reason=REASON, mark=st.booleans())
    def resolve(self, by: str, winner: str, losers: list[str], reason: str, mark: bool) -> None:
        """The losers are deprecated and the winner is published again, or nothing happens."""
        if mark:
            self.conflict("ana", "m-1", "m-2")
        named = list(dict.fromkeys(losers))
        all_of = [self.memories.get(name) for name in [*named, winner]]
        is_allowed = (
            winner not in named and all(m is not None and m.status == "conflict" for m in all_of)
            and self.may(winner, all_of[-1], "published", by, reason)
        )  # fmt: skip
        self.attempt(lambda: self.by(by).resolve_conflict(winner, losers, reason), is_allowed, "memory_refused")
        for memory, status in (
            zip(all_of, ["deprecated"] * len(named) + ["published"], strict=True) if is_allowed else ()
        ):
            assert memory is not None
            self.new_version(memory, f"memory_{status}", status)

    @rule(by=BY, memory_id=ID, hours=st.sampled_from([5, 40, 0]), reason=REASON, late=st.booleans())
    def renew(self, by: str, memory_id: str, hours: int, reason: str, late: bool) -> None:
        """Allowed for a memory that ran out, with a later time."""
        if late:
            self.wait(36, False)
        memory, until = self.memories.get(memory_id), self.now + timedelta(hours=hours)
        ran_out = memory is not None and (memory.status == "expired" or memory.is_over(self.now))
        is_published = memory is not None and memory.status == "published"
        then = replace(memory, status="expired") if memory is not None and is_published else memory
        is_allowed = (
            ran_out and memory is not None and memory.status not in ("candidate", "verified") and hours > 0
            and self.may(memory_id, then, "published", by, reason, is_new_expiry=True)
        )  # fmt: skip
        self.attempt(lambda: self.by(by).renew_memory(memory_id, to_text(until), reason), is_allowed, "memory_refused")
        if is_allowed and memory is not None:
            if is_published:
                self.new_version(memory, "memory_expired", "expired")
            self.new_version(memory, "memory_published", "published", expires_at=until)

    @rule(by=BY, memory_id=ID, other=ID, remove=st.booleans())
    def link(self, by: str, memory_id: str, other: str, remove: bool) -> None:
        """A relation to another memory of the scope, or one less; the words and the status stay."""
        memory = self.memories.get(memory_id)
        is_allowed = memory is not None and memory.status != "revoked"
        related = memory.related if memory is not None else ()
        if remove:
            is_allowed, new = is_allowed and other in related, tuple(name for name in related if name != other)
            step = lambda: self.by(by).link_memory(memory_id, remove=[other])  # noqa: E731
        else:
            is_allowed = is_allowed and other in self.memories and other != memory_id
            new = related if other in related else (*related, other)
            step = lambda: self.by(by).link_memory(memory_id, other)  # noqa: E731
        if is_allowed and new == related:
            self.unchanged(step)
            return
        is_allowed = is_allowed and bool(by.strip())
        self.attempt(step, is_allowed, "memory_refused")
        if is_allowed and memory is not None:
            self.new_version(memory, "memory_linked", memory.status, is_update=False, related=new)

    @rule(hours=st.sampled_from([1, 5, 36]), ask=st.booleans())
    def wait(self, hours: int, ask: bool) -> None:
        """Time passes, and somebody may ask again."""
        self.clock.move(hours=hours)
        if ask:
            self.search("cy", "common", "store", None)

    # --- files --------------------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(FILES), word=WORD, number=st.integers(0, 1), told=st.booleans())
    def write(self, name: str, word: str, number: int, told: bool) -> None:
        """A file on disk; the store is told, or not yet."""
        self.disk[name] = f"# {word}\n\nThe {word} is common, number {number}.\n"
        (self.notes / name).write_text(self.disk[name], "utf-8")
        if told:
            self.sync("bo")

    @rule(name=st.sampled_from(FILES), to=st.sampled_from([None, *FILES]))
    def move(self, name: str, to: str | None) -> None:
        """A file goes, or gets another name."""
        text = self.disk.pop(name, None)
        if text is not None:
            (self.notes / name).rename(self.notes / (to or "gone"))
            if to is not None:
                self.disk[to] = text
            else:
                (self.notes / "gone").unlink()

    @rule(by=st.sampled_from(["ana", "bo"]))
    def sync(self, by: str) -> None:
        """The store is told."""
        gone = Counter(text for name, text in self.synced.items() if name not in self.disk)
        new = Counter(text for name, text in self.disk.items() if name not in self.synced)
        renamed = (gone & new).total()
        changed = sum(self.disk.get(name, text) != text for name, text in self.synced.items())
        summary = self.by(by).sync()
        said = (len(summary.added), len(summary.changed), len(summary.renamed), len(summary.removed))
        assert said == (new.total() - renamed, changed, renamed, gone.total() - renamed)
        kinds = ("source_added", "source_changed", "source_renamed", "source_removed")
        expected = Counter({kind: count for kind, count in zip(kinds, said, strict=True) if count})
        events = self.new_events()
        assert Counter(events) == expected
        self.happened(events, revisions=int(bool(events)))
        self.synced = dict(self.disk)

    @rule()
    def embed(self) -> None:
        """Vectors are computed, where there is a model."""
        if self.has_model:
            self.by("ana").embed()
            events = self.new_events()
            assert set(events) <= {"vectors_added", "vectors_retired"}
            self.happened(events, revisions=self.stored_revision() - self.revision)

    # --- asking -------------------------------------------------------------------------------------------------------

    @rule(
        by=NAME, word=st.sampled_from([*WORDS, "common", "nowhere"]), plan=st.sampled_from(list(PLANS)),
        k=st.sampled_from([None, None, 1]),
    )  # fmt: skip
    def search(self, by: str, word: str, plan: str, k: int | None) -> None:
        """It finds what is usable and nothing else, says how fresh it is, and is recorded."""
        result = self.by(by).search(word, plan=PLANS[plan], k=k)
        self.happened(["retrieval"], revisions=0)
        ids = [item.chunk_id for item in result.evidence]
        self.asked.append(Asked(result.retrieval_id, ids, dict(self.disk), plan == "grep"))
        called = {name for names in PLANS[plan]["tool_rounds"] for name in names if isinstance(name, str)}
        memories, files = set(self.found(word)), {name for name, text in self.synced.items() if word in text}
        if plan == "rounds":  # the second round asks for another word, unless the first found nothing
            memories, files = (memories, set(self.synced)) if files else (set(), set())
        expected = {
            "research-memory": {f"memory:{name}" for name in memories},
            "bm25": {f"notes/{name}" for name in files},
        }
        for channel, names in expected.items():
            got = {item.source_ref for item in result.evidence if channel in {one.channel for one in item.channels}}
            assert got <= (names if channel in called else set())
            assert k is not None or channel not in called or got == names, f"{channel} found {got}, not {names}"
        for item in result.evidence:
            name = item.source_ref.removeprefix("notes/")
            now, was = self.disk.get(name), self.synced.get(name)
            is_fresh = item.source_ref.startswith("memory:") or item.chunk_id.startswith("g") or now == was
            assert item.freshness == ("fresh" if is_fresh else "missing" if now is None else "changed")
        assert (result.state == "found") == bool(result.evidence)

    @rule(number=st.integers(0, 20), by=NAME)
    def replay(self, number: int, by: str) -> None:
        """One of them is answered again; that leaves an event and nothing else."""
        if not self.asked:
            self.search(by, "common", "rounds", None)
        item = self.asked[number % len(self.asked)]
        self.check_replay(item, self.unchanged(lambda: self.by(by).replay(item.retrieval_id)))
        self.happened(["replayed"], revisions=0)

    def check_replay(self, item: Asked, again: Any) -> None:
        """Identical; where grep took part and the disk is another, that is the cause of every difference."""
        assert again.retrieval_id == item.retrieval_id
        if item.has_grep and item.disk != self.disk:
            assert (again.outcome, again.cause) in (("identical", None), ("different", "file_changed"))
        else:
            assert (again.outcome, again.difference, again.cause) == ("identical", None, None)

    # --- approvals ----------------------------------------------------------------------------------------------------

    @rule(by=NAME, package_id=PACKAGE, case_id=CASE, risk=st.sampled_from(["high", "high", "low"]))
    def request(self, by: str, package_id: str, case_id: str, risk: Any) -> None:
        """Allowed for a case of the scope that is not revoked, once an id, with no less than the stated risk."""
        case = self.memories.get(case_id)
        is_allowed = (
            package_id not in self.packages and case is not None and case_id in CASES and case.status != "revoked"
            and (case_id, risk) != ("case-2", "low")
        )  # fmt: skip
        self.attempt(
            lambda: self.by(by).request_approval(case_id, PAYLOAD, risk_level=risk, package_id=package_id),
            is_allowed, "approval_refused", package_id,
        )  # fmt: skip
        if is_allowed and case is not None:
            self.packages[package_id] = Package(case_id, case.says, by, self.now + timedelta(hours=24))
            self.happened(["approval_requested"], revisions=1)

    @rule(
        by=NAME, package_id=PACKAGE, outcome=st.sampled_from(["approved", "approved", "rejected"]),
        saw=st.sampled_from([True, True, False]),
    )  # fmt: skip
    def decide(self, by: str, package_id: str, outcome: Any, saw: bool) -> None:
        """Allowed to another person, in time, once, and for an approval with the payload's hash."""
        package = self.packages.get(package_id)
        is_allowed = (
            package is not None and package.outcome is None and self.now < package.expires_at
            and key_of(by) != key_of(package.requester) and (saw or outcome == "rejected")
        )  # fmt: skip
        shown = PAYLOAD_HASH if saw else None
        made = self.attempt(
            lambda: self.by(by).decide_approval(package_id, outcome, payload_hash=shown),
            is_allowed,
            "approval_refused",
            package_id,
        )
        if is_allowed and package is not None:
            package.outcome, package.decider, package.token = outcome, by, made.receipt_token
            assert (package.token is not None) == (outcome == "approved")
            self.tokens += [package.token] if package.token else []
            self.happened([f"approval_{outcome}"], revisions=1)

    @rule(
        by=NAME, package_id=PACKAGE, token=st.sampled_from([None, None, None, 0, 1]),
        receipt_id=st.sampled_from(["r-1", "r-1", "r-2"]), status=st.sampled_from(["passed", "passed", "failed"]),
        publish=st.booleans(),
    )  # fmt: skip
    def receive(self, by: str, package_id: str, token: int | None, receipt_id: str, status: Any, publish: bool) -> None:
        """Allowed with the package's own token, and then only the same receipt again; a person may publish the case."""
        package = self.packages.get(package_id)
        own = package.token if package is not None else None
        given = own if token is None and own is not None else self.tokens[-1 - (token or 0) % len(self.tokens)]
        is_allowed = (
            package is not None and package.outcome == "approved" and package.token == given
            and package.receipt in (None, (receipt_id, status))
        )  # fmt: skip
        step = lambda: self.by(by).record_receipt(  # noqa: E731
            package_id, case_id=package.case_id if package else "case-1", payload_hash=PAYLOAD_HASH, receipt_token=given,
            receipt_id=receipt_id, status=status, body=BODY,
        )  # fmt: skip
        if is_allowed and package is not None and package.receipt is not None:
            self.unchanged(step)
            return
        self.attempt(step, is_allowed, "receipt_refused", package_id)
        if is_allowed and package is not None:
            package.receipt = (receipt_id, status)
            self.happened(["receipt_recorded"], revisions=1)
            self.memories_are_what_the_model_says()
            if publish:
                self.step("bo", package.case_id, "published", "because")

    @rule(by=NAME)
    def expire(self, by: str) -> None:
        """Notes exactly the undecided packages whose time is over."""
        over = {name for name, p in self.packages.items() if p.outcome is None and self.now >= p.expires_at}
        assert {item.package_id for item in self.by(by).expire_approvals()} == over
        for name in over:
            self.packages[name].outcome = "expired"
            self.happened(["approval_expired"], revisions=1)

    # --- after every step ---------------------------------------------------------------------------------------------

    def stored_revision(self) -> int:
        """How many changes the scope has counted."""
        (row,) = self.rows.execute("SELECT revision FROM scope").fetchall()
        return int(row[0])

    def new_events(self) -> list[str]:
        """The kinds of the scope's events that the model does not know of yet, oldest first."""
        kinds = self.rows.execute("SELECT kind FROM audit_event WHERE scope_id IS NOT NULL ORDER BY seq").fetchall()
        return [row[0] for row in kinds][len(self.events) :]

    @invariant()
    def every_change_has_its_event(self) -> None:
        """The scope's events and revisions are those that the steps promise, in order, and the log verifies."""
        kinds = self.rows.execute("SELECT kind FROM audit_event WHERE scope_id IS NOT NULL ORDER BY seq").fetchall()
        assert [row[0] for row in kinds] == self.events
        assert self.stored_revision() == self.revision
        assert self.by("ana").verify_audit().damages == ()

    @invariant()
    def memories_are_what_the_model_says(self) -> None:
        """Status and words of each; no approval or receipt ever moved one."""
        found = {memory.memory_id: memory for memory in self.by("ana").memories()}
        assert set(found) == set(self.memories)
        for name, m in self.memories.items():
            stored = found[name]
            places = None if stored.applicability == {} else tuple(stored.applicability["experiment_environments"])
            assert (stored.status, stored.revision, stored.title, stored.content) == (
                m.status,
                m.revision,
                m.word,
                f"{m.word} common",
            )
            assert (stored.confidence, stored.conflict_key, places) == (m.confidence, m.key, m.places)
            assert (stored.related_memory_ids, bool(stored.source_refs)) == (m.related, m.has_source)
            assert stored.expires_at == (to_text(m.expires_at) if m.expires_at else None)
            assert stored.updated_at == to_text(m.updated_at)

    @invariant()
    def search_finds_what_is_usable(self) -> None:
        """Exactly the published, unexpired, applicable winners of their conflicts, each naming whom it wins over."""
        if self.looked_at == (self.revision, self.now):
            return
        self.looked_at = (self.revision, self.now)
        result = self.by("ana").search("common", plan=PLANS["memory"], write_record=False)
        found = {
            item.source_ref.removeprefix("memory:"): list(item.metadata.get("conflict_losers", []))
            for item in result.evidence
        }
        assert found == self.found()

    @invariant()
    def packages_are_what_the_model_says(self) -> None:
        """Nobody decides their own; a receipt is there only after an approval by another person."""
        found = {package.package_id: package for package in self.by("ana").approvals()}
        assert set(found) == set(self.packages)
        for name, p in self.packages.items():
            package = found[name]
            is_over = p.outcome is None and self.now >= p.expires_at
            assert package.status == ("expired" if is_over else p.outcome or "pending")
            assert (package.receipt and (package.receipt.receipt_id, package.receipt.status)) == p.receipt
            if package.receipt is not None or package.status == "approved":
                assert package.decision is not None and package.decision.outcome == "approved"
                assert key_of(package.decision.decided_by) == key_of(p.decider) != key_of(package.requested_by)


@pytest.mark.parametrize("half", range(HALVES))
def test_the_store_is_what_the_model_says(half: int, tmp_path: Path) -> None:
    """500 histories in two halves, which two workers can run side by side; the profile ``deep`` runs thousands."""
    path = tmp_path / "template.db"
    ResearchDatabase.create(path, SCOPE).close()
    Store.template = path
    deep = settings.get_profile("deep").max_examples == settings().max_examples
    runs = (settings().max_examples if deep else RUNS) // HALVES
    run_state_machine_as_test(Store, settings=settings(settings(), max_examples=runs, stateful_step_count=STEPS))


def test_what_the_machine_has_found(tmp_path: Path) -> None:
    """A refused addition left no event, one by nobody blamed the file, and what had not run out could be renewed."""
    with ResearchDatabase.create(
        tmp_path / "lab.db", SCOPE, actor="ana", clock=HandClock(), embedder=lambda: None
    ) as database:
        for memory_id in ("m", "n"):
            database.add_memory(memory_id=memory_id, title="zinc", content="zinc")
            database.set_memory_status(memory_id, "published", "measured")
        with pytest.raises(StateError, match="exists in this scope already"):
            database.add_memory(memory_id="m", title="zinc", content="zinc")
        database.actor = " "
        with pytest.raises(InputError, match="names a person"):
            database.add_memory(memory_id="o", title="zinc", content="zinc")
        database.actor = "ana"
        database.set_memory_status("m", "deprecated")
        database.set_memory_status("n", "conflict")
        for memory_id, command in (("m", "publish"), ("n", "resolve")):
            with pytest.raises(StateError, match=f"has not run out. Use `arr memory {command} {memory_id}`"):
                database.renew_memory(memory_id, "2027-01-01T00:00:00Z", "again")
        refused = [(event.actor, event.details["asked"]) for event in reversed(database.audit_events("memory_refused"))]
        assert refused == [("ana", "add"), ("unknown", "add"), ("ana", "renew"), ("ana", "renew")]
        assert database.verify_audit().damages == ()
