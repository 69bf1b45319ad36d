"""The line search returns what ``grep -n`` would, says what it left out, and never returns a credential."""

from __future__ import annotations

import json
import os
import socket
import sys
import sysconfig
import time
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.decode import Decoded, decode
from arr_sql.core.rooted import Root
from arr_sql.retrieval.line_search import search_lines
from arr_sql.retrieval.line_text import clip, fold, original_index
from arr_sql.retrieval.line_values import CLIP_WIDTH, LineHit, LineSearch

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
PLUM = "hunter2" + "-plum"


def search(folder: Path, *needles: str, seconds: float = 30, **options: Any) -> LineSearch:
    with Root(folder) as root:
        return search_lines([("r", root)], needles, deadline=time.monotonic() + seconds, **options)


def places(result: LineSearch) -> list[str]:
    return [f"{hit.rel}:{hit.line_no}" for hit in result.hits]


def write(folder: Path, **files: str | bytes) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_lines_come_with_number_column_and_needles(tmp_path: Path) -> None:
    """Everything a hit says, for two needles on one line."""
    write(tmp_path, a__md="first\n  the Beta and alpha\nlast alpha\n")
    assert search(tmp_path, "alpha", "beta").hits == [
        LineHit("r", "a.md", 2, "  the Beta and alpha", 20, False, ("alpha", "beta"), 7),
        LineHit("r", "a.md", 3, "last alpha", 10, False, ("alpha",), 6),
    ]


def test_hits_are_ordered_by_root_path_and_line(tmp_path: Path) -> None:
    """Roots as they were given; the order never depends on the disk."""
    for root in ("one", "two"):
        write(tmp_path / root, b__md="x\nneedle\nneedle\n", a__md="needle\n")
    with Root(tmp_path / "one") as one, Root(tmp_path / "two") as two:
        result = search_lines([("2", two), ("1", one)], ["needle"], deadline=time.monotonic() + 30)
    assert [(hit.root_name, hit.rel, hit.line_no) for hit in result.hits] == [
        (root, rel, line) for root in "21" for rel, line in (("a.md", 1), ("b.md", 2), ("b.md", 3))
    ]
    assert (result.scanned_files, result.scanned_bytes) == (4, 46)


