"""Cuts prepared text into terms, each with its kind.

A *chunk* is what stands between spaces and punctuation: a word, an identifier, a path, a number, a LaTeX macro or a run
of unspaced script. A chunk gives one or more terms:

=========  ======================================================================================  ==================
kind       what it is                                                                              example
=========  ======================================================================================  ==================
WORD       the stem of a word, or a number                                                         ``migrat``
SURFACE    the word as written, where it differs from its stem                                     ``migration``
WHOLE      an identifier, path, version or hyphenated word as one term                             ``io.readall``
PART       the stem of a word inside an identifier                                                 ``read``
PAIR       two neighbouring parts, the same for every style of identifier                          ``read_all``
MINOR      a part of a single character                                                            ``x``
EXTRA      put in the index only, never asked for: the start of a long hash or version             ``2.5``
CHARACTER  one character of an unspaced script                                                     ``缓``
BIGRAM     two neighbouring characters of an unspaced script                                       ``缓存``
=========  ======================================================================================  ==================

A term holds no white space, control character, quote or surrogate and at most ``MAX_TERM`` characters; what is longer
becomes several terms. Every pattern is linear: no two ways to match the same characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from itertools import pairwise

from arr_sql.core.analysis_fold import UNSPACED, compiled, fold
from arr_sql.core.analysis_words import STOP_WORDS, stem
from arr_sql.core.later import pattern

WORD, SURFACE, WHOLE, PART, PAIR, MINOR, EXTRA, CHARACTER, BIGRAM = range(9)
Piece = tuple[int, str]

MAX_TERM = 100
# Papers write α, \alpha and alpha; each finds the others.
_LETTER_NAMES = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon phi chi
psi omega
"""
_GREEK = dict(zip(map(chr, range(0x3B1, 0x3CA)), _LETTER_NAMES.split(), strict=True))
_MAX_PARTS = 16  # a run that falls into more parts than this is base64 or the like, not a name


_WORD_CHUNK = (
    r"(?:(?<![\w.])[.\#@])?{word}(?:(?:[.\-/@'&]|::){word})*(?:\+\+[0-9]*(?!\w)|\#(?!\w)|%(?!\w))?|\\[A-Za-z]+"
)
_CHUNK_ASCII = pattern(_WORD_CHUNK.replace("{word}", "[A-Za-z0-9_]+"))


@cache
def _chunk() -> re.Pattern[str]:
    """The pattern for text that is not ASCII; compiling it takes 20 ms, so it waits until it is needed."""
    # Vowel signs of spaced scripts (India, Ceylon, Mongolia, ...) are part of a word, yet not in ``\\w``.
    points = [chr(point) for point in range(0x0700, 0x1D00)]
    marks = "".join(c for c in points if unicodedata.category(c)[0] == "M" and not is_unspaced(c))
    word = rf"[^\W{UNSPACED}]+(?:[{marks}]+[^\W{UNSPACED}]*)*"
    # A line break inside Chinese or Japanese text is a wrapped line, not a gap between words.
    unspaced = rf"[{UNSPACED}]+(?:\r?\n[ \t]*[{UNSPACED}]+)*"
    return re.compile(f"{_WORD_CHUNK.replace('{word}', word)}|{unspaced}")


_SPACES = pattern(r"\s+")
_ONE_UNSPACED = f"[{UNSPACED}]"

_SEGMENT_GAP = pattern(r"(?:[\-/@&:#+%]|(?<![0-9])\.|\.(?![0-9]))+")
# Inside a chunk, what is neither ASCII nor a digit is a letter or its mark.
_LETTERS = pattern(r"[^\d\x00-@\[-`{-\x7f]+")
_ATOM = pattern(rf"\d+(?:\.\d+)*|{_LETTERS.pattern}")
_CAMEL = pattern(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\d\x00-\x7f]+")
# A digit beside a letter or a sign, or a sign that ordinary words do not hold.
_NAME_SIGN = pattern(r"[^\W\d][\-./]?\d|\d[\-./]?[^\W\d]|\d[.\-/]\d|[_@#]\w|\w_|::|\+\+|\w#|\w[./]\w|^\.\w|&")
_LITTLE = STOP_WORDS | {"e", "g"}  # e.g., i.e.
_POSSESSIVE = pattern(r"'(?:s|ll|re|ve|d|m)(?![^\W_])", re.IGNORECASE)
_TAIL = pattern(r"(?:\+\+|#)(?=[0-9]*$)")
_HEX = pattern(r"[0-9a-fA-F]{7,}")
_HEX_TURN = pattern(r"[0-9]+[a-fA-F]+")


