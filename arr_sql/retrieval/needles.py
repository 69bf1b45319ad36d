"""Which literal strings of a query a line search looks for (contract 9.4).

Promise: a pure function of the query (and of ``rarity``, if given); at most ``MAX_NEEDLES`` strings, each once, as they
were typed, none with a line break; never an exception. Folding case and width is the searcher's business.
``tests/retrieval/test_needles.py`` holds it.

The first of these that gives anything is taken:

1. quoted strings and formulas (``"..."``, ``'...'``, ```...```, ``“...”``, ``「...」``, ``$...$``) and names
   (identifiers, error codes, paths, versions, macros, ``75%``, ``k=v2``), in the order of the query;
2. acronyms, then its rarest words, little words left out; from Chinese and the like, what stands between particles;
3. the query itself, if it is more than one letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from arr_sql.core import analysis_terms as cut
from arr_sql.core.analysis import fold
from arr_sql.core.analysis_fold import UNSPACED, compiled, prepare
from arr_sql.core.analysis_words import STOP_WORDS
from arr_sql.core.later import pattern

MAX_NEEDLES = 8
_MAX_WORDS = 4  # more words would make nearly every line a hit
_MAX_LENGTH = 300
_SHORT = 16  # a token longer than this that mixes Chinese and Latin is a sentence
_LONG_RUN = 6  # a longer run of Chinese is hardly found word for word, so its rarest pairs are added

# An opening mark can't stand inside its own quotation, so that a row of them is still read in linear time.
_QUOTED = pattern(
    r""""([^"\n]+)"|(?<!\w)'([^'\n]+)'(?!\w)|`([^`\n]+)`|“([^“”\n]+)”|‘([^‘’\n]+)’(?!\w)|「([^「」\n]+)」|『([^『』\n]+)』"""
    r"""|«([^«»\n]+)»|《([^《》\n]+)》|(\$[^$\n]+\$)"""
)
_OPENING = "([{<（［｛〈【〔\"'`“‘"
_CLOSING = ")]}>）］｝〉】〕\"'`”’"
_SENTENCE = ".,;:!?…。，、；：！？．"
# Signs inside a token that make it a literal even without letters around: k=v2, x|y, $HOME, ~tmp, 75%, a->b.
_SIGN = pattern(r"\w[=|&~^*(\[{<]+\w|->|=>|[$~#@\\%]\w|\d%|^-\d|\w\+\+|^--?\w")
_NOT_PLAIN = pattern(r"[^\w\s]|[^\W\d]\d|\d[^\W\d]")
_ERROR_CODE = pattern(r"[A-Z]{5,}")  # ENOENT, SIGSEGV; shorter ones are mostly GPU and the like
# Compiling what knows the scripts without spaces takes 5 ms: a text of ASCII needs none of it.
_UNSPACED_RUN = f"[{UNSPACED}]+"
_TOKEN = rf"[{UNSPACED}]+|[^\W{UNSPACED}][^\s{UNSPACED}]*"
_TOKEN_ASCII = pattern(r"\w\S*")
_ENDING = pattern(r"['’](?:s|ll|re|ve|d|m)?$", re.IGNORECASE)
_PARTICLES = pattern("[的了吗呢吧啊么怎什哪谁是请]+")
_CLAUSE = pattern("[，。、；：？！…]")


def needles(query: str, rarity: Callable[[str], float] | None = None) -> list[str]:
    """Return the strings to look for. ``rarity`` maps an index term to its document frequency (lower: rarer)."""
    # A lone surrogate can't be written to any file, nor a line break stand within a line.
    lines = [line for line in re.split(r"[\r\n\x00]+|[\ud800-\udfff]+", query) if line.strip()]
    quoted, rest = _quotations("\n".join(lines))
    found = quoted + _names(rest)
    if not found:
        found = (_acronyms(rest) + _words(rest, rarity))[:_MAX_WORDS]
    if not found:
        found = [line.strip() for line in lines]
    unique = {fold(needle): needle for needle in reversed(found) if _useful(needle)}
    return list(reversed(unique.values()))[:MAX_NEEDLES]


def quoted(query: str) -> list[str]:
    """The strings that the query puts in quotation marks: what the user wants to the letter."""
    return [text for text in _quotations(query)[0] if _useful(text)]


def _useful(needle: str) -> bool:
    """A single letter or sign is on every line; a single character of Chinese is not."""
    return 0 < len(needle) <= _MAX_LENGTH and (len(needle) > 1 or _has_unspaced(needle))


def _quotations(query: str) -> tuple[list[str], str]:
    found = [next(group for group in match.groups() if group).strip() for match in _QUOTED.finditer(query)]
    return [text for text in found if text], _QUOTED.sub(" ", query)


