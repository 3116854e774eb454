"""Causal attention while decoding: the last query lines up with the last key."""

import torch


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    s = q.float() @ k.float().transpose(-1, -2) * q.shape[-1] ** -0.5
    past = k.shape[2] - q.shape[2]
    future = torch.ones(s.shape[-2:], dtype=torch.bool, device=q.device).triu(past + 1)
    s = s.masked_fill(future, -float("inf"))
    return (torch.softmax(s, dim=-1) @ v.float()).to(q.dtype)
