"""Grouped-query attention: each key head serves a run of query heads."""

import torch


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    group = q.shape[1] // k.shape[1]
    k = k.float().repeat_interleave(group, dim=1)
    v = v.float().repeat_interleave(group, dim=1)
    s = q.float() @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    return (torch.softmax(s, dim=-1) @ v).to(q.dtype)
