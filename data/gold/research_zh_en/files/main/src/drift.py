"""The refit trigger of decision 0009."""

from __future__ import annotations

import numpy as np


def refit_due(daily_pinball: np.ndarray, days: int = 5, window: int = 60, level: float = 0.95) -> bool:
    """True when each of the last ``days`` lies above the ``level`` quantile of the ``window`` days before them."""
    if len(daily_pinball) < days + window:
        return False
    recent, before = daily_pinball[-days:], daily_pinball[-days - window : -days]
    return bool((recent > np.quantile(before, level)).all())
