"""Time as the store writes it: UTC, fixed width, ending in ``Z``, so that text order is time order.

Every function that depends on the time takes ``now`` from its caller; only :func:`utc_now` reads the clock.
"""

from __future__ import annotations

from datetime import datetime, timezone

from arr_sql.errors import InputError

TIME_GLOB = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z"


def utc_now() -> datetime:
    """The present moment as an aware datetime in UTC."""
    return datetime.now(timezone.utc)


def to_text(moment: datetime) -> str:
    """``2026-03-10T23:15:00.000000Z`` for an aware datetime of any zone.

    Raises InputError for a naive datetime: a missing zone is refused, not guessed.
    """
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise InputError(f"The time {moment.isoformat()} has no time zone. Add one, for example a trailing Z for UTC.")
    # Not strftime: its %Y has fewer than four digits before the year 1000 on some systems.
    return _in_utc(moment).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def from_text(text: str) -> datetime:
    """An aware datetime from ISO 8601 text with an offset or ``Z``.

    Raises InputError when the text is no time or has no zone. A date alone has no zone and is refused too.
    """
    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace("z", "+00:00"))
    except ValueError:
        raise InputError(f"{text!r} is not an ISO 8601 time. Write it like 2026-03-10T23:15:00Z.") from None
    if moment.tzinfo is None:
        raise InputError(f"The time {text!r} has no time zone. Add one, for example a trailing Z for UTC.")
    return _in_utc(moment)


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(timezone.utc)
    except OverflowError:
        raise InputError(f"The time {moment.isoformat()} is outside the years 1 to 9999 in UTC. Name another one.") from None
