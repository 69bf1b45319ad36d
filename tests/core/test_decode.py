"""Decoding: every encoding the contract names, line numbers as ``grep -n`` counts them, and never mojibake."""

from __future__ import annotations

import codecs
import io
import random
import tarfile
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.decode import Decoded, Undecodable, decode

WINDOWS_TEXT = "hello 世界\r\nneedle two\r\n"
PLAIN_TEXT = "hello 世界\nneedle two\n"

ZH = "数据库检索测试\r\n第二行needle"
ZH_HANT = "資料庫檢索測試，這個問題無法在伺服器上重現。\n請先更新設定檔，然後再試一次。\n"
JA = "データベースの検索テストです。\n設定を変更してから、もう一度実行してください。\n"
KO = "데이터베이스 검색 시험입니다.\n설정을 변경한 다음 다시 실행하십시오.\n"
RU = "Проверка поиска в базе данных.\nИзмените настройки и повторите попытку.\n"
EL = "Δοκιμή αναζήτησης στη βάση δεδομένων.\nΑλλάξτε τις ρυθμίσεις και δοκιμάστε ξανά.\n"
FR = "Le modèle n'a pas été entraîné sur ces données.\nÀ refaire dès que possible, où que ce soit.\n"
DE = "Das Modell wurde für größere Datenmengen geändert.\nBitte prüfen Sie die Übergabe.\n"
PL = "Błąd: nie można otworzyć pliku źródłowego, spróbuj później.\nZmień ustawienia i uruchom ponownie całość.\n"
HE = "בדיקת חיפוש במסד הנתונים.\nשנה את ההגדרות ונסה שוב מאוחר יותר.\n"


def decoded(data: bytes) -> Decoded:
    result = decode(data)
    assert isinstance(result, Decoded), result
    return result


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (WINDOWS_TEXT.encode("utf-8"), "utf-8"),
        (WINDOWS_TEXT.encode("utf-8-sig"), "utf-8-sig"),
        (codecs.BOM_UTF16_LE + WINDOWS_TEXT.encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + WINDOWS_TEXT.encode("utf-16-be"), "utf-16-be"),
        (codecs.BOM_UTF32_LE + WINDOWS_TEXT.encode("utf-32-le"), "utf-32-le"),
        (codecs.BOM_UTF32_BE + WINDOWS_TEXT.encode("utf-32-be"), "utf-32-be"),
        (WINDOWS_TEXT.encode("utf-16-le"), "utf-16-le"),
        (WINDOWS_TEXT.encode("utf-16-be"), "utf-16-be"),
    ],
)
def test_unicode_encodings_give_the_same_text(data: bytes, encoding: str) -> None:
    """Field report grepe-01: with a mark or without, the text is the same and holds no byte-order mark."""
    result = decoded(data)
    assert (result.text, result.encoding) == (PLAIN_TEXT, encoding)
    assert result.warnings == ()


