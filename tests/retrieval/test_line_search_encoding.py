"""Bytes become the right text and the right line numbers (field reports grepe-01 to grepe-03)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arr_sql.core.rooted import Root
from arr_sql.retrieval.line_search import search_lines
from arr_sql.retrieval.line_values import LineHit, LineSearch

TEXT = "hello 世界\r\nneedle two\r\n"


def search(folder: Path, *needles: str) -> LineSearch:
    with Root(folder) as root:
        return search_lines([("r", root)], needles, deadline=time.monotonic() + 30)


def lines(hits: list[LineHit]) -> list[tuple[str, int, str]]:
    return [(hit.rel, hit.line_no, hit.text) for hit in hits]


def test_utf16_is_text_with_and_without_a_mark(tmp_path: Path) -> None:
    """Both byte orders and UTF-8 with a mark match; the mark is in no line; a PNG is listed as binary."""
    (tmp_path / "be.txt").write_bytes(b"\xfe\xff" + TEXT.encode("utf-16-be"))
    (tmp_path / "le.txt").write_bytes(b"\xff\xfe" + TEXT.encode("utf-16-le"))
    (tmp_path / "none.txt").write_bytes(TEXT.encode("utf-16-le"))
    (tmp_path / "png.txt").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0needle")
    (tmp_path / "sig.txt").write_bytes(TEXT.encode("utf-8-sig"))
    result = search(tmp_path, "needle")
    assert lines(result.hits) == [(name, 2, "needle two") for name in ("be.txt", "le.txt", "none.txt", "sig.txt")]
    assert result.left_out == [("r", "png.txt", "binary")]
    assert lines(search(tmp_path, "世界").hits) == [
        (name, 1, "hello 世界") for name in ("be.txt", "le.txt", "none.txt", "sig.txt")
    ]


def test_gbk_text_is_read_as_chinese(tmp_path: Path) -> None:
    """Windows exports beside UTF-8; both are found, with readable text."""
    text = "数据库检索测试\r\n第二行needle"
    data = text.encode("gbk")
    assert data[:10] == bytes.fromhex("cafdbeddbfe2bceccbf7")
    (tmp_path / "t.txt").write_bytes(data)
    (tmp_path / "u.txt").write_bytes(text.encode())
    for needle, line, shown in (
        ("检索", 1, "数据库检索测试"),
        ("needle", 2, "第二行needle"),
        ("测试", 1, "数据库检索测试"),
    ):
        assert lines(search(tmp_path, needle).hits) == [("t.txt", line, shown), ("u.txt", line, shown)]


@pytest.mark.parametrize(
    ("encoding", "text", "needle"),
    [
        ("gb18030", "这是一个关于检索系统的说明文件，包括索引和排序。😀", "检索"),
        ("cp932", "これは検索システムの説明です。カタカナもあります。", "検索"),
        ("cp1252", "Der Prüfling läuft über die Straße und fährt später zurück, natürlich.", "natürlich"),
        ("utf-8", "日本語 und Deutsch ß", "日本"),
        ("utf-32-le", "plain", "plain"),
    ],
)
def test_other_encodings(tmp_path: Path, encoding: str, text: str, needle: str) -> None:
    """The words of the text are found in the file."""
    mark = b"\xff\xfe\0\0" if encoding == "utf-32-le" else b""
    (tmp_path / "a.txt").write_bytes(mark + f"first\n{text}\n".encode(encoding))
    assert [hit.line_no for hit in search(tmp_path, needle).hits] == [2]


def test_one_broken_byte_does_not_lose_the_file(tmp_path: Path) -> None:
    """The rest stays searchable, and the line numbers right."""
    (tmp_path / "a.txt").write_bytes("检索 one\n".encode() * 50 + b"bad \xff byte\nneedle\n" + b"\xc3")
    assert [hit.line_no for hit in search(tmp_path, "needle").hits] == [52]


def test_line_ends_are_those_of_grep(tmp_path: Path) -> None:
    """CRLF leaves no carriage return in the text; a lone one stays inside its line; other separators are no line ends."""
    (tmp_path / "c.txt").write_bytes(b"red\r\ngreen\r\nblue")
    (tmp_path / "m.txt").write_bytes(b"a\nb\r\nc")
    (tmp_path / "r.txt").write_bytes(b"alpha beta\rgamma delta\n")
    (tmp_path / "s.txt").write_bytes("one\u2028two\x0bthree\x85four\x0cfive\nbeta\n".encode())
    assert lines(search(tmp_path, "red", "blue").hits) == [("c.txt", 1, "red"), ("c.txt", 3, "blue")]
    assert lines(search(tmp_path, "b").hits)[:3] == [
        ("c.txt", 3, "blue"),
        ("m.txt", 2, "b"),
        ("r.txt", 1, "alpha beta\rgamma delta"),
    ]
    assert lines(search(tmp_path, "beta").hits) == [("r.txt", 1, "alpha beta\rgamma delta"), ("s.txt", 2, "beta")]
    assert search(tmp_path, "\r\n").hits == []


@pytest.mark.skipif(shutil.which("grep") is None or sys.platform == "win32", reason="needs grep")
@given(st.text(alphabet="ab\n\r\t é数", max_size=60))
def test_numbers_equal_those_of_grep(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Asked of grep itself. (A file with several lone carriage returns and no newline is an old Macintosh text.)"""
    assume("\n" in text or text.count("\r") < 2)
    folder = tmp_path_factory.mktemp("r")
    (folder / "f.txt").write_bytes(text.encode())
    command = ["grep", "-nF", "a", "f.txt"]
    out = subprocess.run(
        command, cwd=folder, capture_output=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    ).stdout
    expected = [line.split(b":", 1) for line in out.split(b"\n")[:-1]]
    hits = [[str(hit.line_no).encode(), hit.text.encode().rstrip(b"\r")] for hit in search(folder, "a").hits]
    assert hits == [[number, line.rstrip(b"\r")] for number, line in expected]
