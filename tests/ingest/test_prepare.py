"""From bytes to what is stored: whatever a reader answers, only storable text leaves, and a fault costs one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from arr_sql.ingest import prepare as module
from arr_sql.ingest.prepare import NotTaken, Prepared, prepare
from arr_sql.ingest.readers import (
    UNREADABLE_CODES,
    BytesReader,
    PasswordReader,
    Piece,
    ReadResult,
    Unreadable,
    registered_readers,
)

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"


class Fake:
    """A reader of bytes that answers what it is told."""

    name, version, suffixes, reads_bytes = "fake", "9", frozenset({".fake"}), True

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer
        self.passwords: list[str] = []

    def read(self, text: str, path: str) -> ReadResult:
        raise AssertionError("bytes are not decoded")

    def read_bytes(self, data: bytes, path: str) -> Any:
        return self.answer()

    def with_passwords(self, passwords: Sequence[str]) -> Fake:
        other = Fake(self.answer)
        self.passwords += passwords
        return other


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Prepared | NotTaken]:
    """Prepare a file whose reader answers ``answer`` (or raises it)."""

    def run(answer: Any, *, passwords: Sequence[str] = ()) -> Prepared | NotTaken:
        def reply() -> Any:
            if isinstance(answer, BaseException):
                raise answer
            return answer

        monkeypatch.setattr(module, "reader_for", lambda path: Fake(reply))
        return prepare("a.fake", b"x", 0, passwords=passwords)

    return run


@pytest.mark.parametrize("code", UNREADABLE_CODES)
def test_refusals_are_values(code: str, run: Callable[..., Any]) -> None:
    """A reader's refusal is the reason the file is left out for."""
    assert run(Unreadable(code, "why")) == NotTaken(code, "why")


def test_codes_are_a_closed_set() -> None:
    """A reader can't invent a reason."""
    with pytest.raises(ValueError, match="not one of"):
        Unreadable("bad_mood")


@pytest.mark.parametrize(
    "answer",
    [ValueError("secret"), RecursionError(), MemoryError(), None, "text", ReadResult((Piece("a", 0, 1),)), ReadResult((Piece("a", 3, 2),)),
     ReadResult((), metadata={"a": object()}), ReadResult((), metadata={"a": float("nan")}), ReadResult((), metadata={"a": {1, 2}})],
)  # fmt: skip
def test_a_faulty_reader_costs_its_file(answer: Any, run: Callable[..., Any]) -> None:
    """What it raised or answered is not stored, and its message, which may quote the file, is not shown."""
    found = run(answer)
    assert isinstance(found, NotTaken) and found.reason == "reader_failed" and found.detail.startswith("fake: ")
    assert "secret" not in found.detail


def test_an_interrupt_is_not_swallowed(run: Callable[..., Any]) -> None:
    """Ctrl-C stops the program."""
    with pytest.raises(KeyboardInterrupt):
        run(KeyboardInterrupt())


def test_only_storable_text_leaves(run: Callable[..., Any]) -> None:
    """Lone surrogates and NULs, which SQLite can't hold or would stop at, become U+FFFD everywhere."""
    bad = "a\ud800b\0c"
    result = ReadResult(
        (Piece(bad, 1, 1, bad, "text", bad, bad),),
        bad,
        bad,
        {bad: [bad, {"x": bad}], "t": ("y", 1, None, True)},
        (bad,),
    )
    found = run(result)
    assert isinstance(found, Prepared)
    good = "a\ufffdb\ufffdc"
    item = found.chunks[0].chunk
    assert {item.text, item.heading, found.title, found.language, *found.warnings} == {good}
    assert item.locator == f"{good} {good}"
    assert found.metadata == {good: [good, {"x": good}], "t": ["y", 1, None, True]}


def test_credentials_are_withheld_after_reading(run: Callable[..., Any]) -> None:
    """By line, over pieces; in headings and metadata the credential alone is replaced."""
    key = [
        "-----BEGIN RSA PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA7u3v",
        "MIIEpAIBAAKCAQEA7u3w",
        "-----END RSA PRIVATE KEY-----",
    ]
    pieces = (
        Piece("before\n" + "\n".join(key[:2]), 1, 3, f"use {TOKEN}", locator="p.1"),
        Piece("\n".join(key[2:]) + "\nafter", 4, 6, locator="p.2"),
    )
    found = run(ReadResult(pieces, f"T {TOKEN}", metadata={"note": [TOKEN], TOKEN: 1}))
    assert isinstance(found, Prepared)
    assert found.lines_withheld == 4
    held = "[line withheld: credential]"
    assert [item.chunk.text for item in found.chunks] == [f"before\n{held}\n{held}", f"{held}\n{held}\nafter"]
    everything = repr(found)
    assert TOKEN not in everything and "MIIE" not in everything and found.title == "T [redacted]"


def test_text_is_cleaned_before_reading() -> None:
    """A credential in a heading of Markdown never reaches the reader; line numbers stay."""
    found = prepare("a.md", f"# Title\n\ntext\n\n## key {TOKEN}\n\nlast".encode(), 0)
    assert isinstance(found, Prepared) and found.lines_withheld == 1 and TOKEN not in repr(found)
    assert found.chunks[-1].chunk.end_line == 7


