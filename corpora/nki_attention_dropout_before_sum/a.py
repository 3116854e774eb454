"""Attention of one head with dropout after the softmax; the mask of kept weights is an input."""

import torch


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, keep: torch.Tensor, scale: float = 0.25
) -> torch.Tensor:
    p = torch.softmax(q @ k.T * scale, dim=-1)
    return (p * keep * 1.25) @ v
