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
    """Are they texts and numbers of a kind that JSON can always hold?"""
    for value in values:  # noqa: SIM110  a loop takes half the time
        if not (type(value) is str or value is None or (type(value) is int and -_WIDE < value < _WIDE)):
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
    names = hit.chunk_id, hit.source_ref, hit.locator
    if not (_are_texts(names) and _are_texts((hit.content, hit.content_hash, hit.heading, hit.created_at))):
        return ReasonCode.WRONG_TYPE
    if not all(map(_is_storable, names)) or not _is_plain(hit.metadata):
        return ReasonCode.WRONG_TYPE
    if hit.file is not None and type(hit.file) is not FileRef:
        return ReasonCode.WRONG_TYPE
    if hit.scope is not scope and (type(hit.scope) is not ScopeKey or hit.scope.values() != scope.values()):
        return ReasonCode.WRONG_SCOPE
    if not _is_finite(hit.score):
        return ReasonCode.BAD_SCORE
    return None if _is_hash_of(hit.content_hash, hit.content) else ReasonCode.CONFLICTING_ITEM


_hashed: dict[str, str] = {}
_MOST_HASHED = 4_096


def _is_hash_of(content_hash: str, content: str) -> bool:
    """Hashing 200 texts takes a millisecond, so what was hashed is known again: the very same object, which can't change."""
    if _hashed.get(content_hash) is content:
        return True
    is_true = sha256_text(content) == content_hash
    if is_true and len(content) <= _MOST_HASHED:
        if len(_hashed) >= _MOST_HASHED:
            _hashed.clear()
        _hashed[content_hash] = content
    return is_true


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