@pytest.mark.parametrize(
    ("needle", "line"),
    [
        ("file", "the ﬁle"), ("ﬁle", "the FILE"), ("ABC", "ａｂｃ"), ("ａｂｃ", "ABC"), ("straße", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"), ("cafe\u0301", "CAF\u00c9"), ("kelvin", "\u212aelvin"), ("数据", "大数据库"),
        ("ｶﾞ", "ガ"), ("2", "x²"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("foo_bar", "FOO_BAR=1"), ("a+b", "if a+b:"), ("%", "100 %"),
    ],
)  # fmt: skip
def test_width_ligatures_composition_and_case_do_not_count(tmp_path: Path, needle: str, line: str) -> None:
    """Both sides are folded the same way, in files with and without other characters."""
    write(tmp_path, a__md=f"nothing here\n{line}\n", b__md=f"更多\n\n{line}")
    assert places(search(tmp_path, needle)) == ["a.md:2", "b.md:3"]


@given(st.text(alphabet=st.one_of(st.sampled_from("，：；！？（）％～"), st.characters())))
def test_folding_is_nfkc_and_case_folding(text: str) -> None:
    """The short cuts for plain and for Chinese text change nothing."""
    once = unicodedata.normalize("NFKC", text).casefold()
    assert fold(text) == unicodedata.normalize("NFKC", once)


def test_an_accent_makes_another_word(tmp_path: Path) -> None:
    """``cafe`` is no substring of ``café``, composed or not; ``e`` is none of ``é``."""
    write(tmp_path, a__md="caf\u00e9\ncafe\u0301\ncafe\n")
    assert places(search(tmp_path, "cafe")) == ["a.md:3"]


def test_exact_is_byte_for_byte(tmp_path: Path) -> None:
    """As ``grep -F``: case, width and composition count."""
    write(tmp_path, a__md="Needle\nneedle\nｎeedle\n", b__md="caf\u00e9\ncafe\u0301\n")
    assert places(search(tmp_path, "needle", exact=True)) == ["a.md:2"]
    assert places(search(tmp_path, "caf\u00e9", exact=True)) == ["b.md:1"]


def test_needles_that_cannot_match_match_nothing(tmp_path: Path) -> None:
    """Empty, with a line break, with a lone surrogate; duplicates count once."""
    write(tmp_path, a__md="needle\nx\n")
    assert search(tmp_path).hits == search(tmp_path, "", "a\nb").hits == search(tmp_path, "\ud800").hits == []
    assert search(tmp_path, "needle", "NEEDLE", "").hits[0].needles == ("needle",)


@posix
def test_links_and_special_files(tmp_path: Path) -> None:
    """Field reports grepf-01 and grepf-03: it ends, matches regular files only, and counts the rest."""
    root = tmp_path / "r"
    write(tmp_path, outside__md="needle outside\n")
    write(root, n__md="needle\n")
    os.mkfifo(root / "pipe.md")
    (root / "pipe-link.md").symlink_to("pipe.md")
    (root / "zero.txt").symlink_to("/dev/zero")
    (root / "up").symlink_to("..")
    (root / "out.md").symlink_to(tmp_path / "outside.md")
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(root)
        try:
            server.bind("s.md")
        finally:
            os.chdir(here)
        start = time.monotonic()
        result = search(root, "needle")
    assert time.monotonic() - start < 5
    assert places(result) == ["n.md:1"]
    assert result.skipped == {"special_file": 2, "symlink": 4}
    assert ("r", "pipe.md", "special_file") in result.left_out


def test_long_lines_are_clipped_around_the_hit(tmp_path: Path) -> None:
    """Field report grepf-04: a bundle, a JSON file of five megabytes, and the note that was looked for."""
    bundle = "a" * 700_000 + " telemetry " + "b" * 1000
    big = json.dumps([{"id": n, "event": "telemetry", "text": "x" * 2450} for n in range(2000)])
    write(tmp_path, app__min__js=bundle, big__json=big, notes__md="telemetry here")
    start = time.process_time()
    result = search(tmp_path, "telemetry")
    assert time.process_time() - start < 5
    assert places(result) == ["app.min.js:1", "big.json:1", "notes.md:1"]
    first, second, note = result.hits
    assert first.clipped and first.true_length == len(bundle) and first.column == 700_002
    assert second.clipped and second.true_length == len(big) > 4_900_000
    assert not note.clipped and note.text == "telemetry here"
    for hit in result.hits:
        assert "telemetry" in hit.text and len(hit.text) <= CLIP_WIDTH + 32
        assert hit.text[hit.column - 1 - hit.offset :].startswith("telemetry")


def test_a_cut_keeps_characters_and_their_marks_together(tmp_path: Path) -> None:
    """Neither end of the text may begin or end inside a character as a reader sees it."""
    line = "e\u0301" * 500 + "needle" + "👩\u200d🔬" * 500
    write(tmp_path, a__md=line)
    (hit,) = search(tmp_path, "needle").hits
    assert hit.column == 1001 and hit.text[hit.column - 1 - hit.offset :].startswith("needle")
    assert hit.text[0] == "e" and hit.text[-1] == "🔬"


@given(st.text(alphabet="aA ﬁß e\u0301ＡＢ数ガｶﾞK" + "x", max_size=60), st.integers(0, 80))
def test_positions_in_folded_text_lead_back_to_the_line(line: str, index: int) -> None:
    """The character found folds to the position asked for."""
    place = original_index(line, index)
    assert 0 <= place <= max(len(line), index if line.isascii() else 0)
    if index < len(fold(line)) and not line.isascii():
        assert len(fold(line[:place])) <= index


@given(st.text(max_size=400), st.integers(0, 400), st.integers(1, 50))
def test_a_clip_is_a_piece_of_the_line_around_the_hit(line: str, start: int, width: int) -> None:
    """Whatever the line holds."""
    start = min(start, max(0, len(line) - 1))
    shown, offset = clip(line, start, width)
    assert line[offset : offset + len(shown)] == shown
    assert not line or offset <= start < offset + len(shown)
    assert len(shown) <= 2 * width + 33


def test_binary_files_are_skipped_by_content_and_named(tmp_path: Path) -> None:
    """A name says nothing; a NUL does."""
    write(
        tmp_path, a__md=b"\x89PNG\r\n\x1a\n\0\0\0needle", b__bin="needle", c__txt=bytes(range(1, 256)) * 20 + b"needle"
    )
    result = search(tmp_path, "needle")
    assert places(result) == ["b.bin:1"]
    assert result.skipped == {"binary": 2}
    assert result.left_out == [("r", "a.md", "binary"), ("r", "c.txt", "binary")]


def test_limits_are_reported(tmp_path: Path) -> None:
    """Results, files, bytes, file size and time; reaching a limit exactly is not a cut."""
    write(tmp_path, a__md="needle\n" * 3, b__md="needle\n" * 3, c__md="other\n")
    assert (len(search(tmp_path, "needle", max_results=6).hits), search(tmp_path, "needle", max_results=6).cut) == (
        6,
        None,
    )
    few = search(tmp_path, "needle", max_results=5)
    assert (places(few)[-1], few.cut) == ("b.md:2", "max_results")
    assert (search(tmp_path, "needle", max_files=3).cut, search(tmp_path, "needle", max_files=2).cut) == (
        None,
        "max_files",
    )
    assert (search(tmp_path, "needle", max_bytes=48).cut, search(tmp_path, "needle", max_bytes=47).cut) == (
        None,
        "max_bytes",
    )
    assert search(tmp_path, "needle", max_file_bytes=20).skipped == {"too_large": 2}
    late = search(tmp_path, "needle", seconds=-1)
    assert (late.cut, late.hits, late.scanned_files) == ("deadline", [], 0)


def test_limits_hold_over_all_roots(tmp_path: Path) -> None:
    """The second root gets what the first has left."""
    write(tmp_path / "one", a__md="needle\n")
    write(tmp_path / "two", a__md="needle\n", b__md="needle\n")
    with Root(tmp_path / "one") as one, Root(tmp_path / "two") as two:
        result = search_lines([("1", one), ("2", two)], ["needle"], max_files=2, deadline=time.monotonic() + 30)
    assert (len(result.hits), result.cut) == (2, "max_files")


def test_ignored_and_vendored_files_are_not_searched(tmp_path: Path) -> None:
    """Counted by reason; ``ignore=False`` searches the ignored ones; ``under`` narrows."""
    write(tmp_path, __gitignore="*.log\n", a__log="needle", a__md="needle")
    write(tmp_path / "node_modules", x__md="needle")
    write(tmp_path / "docs", y__md="needle")
    assert places(search(tmp_path, "needle")) == ["a.md:1", "docs/y.md:1"]
    assert search(tmp_path, "needle").skipped == {"ignored": 1, "vendored_or_tool_folder": 1}
    assert places(search(tmp_path, "needle", ignore=False)) == ["a.log:1", "a.md:1", "docs/y.md:1"]
    assert places(search(tmp_path, "needle", under="docs")) == ["docs/y.md:1"]


def test_no_secret_is_returned(tmp_path: Path) -> None:
    """Field report sec-01: key files by name only, credential lines by number only, the rest stays searchable."""
    begin = "-----BEGIN OPENSSH " + "PRIVATE KEY-----"
    token = "n" + "pm_" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"
    write(
        tmp_path, __env=f"DB_PASSWORD={PLUM}\n", __env__local=f"DB_PASSWORD={PLUM}\n", id_rsa=f"{begin}\nQUJD\n",
        __npmrc=f"//r/:_authToken={token}\n", server__pem=begin, __env__example="DB_PASSWORD=changeme\n",
        notes__md=f"Set DB_PASSWORD first.\nDB_PASSWORD={PLUM}\n{begin}\nQUJDREVG\n{begin.replace('BEGIN', 'END')}\nplum tree\n",
    )  # fmt: skip
    write(tmp_path / ".git", config=f"url = https://bob:{PLUM}@x.org/y\n")
    result = search(tmp_path, "DB_PASSWORD")
    assert places(result) == [".env.example:1", "notes.md:1"]
    assert (result.withheld, result.skipped) == (1, {"sensitive_name": 5, "vendored_or_tool_folder": 1})
    assert [rel for _, rel, _ in result.left_out] == [".env", ".env.local", ".npmrc", "id_rsa", "server.pem"]
    for needle in ("PRIVATE", "QUJD", PLUM, token, "hunter2", "e", "/", "-"):
        everything = search(tmp_path, needle)
        assert not any(secret in repr(everything.hits) for secret in (PLUM, token, "PRIVATE KEY", "QUJD"))
    assert search(tmp_path, "QUJD").withheld == 1
    assert places(search(tmp_path, "plum")) == ["notes.md:6"]


def test_withheld_lines_take_no_room_from_the_results(tmp_path: Path) -> None:
    """A file full of credentials does not hide the line after it."""
    write(tmp_path, a__md=f"DB_PASSWORD={PLUM}\n" * 10 + "DB_PASSWORD is unset\n")
    result = search(tmp_path, "DB_PASSWORD", max_results=1)
    assert (places(result), result.withheld, result.cut) == (["a.md:11"], 10, None)


def test_lines_without_secrets_are_found(tmp_path: Path) -> None:
    """Field report sec-02: hashes, code, ids and long words are searchable."""
    lines = {
        "integrity": '"integrity": "sha512-' + "aB3d" * 21 + 'Qx=="', "sha256": "sha256:" + "0a1b2c3d" * 8,
        "d670460b": "d670460b4b4aece5915caf5c68d12f560a9fe3e4", "e89b": "123e4567-e89b-12d3-a456-426614174000",
        "warnings": "integrity = sum(len(p.warnings) for p in projects)", "getpass": "password = getpass.getpass()",
        "token_count": "token_count = 12345", "_api_key": "api_key=self._api_key", "3397271": "doi:10.1145/3397271.3401075",
        "2101.00001": "arXiv:2101.00001", "etikettierung": "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz",
        "令牌": "数据令牌",
    }  # fmt: skip
    write(tmp_path, a__md="\n".join(lines.values()))
    for needle, line in lines.items():
        assert line in [hit.text for hit in search(tmp_path, needle).hits]


def naive(files: dict[str, str], needles: Sequence[str]) -> list[tuple[str, int, tuple[str, ...]]]:
    hits = []
    for name in sorted(files):
        decoded = decode(files[name].encode())
        assert isinstance(decoded, Decoded)
        for number, line in enumerate(decoded.text.split("\n"), 1):
            held = tuple(needle for needle in needles if fold(needle) in fold(line))
            if held:
                hits.append((name, number, held))
    return hits


@given(
    st.lists(st.text(alphabet="aAb \n\r\tﬁfi数éE\u0301", max_size=30), max_size=3),
    st.lists(
        st.sampled_from(["a", "b", "ab", "fi", "ﬁ", "数", "é", "aa", " ", "i数"]),
        min_size=1,
        max_size=3,
        unique_by=fold,
    ),
)
def test_the_search_agrees_with_looking_at_every_line(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], needles: list[str]
) -> None:
    """Against the obvious implementation: split, fold, ``in``."""
    folder = tmp_path_factory.mktemp("r")
    files = {f"f{number}.txt": text for number, text in enumerate(texts)}
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
    result = search(folder, *needles)
    assert [(hit.rel, hit.line_no, hit.needles) for hit in result.hits] == naive(files, needles)


def test_the_whole_standard_library_is_searched() -> None:
    """Thirty megabytes, one identifier, no limit reached."""
    folder = Path(sysconfig.get_paths()["stdlib"]).resolve()
    result = search(folder, "TemporaryDirectory", max_results=10_000)
    assert result.cut is None and result.scanned_files > 500
    assert "tempfile.py" in {hit.rel for hit in result.hits}
