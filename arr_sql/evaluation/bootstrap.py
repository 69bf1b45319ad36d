"""Percentile bootstrap over topics (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). Pure.

The same seed gives the same resamples, and all series of one call are resampled alike, so differences stay paired.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

SAMPLES = 1_000
SEED = 20_240_601


def intervals(
    series: Mapping[str, Sequence[float]], *, samples: int = SAMPLES, seed: int = SEED, share: float = 0.95
) -> dict[str, tuple[float, float]]:
    """For each series the interval that holds ``share`` of the resampled means. All series have the same length.

    Raises ValueError when they don't. An empty series has the interval (0, 0).
    """
    sizes = {len(values) for values in series.values()}
    if len(sizes) > 1:
        raise ValueError(f"series of different lengths: {sorted(sizes)}")
    size = sizes.pop() if sizes else 0
    if not size:
        return dict.fromkeys(series, (0.0, 0.0))
    rng, places = random.Random(seed), range(size)
    means: dict[str, list[float]] = {name: [] for name in series}
    for _ in range(samples):
        drawn = rng.choices(places, k=size)
        for name, values in series.items():
            means[name].append(sum(map(values.__getitem__, drawn)) / size)
    return {name: _middle(sorted(found), share) for name, found in means.items()}


def _middle(ordered: Sequence[float], share: float) -> tuple[float, float]:
    out = int(len(ordered) * (1 - share) / 2)
    return ordered[out], ordered[len(ordered) - 1 - out]
