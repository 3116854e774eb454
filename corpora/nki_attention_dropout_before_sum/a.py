"""Attention of one head with dropout after the softmax; the mask of kept weights is an input."""

import torch


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, keep: torch.Tensor, scale: float = 0.25
) -> torch.Tensor:
    s = q @ k.T * scale
    e = torch.exp(s - s.amax(dim=-1, keepdim=True))
    dropped = e * 1.25 * keep
    return (dropped / e.sum(dim=-1, keepdim=True)) @ v
