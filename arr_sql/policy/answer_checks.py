"""What a channel hands over, looked at before it is used: is the answer what it must be, and which of its hits are?

A channel may be foreign code. Nothing of it is called, nothing that it could still change is kept, and each refused hit is
counted with a reason (tests/policy/test_retrieval_router.py).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, get_args

from arr_sql.core.canonical import canonical_json, sha256_text
from arr_sql.core.research_models import ScopeKey
from arr_sql.core.router_models import ChannelState, ReasonCode
from arr_sql.retrieval.catalog import ChannelAnswer, FileRef, Hit

CHANNEL_STATES = frozenset(get_args(ChannelState))
_WIDE = 1 << 63


def is_well_formed(answer: Any) -> bool:
    """Is it a ChannelAnswer (no subclass, which could do anything when looked at) whose fields are what they must be?"""
    return (
        type(answer) is ChannelAnswer
        and type(answer.hits) is tuple
        and type(answer.state) is str
        and answer.state in CHANNEL_STATES
        and (answer.code is None or type(answer.code) is ReasonCode)
        and type(answer.candidate_count) is int
        and answer.candidate_count >= 0
        and _is_plain(answer.detail)
    )


def _is_plain(mapping: Any) -> bool:
    """Is it a mapping that can be written down as JSON?"""
    if type(mapping) is dict and _are_texts(mapping) and _are_atoms(mapping.values()):
        return True  # as nearly all are: writing each of 300 down to find out takes three milliseconds
    try:
        canonical_json(dict(mapping))
        return all(type(name) is str for name in mapping)
    except Exception:  # noqa: BLE001  a mapping of foreign code
        return False


def _are_atoms(values: Iterable[Any]) -> bool:
    """Are they texts and numbers of a kind that JSON can always hold, or lists of such numbers?"""
    for value in values:
        if type(value) is str or value is None or (type(value) is int and -_WIDE < value < _WIDE):
            continue
        if not (type(value) is list and _are_numbers(value)):
            return False
    return True


def _are_numbers(values: list[Any]) -> bool:
    for value in values:  # noqa: SIM110  a loop takes half the time
        if not (type(value) is int and -_WIDE < value < _WIDE):
            return False
    return True


def good_hits(hits: Iterable[Any], scope: ScopeKey, depth: int) -> tuple[tuple[Hit, ...], Counter[ReasonCode]]:
    """Hits of this scope with finite scores and true hashes, ranked anew from 1 in the channel's order."""
    good: list[Hit] = []
    refused: Counter[ReasonCode] = Counter()
    for hit in hits:
        code = _hit_fault(hit, scope) if len(good) < depth else ReasonCode.WRONG_TYPE
        if code is None:
            good.append(hit.at(len(good) + 1, float(hit.score)))  # our own: its channel can't change it any more
        else:
            refused[code] += 1
    return tuple(good), refused


def _hit_fault(hit: Any, scope: ScopeKey) -> ReasonCode | None:
    if type(hit) is not Hit:
        return ReasonCode.WRONG_TYPE
    texts = hit.chunk_id, hit.source_ref, hit.locator, hit.content, hit.content_hash, hit.heading, hit.created_at
    is_known = type(hit.chunk_id) is str and _are_same(_known.get(hit.chunk_id), texts)
    if not is_known and not (_are_texts(texts) and all(map(_is_storable, texts[:3]))):
        return ReasonCode.WRONG_TYPE
    if not _is_plain(hit.metadata) or (hit.file is not None and type(hit.file) is not FileRef):
        return ReasonCode.WRONG_TYPE
    if hit.scope is not scope and (type(hit.scope) is not ScopeKey or hit.scope.values() != scope.values()):
        return ReasonCode.WRONG_SCOPE
    if not _is_finite(hit.score):
        return ReasonCode.BAD_SCORE
    if not is_known:
        if sha256_text(hit.content) != hit.content_hash:
            return ReasonCode.CONFLICTING_ITEM
        _know(texts)
    return None


_Texts = tuple[str, str, str, str, str, str, str]
_known: dict[str, _Texts] = {}
"""The texts of hits that were good, by chunk id. Three channels name the same chunks, and hashing 300 texts takes a
millisecond, so the very same objects, which can't change, are not looked at again."""
_MOST_KNOWN = 4_096
"""Hits, and characters of one that is kept."""


def _are_same(known: _Texts | None, texts: tuple[Any, ...]) -> bool:
    """The same objects, not equal ones. A loop would take twice the time."""
    return (
        known is not None
        and known[3] is texts[3]
        and known[4] is texts[4]
        and known[1] is texts[1]
        and known[2] is texts[2]
        and known[5] is texts[5]
        and known[6] is texts[6]
    )


def _know(texts: _Texts) -> None:
    if sum(map(len, texts)) <= _MOST_KNOWN:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[texts[0]] = texts


def _are_texts(values: Iterable[Any]) -> bool:
    """A loop, and nothing of the values is called: not even the hash of a type, which may be foreign code."""
    for value in values:  # noqa: SIM110  a loop takes half the time
        if type(value) is not str:
            return False
    return True


def _is_storable(text: str) -> bool:
    """Does it say anything, and can SQLite keep it? Half a character (an unpaired surrogate) can't be kept."""
    if text.isascii():
        return bool(text)
    try:
        return bool(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False


def _is_finite(score: Any) -> bool:
    """Is it a number, not a boolean, that a float can hold?"""
    if type(score) is float:
        return math.isfinite(score)
    try:
        return isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score)
    except OverflowError:  # an integer too large for a float
        return False
