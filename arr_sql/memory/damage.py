"""What `arr audit verify` finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Damage:
    """One thing that does not verify. ``seq`` is the event, None when the row has no event."""

    kind: str
    seq: int | None
    subject: str
