"""Put retrieved passages and their target into one row, with a block mask.

Layout of a row: ``passage 1 <|src|> passage 2 <|src|> ... target``. A marker closes its passage and
belongs to it. Passages see only themselves, the target sees everything before it, and only target
positions carry loss.
"""

from dataclasses import dataclass

import numpy as np

TARGET = 0  # segment number of the target; passages count from 1


class EmptyRowError(ValueError):
    """An attention row has no visible key (DATA_ERR_6001)."""


@dataclass(frozen=True)
class Row:
    ids: np.ndarray       # int32, length = context
    segments: np.ndarray  # int32, -1 for padding
    loss_mask: np.ndarray  # bool


def pack_passages(target, passages, *, context, src_id, gap_id=None, passage_tokens=512, min_tokens=8, order="asc"):
    """Build one row.

    ``passages`` arrive best first. Those with fewer than ``min_tokens`` tokens are dropped *before*
    segments are numbered: an empty one cost us r17.
    """
    usable = [p for p in passages if len(p) >= min_tokens]
    if order == "asc":
        usable = usable[::-1]
    elif order == "ends":
        usable = usable[0::2] + usable[1::2][::-1]
    elif order != "desc":
        raise ValueError(f"order must be asc, desc or ends, not {order!r}")

    ids, segments = [], []
    for number, passage in enumerate(usable, start=1):
        piece = list(passage[:passage_tokens])
        if gap_id is not None and len(passage) > passage_tokens:
            piece[-1] = gap_id
        ids += [*piece, src_id]
        segments += [number] * (len(piece) + 1)
    room = context - len(ids)
    if room < 1:
        raise ValueError(f"{len(usable)} passages leave no room for the target in {context} positions")
    body = list(target[:room])
    ids += body
    segments += [TARGET] * len(body)

    pad = context - len(ids)
    segment_array = np.array(segments + [-1] * pad, dtype=np.int32)
    return Row(np.array(ids + [0] * pad, dtype=np.int32), segment_array, segment_array == TARGET)


def block_mask(segments):
    """Return a boolean matrix: may row position i look at position j?"""
    causal = np.tril(np.ones((len(segments), len(segments)), dtype=bool))
    same = segments[:, None] == segments[None, :]
    from_target = (segments == TARGET)[:, None]
    real = segments >= 0
    return causal & (same | from_target) & real[:, None] & real[None, :]


def check_mask(mask, segments, document):
    """Refuse a row in which some real position sees nothing; softmax would return 0/0 there."""
    blind = ~mask.any(axis=1) & (segments >= 0)
    if blind.any():
        raise EmptyRowError(f"no visible key at position {int(blind.argmax())} of document {document}")
