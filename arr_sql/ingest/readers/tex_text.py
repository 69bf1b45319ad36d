"""TeX's way of writing letters, as letters: ``M{\\"u}ller`` is Müller, ``{\\O}rsted`` is Ørsted, ``$\\beta$`` is β.

Only for titles, names and headings, which are searched beside the raw text; the raw text is kept as it is.
"""

from __future__ import annotations

import re
import unicodedata

_COMBINING = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328", "r": "\u030a", "d": "\u0323",
    "b": "\u0331",
}  # fmt: skip
_LETTERS = {
    "ss": "ß", "SS": "ẞ", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø",
    "l": "ł", "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ", "dj": "đ", "DJ": "Đ", "ng": "ŋ",
    "textendash": "–", "textemdash": "—", "ldots": "…", "dots": "…", "copyright": "©", "textregistered": "®",
    "infty": "∞", "times": "×", "rightarrow": "→", "to": "→", "leq": "≤", "geq": "≥", "approx": "≈", "pm": "±",
}  # fmt: skip
_ACCENT = re.compile(
    r"\\(?:(?P<sign>[\"'`^~=.])\s*|(?P<letter>[uvHckrdb])(?=[\s{\\])\s*)(?:\{\s*(?P<braced>\\[ij]|\w)\s*\}|(?P<bare>\\[ij](?![a-zA-Z])|[^\W\d_]))"
)
_COMMAND = re.compile(r"\\(?P<name>[a-zA-Z]+)\*?(?:\s+|(?=[^a-zA-Z])|$)")
_DROPPED = re.compile("[{}$](?!\u2060)|\u2060|\\\\")
_ESCAPED = re.compile(r"\\([&%$#_{}])")


def decode_tex(text: str) -> str:
    """Plain text for display and search: accents and Greek letters decoded, braces and commands dropped."""
    text = _ACCENT.sub(_accent, text.replace("\\-", ""))
    text = _ESCAPED.sub("\\1\u2060", text)  # the joiner protects an escaped brace from being dropped below
    text = _COMMAND.sub(_command, text)
    text = _DROPPED.sub("", text.replace("\\\\", " "))
    text = text.replace("---", "—").replace("--", "–").replace("~", " ")
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _accent(match: re.Match[str]) -> str:
    base = match["braced"] or match["bare"]
    base = {"\\i": "i", "\\j": "j"}.get(base, base)
    return base + _COMBINING[match["sign"] or match["letter"]]


def _command(match: re.Match[str]) -> str:
    name = match["name"]
    if name in _LETTERS:
        return _LETTERS[name]
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name.removeprefix('var').upper()}")
    except KeyError:
        return ""
