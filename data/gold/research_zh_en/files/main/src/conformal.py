"""Adaptive conformal widening, one state for each zone, updated once a day."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class ZoneState:
    """Miscoverage level and the last days' scores."""

    alpha: float = 0.10
    scores: list[np.ndarray] = field(default_factory=list)


def margin(state: ZoneState, window_days: int = 60, min_days: int = 30) -> float | None:
    """Score quantile at 1 - alpha over the window; None (HRN-W033, static widening) with too few days."""
    recent = state.scores[-window_days:]
    if len(recent) < min_days:
        return None
    return float(np.quantile(np.concatenate(recent), 1 - state.alpha))


def update(state: ZoneState, missed: np.ndarray, scores: np.ndarray, gamma: float = 0.02) -> None:
    """A day's 96 outcomes arrive together: one step with the mean, bounded to 0.01..0.35."""
    target = 0.10
    state.alpha = float(np.clip(state.alpha + gamma * (target - missed.mean()), 0.01, 0.35))
    state.scores.append(scores)
