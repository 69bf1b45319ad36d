"""Freshness is about content: the file of each returned item is read and hashed when the answer is made (contract 8.5)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from arr_sql.core.canonical import sha256_text
from arr_sql.database import ResearchDatabase
from arr_sql.retrieval.catalog import FileRef
from arr_sql.retrieval.freshness import FreshnessChecker
from arr_sql.retrieval.grep_retriever import GrepRoot
from tests.conftest import SCOPE, MakeDatabase
from tests.retrieval.test_hybrid_retriever import make_hit

TEXT = "router budget\n"
BM25: Any = {"tool_rounds": [["bm25"]]}


def git_folder(folder: Path, branch: str, remote: str = "https://example.org/lumen.git") -> None:
    """Make ``folder`` look like a work tree with ``branch`` checked out, as git writes it."""
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    (folder / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n', encoding="utf-8")
    (folder / ".git" / "objects").mkdir(exist_ok=True)
    (folder / ".git" / "refs").mkdir(exist_ok=True)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with one file."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text(TEXT, encoding="utf-8")
    return folder


def freshness_of(database: ResearchDatabase) -> list[str]:
    """What a bm25 search says of its evidence."""
    return [item.freshness for item in database.search("router budget", plan=BM25).evidence]


def test_an_untouched_file_is_fresh(make_database: MakeDatabase, docs: Path) -> None:
    """Also when only its time has changed: content decides, not the clock."""
    database = make_database(folder=docs)
    database.add(docs)
    assert freshness_of(database) == ["fresh"]
    os.utime(docs / "a.txt", (1, 1))
    assert freshness_of(database) == ["fresh"]


def test_an_edited_file_is_changed_even_with_its_old_size_and_time(make_database: MakeDatabase, docs: Path) -> None:
    """One letter swapped, size and time put back: the hash notices; a sync makes it fresh again."""
    database = make_database(folder=docs)
    database.add(docs)
    before = (docs / "a.txt").stat()
    (docs / "a.txt").write_text("router budgeT\n", encoding="utf-8")
    os.utime(docs / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert freshness_of(database) == ["changed"]
    os.utime(docs / "a.txt", (2, 2))
    database.sync()
    assert freshness_of(database) == ["fresh"]


def test_a_removed_file_is_missing(make_database: MakeDatabase, docs: Path) -> None:
    """Gone, or a folder where the file was."""
    database = make_database(folder=docs)
    database.add(docs)
    (docs / "a.txt").unlink()
    assert freshness_of(database) == ["missing"]
    (docs / "a.txt").mkdir()
    assert freshness_of(database) == ["missing"]


def test_a_file_of_another_branch_is_unverifiable(make_database: MakeDatabase, docs: Path) -> None:
    """After another branch is checked out the tree is not the scope's, whatever its files say."""
    git_folder(docs, "main")
    database = make_database(folder=docs)
    database.add(docs)
    assert freshness_of(database) == ["fresh"]
    git_folder(docs, "side")
    assert freshness_of(database) == ["unverifiable"]


def test_a_folder_that_is_not_there_is_unverifiable(make_database: MakeDatabase, docs: Path) -> None:
    """An unmounted disk does not mean that the file was removed."""
    database = make_database(folder=docs.parent / "project")
    database.add(docs)
    docs.rename(docs.parent / "away")
    assert freshness_of(database) == ["unverifiable"]


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs symbolic links")
def test_a_file_that_became_a_link_is_not_followed(make_database: MakeDatabase, docs: Path) -> None:
    """The same text behind a link out of the root is not what was taken in."""
    database = make_database(folder=docs)
    database.add(docs)
    (docs / "a.txt").rename(docs.parent / "elsewhere.txt")
    (docs / "a.txt").symlink_to(docs.parent / "elsewhere.txt")
    assert freshness_of(database) == ["unverifiable"]


def test_a_memory_is_fresh(make_database: MakeDatabase) -> None:
    """It lives in the store itself."""
    database = make_database()
    database.add_memory(memory_id="m1", kind="knowledge", title="router", content="budget")
    database.set_memory_status("m1", "published", "no source")
    found = database.search("router", plan={"tool_rounds": [["research-memory"]]}).evidence
    assert [item.freshness for item in found] == ["fresh"]


def test_each_file_is_read_once(docs: Path) -> None:
    """Hits of one file get one answer within a run, though the file changes in between."""
    roots = {7: GrepRoot(7, "", str(docs), None, False)}
    ref = FileRef(7, "a.txt", sha256_text(TEXT))
    with FreshnessChecker(roots) as checker:
        first = checker.check(make_hit("x", file=ref, scope=SCOPE))
        (docs / "a.txt").write_text("changed", encoding="utf-8")
        assert (first, checker.check(make_hit("y", file=ref))) == ("fresh", "fresh")
    with FreshnessChecker(roots) as checker:
        assert checker.check(make_hit("y", file=ref)) == "changed"