def chunks(prepared: str) -> list[str]:
    """Return the chunks of a prepared text in order."""
    return (_CHUNK_ASCII if prepared.isascii() else _chunk()).findall(prepared)


def is_unspaced(chunk: str) -> bool:
    """Tell whether a chunk is a run of a script written without spaces."""
    return compiled(_ONE_UNSPACED).match(chunk) is not None


def unspaced_pieces(chunk: str) -> list[Piece]:
    """Return the characters and the pairs of a run of unspaced script, interleaved."""
    run = _run(chunk)
    pieces: list[Piece] = []
    last = len(run) - 1
    for place, character in enumerate(run):
        pieces.append((CHARACTER, character))
        if place < last:
            pieces.append((BIGRAM, run[place : place + 2]))
    return pieces


def unspaced_terms(chunk: str, before_character: str, before_pair: str) -> str:
    """Return the terms of :func:`unspaced_pieces` as one text, each behind the sign of its kind."""
    run = _run(chunk)
    pairs = [f"{before_character}{a}{before_pair}{a}{b}" for a, b in pairwise(run)]
    return "".join(pairs) + before_character + run[-1] if run else ""


def _run(chunk: str) -> str:
    folded = chunk.casefold()  # the chunk is prepared already
    run = chunk if folded == chunk else fold(chunk)
    return _SPACES.sub("", run) if "\n" in run else run


def word_pieces(chunk: str) -> tuple[Piece, ...]:
    """Return the pieces of any other chunk. Cached, for text repeats itself."""
    return _cached_pieces(chunk) if len(chunk) <= MAX_TERM else tuple(new_pieces(chunk))


@lru_cache(maxsize=32768)
def _cached_pieces(chunk: str) -> tuple[Piece, ...]:
    return tuple(new_pieces(chunk))


def without_endings(chunk: str) -> str:
    """Return the chunk without ``'s`` and the like, and without apostrophes: ``user's`` -> ``user``."""
    return _POSSESSIVE.sub("", chunk).replace("'", "")


def is_little(chunk: str) -> bool:
    """Tell whether a chunk holds nothing but little words: ``the``, ``and/or``, ``e.g``. With a digit it is a name: ``E501``."""
    return not any(map(str.isdigit, chunk)) and all(run.lower() in _LITTLE for run in _LETTERS.findall(chunk) or ("0",))


def is_name(chunk: str) -> bool:
    """Tell whether a chunk is an identifier, path, version, error code or macro rather than a word of a language."""
    if chunk[0] == "\\" or _NAME_SIGN.search(chunk):
        return not is_little(chunk)
    return any(len(_CAMEL.findall(run)) > 1 for run in _LETTERS.findall(chunk))


def new_pieces(chunk: str) -> list[Piece]:
    """Return the same as :func:`word_pieces`, worked out anew."""
    if chunk.isascii() and chunk.isalpha() and (chunk[1:].islower() or chunk.isupper()):
        return _word(chunk.lower())
    if chunk[0] == "\\":
        return _macro(chunk)
    if "_" in chunk and (words := _snake_words(chunk)):
        return _snake(words)
    return _apostrophes(chunk) if "'" in chunk else _compound(chunk)


def _cut(term: str) -> list[str]:
    if len(term) <= MAX_TERM:
        return [term] if term else []
    return [term[start : start + MAX_TERM] for start in range(0, len(term), MAX_TERM)]


def _word(word: str) -> list[Piece]:
    pieces: list[Piece] = []
    for piece in _cut(word):
        root = stem(piece)
        pieces.append((WORD, root))
        if root != piece:
            pieces.append((SURFACE, piece))
    return pieces


def _macro(chunk: str) -> list[Piece]:
    """``\\alpha`` as itself and as a word. Source code writes ``"\\nnext"``, so the word after an escape counts too."""
    name = chunk[1:].lower()
    pieces = [(WHOLE, piece) for piece in _cut("\\" + name)]
    pieces += [(PART, stem(piece)) for piece in _cut(name)]
    if name[0] in "nrt" and len(name) > 2:
        for piece in _cut(name[1:]):
            pieces += [(EXTRA, stem(piece)), (EXTRA, piece)]
    return pieces


def _apostrophes(chunk: str) -> list[Piece]:
    """``user's`` is ``user``; ``don't`` is ``dont``; ``O'Brien`` is both words and ``obrien``."""
    words = [word for word in _POSSESSIVE.sub("", chunk).split("'") if word.strip("_")]
    joined = "".join(words)
    if len(words) == 2 and words[1] in ("t", "T"):
        return new_pieces(joined.lower())
    pieces = [piece for word in words for piece in new_pieces(word)]
    if len(words) > 1:
        pieces += [(WHOLE, piece) for piece in _cut(fold(joined))]
    return pieces


