"""Cuts prepared text into terms, each with its kind.

A *chunk* is what stands between spaces and punctuation: a word, an identifier, a path, a number, a LaTeX macro or a run
of unspaced script. A chunk gives one or more terms:

==========  ========================================================================================  ==============
kind        what it is                                                                                example
==========  ========================================================================================  ==============
WORD        the stem of a word, or a number                                                           ``migrat``
SURFACE     the word as written, where it differs from its stem                                       ``migration``
WHOLE       an identifier, path, version or hyphenated word as one term                               ``io.read_all``
PART        a word inside an identifier                                                               ``read``
PART_FORM   the same as written, where it differs from its stem                                       ``reading``
PAIR        two neighbouring parts, the same for every style of identifier                            ``read_all``
MINOR       a part of a single character                                                              ``x``
EXTRA       only put in the index, never asked for: the start of a long hash or version               ``2.5``
CHARACTER   one character of an unspaced script                                                       ``缓``
BIGRAM      two neighbouring characters of an unspaced script                                         ``缓存``
==========  ========================================================================================  ==============

A term holds no white space, control character, quote or surrogate and at most ``MAX_TERM`` characters; what is longer
becomes several terms. Every pattern here is linear: no alternative can match the same characters in two ways.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from arr_sql.core.analysis_fold import UNSPACED, fold
from arr_sql.core.analysis_words import stem

WORD, SURFACE, WHOLE, PART, PART_FORM, PAIR, MINOR, EXTRA, CHARACTER, BIGRAM = range(10)
Piece = tuple[int, str]

MAX_TERM = 100
_MAX_PARTS = 16  # a run cut into more parts than this is base64 or the like, not a name


def _marks() -> str:
    """Vowel signs of spaced scripts (India, Ethiopia's neighbours, ...): part of a word, yet not in ``\\w``."""
    unspaced = re.compile(f"[{UNSPACED}]")
    points = range(0x0700, 0x1D00)
    return "".join(c for c in map(chr, points) if unicodedata.category(c)[0] == "M" and not unspaced.match(c))


_M = _marks()
_LETTERS_AND_DIGITS = rf"[^\W{UNSPACED}]+(?:[{_M}]+[^\W{UNSPACED}]*)*"
_TAIL = r"(?:\+\+[0-9]*(?!\w)|\#(?!\w)|%(?!\w))?"
_MACRO = r"\\[A-Za-z]+"


def _chunk_pattern(word: str, unspaced: str = "") -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?<![\w.])[.\#@])?{word}(?:(?:[.\-/@'&]|::){word})*{_TAIL}|{_MACRO}{unspaced}",
    )


_CHUNK_ASCII = _chunk_pattern("[A-Za-z0-9_]+")
# A line break inside Chinese or Japanese text is a wrapped line, not a gap between words.
_CHUNK = _chunk_pattern(_LETTERS_AND_DIGITS, rf"|[{UNSPACED}]+(?:\r?\n[ \t]*[{UNSPACED}]+)*")
_UNSPACED_FIRST = re.compile(f"[{UNSPACED}]")
_BREAK = re.compile(r"\s+")

_SEGMENT_GAP = re.compile(r"(?:[\-/@&:#+%.](?<![0-9]\.(?=[0-9])))+")
_ATOM = re.compile(rf"[0-9]+(?:\.[0-9]+)*|(?:[^\W\d_]|[{_M}])+|[^\W_]")
_CAMEL = re.compile(rf"[A-Z]{{2,}}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|(?:[^\W\d_A-Za-z]|[{_M}])+")
_POSSESSIVE = re.compile(r"'(?:s|ll|re|ve|d|m)(?![^\W_])", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-fA-F]{7,}")
_HEX_TURNS = re.compile(r"[0-9]+[a-fA-F]+")


def chunks(prepared: str) -> list[str]:
    """Return the chunks of a prepared text in order."""
    return (_CHUNK_ASCII if prepared.isascii() else _CHUNK).findall(prepared)


def is_unspaced(chunk: str) -> bool:
    return _UNSPACED_FIRST.match(chunk) is not None


def unspaced_pieces(chunk: str) -> list[Piece]:
    """Return the characters and the pairs of a run of unspaced script, interleaved."""
    run = _BREAK.sub("", fold(chunk))
    pieces: list[Piece] = []
    for here, pair in zip(run, [a + b for a, b in zip(run, run[1:], strict=False)] + [""], strict=True):
        pieces.append((CHARACTER, here))
        if pair:
            pieces.append((BIGRAM, pair))
    return pieces


def cut(term: str) -> Iterator[str]:
    """Yield ``term``, or its consecutive pieces when it is longer than a term may be."""
    for start in range(0, len(term), MAX_TERM):
        yield term[start : start + MAX_TERM]


def _word(word: str, kind: int, form: int) -> Iterator[Piece]:
    for piece in cut(word):
        root = stem(piece)
        yield kind, root
        if root != piece:
            yield form, piece


