"""Configuration by top-level keys, tables by rows."""

from __future__ import annotations

import pytest

from arr_sql.ingest.chunker import chunk
from arr_sql.ingest.readers import reader_for
from arr_sql.ingest.readers.base import ReadResult


def read(path: str, text: str) -> ReadResult:
    reader = reader_for(path)
    assert reader is not None
    return reader.read(text, path)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "a.yaml",
            "# note\nname: x\nsteps:\n  - one: 1\n  - two\ntext: |\n  key: no\n",
            [("name", 1), ("steps", 3), ("text", 6)],
        ),
        (
            "a.toml",
            'title = "x"\n\n[tool.ruff]\nline = 1\n[[item]]\nx = 2\n',
            [("title", 1), ("tool.ruff", 3), ("item", 5)],
        ),
        ("a.ini", "; note\n[main]\nkey = 1\nother: 2\n", [("main", 1)]),
        ("a.json", '{\n  "a": 1,\n  "b": {\n    "c": 2\n  }\n}\n', [("", 1), ("a", 2), ("b", 3)]),
        ("bad.json", '{"a": [1,\n', [("", 1)]),
        ("bad.yaml", "a: [1\nb: 'x\n\tc\n", [("a", 1), ("b", 2)]),
        (".gitignore", "*.pyc\nbuild/\n", [("", 1)]),
    ],
)
def test_keys(path: str, text: str, expected: list[tuple[str, int]]) -> None:
    """One piece per top-level key or section; a broken file reads as well as a sound one."""
    assert [(piece.name, piece.start_line) for piece in read(path, text).pieces] == expected


def test_small_keys_share_a_chunk() -> None:
    """Thirty short settings are one chunk that names them, not thirty chunks."""
    text = "".join(f"key{index}: {index}\n" for index in range(30))
    (only,) = chunk(read("a.yaml", text))
    assert only.locator.startswith("1-30 key0, key1")


def test_rows_are_whole_and_know_their_columns() -> None:
    """A quoted field may span lines; every part carries the column names."""
    text = "name,note\n" + "".join(f'row{index},"first\nsecond, {index}"\n' for index in range(200))
    result = read("a.csv", text)
    assert {piece.heading for piece in result.pieces} == {"name | note"}
    assert all(piece.text.count('"') % 2 == 0 for piece in result.pieces)
    assert result.metadata == {"columns": ["name", "note"]}
    assert all(item.text.count('"') % 2 == 0 for item in chunk(result))


def test_a_stray_quote_does_not_swallow_the_file() -> None:
    """5" is not the start of a field that runs to the end of the file."""
    text = "size,n\n" + '5",1\n' + "".join(f"row{index},{index}\n" for index in range(1000))
    assert len(read("a.csv", text).pieces) > 5


@pytest.mark.parametrize(
    ("path", "text", "heading"),
    [
        ("a.tsv", "a\tb\n1\t2\n", "a | b"),
        ("a.csv", "a;b;c\n1;2;3\n", "a | b | c"),
        ("a.csv", "1,2\n3,4\n", ""),
        ("a.jsonl", '{"q": "x", "id": 1}\n', "q | id"),
        ("a.jsonl", "[1]\n", ""),
        ("a.jsonl", "{broken\n", ""),
    ],
)
def test_columns(path: str, text: str, heading: str) -> None:
    """Delimiter by suffix or count; a file without names has none."""
    assert read(path, text).pieces[0].heading == heading


def test_a_withheld_line_names_no_section() -> None:
    """What stands in the place of a credential looks like an INI header and is none: the keys around it keep theirs."""
    from arr_sql.ingest.prepare import Prepared, prepare

    made = prepare("keys.ini", b"[main]\nregion = lunar\npassword = hunter2-plum-77x\nzone = south\n", 0)
    assert isinstance(made, Prepared)
    assert [(c.chunk.heading, c.chunk.locator) for c in made.chunks] == [("main", "1-4 main")]


def test_templates_of_secrets_are_read() -> None:
    """`.env.example` tells which settings there are, and holds none."""
    from arr_sql.ingest.readers import reader_for

    assert [getattr(reader_for(f"a/{name}"), "name", "") for name in (".env.example", ".env.sample")] == [
        "config",
        "config",
    ]
