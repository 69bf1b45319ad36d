"""Train one stage. Started by scripts/launch.sh through torchrun."""

import argparse
import math
import time
from collections import deque
from pathlib import Path

import torch
import torch.distributed as dist

from schedule import Schedule

COPY_RATE_LIMIT = 0.15
COPY_RATE_STEPS = 500


class CopyGuard:
    """Stop a run whose targets can be copied from their passages (DATA_ERR_6004, learnt from r18)."""

    def __init__(self, limit: float = COPY_RATE_LIMIT, steps: int = COPY_RATE_STEPS, every: int = 100):
        self.limit = limit
        self.recent: deque[float] = deque(maxlen=steps // every)

    def add(self, rate: float) -> bool:
        """Record one reading; True means every reading of the last 500 steps was too high."""
        self.recent.append(rate)
        return len(self.recent) == self.recent.maxlen and min(self.recent) > self.limit


def train_step(model, batch, optimizer, clip_norm: float) -> tuple[float, float]:
    """Run one step and return the loss and the gradient norm before clipping.

    Only target positions carry loss; the mean is over the targets of all ranks, since ranks differ
    in how many passages their rows got.
    """
    optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(2, device=batch.ids.device)
    summed, count = model.loss_sum(batch.ids, batch.mask, batch.loss_mask)
    total[0], total[1] = summed.detach(), count
    dist.all_reduce(total)
    (summed * dist.get_world_size() / total[1]).backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
    loss = float(total[0] / total[1])
    if not math.isfinite(loss):
        raise FloatingPointError(f"loss is {loss} (rank {dist.get_rank()}, documents {batch.documents[:4]})")
    optimizer.step()
    return loss, float(norm)


def run(model, batches, optimizer, schedule: Schedule, *, start: int, steps: int, clip_norm: float, log) -> int:
    """Train ``steps`` steps from ``start`` and return the step after the last one."""
    guard = CopyGuard()
    for step in range(start, start + steps):
        began = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = schedule.lr(step)
        batch = next(batches)
        loss, norm = train_step(model, batch, optimizer, clip_norm)
        if step % 100 == 0 and guard.add(batch.copy_rate):
            raise RuntimeError(f"DATA_ERR_6004: copy rate {batch.copy_rate:.2f} at step {step}")
        log(step=step, loss=loss, grad_norm=norm, lr=schedule.lr(step), seconds=time.perf_counter() - began)
    return start + steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--run", required=True, help="run name, e.g. r26")
    parser.add_argument("--resume", type=Path, help="checkpoint folder to go on from")
    arguments = parser.parse_args()
    from assemble import build  # kept out of this file: it knows every option

    build(arguments).train(run)


if __name__ == "__main__":
    main()
