"""`--password`: several may be given, one without a value is asked for, and none is kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.support import arr
from tests.ingest.pdf_maker import make_pdf

pytest.importorskip("pypdfium2")


def project(folder: Path) -> Path:
    """Two files with passwords of their own."""
    for name, word in (("one.pdf", "first-word"), ("two.pdf", "second-word")):
        (folder / name).write_bytes(make_pdf([[(f"the walrus of {name[:3]}", 72, 700, 12)]], password=word))
    assert arr("init", "--team", "t", cwd=folder).code == 0
    return folder


def test_each_of_several_passwords_is_tried(tmp_path: Path) -> None:
    """Two files, two passwords; without them each file is named; neither word is in the store."""
    folder = project(tmp_path)
    without = arr("add", ".", "--no-embed", "--json", cwd=folder).json["syncs"][0]
    assert without["left_out"]["encrypted"] == 2
    added = arr("sync", "--no-embed", "--json", "--password", "first-word", "--password", "second-word", cwd=folder)
    assert sorted(added.json["syncs"][0]["added"]) == ["one.pdf", "two.pdf"]
    stored = b"".join(path.read_bytes() for path in (folder / ".arr").glob("arr.db*"))
    assert b"first-word" not in stored and b"second-word" not in stored


@pytest.mark.skipif(sys.platform == "win32", reason="Windows asks at the console, not at standard input")
def test_without_a_value_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed opens the file."""
    folder = project(tmp_path)
    monkeypatch.setattr("click.termui.hidden_prompt_func", lambda prompt: "first-word")
    added = arr("add", "one.pdf", "--no-embed", "--password", cwd=folder)
    assert (added.code, "1 added" in added.out) == (0, True), added