def word_pieces(chunk: str) -> tuple[Piece, ...]:
    """Return the pieces of any other chunk. Cached, for text repeats itself."""
    return _cached_pieces(chunk) if len(chunk) <= MAX_TERM else tuple(_pieces(chunk))


def _pieces(chunk: str) -> Iterator[Piece]:
    if chunk.isascii() and chunk.isalpha() and (chunk[1:].islower() or chunk.isupper() or len(chunk) == 1):
        yield from _word(chunk.lower(), WORD, SURFACE)
    elif chunk[0] == "\\":
        yield from _macro(chunk)
    elif "'" in chunk:
        yield from _apostrophes(chunk)
    else:
        yield from _compound(chunk)


@lru_cache(maxsize=32768)
def _cached_pieces(chunk: str) -> tuple[Piece, ...]:
    return tuple(_pieces(chunk))


def _macro(chunk: str) -> Iterator[Piece]:
    """``\\alpha`` as itself and as the word. Source code writes ``"\\nnext"``, so the word after an escape counts too."""
    for piece in cut(chunk.lower()):
        yield WHOLE, piece
    yield from _word(chunk[1:].lower(), PART, PART_FORM)
    if chunk[1] in "nrt" and len(chunk) > 3:
        for _, term in _word(chunk[2:].lower(), EXTRA, EXTRA):
            yield EXTRA, term


def _apostrophes(chunk: str) -> Iterator[Piece]:
    """``user's`` is ``user``; ``don't`` is ``dont``; ``O'Brien`` is both words and ``obrien``."""
    chunk = _POSSESSIVE.sub("", chunk)
    words = [word for word in chunk.split("'") if word]
    if len(words) == 2 and words[1].lower() == "t":
        yield from _pieces("".join(words).lower())
        return
    for word in words:
        yield from _pieces(word)
    if len(words) > 1:
        for piece in cut(fold("".join(words))):
            yield WHOLE, piece


def _is_hash(segment: str) -> bool:
    return _HEX.fullmatch(segment) is not None and len(_HEX_TURNS.findall(segment)) > 1


def _compound(chunk: str) -> Iterator[Piece]:
    """Whole, segments between connectors, letter runs, parts and pairs of parts."""
    wholes: dict[str, int] = {}
    parts: list[tuple[str, bool]] = []  # the part, and whether it stands for itself between connectors
    extras: list[str] = []
    folded = fold(chunk)
    segments = [s for s in _SEGMENT_GAP.split(chunk) if s.strip("_")]
    if not segments:
        return
    for segment in segments:
        name = fold(segment)
        if _is_hash(segment):
            parts.append((name, True))
            extras += [name[:n] for n in (7, 8, 10, 12) if len(name) >= 32]
            continue
        found = _atoms(segment)
        alone = len(found) == 1
        if len(found) > _MAX_PARTS and "_" not in segment:
            parts.append((name, True))
            continue
        if not alone or name != found[0][0]:
            wholes[name] = WHOLE
        for part, run in found:
            parts.append((part, alone))
            if run:
                wholes.setdefault(run, WHOLE)
            if part.count(".") > 1:
                extras.append(part[: part.index(".", part.index(".") + 1)])
    single = len(parts) == 1
    text = folded if folded[-1:] != "%" or folded[-2:-1].isdigit() else folded[:-1]
    if single and len(segments[0]) == 1 and segments[0].isalpha() and text[-1] in "+#":
        parts = []  # C++ and C# are names of their own, not kinds of C
    if text == ".net":
        parts = []
    if not single or text != parts[0][0] if parts else True:
        wholes[text] = WHOLE
    # A lone word in disguise (`__init__`, `#include`) is still a word.
    for part, alone in parts:
        if len(part) == 1 and not single:
            yield MINOR, part
        elif single or alone:
            yield from _word(part, WORD, SURFACE)
        else:
            yield from _word(part, PART, PART_FORM)
    for whole in wholes:
        for piece in cut(whole):
            yield WHOLE, piece
            root = stem(piece) if piece.isalpha() else piece
            if root != piece:
                yield WHOLE, root
    for (left, _), (right, _) in zip(parts, parts[1:], strict=False):
        pair = f"{left}_{right}"
        if pair not in wholes and len(pair) <= MAX_TERM:
            yield PAIR, pair
    for extra in extras:
        yield EXTRA, extra


def _atoms(segment: str) -> list[tuple[str, str]]:
    """Return the folded parts of a segment; the first part of a camelCase run carries the folded run."""
    found: list[tuple[str, str]] = []
    for run in _ATOM.findall(segment):
        pieces = _CAMEL.findall(run)
        if len(pieces) < 2:
            found.append((fold(run), ""))
        else:
            whole = fold(run)
            found += [(fold(piece), whole if i == 0 else "") for i, piece in enumerate(pieces)]
    return found
