"""Replay (contract 7.4): a recorded retrieval is run again on the store as it was, and compared with its record.

A replay writes no retrieval record, only an event ``replayed``. :mod:`arr_sql.database.replay_facts` finds out why an answer
differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from arr_sql.core.canonical import sha256_text
from arr_sql.core.clock import from_text, to_text
from arr_sql.core.connection import Connection, read_transaction, store_errors, write_transaction
from arr_sql.core.redaction import REDACTED
from arr_sql.core.statements import load
from arr_sql.database.replay_facts import facts_of
from arr_sql.database.retrieval import RetrievalMethods
from arr_sql.errors import InputError, StateError, StoreFull, StoreReadOnly
from arr_sql.memory.audit_log import append_event
from arr_sql.memory.retrieval_log import ERASED, HASHED, read_retrievals
from arr_sql.memory.scope_store import ScopeRow, read_scope

if TYPE_CHECKING:
    from arr_sql.database.replay_run import Setting
    from arr_sql.database.replay_store import ReplayStore
    from arr_sql.database.revision_diff import RevisionDiff
    from arr_sql.policy.replay_compare import Cause, Difference

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Replay:
    """What became of one replay. ``cause`` is of the closed list, None when nothing known explains the difference.

    ``not_replayable`` says in ``reason`` why the retrieval can't be run again.
    """

    retrieval_id: str
    at: str
    revision: int
    outcome: Literal["identical", "different", "not_replayable"]
    difference: Difference | None = None
    cause: Cause | None = None
    reason: str = ""


class ReplayMethods(RetrievalMethods):
    """Running the past again."""

    def replay(self, retrieval_id: str, *, query: str | None = None) -> Replay:
        """Run one recorded retrieval again on the store as it was.

        ``query`` gives back a query that was kept only as a hash. Raises InputError when there is no such retrieval or
        the query is another one, StateError when its query is needed and not kept.
        """
        record = self.retrievals(retrieval_id)[0]
        if query is not None and sha256_text(query.strip()) != record["query_hash"]:
            raise InputError(
                f"That is not the query of {retrieval_id}: its SHA-256 differs. Give it exactly as it was asked."
            )
        reason = "" if query is not None and not _plan_fault(record) else _not_replayable(record)
        if reason and not _lost(record, self._rewritten_records()):
            raise StateError(f"Retrieval {retrieval_id} can't be run again: {reason}")
        found = self._replayed(
            [record], {retrieval_id: query.strip()} if query is not None else {}, lambda done, total: None
        )
        return found[0]

    def replay_all(self, since: str | None = None, progress: Progress = lambda done, total: None) -> list[Replay]:
        """Run every recorded retrieval of this scope again, oldest first; those since a time (ISO 8601 with a zone)."""
        start = to_text(from_text(since)) if since is not None else ""
        with store_errors(self.path):
            records = read_retrievals(self._reader("main"), self.scope, None, -1)
        return self._replayed([record for record in reversed(records) if record["at"] >= start], {}, progress)

    def _replay_newest(self, count: int, progress: Progress) -> list[Replay]:
        """Run the newest ``count`` retrievals again, oldest first, and write nothing, not even an event."""
        with store_errors(self.path):
            records = read_retrievals(self._reader("main"), self.scope, None, count)
        return self._replayed(list(reversed(records)), {}, progress, is_noted=False)

    def _replayed(
        self, records: Sequence[Mapping[str, Any]], queries: Mapping[str, str], progress: Progress, *,
        is_noted: bool = True,
    ) -> list[Replay]:  # fmt: skip
        from arr_sql.database.replay_run import Setting
        from arr_sql.database.replay_store import ReplayStore
        from arr_sql.policy.replay_compare import Difference

        found: dict[str, Replay] = {}
        ready, rewritten = [], self._rewritten_records()
        for record in records:
            lost = _lost(record, rewritten)
            if lost:
                gone = Difference(lost, record["query_hash"], ERASED)
                found[record["retrieval_id"]] = _replay(record, "different", gone, "row_erased")
                continue
            reason = "" if record["retrieval_id"] in queries else _not_replayable(record)
            if reason:
                found[record["retrieval_id"]] = _replay(record, "not_replayable", reason=reason)
            else:
                ready.append(record)
        reader = self._reader("main")
        if ready:
            revisions = [record["scope_revision"] for record in ready]
            setting = Setting(self._grep_roots(), tuple(self._extra_channels))
            with store_errors(self.path), read_transaction(reader):
                row = read_scope(reader, self.scope)
                assert row is not None, "a record belongs to an open scope"
                with ReplayStore(reader, self.scope, row.id, min(revisions), max(revisions)) as store:
                    # By revision: the private file then moves only forward, each row shown and hidden once.
                    for done, record in enumerate(
                        sorted(ready, key=lambda item: (item["scope_revision"], item["scope_seq"])), 1
                    ):
                        store.move_to(record["scope_revision"])
                        query = queries.get(record["retrieval_id"], record["query"])
                        found[record["retrieval_id"]] = self._compared(reader, row, store, record, query, setting)
                        progress(done, len(ready))
        replays = [found[record["retrieval_id"]] for record in records]
        if is_noted:
            self._note_replays(replays)
        return replays

    def _rewritten_records(self) -> frozenset[str]:
        """The ids of records that an erasure rewrote."""
        reader = self._reader("main")
        with store_errors(self.path):
            row = read_scope(reader, self.scope)
            rows = reader.execute(load("read_erased_records"), {"scope_id": row.id if row else None})
            return frozenset(found["retrieval_id"] for found in rows)

    def _compared(
        self,
        reader: Connection,
        row: ScopeRow,
        store: ReplayStore,
        record: Mapping[str, Any],
        query: str,
        setting: Setting,
    ) -> Replay:
        from arr_sql.database.replay_run import rerun
        from arr_sql.policy.replay_compare import cause_of, comparable, first_difference

        again = rerun(store, record, query, setting)
        recorded = comparable(record)
        difference = first_difference(recorded, again.account)
        if difference is None:
            return _replay(record, "identical")
        if _was_stopped_by_time(record):
            return _replay(
                record, "not_replayable",
                reason="grep was stopped by its deadline; how far it had come is the machine's to know. Ask again with `arr search`.",
            )  # fmt: skip
        return _replay(
            record, "different", difference, cause_of(facts_of(reader, row, store, record, recorded, again, setting))
        )

    def _note_replays(self, replays: Sequence[Replay]) -> None:
        """One event a replay that was run; none where nothing can be written."""
        ran = [item for item in replays if item.outcome != "not_replayable"]
        if not ran:
            return
        try:
            writer = self._write()
            with write_transaction(writer, self.path):
                row = read_scope(writer, self.scope)
                assert row is not None
                for item in ran:
                    append_event(
                        writer, scope_id=row.id, revision=row.revision, at=self._clock(), actor=self.actor, kind="replayed",
                        subject_kind="retrieval", subject_id=item.retrieval_id, subject_hash="",
                        details={"outcome": item.outcome, "cause": item.cause or ""},
                    )  # fmt: skip
        except (StoreReadOnly, StoreFull):  # the verdict is there all the same
            return

    def diff(
        self,
        first: int,
        last: int | None = None,
        *,
        retrievals: bool = False,
        progress: Progress = lambda done, total: None,
    ) -> RevisionDiff:
        """What changed between two revisions of this scope (``last``: the present one).

        With ``retrievals``, every past retrieval is asked again of ``last``, with its own query vector and at the present
        moment, and those whose evidence differs are named. Raises InputError for revisions that are not there.
        """
        from arr_sql.database.replay_run import Setting, rerun
        from arr_sql.database.replay_store import ReplayStore
        from arr_sql.database.revision_diff import RevisionDiff, answer_change, memory_changes, source_changes

        reader = self._reader("main")
        with store_errors(self.path), read_transaction(reader):
            row = read_scope(reader, self.scope)
            highest = row.revision if row else 0
            last = highest if last is None else last
            for revision in (first, last):
                if not 0 <= revision <= highest:
                    raise InputError(
                        f"This scope has revisions 0 to {highest}; there is no {revision}. See `arr status`."
                    )
            if first > last:
                raise InputError(f"Revision {first} comes after {last}. Give the earlier one first.")
            if row is None:
                return RevisionDiff(first, last, ())
            span = {"scope_id": row.id, "first": first, "last": last}
            subjects = (
                *source_changes(reader.execute(load("read_changed_sources"), span).fetchall(), first, last),
                *memory_changes(reader.execute(load("read_changed_memories"), span).fetchall(), first, last),
            )
            if not retrievals:
                return RevisionDiff(first, last, subjects)
            records = [
                record
                for record in reversed(read_retrievals(reader, self.scope, None, -1))
                if record["scope_revision"] <= last
            ]
            rewritten = self._rewritten_records()
            ready = [record for record in records if not (_not_replayable(record) or _lost(record, rewritten))]
            setting = Setting(self._grep_roots(), tuple(self._extra_channels), now=self._clock())
            answers = []
            with ReplayStore(reader, self.scope, row.id, last, last) as store:
                store.move_to(last)
                for done, record in enumerate(ready, 1):
                    change = answer_change(record, rerun(store, record, record["query"], setting))
                    if change is not None:
                        answers.append(change)
                    progress(done, len(ready))
        return RevisionDiff(first, last, subjects, tuple(answers), len(ready), len(records) - len(ready))


# --- can it be run again? -----------------------------------------------------------------------------------------------


def _not_replayable(record: Mapping[str, Any]) -> str:
    """Why the record's query can't be asked again, with the next step; '' when it can."""
    if record["query"] is None:
        return "its query was kept only as a hash. Give the query with --query; arr.toml says `query` under [audit]."
    if sha256_text(record["query"]) != record["query_hash"]:
        return "a credential (or half a character) was taken out of its query before it was kept. Give the query with --query."
    return _plan_fault(record)


def _lost(record: Mapping[str, Any], rewritten: frozenset[str]) -> str:
    """Which part of a record an erasure took, so that nothing can be asked again: its query, or one of its plan."""
    if record["retrieval_id"] not in rewritten:
        return ""
    return "query" if record["query"] is None else "plan" if ERASED in _plan_queries(record) else ""


def _plan_queries(record: Mapping[str, Any]) -> list[str]:
    return [call["query"] or "" for calls in record["plan"]["tool_rounds"] for call in calls]


def _plan_fault(record: Mapping[str, Any]) -> str:
    queries = _plan_queries(record)
    if any(query.startswith(HASHED) or REDACTED in query for query in queries):
        return "a rewritten query of its plan was kept only as a hash or without a credential. Ask again with `arr search --plan`."
    return ""


def _was_stopped_by_time(record: Mapping[str, Any]) -> bool:
    return any(trace["detail"].get("limit") == "deadline" for trace in record["traces"])


def _replay(
    record: Mapping[str, Any], outcome: Any, difference: Any = None, cause: Any = None, reason: str = ""
) -> Replay:
    return Replay(record["retrieval_id"], record["at"], record["scope_revision"], outcome, difference, cause, reason)