def test_a_hit_of_a_root_that_is_not_trusted_is_unverifiable(docs: Path) -> None:
    """Nothing outside the scope's own roots is opened, and no path leaves a root."""
    roots = {7: GrepRoot(7, "", str(docs), None, False)}
    (docs.parent / "outside.txt").write_text(TEXT, encoding="utf-8")
    with FreshnessChecker(roots) as checker:
        assert checker.check(make_hit("x", file=FileRef(8, "a.txt", sha256_text(TEXT)))) == "unverifiable"
        assert checker.check(make_hit("x", file=FileRef(7, "../outside.txt", sha256_text(TEXT)))) == "unverifiable"


def certificate_of(database: ResearchDatabase, query: str = "router budget") -> dict[str, Any]:
    """The certificate of the only piece of evidence, without its hashes."""
    (item,) = database.search(query, plan=BM25, k=1).evidence
    certificate = item.metadata["certificate"]
    assert certificate["state"] == item.freshness
    return {name: value for name, value in certificate.items() if not name.endswith("_hash")}


def test_a_certificate_names_what_differs(make_database: MakeDatabase, docs: Path) -> None:
    """Fresh with both hashes; an edit in the text; an edit elsewhere; the text moved; the file gone."""
    database = make_database(folder=docs)
    lines = ["# Notes", "", "alpha", "router budget", "omega"]
    path = docs / "a.txt"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    database.add(docs)
    (item,) = database.search("router budget", plan=BM25).evidence
    digest = sha256_text("\n".join(lines) + "\n")
    assert item.metadata["certificate"] == {"state": "fresh", "stored_hash": digest, "current_hash": digest}

    path.write_text("\n".join([*lines[:3], "router budgets", "", *lines[4:]]) + "\n", "utf-8")
    assert certificate_of(database) == {"state": "changed", "changed_lines": [4, 5], "indexed_lines": [4, 4]}
    path.write_text("\n".join([*lines, "", "appended"]) + "\n", "utf-8")
    assert certificate_of(database) == {"state": "changed", "stands_at": [1, 5]}
    path.write_text("\n".join(["new", "", *lines]) + "\n", "utf-8")
    assert certificate_of(database) == {"state": "changed", "stands_at": [3, 7]}
    path.write_text("\n".join(lines[:4]) + "\n", "utf-8")
    assert certificate_of(database) == {"state": "changed", "indexed_lines": [5, 5]}
    path.write_bytes(bytes(range(256)))
    assert certificate_of(database) == {"state": "changed", "reason": "not_text"}
    path.unlink()
    assert certificate_of(database) == {"state": "missing", "reason": "vanished"}


def test_a_withheld_line_is_no_difference(make_database: MakeDatabase, docs: Path) -> None:
    """The credential that the index does not hold is compared as it is indexed: withheld."""
    database = make_database(folder=docs)
    text = "router budget\npassword = 'hunter2-plum-77x'\nend\n"
    (docs / "a.txt").write_text(text, "utf-8")
    database.add(docs)
    (docs / "a.txt").write_text("above\n\n" + text, "utf-8")
    assert certificate_of(database) == {"state": "changed", "stands_at": [3, 5]}


def test_an_extracted_text_has_no_span(make_database: MakeDatabase, docs: Path) -> None:
    """The lines of a notebook's text are not the file's; the readers of which that is so are named by the code."""
    from arr_sql.ingest.readers import registered_readers
    from arr_sql.retrieval.freshness import EXTRACTED

    assert {reader.name for reader in registered_readers() if reader.reads_bytes or reader.name == "html"} == EXTRACTED
    database = make_database(folder=docs)
    book = '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": ['
    book += '{"cell_type": "code", "metadata": {}, "source": "%s", "outputs": []}]}'
    (docs / "a.txt").unlink()
    (docs / "n.ipynb").write_text(book % "router budget", "utf-8")
    database.add(docs)
    (docs / "n.ipynb").write_text(book % "router budgets", "utf-8")
    assert certificate_of(database) == {"state": "changed", "reason": "extracted"}


@pytest.mark.parametrize(
    ("state", "certificate", "words"),
    [
        ("fresh", {}, "fresh"), ("missing", {"reason": "vanished"}, "missing"), ("changed", {"reason": "not_text"}, "changed"),
        ("changed", {"changed_lines": [12, 14], "indexed_lines": [12, 12]}, "changed (lines 12-14 differ)"),
        ("changed", {"changed_lines": [12, 12], "indexed_lines": [12, 13]}, "changed (line 12 differs)"),
        ("changed", {"changed_lines": [3, 3]}, "changed (line 3 came in)"),
        ("changed", {"indexed_lines": [3, 4]}, "changed (its lines 3-4 are gone)"),
        ("changed", {"stands_at": [20, 31]}, "changed elsewhere, this text still stands at 20-31"),
    ],
)  # fmt: skip
def test_how_people_are_told(state: str, certificate: dict[str, Any], words: str) -> None:
    """One short phrase beside the locator."""
    from arr_sql.cli.search_commands import freshness_words

    assert freshness_words(state, certificate) == words
