"""Attention of one head by its definition, in f32."""

import torch


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float = 0.25) -> torch.Tensor:
    s = q @ k.T * scale
    return torch.softmax(s, dim=-1) @ v
