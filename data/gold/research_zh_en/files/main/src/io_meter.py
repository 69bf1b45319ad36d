"""The door: everything that comes in becomes UTC, labelled by the end of the quarter-hour, with a validity flag."""

from __future__ import annotations

import numpy as np
import pandas as pd

MAX_LINE_STEPS = 8
MAX_WEEKDAY_STEPS = 96


class ClocksDisagree(RuntimeError):
    """HRN-E207: best lag against the sun-elevation curve is not zero."""


def to_utc_end(series: pd.Series, clock: str, label: str) -> pd.Series:
    """``clock`` is 'utc' or 'cst'; ``label`` is 'start' or 'end' of the quarter-hour."""
    index = series.index.tz_localize("Asia/Shanghai" if clock == "cst" else "UTC").tz_convert("UTC")
    if label == "start":
        index = index + pd.Timedelta(minutes=15)
    return series.set_axis(index)


def best_lag(series: pd.Series, sun: pd.Series, reach: int = 40) -> int:
    """Steps by which the series leads or trails the sun."""
    lags = range(-reach, reach + 1)
    return max(lags, key=lambda lag: np.corrcoef(series.shift(lag).fillna(0), sun)[0, 1])


def fill_gaps(load: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Straight line up to two hours, weekday mean up to a day, nothing beyond. Returns values and validity."""
    valid = load.notna()
    run = (~valid).groupby(valid.cumsum()).transform("sum")
    filled = load.where(valid | (run > MAX_LINE_STEPS), load.interpolate("time"))
    weekday = sum(load.shift(672 * w) for w in range(1, 5)) / 4
    filled = filled.where(filled.notna() | (run > MAX_WEEKDAY_STEPS), weekday)
    return filled, valid | (run <= MAX_LINE_STEPS)
