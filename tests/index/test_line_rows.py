"""A row of the line index says what was written, or that it is damaged: never anything else."""

from __future__ import annotations

import random
from typing import Any

import pytest

from arr_sql.core.rooted import FolderStamp
from arr_sql.index.line_rows import FolderRow, RowDamaged, pack, unpack

STAT, OTHER = (12, -5, 1_700_000_000_000_000_000, 77), (0, 1, 2, (1 << 63) - 1)


def row() -> dict[str, Any]:
    """A folder with two texts, a binary file, a folder and a link."""
    return pack(
        3, 4, "数据/b", FolderStamp(1, 2, 3, 4), "", [("a.md", "t"), ("b", "b"), ("c", "/"), ("d.py", "t"), ("e", "l")],
        [(STAT, b"\x01\x02\x03"), (OTHER, b""), (STAT, b"\xff")],
    )  # fmt: skip


def test_a_row_comes_back_as_it_was_packed() -> None:
    """All of it, and each file with its own sieve."""
    folder = unpack(row())
    assert folder == FolderRow(
        "数据/b", FolderStamp(1, 2, 3, 4), "", ["a.md", "b", "c", "d.py", "e"], "tb/tl", [STAT, OTHER, STAT], (3, 0, 1),
        b"\x01\x02\x03\xff",
    )  # fmt: skip
    assert list(folder.files()) == [
        ("a.md", "t", STAT, b"\x01\x02\x03"), ("b", "b", OTHER, b""), ("d.py", "t", STAT, b"\xff"),
    ]  # fmt: skip
    empty = unpack(pack(1, 1, "", None, "", [], []))
    assert empty is not None and (empty.stamp, list(empty.files())) == (None, [])


def test_no_flipped_bit_is_believed() -> None:
    """Every bit of every BLOB, every letter of every text, every number."""
    whole = row()
    for name, value in whole.items():
        changed: list[Any] = []
        if isinstance(value, bytes):
            changed = [
                value[:place] + bytes([value[place] ^ 1 << bit]) + value[place + 1 :]
                for place in range(len(value)) for bit in range(8)
            ]  # fmt: skip
        elif isinstance(value, str):
            changed = [value[:place] + "~" + value[place + 1 :] for place in range(len(value))] + [value + "~"]
        else:
            changed = [value ^ 1 << bit for bit in range(31)]
        for other in changed:
            with pytest.raises(RowDamaged):
                unpack({**whole, name: other})


def test_garbage_of_any_type_is_damage() -> None:
    """What a foreign hand may leave in a column; also where its check sum was made to match."""
    rng = random.Random(1)
    for name in row():
        for garbage in (None, 7, 1.5, "x", b"", rng.randbytes(33)):
            if row()[name] != garbage:
                with pytest.raises(RowDamaged):
                    unpack({**row(), name: garbage})
    for marked, files in (
        ([("a", "t")], []), ([("a", "?")], []), ([("..", "t")], [(STAT, b"")]), ([("", "/")], []), ([("a/b", "t")], [(STAT, b"")]),
    ):  # fmt: skip
        with pytest.raises(RowDamaged, match="do not fit"):
            unpack(pack(1, 1, "", None, "", marked, files))  # type: ignore[arg-type]


def test_a_row_that_other_rules_made_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may decode, fold, leave out or withhold otherwise; so may another Unicode."""
    monkeypatch.setattr("arr_sql.index.line_rows.made_by", lambda: "0 9.0.0 1.0.0")
    old = row()
    monkeypatch.undo()
    assert unpack(old) is None
