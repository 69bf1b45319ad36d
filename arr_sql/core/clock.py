"""Time as the store writes it: UTC, fixed width, ending in ``Z``, so that text order is time order.

Every function that depends on the time takes ``now`` from its caller; only :func:`utc_now` reads the clock.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from arr_sql.errors import InputError

TIME_GLOB = (
    "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z"
)


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
        raise InputError(
            f"The time {moment.isoformat()} is outside the years 1 to 9999 in UTC. Name another one."
        ) from None


_AGO = re.compile(r"(\d{1,5})\s*(minute|min|hour|day|week|m|h|d|w)s?(?:\s+ago)?")
_UNITS = {"minute": "minutes", "min": "minutes", "m": "minutes", "hour": "hours", "h": "hours", "day": "days", "d": "days",
          "week": "weeks", "w": "weeks"}  # fmt: skip


def since_text(text: str, now: datetime) -> datetime:
    """The moment that ``--since`` means: a time with a zone, a date, ``today``, ``yesterday``, or ``90m``, ``36h``, ``7d``, ``2w``.

    Days are days in UTC, so the answer is the same in every time zone: a date means its 00:00 in UTC. Raises InputError
    for anything else, a wall-clock time without a zone included.
    """
    given = text.strip().lower()
    today = _in_utc(now).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if given in ("today", "yesterday"):
            return today - timedelta(days=1 if given == "yesterday" else 0)
        if ago := _AGO.fullmatch(given):
            return _in_utc(now) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        if re.fullmatch(r"\d{4}-\d\d-\d\d", given):
            return datetime.fromisoformat(given).replace(tzinfo=timezone.utc)
    except (OverflowError, ValueError):
        raise InputError(f"{text!r} is no moment of the calendar. Write it like 2026-03-10.") from None
    try:
        return from_text(text)
    except InputError as error:
        raise InputError(f"{error} Or like 2026-03-10, today, yesterday, 36h, 7d, 2w.") from None
