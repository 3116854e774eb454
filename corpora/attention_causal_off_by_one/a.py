"""Causal attention by its definition, in f32."""

import torch


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    s = q.float() @ k.float().transpose(-1, -2) * q.shape[-1] ** -0.5
    future = torch.ones(s.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    s = s.masked_fill(future, -float("inf"))
    return (torch.softmax(s, dim=-1) @ v.float()).to(q.dtype)
