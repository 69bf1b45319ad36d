"""A sieve for one file: a few bits that say for certain that a text does not occur in it. Pure.

Promise: where :func:`may_hold` says no, no line of the text matches, folded or as it is written. It may say yes of a text
that holds nothing. ``tests/core/test_line_sieve.py`` holds it as a property.

A text is taken apart into its *grams*: four characters in a row without white space, and of Chinese, Japanese and Korean
(from U+2E80 on) two. A gram sets one bit, at its CRC-32 modulo the number of bits; a needle can only occur where the bits
of all its grams are set (a Bloom filter with one hash function: Bloom 1970).

Why four: over the standard library and site-packages (9,700 texts, 133 MB) an identifier that occurs in 50 files leaves 72
files too many at the median with three characters, and 1 with four; four cost 1.4 times as many grams. Why one function
and three bits a gram: 28 % of the bits are set, so an identifier of ten letters passes by chance in 0.28^7 = 0.01 % of the
files; more functions would help short needles little and cost the same bits again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from zlib import crc32

from arr_sql.core.later import pattern
from arr_sql.core.line_fold import fold

LETTERS = 4
BITS_PER_GRAM = 3
MAX_GRAMS = 400_000
"""A text of more different grams (a large file of random letters) gets no sieve: it would cost as much as it saves."""

_WIDE = "\u2e80"
_NARROW_RUN = pattern(f"[^{_WIDE}-\U0010ffff]{{{LETTERS},}}")
_PIECE = 1 << 16
_MAX_KEPT = 1 << 20
_hashes: dict[str, int] = {}  # gram to CRC-32; texts repeat their grams


def make_sieve(text: str) -> bytes | None:
    """The sieve of a decoded file; empty where the text has no gram at all, None where it has too many."""
    # A line is compared folded, or as it was written: NFKC can make of neighbours what neither was, so the grams of
    # both forms count. Case folding alone works letter by letter, and so keeps a part a part.
    tokens = set(fold(text).split())
    if not text.isascii():
        tokens.update(text.casefold().split())
    found: set[str] = set()
    for token in tokens:
        _add_grams(token, found)
        if len(found) > MAX_GRAMS:
            return None
    size = -(-len(found) * BITS_PER_GRAM // 8)
    bits = bytearray(size)
    for gram in found:
        place = _hash(gram) % (8 * size)
        bits[place >> 3] |= 1 << (place & 7)
    return bytes(bits)


def needle_hashes(needle: str, *, exact: bool) -> tuple[int, ...]:
    """What :func:`may_hold` asks for: the hashes of a needle's grams. Empty where it has none, so that no sieve can tell."""
    found: set[str] = set()
    for token in (needle.casefold() if exact else fold(needle)).split():
        _add_grams(token, found)
    return tuple(sorted(crc32(gram.encode("utf-8", "surrogatepass")) for gram in found))


def may_hold(sieve: bytes, start: int, end: int, wanted: Iterable[Sequence[int]]) -> bool:
    """Can the text of the sieve in ``sieve[start:end]`` hold one of the needles? Each is a row of hashes, and has some."""
    size = 8 * (end - start)
    if not size:
        return False
    for hashes in wanted:
        for value in hashes:
            place = value % size
            if not sieve[start + (place >> 3)] >> (place & 7) & 1:
                break
        else:
            return True
    return False


def which_may_hold(sieves: bytes, places: Iterable[tuple[int, int, int]], wanted: Sequence[Sequence[int]]) -> list[int]:
    """The numbers among ``places`` for which :func:`may_hold` says yes. A place is a number, and where a sieve begins and
    ends.

    Nearly all say no to the first hash of a single needle: that one is asked here, in a third of the time of a call.
    """
    if len(wanted) != 1:
        return [number for number, start, end in places if may_hold(sieves, start, end, wanted)]
    first = wanted[0][0]
    return [
        number
        for number, start, end in places
        if start < end
        and sieves[start + ((bit := first % (8 * (end - start))) >> 3)] >> (bit & 7) & 1
        and may_hold(sieves, start, end, wanted)
    ]


def _add_grams(token: str, found: set[str]) -> None:
    if token.isascii() or max(token) < _WIDE:
        _add_windows(token, LETTERS, found)
        return
    found.update(pair for pair in map("".join, pairwise(token)) if max(pair) >= _WIDE)
    for run in _NARROW_RUN.findall(token):
        _add_windows(run, LETTERS, found)


def _add_windows(run: str, length: int, found: set[str]) -> None:
    last = len(run) - length + 1
    for start in range(0, last, _PIECE):  # a line of eight million letters is one run
        found.update([run[place : place + length] for place in range(start, min(last, start + _PIECE))])
        if len(found) > MAX_GRAMS:
            return


def _hash(gram: str) -> int:
    value = _hashes.get(gram)
    if value is None:
        if len(_hashes) >= _MAX_KEPT:
            _hashes.clear()
        value = _hashes[gram] = crc32(gram.encode("utf-8", "surrogatepass"))
    return value
