"""The accretion state of the high farms."""

from __future__ import annotations

import numpy as np


def accretion(temperature: np.ndarray, humidity: np.ndarray, half_life_steps: int = 24) -> np.ndarray:
    """State 0..1: grows below 0 degrees with humidity above 92 %, halves in six hours above +1 degree."""
    state, out = 0.0, np.zeros(len(temperature))
    for step, (t, rh) in enumerate(zip(temperature, humidity)):
        if t < 0.0 and rh > 92:
            state = min(1.0, state + 1 / 16)
        elif t > 1.0:
            state *= 0.5 ** (1 / half_life_steps)
        out[step] = state
    return out


def apply(quantiles: np.ndarray, state: np.ndarray, derate: float = 0.65, to_zero: int = 3) -> np.ndarray:
    """Central values times the derate, the lowest levels to zero while the state is above one half."""
    iced = state > 0.5
    result = np.where(iced[:, None], derate * quantiles, quantiles)
    result[iced, :to_zero] = 0.0
    return result
