"""Shuffling everything after the issue time must not change a single feature."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from heron.features import FutureLeak, check_no_future


def table(seed: int) -> pd.DataFrame:
    index = pd.date_range("2024-06-01", periods=192, freq="15min", tz="UTC")
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"ob_t2m": rng.normal(25, 3, 192), "fc_t2m": rng.normal(25, 3, 192)}, index=index)


def test_observed_after_issue_is_refused() -> None:
    frame = table(1)
    with pytest.raises(FutureLeak, match="ob_t2m"):
        check_no_future(frame, frame.index[40])


def test_forecast_after_issue_is_allowed() -> None:
    frame = table(2)
    frame.loc[frame.index > frame.index[40], "ob_t2m"] = np.nan
    check_no_future(frame, frame.index[40])