def _snake_words(chunk: str) -> list[str]:
    """The words of ``snake_case``, ``Snake_Case`` or ``SNAKE_CASE``; none for any other chunk."""
    if not chunk.isascii() or len(chunk) > MAX_TERM:
        return []
    words = chunk.split("_")
    for word in words:
        if not (word.isalpha() and (word[1:].islower() or word.isupper() or word.islower())):
            return []
    return words


def _snake(words: list[str]) -> list[Piece]:
    """What :func:`_compound` gives of the commonest of its chunks, in a third of the time."""
    parts = [word.lower() for word in words]
    whole = "_".join(parts)
    pieces = [(PART, stem(part)) if len(part) > 1 else (MINOR, part) for part in parts]
    pieces.append((WHOLE, whole))
    if len(parts) > 2:
        pieces += [(PAIR, f"{left}_{right}") for left, right in pairwise(parts)]
    return pieces


def _compound(chunk: str) -> list[Piece]:
    """Parts first, then the wholes (the chunk, its segments, its camelCase runs), then pairs, then extras."""
    parts: list[tuple[str, int]] = []
    wholes: dict[str, None] = {}
    extras: list[str] = []
    tail = _TAIL.search(chunk, 1) if "#" in chunk or "+" in chunk else None
    segments = [segment for segment in _SEGMENT_GAP.split(chunk) if segment.strip("_")]
    opaque = _is_hash(chunk.replace("-", ""))
    for segment in segments:
        name = fold(segment)
        atoms = [] if opaque or _is_hash(segment) else _atoms(segment, wholes)
        if not atoms or (len(atoms) > _MAX_PARTS and "_" not in segment):
            parts.append((name, WORD))
            extras += [name[:size] for size in (7, 8, 10, 12) if len(name) >= 32]
        elif len(atoms) == 1:
            parts.append((atoms[0], WORD))
        else:
            parts += [(atom, PART) for atom in atoms]
        if atoms and name != atoms[0]:
            wholes[name] = None
        if "." in segment:
            extras += [atom[: atom.index(".", atom.index(".") + 1)] for atom in atoms if atom.count(".") > 1]
    text = fold(chunk)
    if text[-1] == "%" and not text[-2].isdigit():
        text = text[:-1]
    if tail and segments:  # C++ and C# are names of their own, not kinds of C
        before = [s for s in _SEGMENT_GAP.split(chunk[: tail.start()]) if s.strip("_")]
        if before:
            wholes[fold(before[-1]) + tail[0]] = None
            if len(before[-1]) == 1:
                del parts[-1 - (len(segments) - len(before))]
    if chunk.endswith(".NET") or text == ".net":
        wholes[".net"] = None
        parts = parts[:-1]
    if segments and (len(parts) != 1 or text != parts[0][0]):
        wholes[text] = None

    pieces: list[Piece] = []
    for part, kind in parts:
        if part in _GREEK:
            pieces += [(WORD, part), (WHOLE, _GREEK[part])]
        elif len(part) == 1 and len(parts) > 1:
            pieces.append((MINOR, part))
        elif kind == WORD or len(parts) == 1:
            pieces += _word(part)
        else:
            pieces += [(PART, stem(piece)) for piece in _cut(part)]
    for whole in wholes:
        for piece in _cut(whole):
            pieces.append((WHOLE, piece))
            if piece.isalpha() and stem(piece) != piece:
                pieces.append((WHOLE, stem(piece)))
    for (left, _), (right, _) in pairwise(parts):
        pair = f"{left}_{right}"
        if pair not in wholes and len(pair) <= MAX_TERM:
            pieces.append((PAIR, pair))
    pieces += [(EXTRA, extra) for extra in extras]
    return pieces


def _is_hash(segment: str) -> bool:
    """Tell a commit hash or the like from a word: hexadecimal digits and letters in turns."""
    return len(segment) > 6 and _HEX.fullmatch(segment) is not None and len(_HEX_TURN.findall(segment)) > 1


def _atoms(segment: str, wholes: dict[str, None]) -> list[str]:
    """Return the folded parts of a segment; camelCase runs that fall apart are added to ``wholes``."""
    atoms: list[str] = []
    for run in _ATOM.findall(segment):
        pieces = _CAMEL.findall(run)
        if len(pieces) > 1:
            wholes[fold(run)] = None
            atoms += map(fold, pieces)
        else:
            atoms.append(fold(run))
    return atoms
