"""Which weather cycle had arrived at the issue time, and its columns with the prefix ``fc_``."""

from __future__ import annotations

import datetime as dt

import pandas as pd

LATE = dt.timedelta(minutes=40)


class CycleMissing(RuntimeError):
    """HRN-E101."""


def usable_cycle(arrivals: pd.DataFrame, issue: dt.datetime, preferred_hour: int = 12) -> tuple[pd.Timestamp, float]:
    """The cycle to use and the factor by which quantiles are widened (1.0, or 1.15 for an older cycle)."""
    there = arrivals[arrivals["arrived"] <= issue - LATE]
    if there.empty:
        raise CycleMissing("HRN-E101 no weather cycle has arrived")
    preferred = there[there["cycle"].dt.hour == preferred_hour]
    newest = preferred["cycle"].max() if not preferred.empty else pd.NaT
    if pd.notna(newest) and issue - newest < dt.timedelta(hours=30):
        return newest, 1.0
    return there["cycle"].max(), 1.15


def forecast_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Rename so that a forecast can never be taken for an observation (b017)."""
    return frame.rename(columns={c: f"fc_{c}" for c in ("t2m", "rh2m", "ws100", "ssrd")})
