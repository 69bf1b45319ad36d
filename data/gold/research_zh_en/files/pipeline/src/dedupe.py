"""Two rows for one quarter-hour: the later file wins, and both are kept in quarantine."""

from __future__ import annotations

import pandas as pd


def drop_repeated(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the table without repeats and the rows that lost. HRN-E207 is logged for each meter."""
    frame = frame.sort_values(["meter", "time", "file_number"])
    lost = frame[frame.duplicated(["meter", "time"], keep="last")]
    return frame.drop_duplicates(["meter", "time"], keep="last"), lost


def to_grid(frame: pd.DataFrame, grid: pd.DatetimeIndex) -> pd.DataFrame:
    """One row for each quarter-hour, empty where nothing came."""
    return frame.set_index("time").reindex(grid)


def fill_short(values: pd.Series, max_steps: int = 4) -> pd.Series:
    """Straight line over gaps of at most one hour."""
    run = values.isna().groupby(values.notna().cumsum()).transform("sum")
    return values.where(values.notna() | (run > max_steps), values.interpolate())
