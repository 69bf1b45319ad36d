"""Rolling-origin backtest: refit at the start of each month, issue every day at 09:30, score at the end."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator


class SplitsOverlap(ValueError):
    """Validation and test share a step (b031)."""


def check_splits(train_until: dt.date, val_until: dt.date, test_until: dt.date) -> None:
    """Dates in strict order."""
    if not train_until < val_until < test_until:
        raise SplitsOverlap(f"{train_until} < {val_until} < {test_until} does not hold")


def origins(first: dt.date, last: dt.date) -> Iterator[dt.datetime]:
    """The issue times, one a day, local clock."""
    day = first
    while day <= last:
        yield dt.datetime.combine(day - dt.timedelta(days=1), dt.time(9, 30))
        day += dt.timedelta(days=1)


def refit_months(first: dt.date, last: dt.date) -> list[dt.date]:
    """First Mondays (decision 0009)."""
    out = []
    month = first.replace(day=1)
    while month <= last:
        out.append(month + dt.timedelta(days=(7 - month.weekday()) % 7))
        month = (month + dt.timedelta(days=32)).replace(day=1)
    return out


def model_for(zone: str, rows: int, min_rows: int = 5000) -> str:
    """Young zones take their region's model (b033)."""
    return "zone" if rows >= min_rows else "region"
