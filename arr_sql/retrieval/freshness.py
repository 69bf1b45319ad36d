"""Is a returned piece of evidence still what its file says? The file is read and hashed when the answer is made, and
where it differs, the lines that differ are named (contract 8.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from arr_sql.core.canonical import sha256_bytes
from arr_sql.core.decode import Undecodable, decode
from arr_sql.core.redaction import WITHHELD_LINE, withhold_lines
from arr_sql.core.research_models import Freshness, FreshnessCertificate
from arr_sql.core.rooted import FileRead, Root
from arr_sql.errors import PathRefused
from arr_sql.retrieval.catalog import FileRef, Hit
from arr_sql.retrieval.changed_span import changed_span
from arr_sql.retrieval.grep_retriever import GrepRoot

MAX_CHECKED_BYTES = 256 << 20
MAX_COMPARED_BYTES = 16 << 20
EXTRACTED = frozenset({"pdf", "notebook", "html"})
"""Readers whose text is not the file's lines (tests/retrieval/test_freshness.py compares them with the readers)."""


class _Now(NamedTuple):
    """A file as it is. ``hash`` is None where there is none; ``text`` is kept only of a file that has changed."""

    hash: str | None
    reason: str = ""
    text: str | None = None


class FreshnessChecker:
    """Checks hits against the trusted folders; each file is read once. Use as a context manager."""

    def __init__(self, roots: Mapping[int, GrepRoot], *, keep_text: bool = True) -> None:
        """``keep_text=False`` for a look at very many files, where no span is wanted."""
        self._roots, self._keep_text = roots, keep_text
        self._opened: dict[int, Root | None] = {}
        self._files: dict[tuple[int, str], _Now] = {}

    def __enter__(self) -> FreshnessChecker:
        return self

    def __exit__(self, *_: object) -> None:
        for root in self._opened.values():
            if root is not None:
                root.close()

    def check(self, hit: Hit) -> Freshness:
        """``fresh`` (hash equal), ``changed``, ``missing``, or ``unverifiable`` (other branch, folder not there)."""
        return self.certify(hit).state

    def certify(self, hit: Hit) -> FreshnessCertificate:
        """The state of the hit's file, and for a changed one where it differs from the hit."""
        if hit.file is None:
            # A memory lives in the store itself; a line that grep has just read is as the disk is. Of what another
            # channel brings nothing is known.
            is_known = hit.source_ref.startswith("memory:") or hit.metadata.get("as_on_disk") is True
            return FreshnessCertificate(state="fresh" if is_known else "unverifiable", reason="no_file")
        found = self.file_state(hit.file)
        return _with_span(hit, found, self._files[_key(hit.file)].text) if found.state == "changed" else found

    def file_state(self, file: FileRef) -> FreshnessCertificate:
        """The state of one file, without looking where it differs."""
        stored, root = file.content_hash, self._roots.get(file.root_id)
        opened = None if root is None or root.is_other_branch else self._open(root)
        if root is None or opened is None:
            reason = "not_trusted" if root is None else "other_branch" if root.is_other_branch else "root_missing"
            return FreshnessCertificate(state="unverifiable", reason=reason, stored_hash=stored)
        now = self._now(opened, file)
        if now.hash is None:
            state: Freshness = "missing" if now.reason in ("vanished", "not_a_file") else "unverifiable"
            return FreshnessCertificate(state=state, reason=now.reason, stored_hash=stored)
        return FreshnessCertificate(
            state="fresh" if now.hash == stored else "changed", stored_hash=stored, current_hash=now.hash
        )

    def _now(self, opened: Root, file: FileRef) -> _Now:
        key = _key(file)
        if key not in self._files:
            read = opened.read_file(file.path_in_root, MAX_CHECKED_BYTES)
            if not isinstance(read, FileRead):
                self._files[key] = _Now(None, read.code)
            else:
                digest = sha256_bytes(read.data)
                text = None
                if self._keep_text and digest != file.content_hash and read.size <= MAX_COMPARED_BYTES:
                    decoded = decode(read.data)
                    text = None if isinstance(decoded, Undecodable) else decoded.text
                self._files[key] = _Now(digest, text=text)
        return self._files[key]

    def _open(self, root: GrepRoot) -> Root | None:
        if root.id not in self._opened:
            try:
                self._opened[root.id] = Root(root.path)
            except PathRefused:
                self._opened[root.id] = None
        return self._opened[root.id]


def _key(file: FileRef) -> tuple[int, str]:
    return file.root_id, file.path_in_root


def _with_span(hit: Hit, found: FreshnessCertificate, now: str | None) -> FreshnessCertificate:
    """The certificate of a changed file with where the hit's text stands or differs."""
    start = hit.metadata.get("start_line")
    is_extracted = hit.metadata.get("reader") in EXTRACTED
    if now is None or is_extracted or not isinstance(start, int):
        return found.model_copy(update={"reason": "extracted" if is_extracted else "not_text"})
    text = withhold_lines(now).text if WITHHELD_LINE in hit.content else now
    span = changed_span(hit.content, start, text)
    return found.model_copy(
        update={"stands_at": span.stands_at, "changed_lines": span.changed_lines, "indexed_lines": span.indexed_lines}
    )
