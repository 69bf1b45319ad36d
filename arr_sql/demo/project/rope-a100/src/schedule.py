"""Learning-rate schedule: linear warm-up, then a cosine down to a floor."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Steps are optimizer steps, counted from 0."""

    peak_lr: float
    min_lr: float
    warmup_steps: int
    total_steps: int

    def lr(self, step: int) -> float:
        """Return the learning rate of one step; past the end it stays at the floor."""
        if step < self.warmup_steps:
            return self.peak_lr * (step + 1) / self.warmup_steps
        done = (step - self.warmup_steps) / max(1, self.total_steps - self.warmup_steps)
        cosine = 0.5 * (1.0 + math.cos(math.pi * min(1.0, done)))
        return self.min_lr + (self.peak_lr - self.min_lr) * cosine
