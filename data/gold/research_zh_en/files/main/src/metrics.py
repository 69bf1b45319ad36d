"""Scores. Each is a function of plain arrays; no score drops a step in silence."""

from __future__ import annotations

import numpy as np


def mape(actual: np.ndarray, median: np.ndarray) -> float:
    """Percent. Only for load, which is never near zero."""
    return float(100 * np.mean(np.abs(actual - median) / actual))


def nmae(actual: np.ndarray, median: np.ndarray, capacity: float, daylight: np.ndarray | None = None) -> float:
    """Percent of installed capacity; for solar only where the sun stands above five degrees."""
    keep = np.ones(len(actual), bool) if daylight is None else daylight
    return float(100 * np.mean(np.abs(actual - median)[keep]) / capacity)


def winkler(actual: np.ndarray, low: np.ndarray, high: np.ndarray, alpha: float = 0.10) -> float:
    """Width plus 2/alpha times the distance of a miss."""
    miss = np.maximum(low - actual, 0) + np.maximum(actual - high, 0)
    return float(np.mean(high - low + 2 / alpha * miss))


def diebold_mariano(first: np.ndarray, second: np.ndarray, lag: int = 7) -> float:
    """Statistic of paired daily scores with a Newey-West variance."""
    d = first - second
    n, mean = len(d), d.mean()
    variance = sum(
        (1 - abs(k) / (lag + 1)) * np.dot((d - mean)[abs(k):], (d - mean)[: n - abs(k)]) / n for k in range(-lag, lag + 1)
    )
    return float(mean / np.sqrt(variance / n))
