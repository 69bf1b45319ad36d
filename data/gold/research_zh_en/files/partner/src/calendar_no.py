"""Norwegian calendar: moving feasts by distance to Easter."""

from __future__ import annotations

import datetime as dt


def easter(year: int) -> dt.date:
    """Gregorian Easter Sunday by the anonymous algorithm."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return dt.date(year, month, day + 1)


def days_to_easter(day: dt.date, clip: int = 10) -> int:
    """Signed distance, clipped to ten days."""
    return max(-clip, min(clip, (day - easter(day.year)).days))
