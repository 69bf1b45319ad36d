"""Patch embedding and attention over patches of 16 quarter-hours."""

from __future__ import annotations

import torch
from torch import nn


class PatchEmbed(nn.Module):
    """Cuts the newest multiple of ``patch`` steps into patches; what is left over is the oldest part (HRN-W041)."""

    def __init__(self, inputs: int, d_model: int, patch: int = 16) -> None:
        super().__init__()
        self.patch = patch
        self.project = nn.Linear(inputs * patch, d_model)

    def forward(self, history: torch.Tensor) -> torch.Tensor:
        extra = history.shape[-1] % self.patch
        history = history[..., extra:]
        patches = history.unfold(-1, self.patch, self.patch)
        return self.project(patches.permute(0, 2, 1, 3).flatten(2))


def sorted_levels(outputs: torch.Tensor) -> torch.Tensor:
    """Free outputs in order, at inference only."""
    return outputs.sort(dim=-1).values


class Attention(nn.Module):
    """Multi-head attention over patches; the efficient kernel keeps memory linear in the number of patches."""

    def __init__(self, d_model: int = 192, heads: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, n, d))


class FutureTokens(nn.Module):
    """Tomorrow's weather and calendar, one token for four hours, appended after the history's patches."""

    def __init__(self, covariates: int, d_model: int = 192, steps: int = 16) -> None:
        super().__init__()
        self.steps = steps
        self.project = nn.Linear(covariates * steps, d_model)

    def forward(self, future: torch.Tensor) -> torch.Tensor:
        b, t, c = future.shape
        return self.project(future.reshape(b, t // self.steps, self.steps * c))
