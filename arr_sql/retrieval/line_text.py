"""Text for the line search: bytes to text, text to the form that is compared, and a long line cut around its hit. Pure.

Decoding takes byte-order marks first, then strict UTF-8, then what is likely: GB18030 where the byte pairs fall where
Chinese text puts them (nearly any bytes *decode* as GB18030, so decoding alone proves nothing), else what
charset-normalizer finds. Bytes that fit nothing are replaced one by one: a search must not lose a file over one byte.

Line ends are left alone: a line ends at ``\\n`` and nowhere else, so numbers equal those of ``grep -n``.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

_SAMPLE = 65_536
_BINARY_SAMPLE = 8_192
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16-LE, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27}) + b"\x7f"
_PAIR = re.compile(rb"([\x81-\xfe])([\x30-\x39][\x81-\xfe][\x30-\x39]|[\x40-\x7e\x80-\xfe])")
# What NFKC makes of them anyway. Chinese text holds no other compatibility characters, and without any NFKC has
# nothing to do: 21 MB/s with them, 100 without.
_WIDE_PUNCTUATION = tuple(zip("，：；！？（）％～", ",:;!?()%~", strict=True))
_KANA = re.compile("[\u3041-\u30ff]")


def decode_lines(data: bytes) -> tuple[str, str] | None:
    """The text without its mark, and the encoding used. None for a binary file. Never raises."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), encoding
    if b"\0" in data[:_BINARY_SAMPLE]:
        return None
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    sample = data[:_SAMPLE]
    if len(sample.translate(None, _CONTROL)) < 0.97 * len(sample):
        return None
    encoding = _likely(sample)
    try:
        return data.decode(encoding), encoding
    except (UnicodeDecodeError, LookupError):
        return data.decode("utf-8", "replace"), "utf-8"


def _likely(sample: bytes) -> str:
    """The most likely encoding of bytes that are not UTF-8."""
    pairs = [(match[1][0], match[2]) for match in _PAIR.finditer(sample)]
    high = sum(1 for byte in sample if byte > 0x7F)
    # GB 2312, where all but rare characters of Chinese text are: both bytes from A1 up, the first below F8.
    common = sum(1 for lead, rest in pairs if 0xA1 <= lead <= 0xF7 and len(rest) == 1 and rest[0] >= 0xA1)
    if high and common * 2 >= 0.7 * high:
        return "gb18030"
    text = sample.decode("cp932", "replace")
    if len(_KANA.findall(text)) * 2 >= 0.4 * high and text.count("\ufffd") <= 1:
        return "cp932"
    from charset_normalizer import from_bytes  # slow to import, seldom needed

    best = from_bytes(sample[:16_384]).best()
    return best.encoding if best is not None else "utf-8"


def fold(text: str) -> str:
    """What two texts are compared by: width, ligatures, composition and case do not count (NFKC and case folding)."""
    if text.isascii():
        return text.lower()
    for wide, narrow in _WIDE_PUNCTUATION:
        text = text.replace(wide, narrow)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def original_index(line: str, folded_index: int) -> int:
    """The index in ``line`` of the character that position ``folded_index`` of ``fold(line)`` comes from."""
    if line.isascii():
        return folded_index
    place, folded = 0, 0
    block = 4_096
    while place < len(line):
        end = _after_marks(line, min(len(line), place + block))
        length = len(fold(line[place:end]))
        if folded + length > folded_index:
            if block == 1:
                return place
            block = max(1, block // 8)  # the hit is in this block: look closer
            continue
        folded += length
        place = end
    return len(line)


def clip(line: str, start: int, width: int) -> tuple[str, int]:
    """``line`` cut to about ``width`` characters around the hit at ``start``, and where the cut begins.

    Never cuts between a character and its combining marks, so what is shown is what was written.
    """
    if len(line) <= width:
        return line, 0
    first = max(0, min(start - width // 3, len(line) - width))
    last = min(len(line), first + width)
    while first > 0 and _joins(line[first]) and first > start - width:
        first -= 1
    return line[first : _after_marks(line, last)], first


def _after_marks(line: str, end: int) -> int:
    stop = min(len(line), end + 32)
    while 0 < end < stop and (_joins(line[end]) or line[end - 1] == "\u200d"):
        end += 1
    return end


def _joins(char: str) -> bool:
    if char.isascii():
        return False
    return char in "\u200d\ufe0e\ufe0f" or "\U0001f3fb" <= char <= "\U0001f3ff" or unicodedata.category(char)[0] == "M"
