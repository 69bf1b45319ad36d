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
    if type(mapping) is dict and all(type(name) is str and _is_atom(value) for name, value in mapping.items()):
        return True  # as nearly all are: writing each of 300 down to find out takes three milliseconds
    try:
        canonical_json(dict(mapping))
        return all(type(name) is str for name in mapping)
    except Exception:  # noqa: BLE001  a mapping of foreign code
        return False


def _is_atom(value: Any) -> bool:
    """Is it a text or a number of a kind that JSON can always hold?"""
    return type(value) is str or value is None or (type(value) is int and -_WIDE < value < _WIDE)


def good_hits(hits: Iterable[Any], scope: ScopeKey, depth: int) -> tuple[tuple[Hit, ...], Counter[ReasonCode]]:
    """Hits of this scope with finite scores and true hashes, ranked anew from 1 in the channel's order."""
    good: list[Hit] = []
    refused: Counter[ReasonCode] = Counter()
    for hit in hits:
        code = _hit_fault(hit, scope) if len(good) < depth else ReasonCode.WRONG_TYPE
        if code is None:
            good.append(_copied(hit, len(good) + 1))
        else:
            refused[code] += 1
    return tuple(good), refused


def _copied(hit: Hit, rank: int) -> Hit:
    """A hit of our own, which its channel can't change any more. (dataclasses.replace takes four times as long.)"""
    return Hit(
        hit.chunk_id, hit.scope, rank, float(hit.score), hit.source_ref, hit.locator, hit.content, hit.content_hash,
        hit.heading, hit.created_at, hit.file, hit.metadata,
    )  # fmt: skip


def _hit_fault(hit: Any, scope: ScopeKey) -> ReasonCode | None:
    if type(hit) is not Hit or not all(type(text) is str for text in _texts(hit)):
        return ReasonCode.WRONG_TYPE
    if not all(map(_is_storable, (hit.chunk_id, hit.source_ref, hit.locator))) or not _is_plain(hit.metadata):
        return ReasonCode.WRONG_TYPE
    if type(hit.file) not in (FileRef, type(None)):
        return ReasonCode.WRONG_TYPE
    if type(hit.scope) is not ScopeKey or hit.scope.values() != scope.values():
        return ReasonCode.WRONG_SCOPE
    if not _is_finite(hit.score):
        return ReasonCode.BAD_SCORE
    return None if sha256_text(hit.content) == hit.content_hash else ReasonCode.CONFLICTING_ITEM


def _texts(hit: Hit) -> tuple[Any, ...]:
    return (hit.chunk_id, hit.content, hit.content_hash, hit.source_ref, hit.locator, hit.heading, hit.created_at)


def _is_storable(text: str) -> bool:
    """Does it say anything, and can SQLite keep it? Half a character (an unpaired surrogate) can't be kept."""
    try:
        return len(text.encode("utf-8")) > 0
    except UnicodeEncodeError:
        return False


def _is_finite(score: Any) -> bool:
    """Is it a number, not a boolean, that a float can hold?"""
    try:
        return isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score)
    except OverflowError:  # an integer too large for a float
        return False