def _names(text: str) -> list[str]:
    tokens = text.split()
    if len(tokens) == 1:
        whole = tokens[0].rstrip(_SENTENCE)
        mixed = not whole.isascii() and compiled(_UNSPACED_RUN).sub("", whole) not in ("", whole)
        plain = _CLAUSE.search(whole) or not (_NOT_PLAIN.search(whole) or mixed)
        if not plain and not (mixed and (len(whole) > _SHORT or _PARTICLES.search(whole))):
            # Typed alone, brackets and signs are meant: [wip], {k}, NEAR(miss, GPU加速.
            return [whole, *filter(_is_name, _latin(whole))] if mixed else [whole]
    shouted = _is_shouted(text)
    cores = (core for token in tokens for core in _latin(_without_frame(token)))
    return [core for core in cores if _is_name(core) or (_ERROR_CODE.fullmatch(core) and not shouted)]


def _is_name(core: str) -> bool:
    return _SIGN.search(core) is not None or any(map(cut.is_name, cut.chunks(prepare(core))))


def _latin(token: str) -> list[str]:
    """What is glued to Chinese, or the token itself where there is none: ``用PyTorch复现`` -> ``PyTorch``."""
    if not _has_unspaced(token):
        return [token]
    return [piece for piece in map(_without_frame, compiled(_UNSPACED_RUN).split(token)) if len(piece) > 1]


def _is_shouted(text: str) -> bool:
    return text.upper() == text and not _has_unspaced(text)


def _has_unspaced(text: str) -> bool:
    return not text.isascii() and compiled(_UNSPACED_RUN).search(text) is not None


def _acronyms(text: str) -> list[str]:
    """Words in capitals among small letters or Chinese: ``ENOENT``, ``GPU``; not those shouted."""
    if _is_shouted(text):
        return []
    words = (core for token in text.split() for core in _latin(_without_frame(token)))
    return [word for word in words if word.isupper() and word.isalnum() and fold(word) not in STOP_WORDS]


def _without_frame(token: str) -> str:
    """Strip the punctuation of a sentence, but no bracket whose partner is inside: ``(f(x)),`` -> ``f(x)``."""
    while token:
        last, first = token[-1], token[0]
        if last in _SENTENCE or (last in _CLOSING and not _paired(token, last)):
            token = token[:-1]
        elif first in _OPENING and not _paired(token, first):
            token = token[1:]
        elif first in _OPENING and last == _CLOSING[_OPENING.index(first)]:
            token = token[1:-1]
        elif first in _SENTENCE and first != "." and len(token) > 1:
            token = token[1:]
        else:
            return token
    return token


def _paired(token: str, mark: str) -> bool:
    pairs = dict(zip(_OPENING, _CLOSING, strict=True))
    if mark in pairs and pairs[mark] == mark:
        return token.count(mark) % 2 == 0
    opening = mark if mark in pairs else _OPENING[_CLOSING.index(mark)]
    return token.count(opening) == token.count(pairs[opening])


def _words(text: str, rarity: Callable[[str], float] | None) -> list[str]:
    """Return the rarest words in order of rarity; without ``rarity`` the longest first."""
    ranked: list[tuple[float, int, int, str]] = []
    for place, match in enumerate((_TOKEN_ASCII if text.isascii() else compiled(_TOKEN)).finditer(text)):
        token = _without_frame(match[0])
        if not token.isascii() and compiled(_UNSPACED_RUN).match(token):
            for run in filter(None, _PARTICLES.split(token)):
                if len(run) > 1 or token == text.strip():
                    ranked += _run(run, place, rarity)
            continue
        token = _ENDING.sub("", token)
        if len(token) < 2 or cut.is_little(fold(cut.without_endings(prepare(token)))):
            continue
        terms = [term for kind, term in _pieces(token) if kind == cut.WORD]
        ranked.append((min(map(rarity, terms), default=0.0) if rarity else 0.0, -len(token), place, token))
    return [needle for *_, needle in sorted(ranked)[:_MAX_WORDS]]


def _pieces(token: str) -> list[cut.Piece]:
    return [piece for chunk in cut.chunks(prepare(token)) for piece in cut.word_pieces(chunk)]


def _run(run: str, place: int, rarity: Callable[[str], float] | None) -> list[tuple[float, int, int, str]]:
    """A run of Chinese as a whole, as rare as its rarest pair; of a long one, also the rarest pairs that occur."""
    if rarity is None:
        return [(0.0, -len(run), place, run)]
    pairs = {pair: rarity(fold(pair)) for pair in (run[i : i + 2] for i in range(len(run) - 1))} or {run: rarity(run)}
    ranked = [(min(pairs.values()), -len(run), place, run)]
    if len(run) > _LONG_RUN:
        ranked += sorted((df, -2, place, pair) for pair, df in pairs.items() if df > 0)[: _MAX_WORDS - 1]
    return ranked