def test_an_archive_is_binary_and_a_page_about_archives_is_text() -> None:
    """What tells a tar file stands at its 258th byte, where prose may hold the same word by chance."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    assert decode(made.getvalue()) == Undecodable("binary", "tar archive")
    page = b"words about tar files " * 12
    result = decode(page[:257] + b"ustar" + page)
    assert isinstance(result, Decoded) and "ustar" in result.text


def test_a_picture_is_binary() -> None:
    """Field report grepe-01: a PNG header, NULs and a word are binary, not text."""
    result = decode(b"\x89PNG\r\n\x1a\n" + b"\0" * 40 + b"needle" + b"\0" * 40)
    assert isinstance(result, Undecodable)
    assert result.code == "binary"


@pytest.mark.parametrize(
    ("text", "codec", "encoding"),
    [
        (ZH, "gbk", "gb18030"),
        (ZH, "gb18030", "gb18030"),
        ("测试检索", "gbk", "gb18030"),
        (ZH_HANT, "big5", "big5hkscs"),
        (JA, "shift_jis", "cp932"),
        (JA, "euc_jp", "euc_jp"),
        (JA, "iso2022_jp", "iso2022_jp"),
        (KO, "cp949", "cp949"),
        (RU, "cp1251", "cp1251"),
        (RU, "koi8_r", "koi8_r"),
        (EL, "cp1253", "cp1253"),
        (HE, "cp1255", "cp1255"),
        (FR, "cp1252", "cp1252"),
        (DE, "latin-1", "cp1252"),
        (PL, "cp1250", "cp1250"),
        ("# Author: José Núñez\nx = 1\n" * 3, "latin-1", "cp1252"),
    ],
)
def test_national_encodings(text: str, codec: str, encoding: str) -> None:
    """Field report grepe-02: text in the encodings of Windows is read, and the encoding and its confidence are told."""
    result = decoded(text.encode(codec))
    assert (result.text, result.encoding) == (text.replace("\r\n", "\n"), encoding)
    assert 0.5 <= result.confidence < 1.0


def test_gbk_lines_keep_their_numbers() -> None:
    """Field report grepe-02: the bytes of the report; `needle` stands on line 2."""
    data = ZH.encode("gbk")
    assert data.startswith(bytes.fromhex("cafdbeddbfe2bceccbf7"))
    assert decoded(data).text.split("\n") == ["数据库检索测试", "第二行needle"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"red\r\ngreen\r\nblue", "red\ngreen\nblue"),
        (b"a\nb\r\nc", "a\nb\nc"),
        (b"alpha beta\rgamma delta\n", "alpha beta\rgamma delta\n"),
        (b"one\rtwo\rthree\r", "one\ntwo\nthree\n"),
        (b"progress 10%\rdone", "progress 10%\rdone"),
        (b"x\r\r\ny\n", "x\ny\n"),
        (b"", ""),
        (b"\r\n", "\n"),
    ],
)
def test_line_ends(data: bytes, text: str) -> None:
    """Field report grepe-03: line numbers are those of ``grep -n``; only a file without LF ends its lines with CR."""
    assert decoded(data).text == text


def test_nul_characters_separate_words() -> None:
    """Field report uni-05: words on both sides of NULs are kept apart and found; the file says it had NULs."""
    assert decoded(b"first\0second") == Decoded("first second", "utf-8", 1.0, ("nul_characters",))
    assert decoded(b"heads " + b"\0" * 9000 + b" tails").text == "heads   tails"


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 20,
        random.Random(5).randbytes(4000),
        b"\x7fELF\x02\x01\x01" + b"\0" * 9,
        b"a\0b\0\0\0c\0\0d\0\0\0\0e\0f\0\0g" * 30,
        b"\0" * 100,
    ],
)
def test_binary_by_content(data: bytes) -> None:
    """Bytes that are no text in any encoding are refused, whatever the file is called."""
    result = decode(data)
    assert isinstance(result, Undecodable)
    assert result.code in {"binary", "unreadable"}


def test_few_broken_bytes_do_not_lose_a_utf8_file() -> None:
    """One Latin-1 byte in a UTF-8 file becomes U+FFFD, is counted, and the rest is read."""
    data = "数据库检索\n".encode() * 10 + b"caf\xe9\n"
    result = decoded(data)
    assert result.text.endswith("caf\ufffd\n") and result.text.startswith("数据库检索\n")
    assert (result.encoding, result.warnings) == ("utf-8", ("replaced_bytes: 1",))


def test_code_pages_that_are_as_likely_keep_what_they_agree_on() -> None:
    """A single letter that two Latin code pages read differently becomes U+FFFD: no letter is invented."""
    result = decoded("Munoz, a\xf1o\n".encode("latin-1"))
    assert result.text.startswith("Munoz, a")
    assert result.text in {"Munoz, a\xf1o\n", "Munoz, a\ufffdo\n"}


@pytest.mark.parametrize(
    ("head", "codec", "encoding"),
    [
        ("# -*- coding: latin-1 -*-\n", "latin-1", "cp1252"),
        ('<?xml version="1.0" encoding="windows-1250"?>\n', "cp1250", "cp1250"),
        ('<meta charset="iso-8859-2">\n', "iso8859-2", "iso8859_2"),
        ("\\usepackage[latin1]{inputenc}\n", "latin-1", "cp1252"),
    ],
)
def test_a_declared_encoding_decides_what_a_letter_cannot(head: str, codec: str, encoding: str) -> None:
    """One accent is read as the file says."""
    text = head + "caf\xe9 \xe1\n"
    assert decoded(text.encode(codec)) == Decoded(text, encoding, 0.9)


@pytest.mark.parametrize("name", ["rot13", "unicode_escape", "no-such", "utf-7", "hex", "idna", "mbcs", "\u00e9"])
def test_a_false_declaration_is_ignored(name: str) -> None:
    """Names that are no character set, or don't exist, change nothing."""
    text = f"# coding: {name}\n" + FR
    assert decoded(text.encode("cp1252")).text == text


