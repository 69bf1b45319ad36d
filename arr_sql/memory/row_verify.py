"""Rows that are no version of anything, against the events that vouch for them: the second half of `arr audit verify`.

Scopes and their counters, roots, sources, when chunks began and ended, vectors, models, what walks left out, and the
places where one row repeats another. Reads only. A cache of the file system's words (``source_stat``) is vouched for by
no event: its CHECK finds accidents, and what it says can only make `arr sync` read a file again or not.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from arr_sql.core.canonical import sha256_text
from arr_sql.core.connection import Connection
from arr_sql.core.research_models import memory_name
from arr_sql.core.row_hashes import ids_hash, left_out_hash, model_hash, root_hash, vectors_hash
from arr_sql.core.statements import load
from arr_sql.index.embedders.protocol import embed_text
from arr_sql.index.vector_state import embedding_models
from arr_sql.memory.damage import Damage
from arr_sql.memory.row_vouching import row_ids

Owned = tuple["int | None", Damage]

OWN_KINDS = frozenset({"root", "left_out", "embedding_model"})
"""Kinds of subjects whose hashes are compared here."""


class Said:
    """What the events say of these rows, gathered while the chain is read."""

    def __init__(self) -> None:
        self.opened: dict[int, tuple[int, str, dict[str, Any]]] = {}
        self.revision: dict[int, int] = defaultdict(int)
        self.hashes: dict[tuple[str, int | None, str], tuple[int, str]] = {}
        self.source_added: dict[str, tuple[int, int | None, Any, str]] = {}
        self.begins: dict[int, dict[int, tuple[int, str]]] = defaultdict(dict)
        self.ends: dict[int, set[int]] = defaultdict(set)
        self.vectors: dict[tuple[int | None, int, str], tuple[int, str]] = {}
        self.vectors_retired: dict[int | None, list[tuple[int, str]]] = defaultdict(list)
        self.forgotten: dict[tuple[int | None, str], int] = {}
        """When a chunk or a memory (by the name that evidence gives it) was erased last."""
        self.ids: dict[str, list[Any]] = {}

    def hear(self, event: Any) -> None:
        """Take in one event of the chain."""
        kind, scope, revision = event["kind"], event["scope_id"], event["revision"]
        if scope is not None and revision is not None:
            self.revision[scope] = max(self.revision[scope], revision)
        if event["subject_kind"] in OWN_KINDS and event["subject_hash"]:
            self.hashes[(event["subject_kind"], scope, event["subject_id"])] = (event["seq"], event["subject_hash"])
        details = details_of(event)
        if kind == "scope_opened" and scope is not None:
            self.opened[scope] = (event["seq"], event["at"], details)
        elif kind == "ids_noted":
            self.ids = {name: said for name, said in _object(details.get("tables")).items() if _is_count_of_ids(said)}
        elif kind == "vectors_retired":
            self.vectors_retired[scope].append((revision, event["subject_id"]))
        elif event["subject_kind"] == "source_version":
            source = details.get("source", 0)
            if type(source) is not int:
                source = 0
            if kind == "source_added":
                self.source_added[str(source)] = (event["seq"], scope, details.get("root"), event["at"])
            if kind in ("source_added", "source_changed"):
                self.begins[source][revision] = (event["seq"], event["at"])
            if kind in ("source_changed", "source_removed"):
                self.ends[source].add(revision)
        for chunk_id, digest in _object(details.get("vector_hashes")).items():
            self.vectors[(scope, revision, chunk_id)] = (event["seq"], digest)

    def forget(self, event: Any, subjects: Iterable[Any]) -> Iterator[Damage]:
        """An erasure excuses the roots (with their lists), sources and vectors that its receipt names, and no others."""
        scope, seq = event["scope_id"], event["seq"]
        for item in subjects:
            name = item["subject_id"]
            if item["kind"] in ("chunk", "memory"):
                self.forgotten[(scope, name if item["kind"] == "chunk" else memory_name(name))] = seq
            elif item["kind"] == "source":
                self.source_added.pop(name, None)
            elif item["kind"] == "root":
                if self.hashes.pop(("root", scope, name), (0, ""))[1] != item["before_hash"]:
                    yield Damage("forgotten_otherwise", seq, f"root {name}")
                self.hashes.pop(("left_out", scope, name), None)


def details_of(event: Any) -> dict[str, Any]:
    """The details of an event, whatever became of them: nothing where they are no JSON object. The chain says so then."""
    try:
        return _object(json.loads(event["details"]))
    except (ValueError, RecursionError):
        return {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_count_of_ids(value: Any) -> bool:
    """How many, the highest, and a hash: as :func:`arr_sql.memory.row_vouching.vouch_for_ids` writes it."""
    return isinstance(value, list) and [type(part) for part in value] == [int, int, str]


def row_damages(connection: Connection, said: Said) -> Iterator[Owned]:
    """Each damage with the scope whose it is."""
    yield from _scopes(connection, said)
    yield from _hashed(connection, said)
    yield from _sources(connection, said)
    yield from _chunks(connection, said)
    yield from _vectors(connection, said)
    for row in connection.execute(load("read_foreign_evidence")).fetchall():
        yield (
            row["scope_id"],
            Damage("row_changed", None, f"evidence {row['rank']} of {row['retrieval_id']} is of another scope"),
        )
    for row in connection.execute(load("read_wrong_stats")).fetchall():
        yield row["scope_id"], Damage("cache_changed", None, f"source_stat of source {row['id']}; run `arr sync`")


def id_damages(connection: Connection, said: Said) -> Iterator[Damage]:
    """Row numbers with a gap that no erasure left, or a number changed. Worth saying when nothing else is wrong."""
    for name, ids in row_ids(connection):
        _, highest, digest = said.ids.pop(name, (0, 0, ids_hash([])))
        old = [number for number in ids if number <= highest]
        if ids_hash(old) != digest or ids[len(old) :] != list(range(highest + 1, highest + 1 + len(ids) - len(old))):
            yield Damage("ids_changed", None, f"{name}: {len(ids)} rows, and the highest id is {ids[-1]}")
    for name, (rows, _, _) in said.ids.items():
        if rows:
            yield Damage("ids_changed", None, f"{name}: no row of {rows}")


def _scopes(connection: Connection, said: Said) -> Iterator[Owned]:
    for row in connection.execute(load("read_all_scopes")).fetchall():
        seq, at, details = said.opened.pop(row["id"], (None, "", {}))
        if seq is None:
            yield row["id"], Damage("row_without_event", None, f"scope {row['id']}")
            continue
        parent = json.loads(row["parent"]) if row["parent"] is not None else None
        found = (row["created_at"], parent, row["parent_revision"])
        if found != (at, details.get("parent"), details.get("parent_revision")):
            yield row["id"], Damage("row_changed", seq, f"scope {row['id']}")
        if row["revision"] != said.revision[row["id"]]:
            counted = f"scope {row['id']} counts {row['revision']} revisions, its events {said.revision[row['id']]}"
            yield row["id"], Damage("counter_changed", None, counted)
    for scope, (seq, _, _) in said.opened.items():
        yield scope, Damage("event_without_row", seq, f"scope {scope}")


def _hashed(connection: Connection, said: Said) -> Iterator[Owned]:
    """Roots, models and lists of what was left out: one hash each."""
    rows: list[tuple[tuple[str, int | None, str], str]] = [
        (("root", row["scope_id"], str(row["id"])), root_hash(row))
        for row in connection.execute(load("read_all_roots"))
    ]
    rows += [(("embedding_model", None, row["fingerprint"]), model_hash(row)) for row in embedding_models(connection)]
    lists = groupby(connection.execute(load("read_all_left_out")), lambda row: (row["scope_id"], row["root_id"]))
    rows += [(("left_out", scope, str(root)), left_out_hash(list(mine))) for (scope, root), mine in lists]
    hashes = dict(said.hashes)
    for key, found in rows:
        seq, expected = hashes.pop(key, (None, ""))
        if seq is None:
            yield key[1], Damage("row_without_event", None, f"{key[0]} {key[2]}")
        elif found != expected:
            yield key[1], Damage("row_changed", seq, f"{key[0]} {key[2]}")
    empty = left_out_hash([])
    for key, (seq, expected) in hashes.items():
        if not (key[0] == "left_out" and expected == empty):
            yield key[1], Damage("event_without_row", seq, f"{key[0]} {key[2]}")


def _sources(connection: Connection, said: Said) -> Iterator[Owned]:
    added = dict(said.source_added)
    for row in connection.execute(load("read_all_sources")).fetchall():
        seq, scope, root, at = added.pop(str(row["id"]), (None, None, None, ""))
        if seq is None:
            yield row["scope_id"], Damage("row_without_event", None, f"source {row['id']}")
        elif (row["scope_id"], row["root_id"], row["created_at"]) != (scope, root, at):
            yield row["scope_id"], Damage("row_changed", seq, f"source {row['id']}")
    for source, (seq, scope, _, _) in added.items():
        yield scope, Damage("event_without_row", seq, f"source {source}")


def _chunks(connection: Connection, said: Said) -> Iterator[Owned]:
    """A chunk begins with a version of its source and ends with a later one, or with the source."""
    for row in connection.execute(load("read_all_chunk_spans")):
        seq, begun = said.begins[row["source_id"]].get(row["added_revision"], (None, None))
        ended = row["retired_revision"]
        if row["scope_id"] != row["source_scope_id"] or begun != row["created_at"]:
            yield row["scope_id"], Damage("row_changed", seq, f"chunk {row['chunk_id']} does not begin with its source")
        elif ended is not None and ended not in said.ends[row["source_id"]]:
            yield (
                row["scope_id"],
                Damage("visibility_changed", seq, f"chunk {row['chunk_id']} does not end with its source"),
            )


def _vectors(connection: Connection, said: Said) -> Iterator[Owned]:
    """Each vector against the hash in the event of its revision, and when it ended."""
    expected = dict(said.vectors)
    for (scope, revision, owner), group in groupby(
        _all_vectors(connection), lambda row: (row["scope_id"], row["added_revision"], row["owner"])
    ):
        mine = list(group)
        seq, digest = expected.pop((scope, revision, owner), (None, ""))
        subject = _vectors_of(owner, revision)
        if seq is None:
            yield scope, Damage("row_without_event", None, subject)
        elif any(not _belongs(row) for row in mine) or vectors_hash(mine) != digest:
            yield scope, Damage("row_changed", seq, subject)
        elif any(row["retired_revision"] != _end(row, said.vectors_retired[scope]) for row in mine):
            yield scope, Damage("visibility_changed", seq, subject)
    for (scope, revision, owner), (seq, _) in expected.items():
        if said.forgotten.get((scope, owner), 0) < seq:
            yield scope, Damage("event_without_row", seq, _vectors_of(owner, revision))


def _all_vectors(connection: Connection) -> Iterator[dict[str, Any]]:
    """Every vector with what is known of the chunk or memory (``owner``) that it stands for."""
    for row in connection.execute(load("read_all_vectors")):
        yield {**row, "owner": row["owner"] or ""}
    for row in connection.execute(load("read_all_memory_vectors")):
        values, is_there = dict(row), row["memory_id"] is not None
        text = embed_text(values.pop("title"), values.pop("content")) if is_there else ""
        yield {
            **values, "owner": memory_name(row["memory_id"]) if is_there else "", "owner_embed_hash": sha256_text(text)
        }  # fmt: skip


def _vectors_of(owner: str, revision: int) -> str:
    return f"vectors of {owner if owner.startswith(memory_name('')) else f'chunk {owner}'} at revision {revision}"


def _belongs(row: Any) -> bool:
    """Is it the vector of a chunk or memory of its scope that was visible when it was added, in its model's length?"""
    if row["owner_added"] is None or row["fingerprint"] is None:
        return False
    ended = row["owner_retired"]
    return bool(
        row["scope_id"] == row["owner_scope_id"] and row["embed_hash"] == row["owner_embed_hash"]
        and row["owner_added"] <= row["added_revision"] and (ended is None or ended > row["added_revision"])
        and len(row["vector"]) == 4 * row["dimension"]
    )  # fmt: skip


def _end(row: Any, retirements: Iterable[tuple[int, str]]) -> int | None:
    """Where a vector must have ended: with its chunk or its memory's version, or when those of all other models were kept."""
    ends = [at for at, model in retirements if at > row["added_revision"] and model != str(row["model"])]
    if row["owner_retired"] is not None:
        ends.append(row["owner_retired"])
    return min(ends, default=None)
