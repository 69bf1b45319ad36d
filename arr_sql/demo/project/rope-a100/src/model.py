"""The Lumen decoder: RMSNorm, rotary positions, grouped-query attention, SwiGLU, tied embeddings."""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
import yaml
from torch import nn


@dataclass(frozen=True)
class Shape:
    layers: int = 24
    d_model: int = 1024
    d_ff: int = 3840
    heads: int = 16
    kv_heads: int = 4
    vocab_size: int = 64000
    rope_base: float = 10000.0

    def parameters(self) -> int:
        """Count parameters; 411,616,256 for the defaults."""
        head = self.d_model // self.heads
        attention = 2 * self.d_model * self.d_model + 2 * self.d_model * head * self.kv_heads
        layer = attention + 3 * self.d_model * self.d_ff + 2 * self.d_model
        return self.layers * layer + self.vocab_size * self.d_model + self.d_model


def rotary_angles(positions: torch.Tensor, head: int, base: float) -> torch.Tensor:
    """Angles in float32, shape (positions, head / 2). Never build this table in bfloat16."""
    inverse = base ** (-torch.arange(0, head, 2, dtype=torch.float32) / head)
    return positions.float()[:, None] * inverse[None, :]


class Attention(nn.Module):
    """Grouped-query attention under an explicit block mask."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.head = shape.d_model // shape.heads
        self.heads, self.kv_heads, self.base = shape.heads, shape.kv_heads, shape.rope_base
        self.q = nn.Linear(shape.d_model, shape.d_model, bias=False)
        self.kv = nn.Linear(shape.d_model, 2 * self.head * shape.kv_heads, bias=False)
        self.out = nn.Linear(shape.d_model, shape.d_model, bias=False)

    def forward(self, x, mask):
        rows, length, _ = x.shape
        q = self.q(x).view(rows, length, self.heads, self.head)
        k, v = self.kv(x).view(rows, length, 2 * self.kv_heads, self.head).chunk(2, dim=2)
        angles = rotary_angles(torch.arange(length, device=x.device), self.head, self.base)
        q, k = rotate(q, angles), rotate(k, angles)
        share = self.heads // self.kv_heads
        k, v = k.repeat_interleave(share, dim=2), v.repeat_interleave(share, dim=2)
        mixed = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask)
        return self.out(mixed.transpose(1, 2).reshape(rows, length, -1))


def rotate(x, angles):
    """Turn each pair of dimensions by its angle."""
    cos, sin = angles.cos()[None, :, None, :], angles.sin()[None, :, None, :]
    even, odd = x[..., 0::2].float(), x[..., 1::2].float()
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return turned.flatten(-2).type_as(x)


class Block(nn.Module):
    """Attention, then SwiGLU, each behind an RMSNorm and a residual."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.before, self.attention = nn.RMSNorm(shape.d_model), Attention(shape)
        self.between = nn.RMSNorm(shape.d_model)
        self.gate = nn.Linear(shape.d_model, shape.d_ff, bias=False)
        self.up = nn.Linear(shape.d_model, shape.d_ff, bias=False)
        self.down = nn.Linear(shape.d_ff, shape.d_model, bias=False)

    def forward(self, x, mask):
        x = x + self.attention(self.before(x), mask)
        inner = self.between(x)
        return x + self.down(F.silu(self.gate(inner)) * self.up(inner))


class Lumen(nn.Module):
    """The whole model; the embedding doubles as the output layer."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.embedding = nn.Embedding(shape.vocab_size, shape.d_model)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.d_model)

    def loss_sum(self, ids, mask, loss_mask):
        """Return the summed loss over target positions and their number."""
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, mask)
        logits = F.linear(self.norm(x), self.embedding.weight)
        wanted = loss_mask[:, 1:]
        loss = F.cross_entropy(logits[:, :-1][wanted].float(), ids[:, 1:][wanted], reduction="sum")
        return loss, wanted.sum()


def check_vocab(config: Path) -> None:
    """Fail before a run starts when a marker lies outside the embedding (r20, CUDA_ERR_5002)."""
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    rows = settings["model"]["vocab_size"]
    outside = {name: number for name, number in settings["tokenizer"]["markers"].items() if number >= rows}
    if outside:
        raise SystemExit(f"markers outside the {rows} embedding rows: {json.dumps(outside)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--check-vocab", type=Path, required=True)
    check_vocab(parser.parse_args().check_vocab)