def test_a_declaration_does_not_make_mojibake() -> None:
    """A file that is clearly Chinese is not read as the Latin-1 it claims to be."""
    text = "# coding: latin-1\n" + ZH.replace("\r", "")
    assert decoded(text.encode("gbk")).text == text


def test_broken_utf16_with_a_mark_is_read() -> None:
    """A truncated UTF-16 file keeps its text, and no unpaired surrogate comes out."""
    result = decoded(codecs.BOM_UTF16_LE + ("needle " * 60).encode("utf-16-le") + b"\x00\xd8" + b"a")
    assert result.text.startswith("needle ") and result.warnings
    result.text.encode("utf-8")


@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-16-le")))
def test_never_raises_and_never_leaves_marks(data: bytes) -> None:
    """Any bytes give text without NUL, CRLF and surrogates, or a refusal with a code."""
    result = decode(data)
    if isinstance(result, Decoded):
        assert "\0" not in result.text and "\r\n" not in result.text
        assert 0.0 <= result.confidence <= 1.0
        result.text.encode("utf-8")
    else:
        assert result.code in {"binary", "unreadable"}


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(str.encode)
    | st.lists(st.sampled_from([b"a", b"\0", b"\1", b"\x1b$B", b"\r\n", "学".encode(), b"\xff"])).map(b"".join)
)
def test_what_is_known_to_be_text_is_read_alike(data: bytes) -> None:
    """For bytes that were found to be text, however."""
    plain = decode(data)
    assert isinstance(plain, Undecodable) or decode(data, is_text=True) == plain


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=300), st.sampled_from(["\n", "\r\n"]))
def test_utf8_is_read_exactly(text: str, end: str) -> None:
    """UTF-8 text comes back character by character, with line ends normalised."""
    result = decoded((text + end + text).encode("utf-8-sig"))
    assert result.text == text + "\n" + text


@pytest.mark.parametrize("codec", ["gb18030", "big5", "shift_jis", "cp1252", "cp1251", "utf-8"])
@pytest.mark.parametrize("cut", [1, 3, 7])
def test_damaged_legacy_text_is_not_mojibake(codec: str, cut: int) -> None:
    """Cutting the file in the middle of a character gives the right text up to there, or a refusal."""
    text = {"gb18030": ZH, "big5": ZH_HANT, "shift_jis": JA, "cp1252": FR, "cp1251": RU, "utf-8": ZH}[codec] * 4
    text = text.replace("\r\n", "\n")
    result = decode(text.encode(codec)[:-cut])
    if isinstance(result, Decoded):
        assert text.startswith(result.text.rstrip("\ufffd"))


def test_long_lines_cost_linear_time() -> None:
    """A megabyte without a line end and one accent at its end is decided quickly."""
    start = time.perf_counter()
    assert decoded(b"word " * 200_000 + "é".encode("latin-1")).text.endswith("é")
    assert time.perf_counter() - start < 5
