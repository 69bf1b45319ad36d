"""Which reader reads which file, and readers of other packages."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import EntryPoint

import pytest

from arr_sql.ingest.readers import (
    READER_SUFFIXES,
    BytesReader,
    Reader,
    ReadResult,
    load_entry_points,
    reader_for,
    reader_warnings,
    registered_readers,
)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("docs/a.md", "markdown"),
        ("A.MD", "markdown"),
        ("x/y.py", "python"),
        ("a.pyi", "python"),
        ("refs.bib", "bibtex"),
        ("a.csv", "table"),
        ("a.jsonl", "table"),
        ("a.toml", "config"),
        ("a.json", "config"),
        ("a.rs", "code"),
        ("a.R", "code"),
        ("a.rmd", "markdown"),
        ("a.txt", "text"),
        ("README", "text"),
        ("LICENSE", "text"),
        ("Makefile", "code"),
        ("Dockerfile", "code"),
        ("CMakeLists.txt", "code"),
        (".gitignore", "config"),
        ("C:\\x\\a.py", "python"),
        ("app.log.2024-01-01", "text"),
        ("a.tex", "latex"),
        ("a.sty", "code"),
        ("a.ris", "ris"),
        ("a.htm", "html"),
        ("a.ipynb", "notebook"),
        ("paper.PDF", "pdf"),
        ("a.rst", "text"),
    ],
)
def test_readers_by_name(path: str, name: str) -> None:
    """By suffix without regard to case, or by the whole name."""
    reader = reader_for(path)
    assert reader is not None and reader.name == name


@pytest.mark.parametrize("path", ["a.xyz", "a.docx", "a.log.gz", "noext", "a.", ".md", "a.png", "md", ""])
def test_unknown_formats_have_no_reader(path: str) -> None:
    """The caller counts them as ``unknown_format``."""
    assert reader_for(path) is None


def test_every_suffix_has_a_reader() -> None:
    """The list that documents print is the list that works."""
    assert all(reader_for("x" + suffix) is not None for suffix in READER_SUFFIXES)
    assert len({reader.name for reader in registered_readers()}) == len(registered_readers())
    assert reader_warnings() == ()


@dataclass(frozen=True)
class Extra:
    name: str = "extra"
    version: str = "1"
    suffixes: frozenset[str] = field(default_factory=lambda: frozenset({".extra", ".md"}))
    reads_bytes: bool = True

    def read(self, text: str, path: str) -> ReadResult:
        return ReadResult(())

    def read_bytes(self, data: bytes, path: str) -> ReadResult:
        return ReadResult(())


EXTRA = Extra()


def test_entry_points_add_and_never_replace() -> None:
    """A class and an instance both work; a suffix that has a reader keeps it."""
    for target in ("Extra", "EXTRA"):
        point = EntryPoint("extra", f"{__name__}:{target}", "arr_sql.readers")
        found, warnings = load_entry_points([point])
        assert set(found) == {".extra"}
        assert warnings == ("reader_ignored: extra: .md has a reader",)
        reader: Reader = found[".extra"]
        assert isinstance(reader, BytesReader) and reader.reads_bytes


def test_a_failing_entry_point_costs_only_itself() -> None:
    """Missing modules, missing names and things that are no readers become warnings."""
    points = [
        EntryPoint("gone", "no_such_module_here:X", "arr_sql.readers"),
        EntryPoint("none", f"{__name__}:missing", "arr_sql.readers"),
        EntryPoint("odd", "builtins:dict", "arr_sql.readers"),
        EntryPoint("works", f"{__name__}:EXTRA", "arr_sql.readers"),
    ]
    found, warnings = load_entry_points(points)
    assert set(found) == {".extra"}
    assert [text.split(": ")[:2] for text in warnings] == [
        ["reader_failed", "gone"],
        ["reader_failed", "none"],
        ["reader_failed", "odd"],
        ["reader_ignored", "works"],
    ]
