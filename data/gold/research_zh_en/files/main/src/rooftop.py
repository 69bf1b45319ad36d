"""Capacity of panels that no meter sees, from the net load on clear days."""

from __future__ import annotations

import numpy as np
import pandas as pd

REFERENCE_PLANTS = ("S04", "S11", "S17")
CLEAR_SKY_INDEX = 0.85
SNOW_DAYS_AFTER = 3


def clear_days(proxy: pd.Series, clear_sky: pd.Series, snow: pd.Series) -> pd.DatetimeIndex:
    """Days whose proxy reaches 85 % of the clear sky, without the three days after snowfall."""
    daily = proxy.resample("1D").sum() / clear_sky.resample("1D").sum()
    snowy = snow.resample("1D").max().rolling(SNOW_DAYS_AFTER + 1).max().fillna(0) > 0
    return daily.index[(daily > CLEAR_SKY_INDEX) & ~snowy]


def monthly_slope(net: pd.Series, expected: pd.Series, proxy: pd.Series, days: pd.DatetimeIndex) -> pd.Series:
    """Least squares of the missing demand on the proxy, month by month: MW for each unit of proxy."""
    keep = net.index.normalize().isin(days)
    missing, sun = (expected - net)[keep], proxy[keep]
    return (missing * sun).resample("MS").sum() / (sun**2).resample("MS").sum()


def isotonic(values: np.ndarray) -> np.ndarray:
    """Pool adjacent violators: panels are rarely taken down."""
    level, weight = [], []
    for value in values:
        level.append(float(value))
        weight.append(1)
        while len(level) > 1 and level[-2] > level[-1]:
            top, count = level.pop(), weight.pop()
            level[-1] = (level[-1] * weight[-1] + top * count) / (weight[-1] + count)
            weight[-1] += count
    return np.repeat(level, weight)
