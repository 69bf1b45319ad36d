"""What every reader promises: it never raises, loses nothing, and its pieces are slices of the file."""

from __future__ import annotations

import sys
import sysconfig
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arr_sql.core.decode import Decoded, decode
from arr_sql.ingest.chunker import chunk
from arr_sql.ingest.readers import Reader, reader_for, registered_readers
from arr_sql.ingest.readers.base import ReadResult, split_lines

# Readers of text whose pieces are slices of the file. HTML and the formats that are not text extract theirs.
SLICING = [reader for reader in registered_readers() if not reader.reads_bytes and reader.name != "html"]
READERS = [(reader, suffix) for reader in SLICING for suffix in sorted(reader.suffixes)[:3]]
READERS += [(reader, ".rst") for reader in SLICING if reader.name == "text"]

BITS = st.sampled_from(
    [
        "# ",
        "## ",
        "===",
        "---",
        "```",
        "~~~~",
        "    ",
        "- ",
        "1. ",
        "> ",
        "|a|b|",
        "|---|---|",
        "\n",
        "\n\n",
        "[",
        "]",
        "{",
        "}",
        "@article{",
        "@string{",
        '"',
        "'",
        "(",
        ")",
        "=",
        ",",
        "#",
        "def f():",
        "class A:",
        "    def g(self):",
        "if x:",
        "@dec",
        "\\",
        '\\"{u}',
        "$",
        "Traceback (most recent call last):",
        '  File "x"',
        "ValueError: y",
        "\tat a.b(C:1)",
        "/*",
        "*/",
        "//",
        "--",
        "function f() {",
        "key: value",
        "[section]",
        '"k": 1,',
        "a,b,c",
        "\r",
        "\f",
        "\x1c",
        "\u2028",
        "\x85",
        "\ufeff",
        "文",
        "é",
        "<div>",
        "<p>",
        "</p>",
        "<nav>",
        "<script>",
        "<!--",
        "<td>",
        "<pre>",
        "&amp;",
        "\\section{",
        "\\begin{figure}",
        "\\end{figure}",
        "\\begin{verbatim}",
        "\\newcommand{\\x}{",
        "\\x",
        "%",
        "TY  - JOUR",
        "TI  - t",
        "ER  - ",
    ]
)
TEXTS = st.text(max_size=200) | st.lists(BITS, max_size=60).map("".join)


def check(text: str, result: ReadResult) -> None:
    lines = split_lines(text)
    end = 0
    covered: list[str] = []
    for piece in result.pieces:
        assert end < piece.start_line <= piece.end_line <= len(lines)
        assert piece.text == "\n".join(lines[piece.start_line - 1 : piece.end_line])
        assert piece.text.strip()
        assert "\n" not in piece.heading and "\n" not in piece.name and len(piece.heading) < 1000
        covered += lines[end : piece.start_line - 1]
        end = piece.end_line
    assert not "".join(covered + lines[end:]).strip()


@pytest.mark.parametrize(("reader", "suffix"), READERS, ids=lambda value: getattr(value, "name", value))
def test_any_text_is_covered(reader: Reader, suffix: str) -> None:
    """Every line that isn't blank is in exactly one piece, as it stands in the file, for any text."""

    @settings(max_examples=120, deadline=None)
    @given(TEXTS)
    @example("")
    @example("\n")
    @example("x")
    @example("\0")
    @example('"' * 50 + "\n" * 50)
    @example("@a{" * 20)
    @example("```\n# never closed")
    @example("---\na: 1")
    def run(text: str) -> None:
        check(text, reader.read(text, "file" + suffix))

    run()


@pytest.mark.parametrize("reader", SLICING, ids=lambda reader: reader.name)
@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000,
        "[" * 20_000,
        "> " * 5_000 + "x",
        "\n".join(" " * (2 * depth) + "- item" for depth in range(300)),
        "\n".join(" " * depth + "if x:" for depth in range(150)),
        "x = " + "-" * 50_000 + "1",
        "x = 1" + " + 1" * 20_000,
        "a" + ".b" * 20_000,
        "@article{" * 3_000,
        "template<" * 3_000,
        "* " * 20_000,
        '"' * 50_001,
        "|" * 30_000,
    ],
    ids=lambda text: text[:8],
)
def test_deep_and_odd_texts_are_quick(reader: Reader, text: str) -> None:
    """Nesting beyond any limit and patterns made to confuse end in pieces, in time."""
    start = time.perf_counter()
    check(text, reader.read(text, "file" + min(reader.suffixes)))
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("reader", registered_readers(), ids=lambda reader: reader.name)
def test_readers_are_described(reader: Reader) -> None:
    """Name, version and suffixes are what ``arr sync`` records and shows."""
    assert reader.name and reader.version
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in reader.suffixes)
    assert reader.reads_bytes is (reader.name in {"notebook", "pdf"})