def test_what_has_no_text() -> None:
    """Unknown names, binary content behind a text name, empty files."""
    assert prepare("a.xyz", b"x", 0) == NotTaken("unknown_format")
    assert (
        isinstance(binary := prepare("a.md", b"\x89PNG\r\n\x1a\n" + bytes(50), 0), NotTaken)
        and binary.reason == "binary"
    )
    for name in ("a.txt", "a.md", "a.bib", "a.ris", "a.tex", "a.html", "a.py", "a.json"):
        empty = prepare(name, b"", 0)
        assert isinstance(empty, Prepared) and empty.chunks == () and empty.warnings == ()


def test_passwords_go_to_readers_that_take_them(run: Callable[..., Any]) -> None:
    """To no other, and only for this file."""
    assert isinstance(run(ReadResult((Piece("a", 1, 1),)), passwords=["p"]), Prepared)
    takers = {reader.name for reader in registered_readers() if isinstance(reader, PasswordReader)}
    assert takers == {"pdf"}
    assert {reader.name for reader in registered_readers() if isinstance(reader, BytesReader)} >= {"pdf", "notebook"}
    assert isinstance(prepare("a.md", b"text", 0, passwords=["p"]), Prepared)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.md", "---\ntitle: Survey\nauthor: Ann Bee and Li Wei\ndate: 2020-02-01\n"
         "lang: zh-CN\ndoi: https://doi.org/10.1/NO 10.1234/YES\n---\nx",
         {"title": "Survey", "authors": ["Ann Bee", "Li Wei"], "year": 2020, "language": "zh-CN", "doi": "10.1234/yes"}),
        ("b.md", "---\nauthors: [A One, B Two]\nyear: unknown\narxiv: arXiv:2001.00001v2\njournal: J\ntags: [q]\n---\n# H\n",
         {"title": "H", "authors": ["A One", "B Two"], "arxiv_id": "2001.00001", "venue": "J",
          "journal": "J", "arxiv": "arXiv:2001.00001v2", "tags": ["q"]}),
    ],
)  # fmt: skip
def test_front_matter_gives_the_fixed_keys(name: str, text: str, expected: Mapping[str, Any]) -> None:
    """Under the same names and types as every other format; a year that is none is not there."""
    found = prepare(name, text.encode(), 0)
    assert isinstance(found, Prepared)
    metadata = dict(found.metadata)
    for key in ("author", "date", "lang"):
        metadata.pop(key, None)
    assert metadata == expected


PYTHON = '''"""What {doc} does."""
class Client:
    def call(self):
        return send(
            model="x",
            api_key="{token}",
        )

def {name}():
    token = "{token}"

def last():
    return 2
'''


def test_a_withheld_line_breaks_no_grammar() -> None:
    """Functions and classes stay what they are where a line in them is withheld, and nothing warns of broken syntax."""
    found, plain = (
        prepare("a.py", PYTHON.format(token=token, doc="it", name="first").encode(), 0) for token in (TOKEN, "x")
    )
    assert isinstance(found, Prepared) and isinstance(plain, Prepared)
    assert (found.lines_withheld, found.warnings, found.title) == (2, (), "What it does.")
    assert [(c.chunk.locator, c.chunk.heading) for c in found.chunks] == [
        (c.chunk.locator, c.chunk.heading) for c in plain.chunks
    ]
    assert TOKEN not in repr(found) and "[line withheld: credential]" in repr(found)


def test_no_name_comes_from_a_withheld_line() -> None:
    """The parser sees the file as it is; what is named in a withheld line is not."""
    name = TOKEN.lower()
    found = prepare("a.py", PYTHON.format(token=TOKEN, doc=TOKEN, name=name).encode(), 0)
    assert isinstance(found, Prepared) and found.lines_withheld == 4
    assert TOKEN not in repr(found) and name not in repr(found) and found.title == ""
    assert any("withheld" in c.chunk.heading for c in found.chunks)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.bib",
            "@article{{k1,\n title={{One}},\n year={{2020}},\n note={{token {0}}}}}\n@article{{k2,\n title={{Two}}\n}}\n",
        ),
        ("a.md", "---\ntitle: x\ntoken: {0}\n---\n# A\n\ntext\n"),
        ("a.py", "def f():\n    key = '{0}'\n"),
    ],
)
def test_no_warning_of_what_was_put_in_for_a_withheld_line(name: str, text: str) -> None:
    """Only of what is wrong with the file itself."""
    found = prepare(name, text.format(TOKEN).encode(), 0)
    assert isinstance(found, Prepared) and found.lines_withheld and found.warnings == ()
    broken = "def f(:\n" if name == "a.py" else "@article{{k3,\n title={{open\n" if name == "a.bib" else ""
    if broken:
        found = prepare(name, (text + broken).format(TOKEN).encode(), 0)
        assert isinstance(found, Prepared) and found.lines_withheld and found.warnings
