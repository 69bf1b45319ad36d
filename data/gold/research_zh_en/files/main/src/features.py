"""Feature table v7: one row for each zone and quarter-hour, nothing in it younger than the issue time."""

from __future__ import annotations

import numpy as np
import pandas as pd

LAGS = (96, 672, 1344)
HEAT_TAU_DAYS = 2.3


class FutureLeak(ValueError):
    """A column holds observations from after the issue time."""


def heat_memory(temperature: pd.Series, tau_days: float = HEAT_TAU_DAYS) -> pd.Series:
    """Exponentially weighted temperature; buildings answer to the last days, not to the last hour."""
    steps = tau_days * 96
    return temperature.ewm(halflife=steps * np.log(2), adjust=False).mean()


def lagged(load: pd.Series, valid: pd.Series) -> pd.DataFrame:
    """Lags with a flag each: a filled value must not pass for a measured one a week later (b016)."""
    out = {}
    for lag in LAGS:
        out[f"lag_{lag}"] = load.shift(lag)
        out[f"valid_{lag}"] = valid.shift(lag, fill_value=False)
    return pd.DataFrame(out)


def check_no_future(frame: pd.DataFrame, issue: pd.Timestamp) -> None:
    """Observed columns (``ob_``) must be empty after the issue time; forecasts (``fc_``) may go on."""
    late = frame.loc[frame.index > issue, [c for c in frame.columns if c.startswith("ob_")]]
    if late.notna().any(axis=None):
        bad = [c for c in late.columns if late[c].notna().any()]
        raise FutureLeak(f"observed after {issue}: {', '.join(bad)}")


def join_weather(rows: pd.DataFrame, weather: pd.DataFrame) -> pd.DataFrame:
    """One weather row for each step. Duplicated valid times made 4e8 rows of 1e6 once (b029)."""
    weather = weather.drop_duplicates(["point", "valid_time", "cycle"], keep="last").astype("float32", errors="ignore")
    return rows.merge(weather, on=["point", "valid_time"], how="left", validate="many_to_one")
