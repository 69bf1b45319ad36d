"""The tables "per format" of sources.md come from a run, and the run shows every code that a file's content can cause."""

from __future__ import annotations

import sys

from arr_sql.cli.source_commands import REASONS
from arr_sql.ingest.readers import UNREADABLE_CODES, registered_readers
from tests.docs.blocks import ROOT

sys.path.insert(0, str(ROOT / "docs"))

import _formats
import _generate

NOT_SHOWN = {"too_complex"}  # a file that exceeds a limit is no small file: tests/ingest/test_reader_pdf.py


def test_every_refusal_is_shown_by_a_file() -> None:
    """Each code of the readers, and no code that the page doesn't explain."""
    shown = {item.reason for item in _formats.refused().values()}
    assert set(UNREADABLE_CODES) - NOT_SHOWN <= shown
    assert shown <= set(_generate.LEFT_OUT) | set(_generate.reader_refusals())
    assert shown <= set(REASONS)


def test_every_built_in_reader_is_shown_by_a_file() -> None:
    """Each reader takes at least one of the files, and each file gives chunks."""
    taken = _formats.taken()
    assert {item.reader for item in taken.values()} == {reader.name for reader in registered_readers()}
    assert all(item.chunks for item in taken.values())


def test_the_page_has_both_tables() -> None:
    """The page shows what the run gives now (cog --check compares it byte for byte)."""
    text = (ROOT / "docs" / "sources.md").read_text("utf-8")
    assert _formats.taken_table() in text and _formats.refused_table() in text
