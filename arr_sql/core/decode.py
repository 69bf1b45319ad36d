"""Bytes to text, or a reason why not. Never mojibake: text that can't be told with confidence is ``unreadable``.

Order: byte-order marks; binary by its first bytes; strict UTF-8; UTF-16 without a mark, by its NULs; binary by
content; UTF-8 with a few broken bytes; then the national encodings (``legacy.py``): the one the file declares (``coding:``,
``charset=``, ``inputenc``) unless the language in it speaks clearly for another.

Line ends become ``\\n`` so that line numbers equal those of ``grep -n``: CRLF is one line end, a lone CR stays inside
its line, unless the file has no LF at all and several CRs (old Mac), where CR is the line end. NULs in text become one
space for each run of them, because the words on both sides must be found and SQL must not stop there. Never raises.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16-LE, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*", b"\0\0\1\0", b"RIFF", b"OggS", b"fLaC",
    b"ID3", b"%PDF-", b"\xd0\xcf\x11\xe0", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ",
    b"7z\xbc\xaf", b"Rar!\x1a", b"\x28\xb5\x2f\xfd", b"!<arch>\n", b"\x7fELF", b"MZ\x90", b"\xca\xfe\xba\xbe",
    b"\xcf\xfa\xed\xfe", b"\0asm", b"wOFF", b"wOF2", b"SQLite format 3\0", b"\x93NUMPY", b"\x89HDF\r\n", b"PAR1",
    b"ARROW1", b"GGUF", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05",
)  # fmt: skip
_CONTROL = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27}) + b"\x7f"
_NUL_RUN = re.compile(r"\0+")
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{1,3}")
_CR_BEFORE_LF = re.compile(r"(?<!\r)\r+\n")
_ISO_2022_JP = re.compile(rb"\x1b\$[@B](?:[\x21-\x7e]{2})+\x1b\([BJ]")


class Decoded(NamedTuple):
    """Text with ``\\n`` line ends, without a byte-order mark, NUL or surrogate. ``confidence`` is 1.0 where the bytes
    leave no choice. ``warnings`` hold ``nul_characters`` or ``replaced_bytes: n`` (U+FFFD stands in the text)."""

    text: str
    encoding: str
    confidence: float
    warnings: tuple[str, ...] = ()


class Undecodable(NamedTuple):
    """No text: ``code`` is ``binary`` or ``unreadable``; ``detail`` says why, without quoting the file."""

    code: str
    detail: str


def decode(data: bytes, *, is_text: bool = False) -> Decoded | Undecodable:
    """The text of a file. An empty file is empty text. ``is_text``: these very bytes were found to be text before."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _marked(data[len(mark) :], encoding)
    if data.startswith(_MAGIC):
        return Undecodable("binary", "known binary format")
    if data[257:262] == b"ustar" and b"\0" in data[:257]:  # a page on the format may say so just there
        return Undecodable("binary", "tar archive")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _not_utf8(data)
    if "\0" in text or (not is_text and len(data.translate(None, _CONTROL)) < len(data)):
        wide = _utf16_by_nuls(data)
        if wide is not None:
            return wide
        reason = _binary_reason(data)
        if reason:
            return Undecodable("binary", reason)
    if b"\x1b" in data and _ISO_2022_JP.search(data):
        try:
            return _done(data.decode("iso2022_jp"), "iso2022_jp", 0.95)
        except UnicodeDecodeError:
            pass
    return _done(text, "utf-8", 1.0)


def _marked(data: bytes, encoding: str) -> Decoded | Undecodable:
    """After a byte-order mark the encoding is known; broken bytes are replaced if they are few."""
    codec = encoding.removesuffix("-sig")
    text = data.decode(codec, "replace")
    broken = text.count("\ufffd")
    if broken:
        try:
            data.decode(codec)
            broken = 0  # the file itself holds U+FFFD
        except UnicodeDecodeError:
            if broken > 3 and broken * 50 > len(text):
                return Undecodable("unreadable", f"marked as {encoding} but {broken} places are broken")
    warnings = (f"replaced_bytes: {broken}",) if broken else ()
    if _control_share(text) > 0.1:
        return Undecodable("binary", "control characters")
    return _done(text, encoding, 0.9 if broken else 1.0, warnings)


def _not_utf8(data: bytes) -> Decoded | Undecodable:
    wide = _utf16_by_nuls(data)
    if wide is not None:
        return wide
    reason = _binary_reason(data)
    if reason:
        return Undecodable("binary", reason)
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if len(_MULTIBYTE.findall(data)) >= 20 * broken:
        return _done(text, "utf-8", 0.8, (f"replaced_bytes: {broken}",))
    from arr_sql.core.legacy_encodings import MIN_CONFIDENCE, declared_encoding, guess_legacy

    guess = guess_legacy(data)
    declared = declared_encoding(data)
    if declared is not None and (guess is None or guess.confidence < declared.confidence):
        guess = declared
    if guess is None or guess.confidence < MIN_CONFIDENCE:
        likely = f"; {guess.encoding} is most likely, at {guess.confidence:.2f}" if guess else ""
        return Undecodable("unreadable", f"no encoding is certain enough{likely}")
    warnings = (f"replaced_bytes: {guess.broken}",) if guess.broken else ()
    return _done(guess.text, guess.encoding, guess.confidence, warnings)


def _done(text: str, encoding: str, confidence: float, warnings: tuple[str, ...] = ()) -> Decoded:
    if "\r" in text:
        if "\n" in text:
            text = _CR_BEFORE_LF.sub("\n", text)
        elif text.count("\r") > 1:
            text = text.replace("\r", "\n")
    if "\0" in text:
        text = _NUL_RUN.sub(" ", text)
        warnings = (*warnings, "nul_characters")
    return Decoded(text, encoding, round(confidence, 3), warnings)


def _utf16_by_nuls(data: bytes) -> Decoded | None:
    """UTF-16 without a mark: NULs stand almost only on one side of the byte pairs, and the text is plausible."""
    sample = data[: 1 << 16]
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if len(data) % 2 or len(data) < 4 or max(even, odd) < 2 or min(even, odd) * 20 > max(even, odd):
        return None
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    if max(even, odd) * 50 < len(sample):  # Han text still has spaces, digits and line ends
        return None
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    if "\0" in text or _control_share(text) > 0.01 or _odd_share(text) > 0.02:
        return None
    share = max(even, odd) * 2 / len(sample)
    return _done(text, encoding, 0.7 + 0.25 * min(1.0, share * 2))


def _binary_reason(data: bytes) -> str:
    """Why this is no text, or an empty string. A run of NULs counts once: a log with a hole in it is still text."""
    controls = len(data) - len(data.translate(None, _CONTROL))
    if not controls:
        return ""
    nuls = data.count(0)
    runs = len(re.findall(rb"\0+", data)) if nuls else 0
    visible = len(data) - nuls
    if runs > max(4, visible // 200) or visible < 4:
        return "NUL bytes"
    if controls - nuls > max(2, visible // 50):
        return "control characters"
    return ""


def _control_share(text: str) -> float:
    sample = text[: 1 << 16]
    return sum(ch < " " and ch not in "\a\b\t\n\v\f\r\x1b\0" for ch in sample) / max(1, len(sample))


def _odd_share(text: str) -> float:
    """Share of private, unassigned or replacement characters, and of non-characters."""
    sample = text[: 1 << 14]
    odd = sum("\ue000" <= ch <= "\uf8ff" or ch >= "\ufff0" or not (ch.isprintable() or ch.isspace()) for ch in sample)
    return odd / max(1, len(sample))
