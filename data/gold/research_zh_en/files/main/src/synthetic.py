"""Synthetic demand that may leave the building: same daily, weekly and yearly shape, none of the true values."""

from __future__ import annotations

import numpy as np
import pandas as pd


def shape(load: pd.Series, harmonics: int = 6) -> dict[str, np.ndarray]:
    """Fourier coefficients of the mean day, week and year. Nothing finer than a month of averaging."""
    out = {}
    for name, period in (("day", 96), ("week", 672), ("year", 35064)):
        phase = 2 * np.pi * np.arange(len(load)) / period
        basis = [f(k * phase) for k in range(1, harmonics + 1) for f in (np.sin, np.cos)]
        out[name] = np.linalg.lstsq(np.stack(basis, 1), (load / load.max()).to_numpy(), rcond=None)[0]
    return out


def draw(shapes: dict[str, np.ndarray], steps: int, noise: float, seed: int) -> np.ndarray:
    """A series from the shapes with AR(1) noise; the noise of another seed is independent."""
    rng = np.random.default_rng(seed)
    series = np.full(steps, 0.6)
    for name, period in (("day", 96), ("week", 672), ("year", 35064)):
        phase = 2 * np.pi * np.arange(steps) / period
        coefficients = shapes[name]
        basis = [f(k * phase) for k in range(1, len(coefficients) // 2 + 1) for f in (np.sin, np.cos)]
        series += np.stack(basis, 1) @ coefficients
    error = np.zeros(steps)
    for step in range(1, steps):
        error[step] = 0.97 * error[step - 1] + noise * rng.standard_normal()
    return np.clip(series + error, 0.05, None)


def membership_auc(real: np.ndarray, held_out: np.ndarray, synthetic: np.ndarray) -> float:
    """Can an attacker tell which days were used? 0.5 is chance; release only below 0.55."""
    def nearest(days: np.ndarray) -> np.ndarray:
        return np.sqrt(((days[:, None] - synthetic[None]) ** 2).mean(-1)).min(1)

    inside, outside = nearest(real), nearest(held_out)
    return float((inside[:, None] < outside[None]).mean())