@pytest.mark.parametrize("reader", registered_readers(), ids=lambda reader: reader.name)
def test_any_reader_takes_any_text(reader: Reader) -> None:
    """Also the readers that extract: no exception, lines in order, nothing blank, and chunks can be made of it."""

    @settings(max_examples=80, deadline=None)
    @given(TEXTS)
    def run(text: str) -> None:
        result = reader.read(text, "file" + min(reader.suffixes))
        before = 1
        for piece in result.pieces:
            assert before <= piece.start_line <= piece.end_line
            assert piece.text.strip()
            before = piece.start_line
        for item in chunk(result):
            assert item.text.strip() and 1 <= item.start_line <= item.end_line

    run()


SAMPLES = {
    ".md": "---\ntitle: a\n---\n# A\n\ntext\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- x\n  - y\n\n```\ncode\n```\n",
    ".tex": "\\title{T}\\newcommand{\\x}{y}\n\\section{A \\x}\ntext % c\n\n\\begin{figure}\n\n\\end{figure}\n\\bibitem{k} z\n",
    ".bib": '@string{j = "J"}\n@article{k, title={A {B}}, author="C" # j,\n year=2000}\n% c\n@misc(x, note={y})\n',
    ".ris": "TY  - JOUR\nAU  - A\nTI  - B\n more\nER  - \n\nTY  - BOOK\nER  - \n",
    ".html": "<html><head><title>t</title></head><body><nav>n</nav><h1>A</h1>\n<p>b <b>c</b>\n<table><tr><td>1<td>2</table>"
    "<pre>\nx\n</pre><script>s</script><!-- c --></body></html>",
    ".yaml": "a: 1\nb:\n  c: 2\n  d:\n  - e\n",
    ".json": '{\n  "a": 1,\n  "b": {\n    "c": [1, 2]\n  }\n}\n',
    ".csv": 'a,b\n1,"x\ny"\n2,z\n',
    ".py": "import x\n\n\nclass A:\n    def f(self):\n        return 1\n\n\n@d\ndef g(): pass\n",
    ".ts": "export class A<T> {\n  f(x: T): void {\n  }\n}\n\n/* c */\nconst g = () => {\n};\n",
    ".log": '2024-01-01 10:00:00 a\nTraceback (most recent call last):\n  File "x"\nE: y\n\ntext\n',
}


@pytest.mark.parametrize("suffix", SAMPLES)
def test_broken_copies_of_sound_files(suffix: str) -> None:
    """Cut, changed and doubled anywhere: the same promises."""
    reader = reader_for("file" + suffix)
    assert reader is not None
    sample = SAMPLES[suffix]
    edits = st.lists(st.tuples(st.integers(0, len(sample)), st.integers(0, 12), BITS | st.text(max_size=3)), max_size=6)

    @settings(max_examples=120, deadline=None)
    @given(edits)
    def run(changes: list[tuple[int, int, str]]) -> None:
        text = sample
        for at, length, insert in changes:
            text = text[:at] + insert + text[at + length :]
        result = reader.read(text, "file" + suffix)
        if reader in SLICING:
            check(text, result)
        chunk(result)

    run()


def standard_library() -> list[Path]:
    root = Path(sysconfig.get_path("stdlib"))
    return sorted(path for path in root.rglob("*.py") if "site-packages" not in path.parts)


def test_the_running_standard_library_is_covered() -> None:
    """200 files of the Python that runs this test: each reads without an error and all its text is in the chunks."""
    files = standard_library()
    reader = next(reader for reader in registered_readers() if reader.name == "python")
    assert len(files) > 200, sys.prefix
    for path in files[:: len(files) // 200]:
        decoded = decode(path.read_bytes())
        if not isinstance(decoded, Decoded):
            continue
        result = reader.read(decoded.text, path.name)
        check(decoded.text, result)
        joined = "".join(item.text for item in chunk(result))
        assert joined.split() == decoded.text.split() or "".join(joined.split()) == "".join(decoded.text.split()), path
